/* SPDX-License-Identifier: Apache-2.0 */
/* handicap.c: delays a rank on purpose (`--slow`, `--stall`). The rank sleeps in short stretches. Between two sleeps it
 * continues its exchanges and notices a request to end. While it sleeps, other ranks may use its core. */
#include "../../../base/clock.h"
#include "step_impl.h"

static const double STRETCH_S = 0.02;

static void stand_still(tutti_stepping *s, double seconds)
{
    const double until = tutti_clock_s() + seconds;
    for (double left = seconds; left > 0 && !s->my_signal; left = until - tutti_clock_s()) {
        tutti_clock_sleep_s(left < STRETCH_S ? left : STRETCH_S);
        tutti_exchange_progress(s->group);
        tutti_step_ask(s);
    }
}

void tutti_step_hold_up(tutti_stepping *s, int64_t step, int64_t computed_ns)
{
    const tutti_handicap *h = &s->config->handicap;
    const bool stalls = h->stall_s > 0 && !s->has_stalled && step + 1 >= h->stall_step;
    if (h->slowness <= 1 && !stalls) return;
    tutti_did(&s->account, TUTTI_DID_OTHER, 0);
    if (h->slowness > 1)
        stand_still(s, (h->slowness - 1) * 1e-9 * (double)(s->account.cost.ns[TUTTI_COST_COMPUTE] - computed_ns));
    if (stalls) stand_still(s, h->stall_s);
    s->has_stalled |= stalls;
    tutti_did(&s->account, TUTTI_DID_HELD_UP, 0);
}
