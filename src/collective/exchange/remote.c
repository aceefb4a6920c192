/* SPDX-License-Identifier: Apache-2.0 */
/* remote.c: writes, signals and reads of another rank's memory, without a schedule.
 *
 * A wait here is a small form of the executor's: it polls, yields, and then sleeps on the doorbell and the wire's
 * descriptor. The thread that waits drives the group meanwhile. */
#include "remote.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../tensor/reduce.h"
#include "executor_impl.h"

enum {
    SPIN_NS = 2000,
    YIELD_NS = 50000,
    LONG_NS = 500000,
    CROWDED_NS = 100000000,
    LARGE = 1 << 24,
    GRACE_NS = 1000000000
};

typedef struct tutti_flying {
    struct tutti_flying *next;
    tutti_put *put;
} flying;

static void keep(tutti_writes *writes, tutti_put *put)
{
    if (!put) return; /* NULL: the put has ended already */
    flying *f = tutti_alloc(sizeof *f);
    *f = (flying){writes->head, put};
    writes->head = f;
}

/* Wakes the thread that makes progress, unless the descriptor on which it sleeps reports everything under way. */
static void kick(tutti_group *g)
{
    if (!(g->wire->row->can & TUTTI_WIRE_TELLS_ALL)) tutti_driver_kick(g);
}

void tutti_remote_write(tutti_group *g, const tutti_remote_place *at, const void *from, size_t nbytes,
                        tutti_writes *writes)
{
    char *to = tutti_region_base(at->region, at->rank);
    if (to) {
        to += at->offset;
        tutti_reduce_copy(&to, 1, from, nbytes, nbytes >= LARGE);
        return;
    }
    tutti_group_lock(g);
    const uint64_t far = tutti_region_far(at->region, at->rank) + at->offset;
    keep(writes, g->wire->row->put(g->wire, at->rank, far, from, nbytes, true));
    tutti_group_unlock(g);
    kick(g);
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
    kick(g);
}

/* --- waiting --- */

typedef struct {
    tutti_group *group;
    const _Atomic uint64_t *word; /* the wait is for one of three: a word, a put, a read */
    const tutti_put *read;
    tutti_writes *writes;
    uint64_t at_least; /* the wait ends when the word has reached this value */
    int rank;          /* rank whose answer to the read is awaited */
    int64_t broken_since, left_since;
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

static bool is_granted(const wish *w)
{
    if (w->word) return atomic_load(w->word) >= w->at_least;
    if (w->writes) {
        drop_landed(w->group, w->writes);
        return !w->writes->head;
    }
    tutti_group_lock(w->group);
    const bool over = !w->read->flying;
    tutti_group_unlock(w->group);
    return over;
}

static bool recheck(void *arg)
{
    const wish *w = arg;
    return tutti_driver_stir(w->group) || is_granted(w);
}

static tutti_status fail(tutti_group *g, int culprit, const char *what, const char *why, tutti_failure *err)
{
    char words[TUTTI_WORDS];
    tutti_strbuf still = {0};
    if (culprit < 0) tutti_group_list_still(g, &still);
    snprintf(words, sizeof words, "%s waited for %s: %s%s%s", g->peers[g->rank].describe, what, why,
             still.length ? "; " : "", still.length ? still.text : "");
    tutti_strbuf_release(&still);
    tutti_group_set_failed(g, culprit, TUTTI_ERR_PEER, words);
    return tutti_group_report(g, err);
}

/* Fails if an answer can no longer come: the deadline has passed, a connection broke, or the rank has left without an
 * answer. */
static tutti_status judge(wish *w, double left_s, const char *what, tutti_failure *err)
{
    tutti_group *g = w->group;
    char why[TUTTI_WORDS / 2];
    const int lost = tutti_group_lost_on_wire(g, &w->broken_since);
    if (g->failed) {
        tutti_group_report(g, err);
        tutti_fail_at(err, "%s waited for %s", g->peers[g->rank].describe, what);
        return g->failed;
    }
    if (lost >= 0) {
        snprintf(why, sizeof why, "the wire to %s: %s", g->peers[lost].describe, g->wire->broken[lost]);
        return fail(g, lost, what, why, err);
    }
    if (w->read && g->peers[w->rank].state == TUTTI_PEER_LEFT) {
        if (!w->left_since) w->left_since = tutti_clock_ns();
        if (tutti_clock_ns() - w->left_since >= GRACE_NS) return fail(g, -1, what, "it has left the group", err);
    }
    if (left_s > 0) return TUTTI_OK;
    snprintf(why, sizeof why, "the deadline of %g s has passed", g->deadline_s);
    return fail(g, -1, what, why, err);
}

static bool advance(tutti_group *g)
{
    tutti_group_lock(g);
    const bool moved = tutti_exchange_advance_all(g);
    tutti_group_unlock(g);
    if (tutti_clock_ns() - g->last_watch_ns > TUTTI_WATCH_NS) tutti_group_watch(g);
    return moved;
}

/* Yields, because the rank that this one waits for may want this core. If the core comes back only after a long time,
 * another process uses it too; then this rank sleeps, because the system gives the core back to a sleeper as soon as
 * there is something to do, but to a yielder only after the other's time slice. */
static void yield(tutti_group *g, int64_t now_ns)
{
    sched_yield();
    const int64_t back_ns = tutti_clock_ns();
    if (back_ns - now_ns > LONG_NS) g->crowded_ns = back_ns + CROWDED_NS;
}

static void describe_wait(const tutti_group *g, const char *what, tutti_patience *patience, char words[TUTTI_WORDS])
{
    tutti_strbuf still = {0};
    tutti_group_list_still(g, &still);
    snprintf(words, TUTTI_WORDS, "%s waits for %s%s%s", g->peers[g->rank].describe, what, still.length ? "; " : "",
             still.length ? still.text : "");
    tutti_strbuf_release(&still);
    patience->stopped = tutti_group_has_stopped(g);
}

static tutti_status wait_driving(wish *w, const char *what, tutti_failure *err)
{
    tutti_group *g = w->group;
    struct pollfd wire = {.fd = tutti_driver_descriptor(g), .events = POLLIN};
    tutti_patience patience;
    int64_t idle_since = tutti_clock_ns();
    tutti_patience_begin(g, &patience);
    for (;;) {
        const bool moved = advance(g);
        if (is_granted(w)) return TUTTI_OK;
        const int64_t now = tutti_clock_ns();
        if (moved) idle_since = now;
        if (!g->failed && now - idle_since < (now < g->crowded_ns ? SPIN_NS : YIELD_NS)) {
            if (!g->spin || now - idle_since >= SPIN_NS) yield(g, now);
            continue;
        }
        char words[TUTTI_WORDS] = "";
        if (tutti_patience_asks(g, &patience)) describe_wait(g, what, &patience, words);
        const double left = tutti_patience_left(g, &patience, words);
        tutti_status st = judge(w, left, what, err);
        if (st) return st;
        tutti_group_sleep(g, &wire, g->wire ? 1 : 0, left < 1 ? left : 1, recheck, w);
    }
}

static tutti_status wait_until(wish *w, const char *what, tutti_failure *err)
{
    if (is_granted(w)) return TUTTI_OK;
    tutti_driver_take_over(w->group);
    tutti_status st = wait_driving(w, what, err);
    tutti_driver_hand_back(w->group);
    return st;
}

tutti_status tutti_remote_await(tutti_group *g, const uint64_t *word, uint64_t at_least, tutti_failure *err)
{
    wish w = {.group = g, .word = (const _Atomic uint64_t *)(const void *)word, .at_least = at_least};
    char what[80];
    snprintf(what, sizeof what, "a word to reach %llu", (unsigned long long)at_least);
    return wait_until(&w, what, err);
}

/* Reads from a rank whose memory is not mapped here. */
static tutti_status read_far(tutti_group *g, int rank, uint64_t address, void *to, size_t nbytes, tutti_failure *err)
{
    char what[TUTTI_HOST_TEXT + 80];
    snprintf(what, sizeof what, "%zu bytes of %s", nbytes, g->peers[rank].describe);
    tutti_group_lock(g);
    tutti_put *read = g->wire->row->read(g->wire, rank, address, to, nbytes);
    tutti_group_unlock(g);
    wish w = {.group = g, .read = read, .rank = rank};
    const tutti_status st = wait_until(&w, what, err);
    tutti_group_lock(g);
    const bool refused = !st && !read->over;
    /* after a failure, bytes on their way must not be written into memory that the caller may free */
    if (st) g->wire->halted = true;
    tutti_put_release(read);
    tutti_group_unlock(g);
    return refused ? tutti_fail(err, TUTTI_ERR_USAGE, "read: %s has given up that memory", g->peers[rank].describe)
                   : st;
}

tutti_status tutti_remote_read(tutti_group *g, const tutti_remote_place *at, void *to, size_t nbytes,
                               tutti_failure *err)
{
    const char *from = tutti_region_base(at->region, at->rank);
    char *out = to;
    if (!from) return read_far(g, at->rank, tutti_region_far(at->region, at->rank) + at->offset, to, nbytes, err);
    tutti_reduce_copy(&out, 1, from + at->offset, nbytes, nbytes >= LARGE);
    return TUTTI_OK;
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
