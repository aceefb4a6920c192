/* SPDX-License-Identifier: Apache-2.0 */
/* plan_schedules.c: compiles, lowers and proves what travels. Schedules speak of slices, not of elements, so that exchanges of any
 * size share one value. */
#include <stdio.h>
#include <string.h>

#include "plan_impl.h"
#include "tutti/check.h"

enum { PROVED_ALONE_RANKS = 256 }; /* up to here the proof of a few schedules costs less than half a second */

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

tutti_status tutti_plan_make_schedule(const tutti_plan *p, const tutti_builder_request *r, tutti_prepared *out,
                                      tutti_failure *err)
{
    const tutti_compile_request request = {.collective = r->collective,
                                           .nranks = p->config.nranks,
                                           .slots = r->of_slots ? p->config.slots : 0,
                                           .in_place = r->in_place};
    char name[TUTTI_ALGORITHM_TEXT];
    choose(&p->config, name);
    const char *algorithm = r->algorithm ? r->algorithm : name;
    const tutti_status st = tutti_schedule_prepare(algorithm, &request, p->config.host_of, NULL, out, err);
    return st ? tutti_fail_at(err, "exchange (%s)", tutti_collective_name(r->collective)) : TUTTI_OK;
}

void tutti_plan_destroy_schedules(tutti_plan *p)
{
    for (int i = 0; i < p->nschedules; i++) tutti_prepared_release(&p->schedules[i]);
}

/* A schedule is known by the first exchange that travels by it. */
static tutti_status name_schedule(const tutti_plan *p, int schedule, tutti_failure *err)
{
    int i = 0;
    while (i < p->nexchanges - 1 && p->exchanges[i].schedule != schedule) i++;
    return tutti_fail_at(err, "%s (%s, lowered)", p->nexchanges ? p->exchanges[i].name : "exchange",
                         tutti_collective_name(tutti_schedule_head(p->schedules[schedule].lowered)->collective));
}

tutti_status tutti_plan_prove(tutti_plan *p, const tutti_prover *by, tutti_failure *err)
{
    for (int i = 0; i < p->nschedules; i++)
        if (by->prove(by->who, p->schedules[i].lowered, &p->schedules[i].hash, err)) return name_schedule(p, i, err);
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
    for (int i = 0; i < p->nschedules; i++) {
        tutti_check_report report;
        if (tutti_schedule_check(p->schedules[i].lowered, &report, err)) return name_schedule(p, i, err);
    }
    return TUTTI_OK;
}
