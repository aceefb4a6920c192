/* SPDX-License-Identifier: Apache-2.0 */
/* lost.c: workers that die or fail while the others go on: where workers take steps of their own nobody needs any certain one, but rank 0,
 * whose memory the centre is in. Each is told of when rank 0 sees it, and once more in the end.
 *
 * A run that goes by a record needs every worker that the record has. Between hosts each exchange is between rank 0 and one worker, so who is
 * gone is needed by nobody else: rank 0 begins none with it any more, and ends its wait for one that it has begun. */
#include <inttypes.h>

#include "../../../base/arena.h"
#include "../../../base/clock.h"
#include "../../../base/text/strbuf.h"
#include "../train_impl.h"

tutti_status tutti_lost_begin(tutti_trainer *t, tutti_failure *err)
{
    if (!t->visits || t->nranks == 1 || t->config->replay) return TUTTI_OK;
    t->lost_from = tutti_clock_s();
    if (t->rank == 0) t->lost = tutti_alloc(sizeof *t->lost * (size_t)t->nranks);
    const tutti_status st = tutti_group_bear(t->group, err);
    if (!st) tutti_report_bears(t);
    return st;
}

/* What was given wrong, a job or a picture, the others would meet too, one after the other. */
bool tutti_lost_resigns(const tutti_trainer *t, tutti_status st)
{
    return tutti_group_may_resign(t->group) && st != TUTTI_ERR_USAGE && st != TUTTI_ERR_DATA;
}

const atomic_bool *tutti_lost_flag(const tutti_trainer *t, int exchange)
{
    const tutti_plan_exchange *x = &t->plan->exchanges[exchange];
    if (!t->visits || t->rank != 0 || x->nmembers != 2) return NULL;
    const int worker = tutti_plan_member(x, 0) == 0 ? tutti_plan_member(x, 1) : tutti_plan_member(x, 0);
    return tutti_group_gone_flag(t->group, worker);
}

static void put_shares(tutti_strbuf *text, int64_t n)
{
    tutti_strbuf_printf(text, "%" PRId64 " share%s", n, n == 1 ? "" : "s");
}

static tutti_status tell_of(tutti_trainer *t, int rank, tutti_failure *err)
{
    tutti_lost *l = &t->lost[rank];
    double loss;
    const int64_t step = t->step, done = t->first_step + tutti_visits_played(t->visits, &loss) / t->nranks;
    const int nleft = t->nranks - ++t->nlost;
    tutti_strbuf text = {0};
    *l = (tutti_lost){true, done > step ? done : step, tutti_visits_played_by(t->visits, rank),
                      tutti_clock_s() - t->lost_from};
    tutti_strbuf_printf(&text, "%s; after %" PRId64 " of %" PRId64 " steps, of which it had played ",
                        tutti_group_last_words(t->group, rank), l->step, t->config->nsteps);
    put_shares(&text, l->played);
    tutti_strbuf_printf(&text, nleft == 1 ? "; rank 0 goes on alone" : "; %d ranks go on", nleft);
    t->step = l->step;
    const tutti_status st = tutti_report_lost(t, rank, l->played, text.text, err);
    t->step = step;
    tutti_strbuf_release(&text);
    return st;
}

tutti_status tutti_lost_tell(tutti_trainer *t, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (!t->lost || t->nlost == tutti_group_ngone(t->group)) return TUTTI_OK;
    for (int r = 1; r < t->nranks && !st; r++)
        if (!t->lost[r].told && tutti_group_is_gone(t->group, r)) st = tell_of(t, r, err);
    return st;
}

void tutti_lost_sum_up(tutti_trainer *t)
{
    tutti_strbuf text = {0};
    if (!t->nlost) return;
    for (int r = 1; r < t->nranks; r++) {
        const tutti_lost *l = &t->lost[r];
        if (!l->told) continue;
        tutti_strbuf_printf(&text, "%s%s was lost at step %" PRId64 ", %.1f s into the training, with ",
                            text.length ? "; " : "", tutti_group_describe(t->group, r), l->step, l->seconds);
        put_shares(&text, l->played);
        tutti_strbuf_puts(&text, " played");
    }
    tutti_strbuf_puts(&text, "; by nobody: ");
    put_shares(&text, tutti_visits_unplayed(t->visits));
    tutti_report_note(t, text.text);
    tutti_strbuf_release(&text);
}
