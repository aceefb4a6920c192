/* SPDX-License-Identifier: Apache-2.0 */
/* prove.c: proves a schedule on rank 0 for all ranks; each of the others compares the hash of its own part. A proof
 * takes all parts together, and its time grows at least with the square of the ranks. Every rank compares its part with
 * the proved one. So the proof holds for what the ranks run, as long as parts are made by the same function on the same
 * request.
 *
 * Rejected: a cache on disk of proofs by hash, which would have to be trusted. The proof of a whole plan, which may
 * take seconds, is kept by the run that it belongs to (training/run/proof.c). */
#include "executor.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../base/hash.h"
#include "../check/check_source.h"
#include "executor_impl.h"

typedef struct {
    uint64_t hash;
    uint32_t status;
    char words[600];
} verdict;

static void judge(tutti_group *g, const tutti_schedule *s, int32_t nmembers, verdict *v, uint64_t *parts)
{
    const tutti_headway headway = tutti_group_headway(g);
    tutti_part_source source = tutti_part_source_of(s);
    tutti_failure why = {0};
    tutti_check_report report;
    source.headway = &headway;
    v->status = tutti_check_source(&source, &report, &why);
    snprintf(v->words, sizeof v->words, "%.590s", why.text);
    v->hash = tutti_schedule_hash(s);
    for (int32_t m = 0; m < nmembers && parts; m++) parts[m] = tutti_schedule_part_hash(s, m);
}

static tutti_status compare(tutti_group *g, const tutti_schedule *s, int32_t me, uint64_t proved, tutti_failure *err)
{
    const uint64_t own = tutti_schedule_part_hash(s, me);
    char words[TUTTI_WORDS], one[17], other[17];
    if (own == proved) return TUTTI_OK;
    tutti_hash_text(proved, one), tutti_hash_text(own, other);
    snprintf(words, sizeof words,
             "the ranks run different schedules: of %s %s, rank %d's part has hash %s where it was proved, %s, and %s "
             "for itself, %s",
             tutti_schedule_head(s)->algorithm, tutti_collective_name(tutti_schedule_head(s)->collective), g->rank, one,
             g->peers[0].describe, other, g->peers[g->rank].describe);
    tutti_group_fail(g, TUTTI_ERR_RENDEZVOUS, words);
    return tutti_group_report(g, err);
}

/* Rank 0 proves the schedule, and every rank compares its part. me: number of this rank in the schedule; -1: the rank
 * takes no part. */
static tutti_status prove(tutti_group *g, const tutti_schedule *schedule, int32_t me, uint64_t *hash,
                          tutti_failure *err)
{
    const int32_t n = tutti_schedule_head(schedule)->nranks;
    verdict v = {0};
    uint64_t *parts = tutti_alloc(sizeof *parts * (size_t)n);
    if (g->rank == 0) {
        tutti_group_long_phase_begin(g, "proves a schedule", "");
        judge(g, schedule, n, &v, g->nranks > 1 ? parts : NULL);
        tutti_group_long_phase_end(g);
    }
    tutti_status st = tutti_group_broadcast(g, "proof of a schedule", 0, &v, sizeof v, err);
    if (!st && v.status) st = tutti_fail(err, (tutti_status)v.status, "%s", v.words);
    if (!st) st = tutti_group_broadcast(g, "proved parts", 0, parts, sizeof *parts * (size_t)n, err);
    if (!st && g->nranks > 1 && me >= 0) st = compare(g, schedule, me, parts[me], err);
    free(parts);
    *hash = v.hash;
    return st;
}

tutti_status tutti_group_prove(tutti_group *g, const tutti_schedule *schedule, uint64_t *hash, tutti_failure *err)
{
    const int32_t n = tutti_schedule_head(schedule)->nranks;
    if (n == g->nranks) return prove(g, schedule, g->rank, hash, err);
    return tutti_fail(err, TUTTI_ERR_USAGE, "proof of a schedule for %d ranks in a group of %d", n, g->nranks);
}

tutti_status tutti_group_prove_among(tutti_group *g, const tutti_schedule *schedule, const int32_t *members,
                                     int32_t nmembers, uint64_t *hash, tutti_failure *err)
{
    tutti_failure why = {0};
    int32_t me;
    tutti_status st = tutti_members_find(g, "proof of a schedule", tutti_schedule_head(schedule)->nranks,
                                         (tutti_ranks_listed){members, nmembers}, &me, &why);
    st = tutti_group_all_ready(g, "members of a proof", st, &why);
    if (st && !why.text[0]) tutti_fail(&why, st, "proof of a schedule: another rank's list is not a list of members");
    return st ? tutti_fail(err, st, "%s", why.text) : prove(g, schedule, me, hash, err);
}

static tutti_status prove_together(void *group, const tutti_schedule *lowered, tutti_proved_among among, uint64_t *hash,
                                   tutti_failure *err)
{
    return among.members ? tutti_group_prove_among(group, lowered, among.members, among.nmembers, hash, err)
                         : tutti_group_prove(group, lowered, hash, err);
}

tutti_prover tutti_group_prover(tutti_group *group)
{
    return (tutti_prover){prove_together, group};
}
