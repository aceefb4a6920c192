/* SPDX-License-Identifier: Apache-2.0 */
/* remote.c: writes, signals and reads of another rank's memory.
 *
 * The wait is the executor's in small: look, yield, sleep on the doorbell. A word that a wire brings rings no doorbell, so where
 * there is one the sleep is a nap: the thread of the group makes progress meanwhile. */
#include "remote.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../tensor/reduce.h"
#include "executor.h"
#include "group_impl.h"

enum { YIELD_NS = 50000, LARGE = 1 << 24 };
static const double NAP_S = 50e-6;

typedef struct tutti_flying {
    struct tutti_flying *next;
    tutti_put *put;
} flying;

static void keep(tutti_writes *writes, tutti_put *put)
{
    if (!put) return; /* over already */
    flying *f = tutti_alloc(sizeof *f);
    *f = (flying){writes->head, put};
    writes->head = f;
}

void tutti_remote_write(tutti_group *g, const tutti_region *region, int rank, size_t offset, const void *from,
                        size_t nbytes, tutti_writes *writes)
{
    char *to = tutti_region_base(region, rank);
    if (to) {
        to += offset;
        tutti_reduce_copy(&to, 1, from, nbytes, nbytes >= LARGE);
        return;
    }
    tutti_group_lock(g);
    keep(writes, g->wire->row->put(g->wire, rank, tutti_region_far(region, rank) + offset, from, nbytes, true));
    tutti_group_unlock(g);
    tutti_driver_kick(g);
}

void tutti_remote_signal(tutti_group *g, const tutti_region *region, int rank, size_t offset, uint64_t word,
                         tutti_writes *writes)
{
    char *to = tutti_region_base(region, rank);
    if (to) {
        atomic_store((_Atomic uint64_t *)(void *)(to + offset), word);
        if (rank != g->rank) tutti_group_ring(g, rank);
        return;
    }
    tutti_group_lock(g);
    keep(writes, g->wire->row->put_word(g->wire, rank, tutti_region_far(region, rank) + offset, word));
    tutti_group_unlock(g);
    tutti_driver_kick(g);
}

tutti_status tutti_remote_read(tutti_group *g, const tutti_region *region, int rank, size_t offset, void *to,
                               size_t nbytes, tutti_failure *err)
{
    const char *from = tutti_region_base(region, rank);
    char *out = to;
    if (!from)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: the wire to it writes but does not read: let it write here",
                          tutti_group_describe(g, rank));
    tutti_reduce_copy(&out, 1, from + offset, nbytes, nbytes >= LARGE);
    return TUTTI_OK;
}

/* --- waiting --- */

typedef struct {
    tutti_group *group;
    const _Atomic uint64_t *word; /* NULL: until no write flies */
    uint64_t at_least;
    tutti_writes *writes;
} wish;

static void drop_landed(tutti_group *g, tutti_writes *writes)
{
    tutti_group_lock(g);
    for (flying **at = &writes->head; *at;) {
        flying *f = *at;
        if (!f->put->over && f->put->flying) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        tutti_put_release(f->put);
        free(f);
    }
    tutti_group_unlock(g);
}

static bool is_granted(void *arg)
{
    const wish *w = arg;
    if (w->word) return atomic_load(w->word) >= w->at_least;
    drop_landed(w->group, w->writes);
    return !w->writes->head;
}

static tutti_status wait_until(wish *w, const char *what, tutti_failure *err)
{
    tutti_group *g = w->group;
    tutti_patience patience;
    const int64_t begin = tutti_clock_ns();
    tutti_patience_begin(&patience);
    while (!is_granted(w)) {
        tutti_exchange_progress(g);
        if (is_granted(w)) break;
        if (g->failed) return tutti_group_report(g, err);
        if (tutti_clock_ns() - begin < YIELD_NS) {
            if (!g->spin) sched_yield();
            continue;
        }
        char words[TUTTI_WORDS];
        snprintf(words, sizeof words, "%s waits for %s", g->peers[g->rank].describe, what);
        const double left = tutti_patience_left(g, &patience, words);
        if (left <= 0) {
            snprintf(words, sizeof words, "%s: the deadline of %g s has passed waiting for %s",
                     g->peers[g->rank].describe, g->deadline_s, what);
            tutti_group_set_failed(g, -1, TUTTI_ERR_PEER, words);
            return tutti_group_report(g, err);
        }
        if (g->wire)
            tutti_clock_sleep_s(NAP_S);
        else
            tutti_group_sleep(g, NULL, 0, left < 1 ? left : 1, is_granted, w);
    }
    return TUTTI_OK;
}

tutti_status tutti_remote_await(tutti_group *g, const uint64_t *word, uint64_t at_least, tutti_failure *err)
{
    wish w = {.group = g, .word = (const _Atomic uint64_t *)(const void *)word, .at_least = at_least};
    char what[80];
    snprintf(what, sizeof what, "a word to reach %llu", (unsigned long long)at_least);
    return wait_until(&w, what, err);
}

tutti_status tutti_remote_flush(tutti_group *g, tutti_writes *writes, tutti_failure *err)
{
    wish w = {.group = g, .writes = writes};
    return writes->head ? wait_until(&w, "writes to leave", err) : TUTTI_OK;
}

void tutti_remote_forget(tutti_group *g, tutti_writes *writes)
{
    tutti_group_lock(g);
    while (writes->head) {
        flying *f = writes->head;
        writes->head = f->next;
        tutti_put_release(f->put);
        free(f);
    }
    tutti_group_unlock(g);
}
