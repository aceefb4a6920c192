/* SPDX-License-Identifier: Apache-2.0 */
/* step_costs.c: exchanges by the chooser's engines, parameter servers by their formula. */
#include "step_costs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../collective/compile/algorithms.h"
#include "../collective/simulate/choose.h"

enum { GROWTH = 4, MOST_STEPS = 1 << 20, MOST_SERVERS = 65536 };

/* --- how gradients travel --- */

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
    if (rest && (strchr(rest, ',') || strlen(rest) >= sizeof out->algorithm || !tutti_algorithm_find(rest)))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "no algorithm '%.60s': a name of `tutti coll list`, without parameters (its best are taken)",
                          rest);
    snprintf(out->algorithm, sizeof out->algorithm, "%s", rest ? rest : "");
    return TUTTI_OK;
}

/* --- parameter servers --- */

/* Bytes/s that a host sends or takes, and how many ranks are on the fullest. */
static tutti_status find_hosts(const tutti_topology *t, int nranks, double *rate, int *nhosts, int *fullest,
                               tutti_failure *err)
{
    const double nics = t->figure[TUTTI_FIGURE_NICS];
    *rate = t->figure[TUTTI_FIGURE_BANDWIDTH], *nhosts = nranks, *fullest = 1;
    if (t->kind == TUTTI_TOPOLOGY_STAR) return TUTTI_OK;
    if (t->kind != TUTTI_TOPOLOGY_CLUSTER || t->figure[TUTTI_FIGURE_HOSTS] < 2)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "ps: parameter servers are predicted on a star or a cluster of hosts, not on a %s",
                          tutti_topology_kind_name(t->kind));
    int32_t *host_of = tutti_alloc(sizeof *host_of * (size_t)nranks);
    int *on = tutti_alloc(sizeof *on * (size_t)nranks);
    tutti_topology_hosts(t, nranks, host_of);
    *nhosts = 0;
    for (int r = 0; r < nranks; r++) {
        *nhosts += on[host_of[r]]++ == 0;
        if (on[host_of[r]] > *fullest) *fullest = on[host_of[r]];
    }
    *rate = nics * t->figure[TUTTI_FIGURE_NIC];
    free(host_of);
    free(on);
    return TUTTI_OK;
}

static tutti_status time_servers(const tutti_step_exchange *x, const tutti_topology *t, int nranks, double bytes,
                                 double *seconds, tutti_failure *err)
{
    double rate;
    int nhosts, fullest;
    const tutti_status st = find_hosts(t, nranks, &rate, &nhosts, &fullest, err);
    if (st) return st;
    const double servers = x->servers ? x->servers : nhosts, ranks = nranks, incast = t->figure[TUTTI_FIGURE_INCAST];
    const double start = t->figure[TUTTI_FIGURE_LATENCY] + t->figure[TUTTI_FIGURE_SOFTWARE] * fmax(servers, ranks);
    const double of_host = fullest * bytes / rate, of_server = ranks / servers * bytes / rate;
    const double push = fmax(of_host, of_server * (1 + incast * (ranks - 1))),
                 pull = fmax(of_server, of_host * (1 + incast * (servers - 1)));
    *seconds = 2 * start + push + pull + (ranks - 1) * bytes / servers / t->figure[TUTTI_FIGURE_ADD];
    return TUTTI_OK;
}

/* --- allreduce --- */

static tutti_status time_allreduce(const tutti_step_exchange *x, const tutti_topology *t, int nranks, int64_t bytes,
                                   double *seconds, tutti_step_costs *out, tutti_failure *err)
{
    const tutti_policy policy = {.name = x->algorithm, .rows = {x->algorithm[0] ? x->algorithm : NULL}};
    const tutti_compile_request request = {
        .collective = TUTTI_ALLREDUCE, .nranks = nranks, .in_place = true, .topology = t};
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    tutti_status st = TUTTI_OK;
    tutti_choose_by(&policy, x->algorithm[0] ? TUTTI_CHOOSE_STEPS : MOST_STEPS, &request,
                    (bytes + TUTTI_ELEMENT_BYTES - 1) / TUTTI_ELEMENT_BYTES, t, choice);
    if (choice->best >= 0) {
        const tutti_candidate *best = &choice->candidates[choice->best];
        *seconds = best->sim.seconds;
        snprintf(out->whole, sizeof out->whole, "%.95s", best->algorithm);
        snprintf(out->bottleneck, sizeof out->bottleneck, "%.31s", best->sim.bottleneck_name);
    } else {
        st = tutti_fail(err, TUTTI_ERR_USAGE, "no allreduce over %d ranks%s%s: %s", nranks,
                        x->algorithm[0] ? " by " : "", x->algorithm,
                        choice->ncandidates && choice->candidates[0].refusal[0] ? choice->candidates[0].refusal
                                                                                : "schedules of too many steps");
    }
    out->nskipped = 0;
    for (int i = 0; i < choice->ncandidates; i++) out->nskipped += choice->candidates[i].skipped;
    free(choice);
    return st;
}

/* --- the curve --- */

static tutti_status time_message(const tutti_step_exchange *x, const tutti_topology *t, int nranks, int64_t bytes,
                                 double *seconds, tutti_step_costs *out, tutti_failure *err)
{
    if (!x->has_servers) return time_allreduce(x, t, nranks, bytes, seconds, out, err);
    snprintf(out->whole, sizeof out->whole, "ps");
    return time_servers(x, t, nranks, (double)bytes, seconds, err);
}

tutti_status tutti_step_costs_of(const tutti_step_exchange *x, const tutti_topology *t, int nranks, int64_t smallest,
                                 int64_t total, tutti_step_costs *out, tutti_failure *err)
{
    tutti_step_costs c = {.cost.overlap = t->kind == TUTTI_TOPOLOGY_HOST ? 0 : 1};
    tutti_exchange_cost *cost = &c.cost;
    tutti_status st = tutti_topology_fits(t, nranks, err);
    for (int64_t bytes = smallest; !st; bytes = bytes > total / GROWTH ? total : bytes * GROWTH) {
        const bool is_last = bytes == total || cost->npoints == TUTTI_MAX_COST_POINTS - 1;
        double seconds = 0;
        if (is_last) bytes = total;
        st = time_message(x, t, nranks, bytes, &seconds, &c, err);
        if (cost->npoints == 0) memcpy(c.smallest, c.whole, sizeof c.smallest);
        cost->bytes[cost->npoints] = bytes;
        cost->ns[cost->npoints] = llround(seconds * 1e9);
        if (cost->npoints > 0 && cost->ns[cost->npoints] < cost->ns[cost->npoints - 1])
            cost->ns[cost->npoints] = cost->ns[cost->npoints - 1]; /* slices are whole elements */
        cost->npoints++;
        if (is_last) break;
    }
    if (!st) *out = c;
    return st;
}
