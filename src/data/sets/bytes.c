/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.c: reads and augments samples of sets that hold bytes or floats. A sample is either unchanged, or shifted by up
 * to PAD pixels, with black pixels from outside, and perhaps mirrored. That is the augmentation of He et al. 2016 for
 * CIFAR: pad, crop, flip. The random numbers are a function of (seed, epoch, sample). */
#include "../../base/rng.h"
#include "../dataset_impl.h"

enum { PAD = 4 };

/* Output pixel (y, x) is stored pixel (y + dy, x + dx), where x counts from the right if mirrored. Pixels outside the
 * stored sample are black. */
typedef struct {
    int64_t dy, dx;
    bool mirrored;
} view;

static view view_pick(const tutti_dataset *d, tutti_pass pass, int64_t index)
{
    view v = {0};
    if (!d->crop && !d->flip) return v;
    tutti_random4 r = tutti_random(pass.seed, TUTTI_STREAM_AUGMENT, (uint64_t)pass.epoch, (uint64_t)index);
    if (d->crop) v.dy = (int64_t)((uint64_t)r.word[0] * (2 * PAD + 1) >> 32) - PAD;
    if (d->crop) v.dx = (int64_t)((uint64_t)r.word[1] * (2 * PAD + 1) >> 32) - PAD;
    v.mirrored = d->flip && r.word[2] >> 31;
    return v;
}

static void plane_view(const uint8_t *from, int64_t height, int64_t width, view v, const float normal[256], float *to)
{
    for (int64_t y = 0; y < height; y++) {
        const bool inside = y + v.dy >= 0 && y + v.dy < height;
        const uint8_t *row = from + (y + v.dy) * width;
        for (int64_t x = 0; x < width; x++) {
            int64_t at = (v.mirrored ? width - 1 - x : x) + v.dx;
            *to++ = normal[inside && at >= 0 && at < width ? row[at] : 0];
        }
    }
}

/* Reads a sample of floats, moved and mirrored as bytes are; outside the stored sample the number is 0, as for a byte
 * of 0. */
static void numbers_read(const tutti_dataset *d, view v, const float *from, float *sample)
{
    const int64_t height = d->shape.ndims == 3 ? d->shape.dim[1] : 1, width = d->channel_bytes / height;
    for (int c = 0; c < d->nchannels; c++, from += d->channel_bytes)
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++) {
                const int64_t row = y + v.dy, at = (v.mirrored ? width - 1 - x : x) + v.dx;
                const bool inside = row >= 0 && row < height && at >= 0 && at < width;
                *sample++ = (float)(((inside ? (double)from[row * width + at] : 0) - d->mean[c]) / d->std[c]);
            }
}

void tutti_bytes_read(const tutti_dataset *d, tutti_pass pass, int64_t index, float *sample)
{
    const view v = view_pick(d, pass, index);
    if (d->numbers) {
        numbers_read(d, v, d->numbers + index % d->nstored * d->channel_bytes * d->nchannels, sample);
        return;
    }
    const uint8_t *from = tutti_dataset_bytes(d, index);
    const bool as_it_is = !v.dy && !v.dx && !v.mirrored;
    for (int c = 0; c < d->nchannels; c++, from += d->channel_bytes, sample += d->channel_bytes) {
        const float *normal = d->normal[c];
        if (as_it_is)
            for (int64_t i = 0; i < d->channel_bytes; i++) sample[i] = normal[from[i]];
        else
            plane_view(from, d->shape.dim[1], d->shape.dim[2], v, normal, sample);
    }
}
