/* SPDX-License-Identifier: Apache-2.0 */
/* lost.c: goes on without workers that die or fail, in asynchronous methods; only rank 0, whose memory has the centre,
 * must live. Each loss is reported when rank 0 sees it, and again at the end.
 *
 * A run that follows a record needs every worker of the record. Between hosts each exchange is between rank 0 and one
 * worker, so no other rank needs a worker that is gone: rank 0 begins no exchange with that worker any more, and ends
 * its wait for an exchange with it. */
#include <inttypes.h>

#include "../../../base/arena.h"
#include "../../../base/clock.h"
#include "../../../base/text/strbuf.h"
#include "visit.h"

tutti_status tutti_lost_begin(tutti_async *a, const tutti_telling *t, tutti_failure *err)
{
    const tutti_stepping *s = t->run;
    if (!s->visits || s->nranks == 1 || s->config->replay) return TUTTI_OK;
    a->lost_from = tutti_clock_s();
    if (s->rank == 0) a->lost = tutti_alloc(sizeof *a->lost * (size_t)s->nranks);
    const tutti_status st = tutti_group_bear(s->group, err);
    if (!st) tutti_report_bears(t);
    return st;
}

/* True if the other ranks can go on without a rank that fails with this status. False for a wrong input, such as a job
 * or a picture: every other rank would fail in the same way, one after the other. */
bool tutti_lost_resigns(tutti_group *group, tutti_status st)
{
    return tutti_group_may_resign(group) && st != TUTTI_ERR_USAGE && st != TUTTI_ERR_DATA;
}

static void put_shares(tutti_strbuf *text, int64_t n)
{
    tutti_strbuf_printf(text, "%" PRId64 " share%s", n, n == 1 ? "" : "s");
}

static tutti_status tell_of(tutti_async *a, tutti_stepping *s, const tutti_telling *t, int rank, tutti_failure *err)
{
    tutti_lost *l = &a->lost[rank];
    double loss;
    const int64_t step = s->step, done = s->first_step + tutti_visits_played(s->visits, &loss) / s->nranks;
    const int nleft = s->nranks - ++a->nlost;
    tutti_strbuf text = {0};
    *l = (tutti_lost){true, done > step ? done : step, tutti_visits_played_by(s->visits, rank),
                      tutti_clock_s() - a->lost_from};
    tutti_strbuf_printf(&text, "%s; after %" PRId64 " of %" PRId64 " steps, of which it had played ",
                        tutti_group_last_words(s->group, rank), l->step, s->config->nsteps);
    put_shares(&text, l->played);
    tutti_strbuf_printf(&text, nleft == 1 ? "; rank 0 goes on alone" : "; %d ranks go on", nleft);
    s->step = l->step;
    const tutti_status st = tutti_report_lost(t, rank, l->played, text.text, err);
    s->step = step;
    tutti_strbuf_release(&text);
    return st;
}

tutti_status tutti_lost_tell(tutti_async *a, tutti_stepping *s, const tutti_telling *t, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    if (!a->lost || a->nlost == tutti_group_ngone(s->group)) return TUTTI_OK;
    for (int r = 1; r < s->nranks && !st; r++)
        if (!a->lost[r].told && tutti_group_is_gone(s->group, r)) st = tell_of(a, s, t, r, err);
    return st;
}

void tutti_lost_sum_up(const tutti_async *a, const tutti_telling *t)
{
    const tutti_stepping *s = t->run;
    tutti_strbuf text = {0};
    if (!a->nlost) return;
    for (int r = 1; r < s->nranks; r++) {
        const tutti_lost *l = &a->lost[r];
        if (!l->told) continue;
        tutti_strbuf_printf(&text, "%s%s was lost at step %" PRId64 ", %.1f s into the training, with ",
                            text.length ? "; " : "", tutti_group_describe(s->group, r), l->step, l->seconds);
        put_shares(&text, l->played);
        tutti_strbuf_puts(&text, " played");
    }
    tutti_strbuf_puts(&text, "; by nobody: ");
    put_shares(&text, tutti_visits_unplayed(s->visits));
    tutti_report_note(t, text.text);
    tutti_strbuf_release(&text);
}
