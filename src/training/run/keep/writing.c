/* SPDX-License-Identifier: Apache-2.0 */
/* writing.c: writes a checkpoint by a thread of its own, from a copy of the vectors, while the training goes on.
 *
 * The copy is made once and kept for the run. A device that does not share the host's memory lends copies anyway; these
 * are kept until the files are written. The thread calls no function of the group: the rank's own thread reports the
 * progress, and only while it waits. */
#include <pthread.h>
#include <stdlib.h>

#include "../../../base/arena.h"
#include "../../../base/clock.h"
#include "../../../base/host/pages.h"
#include "../../../base/signals.h"
#include "../../../base/steady_cond.h"
#include "keep.h"

enum { LOOK_NS = 10000000 }; /* nanoseconds after which a waiting rank looks for news of the others */

struct tutti_writing {
    const tutti_stepping *run;
    tutti_saving saving; /* saving.lent: the vectors to write */
    char *copy;          /* copy of the vectors; NULL = none was needed yet */
    size_t copy_bytes;
    bool is_started; /* the thread was started and not joined yet */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the fields that follow, up to is_over */
    pthread_cond_t moved;
    int64_t done, total;
    uint64_t nreports;
    bool is_over;
    tutti_status status; /* the thread's result, valid once it is joined */
    tutti_failure why;
};

tutti_writing *tutti_writing_create(const tutti_stepping *run)
{
    if (run->rank != 0 || !run->config->dir) return NULL;
    tutti_writing *w = tutti_alloc(sizeof *w);
    *w = (tutti_writing){.run = run};
    pthread_mutex_init(&w->lock, NULL);
    tutti_steady_cond_init(&w->moved);
    return w;
}

/* ---- the thread ---- */

static bool report(void *arg, int64_t done, int64_t total)
{
    tutti_writing *w = arg;
    pthread_mutex_lock(&w->lock);
    w->done = done;
    w->total = total;
    w->nreports++;
    pthread_cond_signal(&w->moved);
    pthread_mutex_unlock(&w->lock);
    return true;
}

static void *write_files(void *arg)
{
    tutti_writing *w = arg;
    const tutti_train_config *c = w->run->config;
    w->status = tutti_checkpoint_write(c->dir, &w->saving.lent, NULL, 0, c->checkpoint_keep, &w->why);
    pthread_mutex_lock(&w->lock);
    w->is_over = true;
    pthread_cond_signal(&w->moved);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- the rank's own thread ---- */

/* Makes the vectors of w->saving.lent copies; false: there is no memory for them. */
static bool copy_vectors(tutti_writing *w)
{
    tutti_saving *saving = &w->saving;
    if (!w->run->device->shares_host) return true;
    const size_t nbytes = tutti_lent_copy(w->run, &saving->there, &saving->lent, NULL);
    if (!w->copy) {
        w->copy = tutti_pages_take(nbytes);
        w->copy_bytes = nbytes;
    }
    if (w->copy) tutti_lent_copy(w->run, &saving->there, &saving->lent, w->copy);
    return w->copy != NULL;
}

static void give_loan_back(tutti_writing *w)
{
    if (!w->run->device->shares_host) tutti_lent_give_back(w->run, &w->saving.there, &w->saving.lent, false);
}

bool tutti_writing_start(tutti_writing *w, const tutti_saving *saving)
{
    sigset_t before;
    w->saving = *saving;
    if (!copy_vectors(w)) return false;
    if (w->saving.lent.headway.tell) w->saving.lent.headway = (tutti_headway){report, w};
    w->is_over = false;
    w->why = (tutti_failure){0};
    tutti_signals_hold(&before);
    w->is_started = !pthread_create(&w->thread, NULL, write_files, w);
    tutti_signals_release(&before);
    return w->is_started;
}

bool tutti_writing_is_over(tutti_writing *w)
{
    if (!w || !w->is_started) return false;
    pthread_mutex_lock(&w->lock);
    const bool is_over = w->is_over;
    pthread_mutex_unlock(&w->lock);
    return is_over;
}

int64_t tutti_writing_step(const tutti_writing *w)
{
    return w && w->is_started ? w->saving.lent.step : -1;
}

/* Waits for the thread. Meanwhile tells the other ranks how far it is, and looks whether they still live. */
static void wait_for_thread(tutti_writing *w)
{
    tutti_group *g = w->run->group;
    const tutti_headway headway = tutti_group_headway(g);
    uint64_t seen = 0;
    for (bool is_over = false; !is_over;) {
        const int64_t until_ns = tutti_clock_ns() + LOOK_NS;
        pthread_mutex_lock(&w->lock);
        while (!w->is_over && w->nreports == seen && tutti_steady_cond_wait(&w->moved, &w->lock, until_ns)) continue;
        const bool has_moved = w->nreports != seen;
        const int64_t done = w->done, total = w->total;
        is_over = w->is_over;
        seen = w->nreports;
        pthread_mutex_unlock(&w->lock);
        if (has_moved)
            (void)tutti_headway_tell(&headway, done, total);
        else
            (void)tutti_group_poll(g, NULL);
    }
}

tutti_status tutti_writing_end(tutti_writing *w, tutti_failure *err)
{
    if (!w || !w->is_started) return TUTTI_OK;
    if (!tutti_writing_is_over(w)) {
        tutti_group_long_phase_begin(w->run->group, "writes a checkpoint", "bytes of a file");
        wait_for_thread(w);
        tutti_group_long_phase_end(w->run->group);
    }
    pthread_join(w->thread, NULL);
    w->is_started = false;
    give_loan_back(w);
    return w->status ? tutti_fail(err, w->status, "%s", w->why.text) : TUTTI_OK;
}

void tutti_writing_destroy(tutti_writing *w)
{
    if (!w) return;
    if (w->is_started) {
        pthread_join(w->thread, NULL);
        give_loan_back(w);
    }
    tutti_pages_give_back(w->copy, w->copy_bytes);
    pthread_cond_destroy(&w->moved);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
