/* SPDX-License-Identifier: Apache-2.0 */
/* check_replay.c: plays all sequences of all ranks until each has done its invocations or none can go on.
 *
 * A thread runs until it is blocked: on a step of its own rank, on the other end of a channel, or on a signal. A send
 * waits for its receive (capacity 0): a schedule without deadlock at capacity 0 has none with buffers either. But after
 * the send the sender counts as knowing nothing of the receiver, as if the send were buffered. So the proof holds for
 * any capacity. */
#include "check_impl.h"

void tutti_check_wake(tutti_checker *c, int32_t thread)
{
    tutti_thread *t = &c->threads[thread];
    if (t->queued) return;
    t->queued = true;
    c->queue[(c->queue_head + c->queue_count++) % c->nthreads] = thread;
}

static int32_t *args_of(const tutti_checker *c, int32_t rank, const tutti_check_step *s)
{
    static const int32_t none[3] = {0, 0, 0};
    return s->args < 0 ? (int32_t *)none : c->ranks[rank].args + s->args;
}

/* Waits for the steps of this rank that `s` depends on; false = blocked. */
static bool deps_met(tutti_checker *c, tutti_thread *t, const tutti_check_step *s)
{
    tutti_check_rank *rank = &c->ranks[t->rank];
    const int32_t *args = args_of(c, t->rank, s);
    for (; t->ndeps_met < args[0]; t->ndeps_met++) {
        tutti_step_node *node = &rank->nodes[args[3 + t->ndeps_met]];
        if (!node->done) {
            t->next_waiter = node->waiter;
            node->waiter = t->clock.thread;
            return false;
        }
        tutti_clock_hear(&c->clocks, &t->clock, &node->news);
        if (--node->nleft == 0) tutti_clock_drop(&c->clocks, &node->news);
    }
    int32_t known = rank->invocation + 1;
    if (s->when & TUTTI_WHEN_READY) tutti_clock_mark(&c->clocks, &t->clock, 2 * t->rank, known);
    if (s->when & TUTTI_WHEN_FREE) tutti_clock_mark(&c->clocks, &t->clock, 2 * t->rank + 1, known);
    return true;
}

void tutti_check_complete(tutti_checker *c, int32_t thread)
{
    tutti_thread *t = &c->threads[thread];
    tutti_check_rank *rank = &c->ranks[t->rank];
    const tutti_check_step *s = &rank->steps[t->first + t->at];
    t->at++;
    t->ndeps_met = 0;
    if (s->node < 0) return;
    tutti_step_node *node = &rank->nodes[s->node];
    node->done = true;
    node->nleft = node->ndependents;
    node->news = tutti_clock_tell(&t->clock);
    for (int32_t w = node->waiter; w >= 0;) {
        int32_t next = c->threads[w].next_waiter;
        c->threads[w].next_waiter = -1;
        tutti_check_wake(c, w);
        w = next;
    }
    node->waiter = -1;
}

/* Ends an invocation when all sequences of the rank are complete: they share their knowledge, outputs are judged, and
 * the rank's caller uses the outputs. */
static void end_invocation(tutti_checker *c, int32_t r)
{
    tutti_check_rank *rank = &c->ranks[r];
    tutti_thread *threads = &c->threads[rank->first_thread];
    for (int32_t q = 1; q < rank->nthreads; q++) {
        tutti_news news = tutti_clock_tell(&threads[q].clock);
        tutti_clock_hear(&c->clocks, &threads[0].clock, &news);
        tutti_clock_drop(&c->clocks, &news);
    }
    for (int32_t q = 1; q < rank->nthreads; q++) {
        tutti_news news = tutti_clock_tell(&threads[0].clock);
        tutti_clock_hear(&c->clocks, &threads[q].clock, &news);
        tutti_clock_drop(&c->clocks, &news);
    }
    if (!tutti_result_rank(c, r, rank->invocation)) return;
    if (rank->invocation == 0 && threads[0].clock.depth > c->report.syncs) c->report.syncs = threads[0].clock.depth;
    for (int32_t i = 0; i < rank->nnodes; i++) rank->nodes[i].done = false;
    rank->invocation++;
    if (!tutti_access_owner(c, r, rank->invocation) || rank->invocation == c->ninvocations) return;
    rank->nrunning = rank->nthreads;
    for (int32_t q = 0; q < rank->nthreads; q++) {
        threads[q].at = 0;
        tutti_check_wake(c, rank->first_thread + q);
    }
}

static void run_thread(tutti_checker *c, int32_t thread)
{
    tutti_thread *t = &c->threads[thread];
    tutti_check_rank *rank = &c->ranks[t->rank];
    while (t->at < t->nsteps) {
        const tutti_check_step *s = &rank->steps[t->first + t->at];
        if (!deps_met(c, t, s) || !tutti_check_play(c, thread, s)) return;
        tutti_check_complete(c, thread);
    }
    if (--rank->nrunning == 0) end_invocation(c, t->rank);
}

tutti_status tutti_check_replay(tutti_checker *c)
{
    for (int32_t r = 0; r < c->head->nranks && !c->finished; r++) {
        tutti_check_rank *rank = &c->ranks[r];
        if (!tutti_access_owner(c, r, 0)) break;
        rank->nrunning = rank->nthreads;
        for (int32_t q = 0; q < rank->nthreads; q++) tutti_check_wake(c, rank->first_thread + q);
    }
    while (c->queue_count && !c->finished) {
        int32_t thread = c->queue[c->queue_head];
        c->queue_head = (c->queue_head + 1) % c->nthreads;
        c->queue_count--;
        c->threads[thread].queued = false;
        (void)tutti_headway_tell(c->source->headway, 0, 0);
        run_thread(c, thread);
    }
    if (c->finished) return TUTTI_ERR_FAILED;
    if (c->values.full)
        return tutti_fail(c->err, TUTTI_ERR_FAILED, "too large to check: more than 2^31 different sums");
    for (int32_t r = 0; r < c->head->nranks; r++)
        if (c->ranks[r].invocation < c->ninvocations) return tutti_explain_deadlock(c);
    return tutti_result_end(c);
}
