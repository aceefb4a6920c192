/* SPDX-License-Identifier: Apache-2.0 */
/* ahead.c: loads the batch of the next step ahead. A device to which samples are brought gets the next batch while it
 * computes this one: the batch is loaded as soon as the step's work was given to the device. If a batch cannot be
 * loaded, the run ends at that batch's own step. */
#include "step_impl.h"

static bool brings(const tutti_stepping *s)
{
    return s->staging.next_samples;
}

static tutti_status load_next(tutti_stepping *s)
{
    tutti_ahead *a = &s->ahead;
    const tutti_batch *batch = NULL;
    s->device->brought(s->device); /* waits until the previous batch, which the loader may overwrite, is read */
    a->status = tutti_step_load(s, &batch, &a->why);
    a->is_there = !a->status;
    if (a->status) return a->status;
    a->batch = *batch;
    tutti_staging_bring(&s->staging, batch->samples, batch->labels, s->plan->my_nsamples);
    return TUTTI_OK;
}

/* Makes the loader, and registers its memory with the device. If the device refuses, copies are slower; that is no
 * failure. */
tutti_status tutti_ahead_begin(tutti_stepping *s, const tutti_loader_config *config, tutti_failure *err)
{
    void *at;
    size_t nbytes;
    const tutti_status st = tutti_loader_create(config, &s->loader, err);
    for (int i = 0; !st && brings(s) && (at = tutti_loader_memory(s->loader, i, &nbytes)); i++)
        (void)s->device->enrol(s->device, at, nbytes, true, NULL);
    return st;
}

void tutti_ahead_end(tutti_stepping *s)
{
    void *at;
    size_t nbytes;
    if (!s->loader) return;
    if (brings(s)) s->device->brought(s->device);
    for (int i = 0; brings(s) && (at = tutti_loader_memory(s->loader, i, &nbytes)); i++)
        s->device->forget(s->device, at, nbytes);
    tutti_loader_destroy(s->loader);
}

tutti_status tutti_ahead_take(tutti_stepping *s, tutti_batch *out, const float **samples_at, const int32_t **labels_at,
                              tutti_failure *err)
{
    tutti_ahead *a = &s->ahead;
    if (!brings(s)) {
        const tutti_batch *batch;
        const tutti_status st = tutti_step_load(s, &batch, err);
        if (st) return st;
        *out = *batch;
        tutti_step_sync(s); /* launched work still reads the previous batch */
        tutti_staging_show(&s->staging, batch->samples, batch->labels, s->plan->my_nsamples, samples_at, labels_at);
        return TUTTI_OK;
    }
    if (!a->is_there && !a->status) load_next(s);
    if (a->status) return tutti_fail(err, a->status, "%s", a->why.text);
    *out = a->batch;
    a->is_there = false;
    tutti_staging_take(&s->staging, samples_at, labels_at);
    return TUTTI_OK;
}

void tutti_ahead_load(tutti_stepping *s)
{
    if (!brings(s) || s->step + 1 >= s->config->nsteps) return;
    s->device->push(s->device);
    load_next(s);
}
