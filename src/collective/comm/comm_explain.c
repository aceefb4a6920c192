/* SPDX-License-Identifier: Apache-2.0 */
/* comm_explain.c: how a call would run and why, in words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/strbuf.h"
#include "comm_impl.h"

static const char *const paths[] = {
    [TUTTI_PATH_MAPPED] = "memory that all ranks map: nothing is copied to be sent",
    [TUTTI_PATH_DIRECT] = "plain memory, read and written where it lies, shown to the peers through scratch",
    [TUTTI_PATH_STAGED] = "plain memory, copied in and out of memory that all ranks map",
};

static void list_candidates(const tutti_comm *comm, const tutti_lane_key *key, tutti_strbuf *out)
{
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    tutti_failure err = {0};
    if (tutti_lane_candidates(comm, key, choice, &err)) {
        tutti_strbuf_printf(out, "algorithm: cannot be chosen: %s\n", err.text);
        free(choice);
        return;
    }
    const char *whose = tutti_group_nhosts(comm->group) > 1 ? "a star, assumed" : "this host";
    tutti_strbuf_printf(out, "algorithm: the soonest by the figures of %s (rank 0's decide), for %lld elements\n",
                        whose, (long long)key->n);
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *c = &choice->candidates[i];
        if (c->can)
            tutti_strbuf_printf(out, "  %c %-40s %10.2f us\n", i == choice->best ? '*' : ' ', c->algorithm,
                                1e6 * c->sim.seconds);
    }
    tutti_strbuf_printf(out, "  bound: %.2f us (%s)\n", 1e6 * choice->bounds.best_s, choice->bounds.best);
    free(choice);
}

char *tutti_comm_explain(tutti_comm *comm, const tutti_call *call)
{
    tutti_strbuf out = {0};
    tutti_failure err = {0};
    tutti_call_plan plan;
    tutti_notice notice;
    char words[260];
    if (tutti_plan_call(comm, call, &plan, &err)) {
        tutti_strbuf_printf(&out, "refused: %s\n", err.text);
        return tutti_strbuf_detach(&out);
    }
    tutti_notice_of(call, &plan, &notice);
    tutti_notice_text(&notice, words, sizeof words);
    tutti_strbuf_printf(&out, "%s, on %d ranks\n", words, comm->nranks);
    tutti_strbuf_printf(&out, "wire: %s\n", tutti_group_wires(comm->group));
    tutti_strbuf_printf(&out, "memory: %s\n", paths[plan.path]);
    if (plan.path != TUTTI_PATH_MAPPED)
        tutti_strbuf_printf(&out, "pieces: %lld of up to %lld elements of each block\n",
                            (long long)((plan.longest + plan.piece - 1) / plan.piece), (long long)plan.piece);
    if (!tutti_is_auto(call)) {
        tutti_strbuf_printf(&out, "algorithm: %s, as the call says\n", call->algorithm);
    } else if (plan.path == TUTTI_PATH_DIRECT) {
        tutti_strbuf_puts(&out,
                          "algorithm: one-shot, because with few ranks or few bytes it moves less than copying in and "
                          "out does\n");
    } else {
        list_candidates(comm, &notice.key, &out);
    }
    return tutti_strbuf_detach(&out);
}
