/* SPDX-License-Identifier: Apache-2.0 */
/* comm_explain.c: says in words how a call would run and why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../base/text/strbuf.h"
#include "comm_impl.h"

static void list_candidates(tutti_comm *comm, const tutti_call_key *key, tutti_strbuf *out)
{
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    tutti_failure err = {0};
    if (tutti_call_queue_candidates(comm, key, choice, &err)) {
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
            tutti_strbuf_printf(out, "  %c %-40s %10s\n", i == choice->best ? '*' : ' ', c->algorithm,
                                tutti_time_words(c->sim.seconds).text);
    }
    tutti_strbuf_printf(out, "  bound: %s (%s)\n", tutti_time_words(choice->bounds.best_s).text, choice->bounds.best);
    free(choice);
}

/* Lists the ways of a call; on rank 0 with the times of those ways that calls have gone. */
static void list_ways(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan, tutti_strbuf *out)
{
    tutti_call_plan part = *plan;
    part.total = tutti_part_of(call, plan);
    const int64_t bytes = part.total * (int64_t)plan->bytes, nparts = (plan->total + part.total - 1) / part.total;
    const tutti_class *c = tutti_class_find(comm, &part, call);
    const tutti_way best = c ? tutti_class_best(c, plan->first) : plan->first;
    tutti_strbuf_puts(
        out, "ways: calls try them in turn and go the soonest, by rank 0's times; a request goes the one that is known "
             "when it is prepared\n");
    if (nparts > 1)
        tutti_strbuf_printf(out, "parts: %lld of up to %lld elements, each on its own way\n", (long long)nparts,
                            (long long)part.total);
    for (int w = 0; w < TUTTI_NWAYS; w++) {
        if (!(plan->ways >> w & 1)) continue;
        tutti_strbuf_printf(out, "  %c %-9s %-66s", w == (int)best ? '*' : ' ', tutti_way_at((tutti_way)w)->algorithm,
                            tutti_way_at((tutti_way)w)->words);
        if (c && c->record[w].cost > 0)
            tutti_strbuf_printf(out, " %10s (%lld calls)\n", tutti_time_words(c->record[w].cost * (double)bytes).text,
                                (long long)c->record[w].tries);
        else
            tutti_strbuf_puts(out, comm->rank == 0 ? "  no time yet\n" : "  rank 0 knows\n");
    }
}

static void explain_way(tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan, tutti_strbuf *out)
{
    const tutti_way_row *row = tutti_way_at(plan->first);
    const tutti_call_key key = tutti_key_of(comm, call, plan, plan->first);
    tutti_strbuf_printf(out, "memory: %s%s\n", row->path == TUTTI_PATH_MAPPED ? "" : "plain memory, ", row->words);
    if (row->piece) {
        const int64_t piece = row->path == TUTTI_PATH_STAGED ? key.n / plan->nblocks : key.n;
        tutti_strbuf_printf(out, "pieces: %lld of up to %lld elements of each block\n",
                            (long long)((plan->longest + piece - 1) / piece), (long long)piece);
    }
    if (!tutti_is_auto(call))
        tutti_strbuf_printf(out, "algorithm: %s, as the call says\n", call->algorithm);
    else if (row->algorithm)
        tutti_strbuf_printf(out, "algorithm: %s, because of the way and the length\n", row->algorithm);
    else
        list_candidates(comm, &key, out);
}

char *tutti_comm_explain(tutti_comm *comm, const tutti_call *call)
{
    tutti_strbuf out = {0};
    tutti_failure err = {0};
    tutti_call_plan plan;
    tutti_notice notice;
    const char *closed = "";
    char words[260];
    if (!comm || !call) {
        tutti_strbuf_printf(&out, "refused: there is no %s\n", comm ? "call" : "communicator");
        return tutti_strbuf_detach(&out);
    }
    if (tutti_plan_call(comm, call, &plan, &err)) {
        tutti_strbuf_printf(&out, "refused: %s\n", err.text);
        return tutti_strbuf_detach(&out);
    }
    tutti_notice_of(comm, call, &plan, &notice);
    tutti_notice_text(&notice, words, sizeof words);
    tutti_strbuf_printf(&out, "%s, on %d ranks\n", words, comm->nranks);
    tutti_strbuf_printf(&out, "wire: %s\n", tutti_group_wires(comm->group));
    const bool plain = plan.first != TUTTI_WAY_MAPPED;
    if (plan.ways & (plan.ways - 1))
        list_ways(comm, call, &plan, &out);
    else
        explain_way(comm, call, &plan, &out);
    if (plain && !comm->board)
        tutti_strbuf_puts(&out, "memory of peers: whether the system lets it be read is found out by the first call\n");
    else if (plain && tutti_group_peer_memory(comm->group, &closed) == TUTTI_PEERS_CLOSED)
        tutti_strbuf_printf(&out, "memory of peers is not read in place: %s\n", closed);
    return tutti_strbuf_detach(&out);
}
