/* SPDX-License-Identifier: Apache-2.0 */
/* executor_wait.c: waiting for an exchange: spin, yield, sleep; deadlines, deaths, and their words.
 *
 * Spinning wastes only a core that nobody else wants, so it is done only where every rank has one. Yielding lets a rank that
 * shares our core run; sleeping costs a system call on both sides and comes last. */
#include <sched.h>
#include <stdio.h>

#include "../../base/clock.h"
#include "../../base/strbuf.h"
#include "executor_impl.h"

enum { SPIN_NS = 2000, YIELD_NS = 50000, LOOKS_PER_CLOCK = 32, WATCH_NS = 10000000 };

/* Tells the core that we only wait, which leaves more of it to the other hardware thread. */
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

/* --- words --- */

/* A far rank says after a while whether it waits too; who does not is absent. */
static bool is_absent(const tutti_exchange *x, int rank)
{
    if (!tutti_group_is_near(x->group, rank)) return !tutti_group_is_waiting(x->group, rank);
    const tutti_counter *started = tutti_region_base(x->region, rank);
    return atomic_load(started) <= (uint64_t)x->invocation;
}

static void list_absent(const tutti_exchange *x, tutti_strbuf *out)
{
    const tutti_group *g = x->group;
    size_t before = out->length;
    for (int r = 0; r < g->nranks; r++) {
        if (r == g->rank || !is_absent(x, r)) continue;
        tutti_strbuf_printf(out, "%s%s", out->length > before ? ", " : "", g->peers[r].describe);
    }
    if (out->length == before) tutti_strbuf_puts(out, "nobody: all have started it");
}

/* The step that holds each sequence up, the first one in full. */
static void describe_steps(const tutti_exchange *x, tutti_strbuf *out)
{
    const tutti_group *g = x->group;
    int64_t missing = 0;
    for (int32_t i = 0; i < x->nops; i++)
        if (x->ops[i].done <= x->invocation)
            missing += (x->ops[i].n - x->ops[i].cursor) * x->ops[i].nouts * (int64_t)x->vector.bytes;
    tutti_strbuf_printf(out, "%s: exchange '%s' (%s, invocation %lld): ", g->peers[g->rank].describe, x->name,
                        x->algorithm, (long long)x->invocation);
    for (int32_t q = 0; q < x->nsequences; q++) {
        if (x->sequences[q].at == x->sequences[q].nops) continue;
        int32_t i = x->sequences[q].ops[x->sequences[q].at];
        const tutti_op *op = &x->ops[i];
        tutti_strbuf_printf(out, "step %d (%s)", i, tutti_step_kind_name(op->kind));
        if (op->kind == TUTTI_STEP_WAIT)
            tutti_strbuf_printf(out, " for %s on channel %d", g->peers[op->peer].describe, op->channel);
        if (op->when & ~x->when)
            tutti_strbuf_printf(out, " held back by this rank's own '%s'",
                                op->when & ~x->when & TUTTI_WHEN_READY ? "ready" : "free");
        break;
    }
    tutti_strbuf_printf(out, ", %lld bytes still to write here", (long long)missing);
}

static tutti_status fail_with(tutti_exchange *x, tutti_strbuf *text, int culprit, tutti_failure *err)
{
    tutti_group_set_failed(x->group, culprit, TUTTI_ERR_PEER, text->text);
    tutti_strbuf_release(text);
    return tutti_group_report(x->group, err);
}

static tutti_status fail_late(tutti_exchange *x, tutti_failure *err)
{
    tutti_strbuf text = {0};
    describe_steps(x, &text);
    tutti_strbuf_printf(&text, ": the deadline of %g s has passed; not arrived: ", x->group->deadline_s);
    list_absent(x, &text);
    return fail_with(x, &text, -1, err);
}

/* The group's failure, with where it met us in front. */
static tutti_status report(const tutti_exchange *x, tutti_failure *err)
{
    tutti_group_report(x->group, err);
    tutti_strbuf text = {0};
    describe_steps(x, &text);
    tutti_fail_at(err, "%.400s", text.text);
    tutti_strbuf_release(&text);
    return x->group->failed;
}

/* --- waiting --- */

typedef struct {
    tutti_exchange *x;
    int64_t idle_since; /* nothing has moved since; 0 = something just did */
    int looks;
    tutti_patience patience;
} waiting;

static bool recheck(void *arg)
{
    const tutti_exchange *x = arg;
    return tutti_exchange_advance_all(x->group) || !x->active;
}

/* A peer that has left and has not given the signal that we wait for never will. Its signals came before its goodbye, so one
 * more look after the goodbye decides. */
static bool is_left_behind(tutti_exchange *x)
{
    const tutti_group *g = x->group;
    for (int32_t q = 0; q < x->nsequences; q++) {
        if (x->sequences[q].at == x->sequences[q].nops) continue;
        const tutti_op *op = &x->ops[x->sequences[q].ops[x->sequences[q].at]];
        if (op->kind != TUTTI_STEP_WAIT || g->peers[op->peer].state == TUTTI_PEER_HERE) continue;
        if (x->left_behind) return true;
        x->left_behind = true;
    }
    return false;
}

static tutti_status sleep_a_while(waiting *w, tutti_failure *err)
{
    tutti_exchange *x = w->x;
    tutti_group *g = x->group;
    tutti_strbuf words = {0};
    tutti_strbuf_printf(&words, "%s waits in exchange '%s'; not arrived: ", g->peers[g->rank].describe, x->name);
    list_absent(x, &words);
    double left = tutti_patience_left(g, &w->patience, words.text);
    tutti_strbuf_release(&words);
    if (left <= 0) return fail_late(x, err);
    tutti_group_sleep(g, NULL, 0, left < 1 ? left : 1, recheck, x);
    if (g->failed) return report(x, err);
    if (x->active && !tutti_exchange_advance_all(g) && is_left_behind(x)) {
        tutti_strbuf text = {0};
        describe_steps(x, &text);
        tutti_strbuf_puts(&text, ": that rank has left the group");
        return fail_with(x, &text, -1, err);
    }
    return TUTTI_OK;
}

static tutti_status idle(waiting *w, tutti_failure *err)
{
    if (w->x->group->spin && ++w->looks % LOOKS_PER_CLOCK) {
        relax();
        return TUTTI_OK;
    }
    int64_t now = tutti_clock_ns();
    if (w->idle_since == 0) w->idle_since = now;
    int64_t idle_ns = now - w->idle_since;
    if (w->x->group->spin && idle_ns < SPIN_NS) return TUTTI_OK;
    if (idle_ns < YIELD_NS) {
        sched_yield();
        return TUTTI_OK;
    }
    return sleep_a_while(w, err);
}

tutti_status tutti_exchange_wait(tutti_exchange *x, tutti_failure *err)
{
    tutti_group *g = x->group;
    if (!x->active) return TUTTI_OK;
    waiting w = {.x = x};
    int64_t begin = 0;
    double work_before = x->stats.work_s;
    while (x->active) {
        if (tutti_exchange_advance_all(g)) {
            w.idle_since = 0;
            continue;
        }
        if (begin == 0) {
            if (g->failed) return report(x, err);
            begin = tutti_clock_ns();
            tutti_patience_begin(&w.patience);
        }
        tutti_status s = idle(&w, err);
        if (s) return s;
    }
    if (begin) {
        double waited = 1e-9 * (double)(tutti_clock_ns() - begin) - (x->stats.work_s - work_before);
        if (waited > 0) x->stats.wait_s += waited;
    }
    return TUTTI_OK;
}

tutti_status tutti_exchange_test(tutti_exchange *x, bool *done, tutti_failure *err)
{
    tutti_group *g = x->group;
    if (x->active && !tutti_exchange_advance_all(g) && tutti_clock_ns() - g->last_watch_ns > WATCH_NS)
        tutti_group_watch(g);
    if (x->active && g->failed) return report(x, err);
    *done = !x->active;
    return TUTTI_OK;
}
