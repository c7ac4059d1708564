#include "kernels.h"

#include <string.h>

static inline uint64_t mix(uint64_t digest, uint64_t word) {
    digest = (digest ^ word) * 0x9E3779B97F4A7C15u;
    return digest ^ digest >> 32;
}

int64_t digest_runs(
    const uint8_t *bytes, int64_t size, const int64_t *ends, int64_t count, uint64_t *digests) {
    for (int64_t i = 0; i < count; i++) {
        int64_t at = ends[i], end = ends[i + 1];
        if (at < 0 || end < at || end > size) return i;
        uint64_t digest = mix(digests[i], (uint64_t)(end - at)), word;
        for (; at + 8 <= end; at += 8) {
            memcpy(&word, bytes + at, 8);
            digest = mix(digest, word);
        }
        if (at < end) {
            word = 0;
            memcpy(&word, bytes + at, (size_t)(end - at));
            digest = mix(digest, word);
        }
        digests[i] = mix(digest, digest >> 29);
    }
    return -1;
}
