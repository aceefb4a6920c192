/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c: the loader: threads fill a ring of batches ahead of compute.
 *
 * Work is split into *tickets*. Ticket t is a run of samples of batch t / nparts, so several threads fill one batch
 * together. Any thread may take any ticket. Invariants: `taken` batches were given to the caller. A thread gets a
 * ticket only while the ticket's batch is below taken + NSLOTS - 1, so the slot of the batch that the caller still
 * holds is never written. A batch is given to the caller when all its parts are done. The lock guards next, taken,
 * stopping and the members of slots, but not the samples: these belong to the threads until ndone reaches nparts, and
 * to the caller afterwards. Which samples a batch has is decided when its first ticket is taken. The threads block all
 * signals, so that only the main thread handles a request to end. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/clock.h"
#include "../base/signals.h"
#include "dataset.h"

enum {
    NSLOTS = TUTTI_LOADER_AHEAD + 1,
    ALIGNMENT = 4096 /* bytes of a page: samples begin at a page, because a device may pin them */,
    PARTS_A_THREAD = 4
};

typedef struct {
    tutti_batch batch;
    float *samples;
    int32_t *labels;
    int64_t ndone; /* number of parts of the batch that are done */
    /* the batch's step, and the index of its first sample in the batch of all ranks, as in tutti_batch */
    int64_t step, first;
    int64_t began_ns, filled_ns;
    int64_t failed_at; /* index in the batch of the first sample that cannot be read and so ends the run; n = none */
    tutti_failure failure; /* why sample `failed_at` could not be read */
    int64_t nreplaced, replaced_at;
    tutti_failure why; /* why sample `replaced_at`, the first replaced sample, could not be read */
} slot;

struct tutti_loader {
    tutti_loader_config c;
    /* sample_floats: number of floats in a sample; nparts: number of parts (tickets) of a batch */
    int64_t sample_floats, nparts;
    slot ring[NSLOTS];
    pthread_t *threads;
    int nstarted;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t next;  /* number of the next ticket to hand out */
    int64_t end;   /* number of batches in all; INT64_MAX while it is not known */
    int64_t taken; /* number of batches that the caller has taken since first_step */
    bool stopping;
};

/* Outcome of one thread's part of a batch: which samples it could not read. */
typedef struct {
    int64_t began_ns, ended_ns;
    int64_t failed_at, nreplaced, replaced_at;
    tutti_failure failure, why;
} finding;

static void part_fill(const tutti_loader *l, tutti_reader *reader, int64_t ticket, finding *found)
{
    const int64_t count = tutti_dataset_count(l->c.data), steps_per_epoch = count / l->c.batch;
    const int64_t part = ticket % l->nparts;
    const slot *s = &l->ring[ticket / l->nparts % NSLOTS];
    const int64_t position = s->step % steps_per_epoch * l->c.batch + s->first;
    const tutti_pass pass = {l->c.seed, s->step / steps_per_epoch};
    const char *why;
    const int64_t before = tutti_reader_nreplaced(reader, &why);
    found->failed_at = found->replaced_at = l->c.n;
    for (int64_t i = l->c.n * part / l->nparts; i < l->c.n * (part + 1) / l->nparts; i++) {
        const int64_t index = tutti_sample_order_at(pass.seed, pass.epoch, count, true, position + i);
        float *sample = s->samples + i * l->sample_floats;
        if (tutti_reader_read(reader, pass, index, sample, &s->labels[i], &found->failure)) {
            found->failed_at = i;
            return;
        }
        found->nreplaced = tutti_reader_nreplaced(reader, &why) - before;
        if (!found->nreplaced || found->replaced_at < l->c.n) continue;
        found->replaced_at = i;
        tutti_fail(&found->why, TUTTI_ERR_DATA, "%s", why);
    }
}

/* Begins batch `number`: determines which samples it has. */
static void batch_begin(tutti_loader *l, int64_t number)
{
    slot *s = &l->ring[number % NSLOTS];
    const int64_t share = l->c.deal ? l->c.deal(l->c.deal_arg) : 0, nshares = l->c.batch / l->c.n;
    s->step = l->c.deal ? share / nshares : l->c.first_step + number;
    s->first = l->c.deal ? share % nshares * l->c.n : l->c.first;
    if (share >= 0) return;
    l->end = number;
    pthread_cond_broadcast(&l->changed);
}

/* Waits until the slot of the next ticket is free, and takes the ticket. Returns false when no work is left. The caller
 * holds the lock. */
static bool ticket_take(tutti_loader *l, int64_t *ticket)
{
    while (!l->stopping && l->next / l->nparts < l->end && l->next / l->nparts >= l->taken + NSLOTS - 1)
        pthread_cond_wait(&l->changed, &l->lock);
    if (l->stopping) return false;
    if (l->next % l->nparts == 0 && l->next / l->nparts < l->end) batch_begin(l, l->next / l->nparts);
    if (l->next / l->nparts >= l->end) return false;
    *ticket = l->next++;
    return true;
}

static void ticket_finish(tutti_loader *l, int64_t ticket, const finding *found)
{
    slot *s = &l->ring[ticket / l->nparts % NSLOTS];
    if (!s->ndone || found->began_ns < s->began_ns) s->began_ns = found->began_ns;
    if (!s->ndone || found->ended_ns > s->filled_ns) s->filled_ns = found->ended_ns;
    if (found->failed_at < s->failed_at) {
        s->failed_at = found->failed_at;
        s->failure = found->failure;
    }
    s->nreplaced += found->nreplaced;
    if (found->replaced_at < s->replaced_at) {
        s->replaced_at = found->replaced_at;
        s->why = found->why;
    }
    if (++s->ndone == l->nparts) pthread_cond_broadcast(&l->changed);
}

static void *loader_run(void *arg)
{
    tutti_loader *l = arg;
    tutti_reader *reader = tutti_reader_create(l->c.data);
    int64_t ticket;
    pthread_mutex_lock(&l->lock);
    while (ticket_take(l, &ticket)) {
        finding found = {.began_ns = tutti_clock_ns()};
        pthread_mutex_unlock(&l->lock);
        part_fill(l, reader, ticket, &found);
        found.ended_ns = tutti_clock_ns();
        pthread_mutex_lock(&l->lock);
        ticket_finish(l, ticket, &found);
    }
    pthread_mutex_unlock(&l->lock);
    tutti_reader_destroy(reader);
    return NULL;
}

static tutti_status arguments_check(const tutti_loader_config *c, tutti_failure *err)
{
    int64_t count = tutti_dataset_count(c->data);
    if (c->batch < 1 || c->batch > count)
        return tutti_fail(err, TUTTI_ERR_USAGE, "batch: %lld samples, the set has %lld", (long long)c->batch,
                          (long long)count);
    if (c->first < 0 || c->n < 1 || c->first + c->n > c->batch || c->first_step < 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "loader: samples %lld to %lld of a batch of %lld from step %lld",
                          (long long)c->first, (long long)(c->first + c->n), (long long)c->batch,
                          (long long)c->first_step);
    return TUTTI_OK;
}

static size_t samples_bytes(const tutti_loader *l)
{
    const size_t bytes = (size_t)(l->c.n * l->sample_floats) * sizeof(float);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *tutti_loader_memory(const tutti_loader *l, int i, size_t *nbytes)
{
    *nbytes = samples_bytes(l);
    return i < NSLOTS ? l->ring[i].samples : NULL;
}

static tutti_status slots_make(tutti_loader *l, tutti_failure *err)
{
    for (int i = 0; i < NSLOTS; i++) {
        slot *s = &l->ring[i];
        s->labels = tutti_alloc((size_t)l->c.n * sizeof(int32_t));
        s->samples = aligned_alloc(ALIGNMENT, samples_bytes(l));
        s->failed_at = s->replaced_at = l->c.n;
        if (!s->samples)
            return tutti_fail(err, TUTTI_ERR_FAILED, "loader: no memory for %d batches of %lld samples of %lld numbers",
                              NSLOTS, (long long)l->c.n, (long long)l->sample_floats);
    }
    return TUTTI_OK;
}

static tutti_status threads_start(tutti_loader *l, tutti_failure *err)
{
    sigset_t before;
    int rc = 0;
    l->threads = tutti_alloc(sizeof *l->threads * (size_t)l->c.nthreads);
    tutti_signals_hold(&before);
    while (l->nstarted < l->c.nthreads && !rc) {
        rc = pthread_create(&l->threads[l->nstarted], NULL, loader_run, l);
        l->nstarted += !rc;
    }
    tutti_signals_release(&before);
    return rc ? tutti_fail(err, TUTTI_ERR_FAILED, "loader: cannot start %d threads: %s", l->c.nthreads, strerror(rc))
              : TUTTI_OK;
}

tutti_status tutti_loader_create(const tutti_loader_config *config, tutti_loader **out, tutti_failure *err)
{
    tutti_status st = arguments_check(config, err);
    if (st) return st;
    const tutti_shape shape = tutti_dataset_shape(config->data);
    tutti_loader *l = tutti_alloc(sizeof *l);
    l->c = *config;
    if (l->c.nthreads < 1) l->c.nthreads = 1;
    l->end = l->c.deal ? INT64_MAX : l->c.end_step - l->c.first_step;
    l->sample_floats = tutti_shape_count(&shape);
    l->nparts = l->c.nthreads == 1 ? 1 : (int64_t)l->c.nthreads * PARTS_A_THREAD;
    if (l->nparts > l->c.n) l->nparts = l->c.n;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    st = slots_make(l, err);
    if (!st) st = threads_start(l, err);
    if (st)
        tutti_loader_destroy(l);
    else
        *out = l;
    return st;
}

/* Gives the next batch to the caller. The slot of the batch that the caller held until now becomes free. */
tutti_status tutti_loader_next(tutti_loader *l, const tutti_batch **out, tutti_failure *err)
{
    *out = NULL;
    pthread_mutex_lock(&l->lock);
    const int64_t mine = l->taken;
    slot *s = &l->ring[mine % NSLOTS];
    while (mine < l->end && s->ndone < l->nparts) pthread_cond_wait(&l->changed, &l->lock);
    if (mine >= l->end) {
        pthread_mutex_unlock(&l->lock);
        return TUTTI_OK;
    }
    s->ndone = 0; /* safe, because no thread writes this slot before the caller's next call */
    l->taken++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    s->batch = (tutti_batch){.step = s->step,
                             .first = s->first,
                             .samples = s->samples,
                             .labels = s->labels,
                             .began_ns = s->began_ns,
                             .filled_ns = s->filled_ns,
                             .nreplaced = s->nreplaced,
                             .why = s->why.text};
    s->nreplaced = 0;
    s->replaced_at = l->c.n;
    const bool failed = s->failed_at < l->c.n;
    s->failed_at = l->c.n;
    if (failed) return tutti_fail(err, s->failure.status, "%s", s->failure.text);
    *out = &s->batch;
    return TUTTI_OK;
}

void tutti_loader_destroy(tutti_loader *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->nstarted; i++) pthread_join(l->threads[i], NULL);
    for (int i = 0; i < NSLOTS; i++) {
        free(l->ring[i].samples);
        free(l->ring[i].labels);
    }
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l->threads);
    free(l);
}
