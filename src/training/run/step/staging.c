/* SPDX-License-Identifier: Apache-2.0 */
/* staging.c: brings samples, labels and losses to and from the device. The loss and the count of right answers share
 * one line of the device's memory; samples and labels are copied only to a device that cannot read the host's
 * memory. */
#include "staging.h"

enum { FIGURES = 64 }; /* bytes for a loss and a count */

static size_t samples_bytes(const tutti_staging *s, int64_t n)
{
    return sizeof *s->samples * (size_t)(n * s->sample_floats);
}

static size_t labels_bytes(int64_t n)
{
    return sizeof(int32_t) * (size_t)n;
}

tutti_status tutti_staging_make(const tutti_device *d, int64_t nsamples, const tutti_shape *sample, tutti_staging *out,
                                tutti_failure *err)
{
    *out = (tutti_staging){.device = d, .nsamples = nsamples, .sample_floats = tutti_shape_count(sample)};
    out->loss = d->allocate(d, FIGURES);
    bool has_all = out->loss;
    if (has_all) out->correct = (int32_t *)(void *)(out->loss + 1);
    if (!d->shares_host) {
        out->samples = d->allocate(d, samples_bytes(out, nsamples));
        out->labels = d->allocate(d, labels_bytes(nsamples));
        has_all = has_all && out->samples && out->labels;
    }
    if (has_all) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "no memory for %zu bytes of samples on %s", samples_bytes(out, nsamples),
                      d->name);
}

void tutti_staging_release(tutti_staging *s)
{
    const tutti_device *d = s->device;
    if (!d) return;
    d->release(d, s->loss, FIGURES);
    d->release(d, s->samples, samples_bytes(s, s->nsamples));
    d->release(d, s->labels, labels_bytes(s->nsamples));
    d->release(d, s->next_samples, samples_bytes(s, s->nsamples));
    d->release(d, s->next_labels, labels_bytes(s->nsamples));
    *s = (tutti_staging){0};
}

static void copy_in(const tutti_device *d, void *to, const void *from, size_t nbytes)
{
    char *out = to;
    d->copy(d, &out, 1, from, nbytes, false);
}

void tutti_staging_show(const tutti_staging *s, const float *samples, const int32_t *labels, int64_t n,
                        const float **samples_at, const int32_t **labels_at)
{
    *samples_at = s->samples ? s->samples : samples;
    *labels_at = s->labels ? s->labels : labels;
    if (s->samples) copy_in(s->device, s->samples, samples, samples_bytes(s, n));
    if (s->labels) copy_in(s->device, s->labels, labels, labels_bytes(n));
}

tutti_status tutti_staging_make_ahead(tutti_staging *s, tutti_failure *err)
{
    const tutti_device *d = s->device;
    s->next_samples = d->allocate(d, samples_bytes(s, s->nsamples));
    s->next_labels = d->allocate(d, labels_bytes(s->nsamples));
    if (s->next_samples && s->next_labels) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "no memory for %zu bytes of the next samples on %s",
                      samples_bytes(s, s->nsamples), d->name);
}

void tutti_staging_bring(tutti_staging *s, const float *samples, const int32_t *labels, int64_t n)
{
    s->device->bring(s->device, s->next_samples, samples, samples_bytes(s, n));
    s->device->bring(s->device, s->next_labels, labels, labels_bytes(n));
}

void tutti_staging_take(tutti_staging *s, const float **samples_at, const int32_t **labels_at)
{
    float *samples = s->samples;
    int32_t *labels = s->labels;
    s->samples = s->next_samples, s->labels = s->next_labels;
    s->next_samples = samples, s->next_labels = labels;
    *samples_at = s->samples, *labels_at = s->labels;
}
