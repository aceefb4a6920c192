/* SPDX-License-Identifier: Apache-2.0 */
/* ahead.c: the batch of a step. On a device to which samples are brought, the next one travels while the device computes this one: it is loaded
 * as soon as the step's work was given to the device. A batch that could not be loaded ends the run at its own step. */
#include "../train_impl.h"

static bool brings(const tutti_trainer *t)
{
    return t->staging.next_samples;
}

static tutti_status load_next(tutti_trainer *t)
{
    tutti_ahead *a = &t->ahead;
    const tutti_batch *batch = NULL;
    t->device->brought(t->device); /* the loader may fill what held the batch before */
    a->status = tutti_step_load(t, &batch, &a->why);
    a->is_there = !a->status;
    if (a->status) return a->status;
    a->batch = *batch;
    tutti_staging_bring(&t->staging, batch->samples, batch->labels, t->plan->my_nsamples);
    return TUTTI_OK;
}

/* Memory that the device refuses to be shown is copied more slowly: that is no failure. */
tutti_status tutti_ahead_begin(tutti_trainer *t, const tutti_loader_config *config, tutti_failure *err)
{
    void *at;
    size_t nbytes;
    const tutti_status st = tutti_loader_create(config, &t->loader, err);
    for (int i = 0; !st && brings(t) && (at = tutti_loader_memory(t->loader, i, &nbytes)); i++)
        (void)t->device->enrol(t->device, at, nbytes, true, NULL);
    return st;
}

void tutti_ahead_end(tutti_trainer *t)
{
    void *at;
    size_t nbytes;
    if (!t->loader) return;
    if (brings(t)) t->device->brought(t->device);
    for (int i = 0; brings(t) && (at = tutti_loader_memory(t->loader, i, &nbytes)); i++)
        t->device->forget(t->device, at, nbytes);
    tutti_loader_destroy(t->loader);
}

tutti_status tutti_ahead_take(tutti_trainer *t, tutti_batch *out, const float **samples_at, const int32_t **labels_at,
                              tutti_failure *err)
{
    tutti_ahead *a = &t->ahead;
    if (!brings(t)) {
        const tutti_batch *batch;
        const tutti_status st = tutti_step_load(t, &batch, err);
        if (st) return st;
        *out = *batch;
        tutti_step_sync(t); /* what was launched reads the batch before */
        tutti_staging_show(&t->staging, batch->samples, batch->labels, t->plan->my_nsamples, samples_at, labels_at);
        return TUTTI_OK;
    }
    if (!a->is_there && !a->status) load_next(t);
    if (a->status) return tutti_fail(err, a->status, "%s", a->why.text);
    *out = a->batch;
    a->is_there = false;
    tutti_staging_take(&t->staging, samples_at, labels_at);
    return TUTTI_OK;
}

void tutti_ahead_load(tutti_trainer *t)
{
    if (!brings(t) || t->step + 1 >= t->config->nsteps) return;
    t->device->push(t->device);
    load_next(t);
}
