/* SPDX-License-Identifier: Apache-2.0 */
/* plan_schedules.c: compiles, lowers and proves what the buckets travel by.
 *
 * Schedules speak of slices, not of elements, so all buckets share one value for each collective: the first bucket owns
 * it, the others borrow. The sum's class (fast or canonical) is the reduce-scatter's business only; an all-gather moves
 * bits. */
#include <stdio.h>
#include <string.h>

#include "../../base/hash.h"
#include "plan_impl.h"
#include "tutti/check.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { PROVED_ALONE_RANKS = 256 }; /* up to here the proof of two schedules costs less than half a second */

/* Ranks of each host if all hosts have as many, next to each other, and more than one; else 0. */
static int ranks_a_host(const tutti_plan_config *c)
{
    int group = 0;
    while (c->host_of && group < c->nranks && c->host_of[group] == c->host_of[0]) group++;
    if (group < 2 || group == c->nranks || c->nranks % group) return 0;
    for (int r = 0; r < c->nranks; r++)
        if (c->host_of[r] != c->host_of[r / group * group] || (r >= group && c->host_of[r] == c->host_of[r - group]))
            return 0;
    return group;
}

/* One pass over memory wins on one host. Between hosts of several ranks, what crosses is summed on each host first; canonical
 * sums have one order only, which direct keeps. */
static void choose(const tutti_plan_config *c, char name[TUTTI_ALGORITHM_TEXT])
{
    const int group = c->slots ? 0 : ranks_a_host(c);
    if (strcmp(c->algorithm, "auto"))
        snprintf(name, TUTTI_ALGORITHM_TEXT, "%s", c->algorithm);
    else if (group)
        snprintf(name, TUTTI_ALGORITHM_TEXT, "split-rail,group=%d", group);
    else
        snprintf(name, TUTTI_ALGORITHM_TEXT, "direct");
}

static tutti_status lower(const tutti_plan *p, const tutti_schedule *compiled, tutti_schedule **lowered,
                          tutti_failure *err)
{
    if (!p->config.host_of) return tutti_schedule_lower(compiled, TUTTI_WIRE_MAPPED, lowered, err);
    return tutti_schedule_lower_hosts(compiled, p->config.host_of, lowered, err);
}

static tutti_status compile(const tutti_plan *p, tutti_collective what, tutti_schedule **compiled,
                            tutti_schedule **lowered, tutti_failure *err)
{
    const tutti_compile_request request = {.collective = what,
                                           .nranks = p->config.nranks,
                                           .slots = what == TUTTI_REDUCE_SCATTER ? p->config.slots : 0,
                                           .in_place = true};
    char name[TUTTI_ALGORITHM_TEXT];
    choose(&p->config, name);
    tutti_status st = tutti_schedule_compile(name, &request, compiled, err);
    if (!st) st = lower(p, *compiled, lowered, err);
    return st ? tutti_fail_at(err, "exchange (%s)", tutti_collective_name(what)) : TUTTI_OK;
}

/* One number a rank: only synchronisations count, and one-shot has one. Its sum of counts is exact in any order. */
static tutti_status compile_gate(tutti_plan *p, tutti_failure *err)
{
    const tutti_compile_request request = {.collective = TUTTI_ALLREDUCE, .nranks = p->config.nranks};
    tutti_gate *g = &p->gate;
    tutti_status st = tutti_schedule_compile("one-shot", &request, &g->allreduce, err);
    if (!st) st = lower(p, g->allreduce, &g->allreduce_mapped, err);
    return st ? tutti_fail_at(err, "gate (allreduce)") : TUTTI_OK;
}

tutti_status tutti_plan_compile_schedules(tutti_plan *p, tutti_failure *err)
{
    tutti_bucket *first = &p->buckets[0];
    tutti_status st = compile(p, TUTTI_REDUCE_SCATTER, &first->reduce_scatter, &first->reduce_scatter_mapped, err);
    if (!st) st = compile(p, TUTTI_ALL_GATHER, &first->all_gather, &first->all_gather_mapped, err);
    if (st) return st;
    for (int i = 0; i < p->nbuckets; i++) {
        tutti_bucket *b = &p->buckets[i];
        b->reduce_scatter = first->reduce_scatter;
        b->reduce_scatter_mapped = first->reduce_scatter_mapped;
        b->all_gather = first->all_gather;
        b->all_gather_mapped = first->all_gather_mapped;
    }
    return p->config.gated ? compile_gate(p, err) : TUTTI_OK;
}

void tutti_plan_destroy_schedules(tutti_plan *p)
{
    if (!p->nbuckets) return;
    tutti_bucket *first = &p->buckets[0]; /* the others borrow */
    tutti_schedule_destroy(first->reduce_scatter_mapped);
    tutti_schedule_destroy(first->all_gather_mapped);
    tutti_schedule_destroy(first->reduce_scatter);
    tutti_schedule_destroy(first->all_gather);
    tutti_schedule_destroy(p->gate.allreduce_mapped);
    tutti_schedule_destroy(p->gate.allreduce);
}

static tutti_status name_schedule(const tutti_schedule *s, bool gate, tutti_failure *err)
{
    return tutti_fail_at(err, "%s (%s, lowered)", gate ? "gate" : "exchange",
                         tutti_collective_name(tutti_schedule_head(s)->collective));
}

tutti_status tutti_plan_prove(tutti_plan *p, const tutti_prover *by, tutti_failure *err)
{
    const tutti_schedule *lowered[3] = {p->buckets[0].reduce_scatter_mapped, p->buckets[0].all_gather_mapped,
                                        p->gate.allreduce_mapped};
    uint64_t hash[3] = {0};
    for (int i = 0; i < 3 && lowered[i]; i++)
        if (by->prove(by->who, lowered[i], &hash[i], err)) return name_schedule(lowered[i], i == 2, err);
    for (int i = 0; i < p->nbuckets; i++) p->buckets[i].hash = tutti_hash(hash, 2 * sizeof *hash);
    p->gate.hash = hash[2];
    return TUTTI_OK;
}

static tutti_status prove_few(void *who, const tutti_schedule *lowered, uint64_t *hash, tutti_failure *err)
{
    const tutti_plan *p = who;
    tutti_check_report report;
    *hash = tutti_schedule_hash(lowered);
    return p->config.nranks > PROVED_ALONE_RANKS ? TUTTI_OK : tutti_schedule_check(lowered, &report, err);
}

tutti_status tutti_plan_prove_alone(tutti_plan *p, tutti_failure *err)
{
    return tutti_plan_prove(p, &(tutti_prover){prove_few, p}, err);
}

tutti_status tutti_plan_check_schedules(const tutti_plan *p, tutti_failure *err)
{
    const tutti_schedule *lowered[3] = {p->buckets[0].reduce_scatter_mapped, p->buckets[0].all_gather_mapped,
                                        p->gate.allreduce_mapped};
    for (int i = 0; i < 3 && lowered[i]; i++) {
        tutti_check_report report;
        if (tutti_schedule_check(lowered[i], &report, err)) return name_schedule(lowered[i], i == 2, err);
    }
    return TUTTI_OK;
}
