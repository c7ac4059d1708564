/* A way between two positions with its line, in one go. */
#include "kernels.h"

#include <stdlib.h>

enum { FEW = 64 };

static void tell_end(Trip *trip, int side, int64_t row, const double *share, const double *at) {
    trip->share[side] = share[row];
    trip->at[2 * side] = at[2 * row];
    trip->at[2 * side + 1] = at[2 * row + 1];
}

/* Find the cheapest way between the positions of a trip, and the line along it. Writes the vertices
   and edges of the way, the points of the line, and for each edge the point at which it is left.
   Returns 1, 2 where there is not enough room, whose numbers are told as far as they are known, 0 where
   there is no way, -1 without memory, -2 where the roads cannot be searched or drawn. */
int32_t find_trip(const Roads *r, const Network *n, Trip *trip, int32_t *vertex, int32_t *edge, int64_t room,
                  double *line, int64_t *last, int64_t points) {
    int64_t few_of[FEW], *of = few_of;
    int32_t few_places[FEW], *place = few_places;
    double few_figures[4 * FEW], *figures = few_figures;
    int64_t count = 0, places = FEW;
    int32_t result = -1;
    trip->found.count = trip->points = 0;
    while ((count = find_places(r, 2, trip->position, (uint8_t)trip->modes, trip->radius_m, of, place, figures,
                                figures + places, figures + 2 * places, places)) > places) {
        places = count;
        of = malloc((size_t)places * sizeof *of);
        place = malloc((size_t)places * sizeof *place);
        figures = malloc((size_t)places * 4 * sizeof *figures);
        if (!of || !place || !figures) goto done;
    }
    if (count < 0) {
        result = -2;
        goto done;
    }
    const double *share = figures, *away_m = figures + places, *at = figures + 2 * places;
    int64_t first = 0;
    while (first < count && of[first] == 0) first++;
    Sides from = {first, place, share, away_m};
    Sides to = {count - first, place + first, share + first, away_m + first};
    Found *found = &trip->found;
    result = find_way(n, &from, &to, found, vertex, edge, room);
    if (result <= 0) goto done;
    result = 2;
    if (found->count > room) goto done;
    tell_end(trip, 0, found->from, share, at);
    tell_end(trip, 1, first + found->to, share, at);
    trip->points = join_line(r, found->count, edge, trip->share, trip->at, line, last, points, &trip->kinds);
    if (trip->points <= points) result = trip->points < 0 ? -2 : 1;
done:
    if (of != few_of) free(of);
    if (place != few_places) free(place);
    if (figures != few_figures) free(figures);
    return result;
}
