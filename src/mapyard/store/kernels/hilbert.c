#include "kernels.h"

enum { ORDER = 16 };

void hilbert_codes(const int64_t *xs, const int64_t *ys, int64_t count, uint32_t *codes) {
    const uint32_t last = (1u << ORDER) - 1;
    for (int64_t i = 0; i < count; i++) {
        uint32_t x = (uint32_t)xs[i], y = (uint32_t)ys[i], code = 0;
        for (int bit = ORDER - 1; bit >= 0; bit--) {
            uint32_t right = x >> bit & 1, up = y >> bit & 1;
            code = code << 2 | (3 * right ^ up);
            if (!up) {
                uint32_t turned = right ? last : 0, swapped = x ^ turned;
                x = y ^ turned;
                y = swapped;
            }
        }
        codes[i] = code;
    }
}
