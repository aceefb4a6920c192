/* SPDX-License-Identifier: Apache-2.0 */
/* step_costs.c: predicts what the messages of a step cost, by the chooser of algorithms. */
#include "step_costs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../collective/compile/algorithms.h"
#include "../collective/simulate/choose/choose.h"

enum { GROWTH = 4, EXACT_RANKS = 64, MOST_SERVERS = 65536 };

/* --- reading how gradients travel --- */

static tutti_status read_servers(const char *text, tutti_step_exchange *out, tutti_failure *err)
{
    char *end;
    const long n = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || n < 1 || n > MOST_SERVERS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "ps:%.40s: wants a number of servers from 1 to %d", text, MOST_SERVERS);
    out->servers = (int)n;
    return TUTTI_OK;
}

tutti_status tutti_step_exchange_read(const char *text, tutti_step_exchange *out, tutti_failure *err)
{
    const size_t head = strcspn(text, ":");
    const char *rest = text[head] ? text + head + 1 : NULL;
    *out = (tutti_step_exchange){0};
    if (head == 2 && !strncmp(text, "ps", 2)) {
        out->has_servers = true;
        return rest ? read_servers(rest, out, err) : TUTTI_OK;
    }
    if (head != strlen("allreduce") || strncmp(text, "allreduce", head) != 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "no exchange '%.60s': allreduce, allreduce:ALGORITHM, ps or ps:SERVERS",
                          text);
    const tutti_algorithm *row = rest ? tutti_algorithm_find(rest) : NULL;
    if (rest && (!row || strlen(rest) >= sizeof out->algorithm))
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "no algorithm '%.60s': a name of `tutti coll list`, with parameters or without (its best are taken)", rest);
    int32_t param[TUTTI_MAX_PARAMETERS];
    if (row && tutti_algorithm_read(row, rest, param, err)) return TUTTI_ERR_USAGE;
    snprintf(out->algorithm, sizeof out->algorithm, "%s", rest ? rest : "");
    return TUTTI_OK;
}

/* --- the algorithm of an allreduce --- */

/* Returns the number of parameter servers if the user gives none: the number of hosts with ranks. */
static int count_hosts(const tutti_topology *t, int nranks)
{
    int32_t *host_of = tutti_alloc(sizeof *host_of * (size_t)nranks);
    bool *seen = tutti_alloc(sizeof *seen * (size_t)nranks);
    int nhosts = 0;
    tutti_topology_hosts(t, nranks, host_of);
    for (int r = 0; r < nranks; r++) {
        nhosts += !seen[host_of[r]];
        seen[host_of[r]] = true;
    }
    free(host_of);
    free(seen);
    return nhosts;
}

/* Writes the algorithm's name; "" means the fastest of all. */
static void name_algorithm(const tutti_step_exchange *x, const tutti_topology *t, int nranks, char out[TUTTI_STEP_NAME])
{
    if (x->has_servers)
        snprintf(out, TUTTI_STEP_NAME, "ps,servers=%d", x->servers ? x->servers : count_hosts(t, nranks));
    else
        snprintf(out, TUTTI_STEP_NAME, "%s", x->algorithm);
}

static tutti_status fail_none(const char *algorithm, int nranks, const tutti_choice *c, tutti_failure *err)
{
    const char *why = c->ncandidates ? c->candidates[0].refusal : "";
    return tutti_fail(err, TUTTI_ERR_USAGE, "no allreduce over %d ranks%s%s%s%s", nranks, algorithm[0] ? " by " : "",
                      algorithm, why[0] ? ": " : "", why);
}

static tutti_status time_allreduces(const tutti_step_exchange *x, const tutti_topology *t, int nranks, double *seconds,
                                    tutti_step_costs *out, tutti_failure *err)
{
    char name[TUTTI_STEP_NAME];
    name_algorithm(x, t, nranks, name);
    const tutti_policy policy = {.name = name, .rows = {name[0] ? name : NULL}};
    const tutti_compile_request request = {
        .collective = TUTTI_ALLREDUCE, .nranks = nranks, .in_place = true, .topology = t};
    const int nsizes = out->cost.npoints;
    int64_t n[TUTTI_MAX_COST_POINTS];
    tutti_choice *choices = tutti_alloc(sizeof *choices * (size_t)nsizes);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < nsizes; i++) n[i] = (out->cost.bytes[i] + TUTTI_ELEMENT_BYTES - 1) / TUTTI_ELEMENT_BYTES;
    if (nranks > EXACT_RANKS) tutti_choose_sizes(&policy, &request, n, nsizes, t, choices);
    for (int i = 0; i < nsizes && !st; i++) {
        tutti_choice *c = &choices[i];
        if (nranks <= EXACT_RANKS) tutti_choose_by(&policy, 0, &request, n[i], t, c);
        if (c->best < 0) {
            st = fail_none(name, nranks, c, err);
            break;
        }
        const tutti_candidate *best = &c->candidates[c->best];
        seconds[i] = best->sim.seconds;
        snprintf(out->whole, sizeof out->whole, "%.95s", best->algorithm);
        snprintf(out->bottleneck, sizeof out->bottleneck, "%.31s", best->sim.bottleneck_name);
        if (i == 0) memcpy(out->smallest, out->whole, sizeof out->smallest);
    }
    free(choices);
    return st;
}

/* --- the costs of messages by their sizes --- */

static void choose_sizes(int64_t smallest, int64_t total, tutti_exchange_cost *cost)
{
    for (int64_t bytes = smallest;
         bytes < total && cost->npoints<TUTTI_MAX_COST_POINTS - 1; bytes = bytes> total / GROWTH ? total
                                                                                                 : bytes * GROWTH)
        cost->bytes[cost->npoints++] = bytes;
    cost->bytes[cost->npoints++] = total;
}

tutti_status tutti_step_costs_of(const tutti_step_exchange *x, const tutti_topology *t, int nranks,
                                 tutti_message_bytes bytes, tutti_step_costs *out, tutti_failure *err)
{
    tutti_step_costs c = {.cost.overlap = t->kind == TUTTI_TOPOLOGY_HOST ? 0 : 1};
    double seconds[TUTTI_MAX_COST_POINTS] = {0};
    tutti_exchange_cost *cost = &c.cost;
    tutti_status st = tutti_topology_fits(t, nranks, err);
    choose_sizes(bytes.smallest, bytes.total, cost);
    if (!st) st = time_allreduces(x, t, nranks, seconds, &c, err);
    for (int i = 0; i < cost->npoints && !st; i++) {
        cost->ns[i] = llround(seconds[i] * 1e9);
        /* a larger message may seem faster, because slices are whole elements; costs must not fall */
        if (i > 0 && cost->ns[i] < cost->ns[i - 1]) cost->ns[i] = cost->ns[i - 1];
    }
    if (!st) *out = c;
    return st;
}
