/* SPDX-License-Identifier: Apache-2.0 */
/* resample.c: resamples a box of a picture to a grid of floats: first along y, where rows of bytes are added up with
 * weights, then along x.
 *
 * The weight of an input pixel falls linearly with its distance, measured in pixels of the coarser of the two grids.
 * Weights are divided by their sum, and pixels outside [lo, hi) do not count. Sums stay floats to the end. Pillow
 * rounds twice to bytes, so results differ from Pillow's only by rounding. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "image.h"
#include "resample_rows.h"

typedef struct {
    tutti_taps taps;
    size_t room, weight_room;
} axis_taps;

struct tutti_resampler {
    axis_taps x, y;
    float *row; /* one row of the input after resampling along y: three floats a column */
    size_t row_room;
};

tutti_resampler *tutti_resampler_create(void)
{
    return tutti_alloc(sizeof(tutti_resampler));
}

void tutti_resampler_destroy(tutti_resampler *r)
{
    if (!r) return;
    free(r->x.taps.first);
    free(r->x.taps.weight);
    free(r->y.taps.first);
    free(r->y.taps.weight);
    free(r->row);
    free(r);
}

/* Makes *p hold at least n elements; the old content is lost. */
static void *grown(void *p, size_t *room, size_t n, size_t element)
{
    if (n <= *room) return p;
    free(p);
    *room = n;
    return tutti_alloc(n * element);
}

static double step_of(const tutti_axis *a)
{
    return (a->end - a->begin) / a->out;
}

double tutti_resample_reach(const tutti_axis *axis)
{
    const double step = step_of(axis);
    return step > 1 ? step : 1;
}

/* Returns the input pixels [*first, *end) of output pixel i, at least one. */
static double span_of(const tutti_axis *a, int i, int *first, int *end)
{
    const double middle = a->begin + (i + 0.5) * step_of(a), reach = tutti_resample_reach(a);
    *first = (int)floor(middle - reach + 0.5);
    *end = (int)floor(middle + reach + 0.5);
    *first = *first < a->lo ? a->lo : *first > a->hi - 1 ? a->hi - 1 : *first;
    *end = *end > a->hi ? a->hi : *end <= *first ? *first + 1 : *end;
    return middle;
}

static void weights_fill(float *weight, int first, int end, double middle, double reach)
{
    double sum = 0;
    for (int k = first; k < end; k++) {
        const double distance = fabs(k + 0.5 - middle) / reach;
        sum += distance < 1 ? 1 - distance : 0;
    }
    for (int k = first; k < end; k++) {
        const double distance = fabs(k + 0.5 - middle) / reach;
        weight[k - first] = sum > 0 ? (float)((distance < 1 ? 1 - distance : 0) / sum) : (float)(k == first);
    }
}

/* Computes the input pixels and weights of each output pixel of an axis. backwards: output pixels go from right to
 * left. */
static void taps_fill(axis_taps *t, const tutti_axis *a, bool backwards)
{
    const size_t out = ((size_t)a->out + TUTTI_RESAMPLE_GROUP - 1) / TUTTI_RESAMPLE_GROUP * TUTTI_RESAMPLE_GROUP;
    int first, end, n = 1;
    for (int i = 0; i < a->out; i++) {
        span_of(a, i, &first, &end);
        n = end - first > n ? end - first : n;
    }
    t->taps.n = n;
    t->taps.first = grown(t->taps.first, &t->room, out, sizeof *t->taps.first);
    t->taps.weight = grown(t->taps.weight, &t->weight_room, out * (size_t)n, sizeof *t->taps.weight);
    memset(t->taps.weight, 0, out * (size_t)n * sizeof *t->taps.weight);
    for (int i = 0; i < (int)out; i++) {
        const int from = i >= a->out ? a->out - 1 : backwards ? a->out - 1 - i : i;
        const double middle = span_of(a, from, &first, &end);
        t->taps.first[i] = first;
        if (i < a->out) weights_fill(t->taps.weight + (size_t)i * n, first, end, middle, tutti_resample_reach(a));
    }
}

void tutti_resample(tutti_resampler *r, const tutti_pixels *in, const float scale[3], const float shift[3],
                    bool mirrored, float *out)
{
    const tutti_axis *x = &in->view.x, *y = &in->view.y;
    int left, right, first, end;
    taps_fill(&r->x, x, mirrored);
    taps_fill(&r->y, y, false);
    span_of(x, 0, &left, &end);
    span_of(x, x->out - 1, &first, &right);
    const size_t columns = (size_t)(right - left) * 3;
    r->row = grown(r->row, &r->row_room, columns + (size_t)r->x.taps.n * 3 + TUTTI_IMAGE_SLACK, sizeof *r->row);
    for (int i = 0; i < y->out; i++, out += x->out) {
        span_of(y, i, &first, &end);
        const uint8_t *top = in->bytes + (first - in->y) * in->stride + (int64_t)(left - in->x) * 3;
        tutti_resample_rows(top, in->stride, r->y.taps.weight + (size_t)i * (size_t)r->y.taps.n, end - first,
                            (int64_t)columns, r->row);
        const tutti_plane_line to = {out, (int64_t)x->out * y->out, scale, shift};
        tutti_resample_columns(r->row, left, &r->x.taps, x->out, &to);
    }
}
