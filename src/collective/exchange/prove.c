/* SPDX-License-Identifier: Apache-2.0 */
/* prove.c: one proof for all. A proof is of all parts together and grows with the square of the ranks and more; a part that every rank
 * compares with the proved one makes it hold for what they run, as long as parts are made by the same function on the same request.
 *
 * Rejected: a cache of proofs by hash on disk, which would have to be trusted. */
#include "prove.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../base/arena.h"
#include "../../base/hash.h"
#include "../group/group_impl.h"
#include "tutti/check.h"

typedef struct {
    uint64_t hash;
    uint32_t status;
    char words[600];
} verdict;

static void judge(const tutti_schedule *s, int nranks, verdict *v, uint64_t *parts)
{
    tutti_failure why = {0};
    tutti_check_report report;
    v->status = tutti_schedule_check(s, &report, &why);
    snprintf(v->words, sizeof v->words, "%.590s", why.text);
    v->hash = tutti_schedule_hash(s);
    for (int r = 0; r < nranks && parts; r++) parts[r] = tutti_schedule_part_hash(s, r);
}

static tutti_status compare(tutti_group *g, const tutti_schedule *s, uint64_t proved, tutti_failure *err)
{
    const uint64_t own = tutti_schedule_part_hash(s, g->rank);
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

tutti_status tutti_group_prove(tutti_group *g, const tutti_schedule *schedule, uint64_t *hash, tutti_failure *err)
{
    verdict v = {0};
    uint64_t *parts = tutti_alloc(sizeof *parts * (size_t)g->nranks);
    if (g->rank == 0) {
        tutti_group_long_phase_begin(g, "proof of a schedule");
        judge(schedule, g->nranks, &v, g->nranks > 1 ? parts : NULL);
        tutti_group_long_phase_end(g);
    }
    tutti_status s = tutti_group_broadcast(g, "proof of a schedule", 0, &v, sizeof v, err);
    if (!s && v.status) s = tutti_fail(err, (tutti_status)v.status, "%s", v.words);
    if (!s) s = tutti_group_broadcast(g, "proved parts", 0, parts, sizeof *parts * (size_t)g->nranks, err);
    if (!s && g->nranks > 1) s = compare(g, schedule, parts[g->rank], err);
    free(parts);
    *hash = v.hash;
    return s;
}
