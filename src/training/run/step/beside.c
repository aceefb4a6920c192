/* SPDX-License-Identifier: Apache-2.0 */
/* beside.c: updates buckets as soon as their exchange has ended: plays the parts of the plan's loop TUTTI_EACH_END. The
 * thread that moves an exchange's bytes plays the part that follows it: the wire's thread, or the rank's own thread
 * while it waits.
 *
 * A part waits for one exchange, then until another exchange has been told that it is free; it changes weights; then it
 * tells that other exchange that it is ready. The executor knows this shape (tutti_exchange_follow), so that no thread
 * need be woken to begin. The rule uses the constants of the step in which the exchange was started. They are stored
 * before the exchange is started, and are not overwritten before its next start. That start comes after the wait for
 * the exchange that the part tells, which is proved with the plan. */
#include <stdlib.h>

#include "../../../base/clock.h"
#include "step_impl.h"

typedef struct {
    tutti_stepping *s;
    const tutti_action *actions; /* actions of the part between its waits and its last action, which tells an
                                  * exchange */
    int nactions;
    int awaited, told; /* the exchange that the part waits for; the exchange that the part tells conditions */
    tutti_update_step update;
    bool beside; /* beside: the wire's thread was the last to play the part; the times at which that began and ended */
    int64_t began_ns, ended_ns;
} part;

struct tutti_beside {
    part *parts;
    int nparts;
};

/* Plays the actions of a part; the executor calls it once for each invocation of part.told. beside: it runs on the
 * wire's thread. */
static void play(void *arg, bool beside)
{
    part *p = arg;
    if (!beside) tutti_did(&p->s->account, TUTTI_DID_EXCHANGE, 0);
    p->beside = beside;
    p->began_ns = tutti_clock_ns();
    const tutti_device *device = p->s->device;
    for (int i = 0; i < p->nactions; i++) device->wait(device, tutti_step_update(p->s, &p->update, 1, &p->actions[i]));
    p->ended_ns = tutti_clock_ns();
    if (!beside) tutti_did(&p->s->account, TUTTI_DID_UPDATE, p->actions[0].bucket);
}

/* Reads the part that begins with action `at`; false if it does not have the shape described at the top of this
 * file. */
static bool read_part(const tutti_loop *l, int *at, part *out)
{
    const tutti_action *a = &l->actions[*at], *end = l->actions + l->nactions;
    if (end - a < 4 || !tutti_action_awaits(&a[0]) || a[0].when) return false;
    if (!tutti_action_awaits(&a[1]) || a[1].when != TUTTI_WHEN_FREE) return false;
    out->awaited = a[0].exchange;
    out->told = a[1].exchange;
    out->actions = a + 2;
    for (a += 2; a < end && tutti_action_updates(a) && a->verdict < 0; a++) out->nactions++;
    *at = (int)(a + 1 - l->actions);
    return a < end && out->nactions && tutti_action_tells(a) && a->exchange == out->told && a->when == TUTTI_WHEN_READY;
}

tutti_status tutti_beside_create(tutti_stepping *s, tutti_failure *err)
{
    const tutti_loop *l = &s->plan->loops[TUTTI_EACH_END];
    if (!l->nactions) return TUTTI_OK;
    tutti_beside *b = s->beside = tutti_alloc(sizeof *b);
    b->parts = tutti_alloc(sizeof *b->parts * (size_t)l->nactions);
    for (int at = 0; at < l->nactions; b->nparts++) {
        part *p = &b->parts[b->nparts];
        const int first = at;
        p->s = s;
        if (!read_part(l, &at, p))
            return tutti_fail(
                err, TUTTI_ERR_FAILED,
                "action %d of the plan's loop '%s' begins a part that cannot be played: it must wait for an "
                "exchange, then until another is free, update without a verdict, and tell that it is ready",
                first, tutti_loop_driver_name(l->driver));
        tutti_exchange_follow(s->shared.exchange[p->told], s->shared.exchange[p->awaited], play, p);
    }
    return TUTTI_OK;
}

void tutti_beside_destroy(tutti_stepping *s)
{
    if (s->beside) free(s->beside->parts);
    free(s->beside);
    s->beside = NULL;
}

void tutti_beside_starts(tutti_stepping *s, int exchange, const tutti_update_step *update)
{
    for (int i = 0; s->beside && i < s->beside->nparts; i++)
        if (s->beside->parts[i].awaited == exchange) s->beside->parts[i].update = *update;
}

void tutti_beside_ended(tutti_stepping *s, int exchange)
{
    for (int i = 0; s->beside && i < s->beside->nparts; i++) {
        const part *p = &s->beside->parts[i];
        if (p->told != exchange) continue;
        s->shared.in_flight[p->awaited] = false;
        tutti_travelled(&s->account, p->awaited, s->shared.exchange[p->awaited]);
        if (p->beside) tutti_updated(&s->account, p->actions[0].bucket, p->began_ns, p->ended_ns);
    }
}
