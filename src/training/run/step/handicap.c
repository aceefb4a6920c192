/* SPDX-License-Identifier: Apache-2.0 */
/* handicap.c: holds a rank up on purpose. The rank sleeps, in short stretches: its core is others' meanwhile, what travels goes on, and who is
 * asked to end does. */
#include "../../../base/clock.h"
#include "../train_impl.h"

static const double STRETCH_S = 0.02;

static void stand_still(tutti_trainer *t, double seconds)
{
    const double until = tutti_clock_s() + seconds;
    for (double left = seconds; left > 0 && !t->my_signal; left = until - tutti_clock_s()) {
        tutti_clock_sleep_s(left < STRETCH_S ? left : STRETCH_S);
        tutti_exchange_progress(t->group);
        if (t->config->stop_asked) t->my_signal = t->config->stop_asked(t->config->stop_arg);
    }
}

void tutti_step_hold_up(tutti_trainer *t, int64_t step, int64_t computed_ns)
{
    const tutti_handicap *h = &t->config->handicap;
    const bool stalls = h->stall_s > 0 && !t->has_stalled && step + 1 >= h->stall_step;
    if (h->slowness <= 1 && !stalls) return;
    tutti_did(&t->account, TUTTI_DID_OTHER, 0);
    if (h->slowness > 1)
        stand_still(t, (h->slowness - 1) * 1e-9 * (double)(t->account.cost.ns[TUTTI_COST_COMPUTE] - computed_ns));
    if (stalls) stand_still(t, h->stall_s);
    t->has_stalled |= stalls;
    tutti_did(&t->account, TUTTI_DID_HELD_UP, 0);
}
