/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c: one thread fills a ring of batches ahead of compute.
 *
 * Invariants: `filled` batches were made and `taken` handed out, taken <= filled <= taken + NSLOTS - 1: the slot of the
 * batch that the caller still holds is never written. The lock guards filled, taken and stopping, never the samples:
 * a slot belongs to the thread while filled has not passed it, to the caller afterwards.
 * The thread blocks all signals, so that an orderly end is asked of the main thread only. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/clock.h"
#include "dataset.h"

enum { NSLOTS = 4, ALIGNMENT = 64 };

typedef struct {
    tutti_batch batch;
    float *samples;
    int32_t *labels;
} slot;

struct tutti_loader {
    const tutti_dataset *data;
    uint64_t seed;
    int64_t batch, first, n, first_step, end_step, sample_floats;
    slot ring[NSLOTS];
    pthread_t thread;
    pthread_mutex_t lock; /* guards filled, taken, stopping */
    pthread_cond_t changed;
    int64_t filled, taken; /* batches since first_step */
    bool stopping;
};

static void slot_fill(const tutti_loader *l, int64_t step, slot *s)
{
    int64_t count = tutti_dataset_count(l->data), steps_per_epoch = count / l->batch;
    const int64_t began_ns = tutti_clock_ns();
    int64_t epoch = step / steps_per_epoch, begin = step % steps_per_epoch * l->batch + l->first;
    for (int64_t i = 0; i < l->n; i++) {
        int64_t index = tutti_order_at(l->seed, epoch, count, true, begin + i);
        tutti_dataset_read(l->data, index, s->samples + i * l->sample_floats, &s->labels[i]);
    }
    s->batch = (tutti_batch){step, s->samples, s->labels, began_ns, tutti_clock_ns()};
}

/* Waits for a free slot; false when there is nothing left to do. */
static bool slot_wait(tutti_loader *l)
{
    pthread_mutex_lock(&l->lock);
    while (!l->stopping && l->filled - l->taken >= NSLOTS - 1) pthread_cond_wait(&l->changed, &l->lock);
    bool go_on = !l->stopping;
    pthread_mutex_unlock(&l->lock);
    return go_on;
}

static void *loader_run(void *arg)
{
    tutti_loader *l = arg;
    for (int64_t step = l->first_step; step < l->end_step && slot_wait(l); step++) {
        slot_fill(l, step, &l->ring[(step - l->first_step) % NSLOTS]);
        pthread_mutex_lock(&l->lock);
        l->filled++;
        pthread_cond_broadcast(&l->changed);
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

static tutti_status arguments_check(const tutti_loader *l, tutti_failure *err)
{
    int64_t count = tutti_dataset_count(l->data);
    if (l->batch < 1 || l->batch > count)
        return tutti_fail(err, TUTTI_ERR_USAGE, "batch: %lld samples, the set has %lld", (long long)l->batch,
                          (long long)count);
    if (l->first < 0 || l->n < 1 || l->first + l->n > l->batch || l->first_step < 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "loader: samples %lld to %lld of a batch of %lld from step %lld",
                          (long long)l->first, (long long)(l->first + l->n), (long long)l->batch,
                          (long long)l->first_step);
    return TUTTI_OK;
}

static void *aligned_floats(int64_t n)
{
    size_t bytes = ((size_t)n * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return aligned_alloc(ALIGNMENT, bytes);
}

static void loader_release(tutti_loader *l)
{
    for (int i = 0; i < NSLOTS; i++) {
        free(l->ring[i].samples);
        free(l->ring[i].labels);
    }
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static tutti_status loader_start(tutti_loader *l, tutti_failure *err)
{
    for (int i = 0; i < NSLOTS; i++) {
        l->ring[i].labels = tutti_alloc((size_t)l->n * sizeof(int32_t));
        l->ring[i].samples = aligned_floats(l->n * l->sample_floats);
        if (!l->ring[i].samples)
            return tutti_fail(err, TUTTI_ERR_FAILED, "loader: no memory for %d batches of %lld samples of %lld numbers",
                              NSLOTS, (long long)l->n, (long long)l->sample_floats);
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&l->thread, NULL, loader_run, l);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc ? tutti_fail(err, TUTTI_ERR_FAILED, "loader: cannot start a thread: %s", strerror(rc)) : TUTTI_OK;
}

tutti_status tutti_loader_create(const tutti_dataset *d, uint64_t seed, int64_t batch, int64_t first, int64_t n,
                                 int64_t first_step, int64_t end_step, tutti_loader **out, tutti_failure *err)
{
    tutti_shape shape = tutti_dataset_shape(d);
    tutti_loader *l = tutti_alloc(sizeof *l);
    *l = (tutti_loader){.data = d,
                        .seed = seed,
                        .batch = batch,
                        .first = first,
                        .n = n,
                        .first_step = first_step,
                        .end_step = end_step,
                        .sample_floats = tutti_shape_count(&shape)};
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    tutti_status status = arguments_check(l, err);
    if (!status) status = loader_start(l, err);
    if (status)
        loader_release(l);
    else
        *out = l;
    return status;
}

const tutti_batch *tutti_loader_next(tutti_loader *l)
{
    pthread_mutex_lock(&l->lock);
    int64_t mine = l->taken;
    if (l->first_step + mine >= l->end_step) {
        pthread_mutex_unlock(&l->lock);
        return NULL;
    }
    while (l->filled <= mine) pthread_cond_wait(&l->changed, &l->lock);
    l->taken++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    return &l->ring[mine % NSLOTS].batch;
}

void tutti_loader_destroy(tutti_loader *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    loader_release(l);
}
