/* SPDX-License-Identifier: Apache-2.0 */
/* executor_wait.c: waits for an exchange: spins, yields, sleeps; reports deadlines and dead ranks.
 *
 * If every rank has a core, a rank spins, because its signals come from other cores. Yielding would give the core to
 * another process, which keeps it for milliseconds. A rank yields only to a rank that it sees on the same core, and
 * then at once (group/core_marks.c). If there are more ranks than cores, ranks yield. Sleeping costs a system call on
 * both sides and comes last. */
#include <sched.h>
#include <stdio.h>

#include "../../base/clock.h"
#include "../../base/steady_cond.h"
#include "../../base/text/strbuf.h"
#include "../group/flight.h"
#include "executor_impl.h"

enum { AWAKE_NS = 50000, LOOKS_PER_CLOCK = 32, SHORT_BYTES = 1 << 17 };
static const int64_t GRACE_NS = 1000000000; /* time that signals may still take after a goodbye that was sent behind
                                             * them */

/* Tells the core that this thread only waits, which leaves more of it to the other hardware thread. */
#if defined(__x86_64__)
static inline void relax(void)
{
    __builtin_ia32_pause();
}
#else
static inline void relax(void)
{
}
#endif

/* --- failures in words --- */

static tutti_status fail_with(tutti_exchange *x, tutti_strbuf *text, int culprit, tutti_failure *err)
{
    tutti_group_set_failed(x->group, culprit, TUTTI_ERR_PEER, text->text);
    tutti_strbuf_release(text);
    return tutti_group_report(x->group, err);
}

static void describe(const tutti_exchange *x, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "%s: ", x->group->peers[x->group->rank].describe);
    tutti_exchange_describe(x, out);
}

static tutti_status fail_late(tutti_exchange *x, tutti_failure *err)
{
    char why[TUTTI_HOST_TEXT + 120];
    tutti_strbuf text = {0};
    describe(x, &text);
    tutti_strbuf_printf(&text, ": the deadline of %g s has passed; not arrived: ", x->group->deadline_s);
    tutti_exchange_list_absent(x, true, &text);
    snprintf(why, sizeof why, "the deadline of %g s has passed on %s", x->group->deadline_s,
             x->group->peers[x->group->rank].describe);
    tutti_group_dump_all(x->group, why);
    return fail_with(x, &text, -1, err);
}

/* Returns the group's failure; its message begins with what this rank waits for. */
static tutti_status report(const tutti_exchange *x, tutti_failure *err)
{
    tutti_group_report(x->group, err);
    tutti_strbuf text = {0};
    describe(x, &text);
    tutti_fail_at(err, "%.400s", text.text);
    tutti_strbuf_release(&text);
    return x->group->failed;
}

/* Fails the wait because a peer makes another call. The group's callback (tutti_group_on_idle) may know which call. */
static tutti_status fail_stuck(tutti_exchange *x, tutti_failure *err)
{
    tutti_group *g = x->group;
    if (!g->failed && g->look) g->look(g->look_arg);
    if (!g->failed) {
        tutti_strbuf text = {0};
        describe(x, &text);
        tutti_strbuf_printf(&text, ": %s takes it for another call", g->peers[x->stranger].describe);
        tutti_group_set_failed(g, -1, TUTTI_ERR_RENDEZVOUS, text.text);
        tutti_strbuf_release(&text);
        return tutti_group_report(g, err);
    }
    return report(x, err);
}

/* --- waiting --- */

typedef struct {
    tutti_exchange *x;
    int64_t idle_since;   /* time since which nothing has moved; 0 = something just did */
    int64_t broken_since; /* time since which a connection of the wire is broken; 0 = none */
    int looks;
    bool asleep; /* true once the flight recorder has noted the sleep */
    tutti_patience patience;
} waiting;

/* Advances all exchanges once; true if anything moved. */
static bool advance(tutti_group *g)
{
    tutti_group_lock(g);
    bool moved = tutti_exchange_advance_all(g);
    tutti_group_unlock(g);
    return moved;
}

/* Returns true if the exchange is complete after one more advance. Called when a failure of the group is reported: the
 * rank that reported it may have sent all its signals before, and then this exchange has not failed. */
static bool is_whole(const tutti_exchange *x)
{
    while (x->active && advance(x->group)) continue;
    return !x->active;
}

static bool recheck(void *arg)
{
    const tutti_exchange *x = arg;
    return tutti_driver_stir(x->group) || !x->active;
}

static tutti_status look_at_wire(waiting *w, tutti_failure *err)
{
    tutti_group *g = w->x->group;
    tutti_group_lock(g);
    const int lost = tutti_group_lost_on_wire(g, &w->broken_since);
    tutti_group_unlock(g);
    if (lost < 0) return TUTTI_OK;
    tutti_strbuf text = {0};
    describe(w->x, &text);
    tutti_strbuf_printf(&text, ": the wire to %s: %s", g->peers[lost].describe, g->wire->broken[lost]);
    if (!tutti_group_does_without(g, lost)) return fail_with(w->x, &text, lost, err);
    tutti_group_record_gone(g, lost, text.text);
    tutti_strbuf_release(&text);
    w->broken_since = 0;
    return TUTTI_OK;
}

/* Returns true if a peer has left without the signal that this rank waits for. On one host a peer's signals arrive
 * before its goodbye, so one more look after the goodbye decides; between hosts the goodbye may arrive before the
 * signals. */
static bool is_left_behind(tutti_exchange *x)
{
    const tutti_group *g = x->group;
    for (int32_t q = 0; q < x->nsequences; q++) {
        if (x->sequences[q].at == x->sequences[q].nops) continue;
        const tutti_op *op = &x->ops[x->sequences[q].ops[x->sequences[q].at]];
        if (op->kind != TUTTI_STEP_WAIT || g->peers[op->peer].state == TUTTI_PEER_HERE) continue;
        const int64_t now = tutti_clock_ns();
        if (x->left_behind && now - x->left_behind >= (tutti_group_is_near(g, op->peer) ? 0 : GRACE_NS)) return true;
        if (!x->left_behind) x->left_behind = now;
    }
    return false;
}

static int32_t held_peer(const tutti_exchange *x)
{
    const int32_t step = tutti_exchange_held_step(x);
    return step < 0 ? -1 : x->ops[step].peer;
}

/* Returns the rank without whose signal no step of this rank can move; -1: there may be several. Only that rank then
 * rings this rank's doorbell. So a rank that waits for 300 ranks in turn is woken only by those that come late; if
 * every early rank rang too, 300 ranks would ring 90,000 times in each phase. */
static int only_peer(const tutti_exchange *x)
{
    int peer = -1;
    if (x->group->wire) return -1;
    for (const tutti_exchange *other = x->group->exchanges; other; other = other->next)
        if (other != x && other->active) return -1;
    for (int32_t q = 0; q < x->nsequences; q++) {
        if (x->sequences[q].at == x->sequences[q].nops) continue;
        const tutti_op *op = &x->ops[x->sequences[q].ops[x->sequences[q].at]];
        if (op->kind != TUTTI_STEP_WAIT || op->when & ~x->when || (peer >= 0 && peer != op->peer)) return -1;
        peer = op->peer;
    }
    return peer;
}

static tutti_status sleep_a_while(waiting *w, tutti_failure *err)
{
    tutti_exchange *x = w->x;
    tutti_group *g = x->group;
    tutti_strbuf words = {0};
    if (!w->asleep)
        tutti_flight_note(
            g->flight, TUTTI_FLIGHT_WAIT, x->name,
            (tutti_flight_what){x->invocation, tutti_exchange_held_step(x), held_peer(x), tutti_exchange_missing(x)});
    w->asleep = true;
    if (tutti_patience_asks(g, &w->patience)) {
        tutti_strbuf_printf(&words, "%s waits in exchange '%s'; not arrived: ", g->peers[g->rank].describe, x->name);
        tutti_exchange_list_absent(x, true, &words);
        w->patience.stopped = tutti_group_has_stopped(g);
    }
    double left = tutti_patience_left(g, &w->patience, words.text ? words.text : "");
    tutti_strbuf_release(&words);
    if (left <= 0) return fail_late(x, err);
    struct pollfd wire = {.fd = tutti_driver_descriptor(g), .events = POLLIN};
    g->only = 1 + only_peer(x);
    tutti_group_sleep(g, &wire, g->wire ? 1 : 0, left < 1 ? left : 1, recheck, x);
    g->only = 0;
    if (g->failed) return is_whole(x) ? TUTTI_OK : report(x, err);
    tutti_status st = look_at_wire(w, err);
    if (st) return st;
    if (x->active && !advance(g) && is_left_behind(x)) {
        tutti_strbuf text = {0};
        describe(x, &text);
        tutti_strbuf_puts(&text, ": that rank has left the group");
        return fail_with(x, &text, -1, err);
    }
    return TUTTI_OK;
}

/* Returns true if the wait looks again without reading the clock. Most waits for small vectors end within these looks,
 * and reading the clock twice takes a tenth of such an exchange. */
static bool looks_again(waiting *w)
{
    const tutti_group *g = w->x->group;
    if (!g->spin || g->beside || ++w->looks % LOOKS_PER_CLOCK == 0) return false;
    relax();
    return true;
}

static tutti_status idle(waiting *w, tutti_failure *err)
{
    tutti_group *g = w->x->group;
    int64_t now = tutti_clock_ns();
    if (w->idle_since == 0) w->idle_since = now;
    if (now - w->idle_since >= AWAKE_NS) return sleep_a_while(w, err);
    if (!g->spin) {
        sched_yield();
        return TUTTI_OK;
    }
    tutti_group_mark_core(g);
    if (g->beside) (void)tutti_group_make_way(g, now, w->x->vector.n * (int64_t)w->x->vector.bytes <= SHORT_BYTES);
    return TUTTI_OK;
}

static tutti_status wait_driving(tutti_exchange *x, const atomic_bool *done, tutti_failure *err)
{
    tutti_group *g = x->group;
    waiting w = {.x = x};
    int64_t begin = 0;
    double work_before = x->stats.work_s;
    while (x->active && !(done && atomic_load(done))) {
        if (advance(g)) {
            w.idle_since = 0;
            continue;
        }
        if (x->stuck) return fail_stuck(x, err);
        if (looks_again(&w)) continue;
        if (begin == 0) {
            if (g->failed) return report(x, err);
            begin = tutti_clock_ns();
            tutti_patience_begin(g, &w.patience);
        }
        tutti_status st = idle(&w, err);
        if (st) return st;
    }
    if (w.asleep)
        tutti_flight_note(g->flight, TUTTI_FLIGHT_WAKE, x->name, (tutti_flight_what){x->invocation - 1, -1, -1, 0});
    if (begin) {
        double waited = 1e-9 * (double)(tutti_clock_ns() - begin) - (x->stats.work_s - work_before);
        if (waited > 0) x->stats.wait_s += waited;
    }
    return TUTTI_OK;
}

/* Returns true if it is time to look for deaths. An exchange over all ranks stalls when a rank is lost, and then the
 * wait looks for deaths. An exchange over some ranks may continue for ever without such a look, while other ranks wait
 * until this rank ends too, or until rank 0 reports the loss. */
static bool is_time_to_look(const tutti_exchange *x)
{
    return x->over_some && tutti_clock_ns() - x->group->last_watch_ns > TUTTI_WATCH_NS;
}

tutti_status tutti_exchange_wait_for(tutti_exchange *x, const atomic_bool *done, tutti_failure *err)
{
    if (is_time_to_look(x)) tutti_group_watch(x->group);
    if (x->over_some && x->group->failed) return report(x, err);
    if (x->group->spin) tutti_group_mark_core(x->group);
    tutti_driver_take_over(x->group);
    tutti_status st = wait_driving(x, done, err);
    tutti_driver_hand_back(x->group);
    return st;
}

tutti_status tutti_exchange_wait(tutti_exchange *x, tutti_failure *err)
{
    return tutti_exchange_wait_for(x, NULL, err);
}

tutti_status tutti_exchange_test(tutti_exchange *x, bool *done, tutti_failure *err)
{
    tutti_group *g = x->group;
    tutti_group_lock(g);
    const bool idle = x->active && !tutti_exchange_advance_all(g);
    *done = !x->active;
    tutti_group_unlock(g);
    if (x->active && x->stuck) return fail_stuck(x, err);
    if (is_time_to_look(x) || (idle && tutti_clock_ns() - g->last_watch_ns > TUTTI_WATCH_NS)) tutti_group_watch(g);
    if (!*done && g->failed) *done = is_whole(x);
    return (!*done || x->over_some) && g->failed ? report(x, err) : TUTTI_OK;
}

/* Registers the condition of a waiting thread with the exchanges, so that only this thread is woken when one of them
 * ends. */
static void say_who_sleeps(tutti_exchange *const x[], int n, pthread_cond_t *called)
{
    for (int i = 0; i < n; i++) x[i]->sleeper = called;
}

void tutti_exchange_wake_sleepers(tutti_group *g)
{
    for (const tutti_exchange *x = g->exchanges; x; x = x->next)
        if (x->sleeper) pthread_cond_signal(x->sleeper);
}

static int find_ended(tutti_exchange *const x[], int n)
{
    for (int i = 0; i < n; i++)
        if (!x[i]->active) return i;
    return -1;
}

int tutti_exchange_wait_any(tutti_exchange *const x[], int n, double seconds, const atomic_bool *ends)
{
    static const double LOOK_S = 0.1;
    tutti_group *g = x[0]->group;
    const double until = tutti_clock_s() + seconds;
    pthread_cond_t called;
    int ended;
    tutti_steady_cond_init(&called);
    tutti_group_lock(g);
    say_who_sleeps(x, n, &called);
    while ((ended = find_ended(x, n)) < 0) {
        const double left = until - tutti_clock_s();
        if (left <= 0 || tutti_group_is_over(g) || (ends && atomic_load(ends))) break;
        tutti_driver_sleep(g, &called, left < LOOK_S ? left : LOOK_S);
    }
    say_who_sleeps(x, n, NULL);
    tutti_group_unlock(g);
    pthread_cond_destroy(&called);
    return ended;
}
