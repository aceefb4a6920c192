/* SPDX-License-Identifier: Apache-2.0 */
/* contenders.c: lists the schedules that a policy compares: rows that serve the collective, their variants, and
 * variants that the topology suggests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/arena.h"
#include "../../compile/algorithms.h"
#include "choose_impl.h"
#include "tutti/lower.h"

static const tutti_policy policies[] = {
    {"fastest", "of all algorithms", {NULL}, 0, false},
    {"hybrid",
     "hierarchical for small vectors, ring for large ones (Jia et al. 2018)",
     {"hierarchical", "ring"},
     0,
     false},
};

int tutti_policy_count(void)
{
    return sizeof policies / sizeof policies[0];
}

const tutti_policy *tutti_policy_at(int i)
{
    return &policies[i];
}

/* Returns the row as the policy names it, with or without parameters; NULL: the policy excludes it. */
static const char *allowed(const tutti_policy *policy, const char *row)
{
    for (int i = 0; policy->rows[i]; i++) {
        const size_t name = strcspn(policy->rows[i], ",");
        if (strlen(row) == name && !strncmp(policy->rows[i], row, name)) return policy->rows[i];
    }
    return policy->rows[0] ? NULL : row;
}

static bool is_known(const tutti_contenders *all, const char *algorithm)
{
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->list[i].algorithm, algorithm)) return true;
    return false;
}

/* Lowers the schedule as the executor of these ranks lowers it; does nothing if no rank maps another's memory. */
static tutti_status lower(const tutti_schedule *s, const tutti_compile_request *q, tutti_schedule **out,
                          tutti_failure *err)
{
    int32_t *host_of = tutti_alloc((size_t)q->nranks * sizeof *host_of);
    bool maps = q->topology->kind == TUTTI_TOPOLOGY_HOST;
    tutti_topology_hosts(q->topology, q->nranks, host_of);
    for (int32_t r = 0; r < q->nranks; r++) maps |= host_of[r] != r;
    tutti_status st = maps ? tutti_schedule_lower_hosts(s, host_of, out, err) : TUTTI_OK;
    free(host_of);
    return st;
}

static tutti_status contender_open(tutti_contender *c, int64_t most_steps, const tutti_compile_request *q,
                                   tutti_failure *err)
{
    tutti_status st = tutti_schedule_compile(c->algorithm, q, &c->compiled, err);
    if (st) return st;
    memcpy(c->algorithm, tutti_schedule_head(c->compiled)->algorithm, sizeof c->algorithm);
    c->nsteps = tutti_compile_steps(c->compiled);
    c->too_many = most_steps > 0 && c->nsteps > most_steps;
    if (c->too_many)
        return tutti_fail(err, TUTTI_ERR_USAGE, "about %lld thousand steps, more than the %lld that may be simulated",
                          (long long)c->nsteps / 1000, (long long)most_steps / 1000);
    return lower(c->compiled, q, &c->lowered, err);
}

static void contender_close(tutti_contender *c)
{
    tutti_schedule_destroy(c->lowered);
    tutti_schedule_destroy(c->compiled);
    c->lowered = c->compiled = NULL;
}

/* Adds a contender. If its schedule cannot be made, the contender has the refusal instead. */
static void contender_ask(tutti_contenders *all, const char *text, int64_t most_steps, const tutti_compile_request *q)
{
    tutti_contender *c = &all->list[all->n++];
    tutti_failure err = {0};
    *c = (tutti_contender){0};
    snprintf(c->algorithm, sizeof c->algorithm, "%s", text);
    if (contender_open(c, most_steps, q, &err)) contender_close(c);
    snprintf(c->refusal, sizeof c->refusal, "%.199s", err.text);
}

/* Adds an algorithm. variant: its parameters, NULL = the initial ones. A variant that equals another or cannot be made
 * is left out. */
static void contender_add(tutti_contenders *all, const tutti_algorithm *a, const char *variant, int64_t most_steps,
                          const tutti_compile_request *q)
{
    if (all->n == TUTTI_MAX_CANDIDATES) return;
    tutti_contender *c = &all->list[all->n];
    tutti_failure err = {0};
    *c = (tutti_contender){0};
    snprintf(c->algorithm, sizeof c->algorithm, "%s%s%s", a->name, variant ? "," : "", variant ? variant : "");
    bool can = contender_open(c, most_steps, q, &err) == TUTTI_OK;
    bool superfluous = variant && ((!can && !c->too_many) || is_known(all, c->algorithm));
    if (!can || superfluous) contender_close(c);
    snprintf(c->refusal, sizeof c->refusal, "%.199s", err.text);
    all->n += !superfluous;
}

/* Returns the number of ranks on a host (server, switch) if the topology groups consecutive ranks; else 0. */
static int32_t group_size(const tutti_topology *t, int32_t nranks)
{
    int32_t k = 1, first = tutti_topology_group_of(t, 0);
    while (k < nranks && tutti_topology_group_of(t, k) == first) k++;
    for (int32_t r = 0; r < nranks; r++) {
        bool begins = r % k == 0, joins = r && tutti_topology_group_of(t, r) == tutti_topology_group_of(t, r - 1);
        if (begins == joins) return 0;
    }
    return k > 1 && k < nranks ? k : 0;
}

static bool has_parameter(const tutti_algorithm *a, const char *name)
{
    for (int i = 0; i < tutti_algorithm_nparameters(a); i++)
        if (!strcmp(a->parameters[i].name, name)) return true;
    return false;
}

/* Adds variants whose parameters follow from this topology. */
static void add_suggested(tutti_contenders *all, const tutti_algorithm *a, int64_t most_steps,
                          const tutti_compile_request *q)
{
    char text[TUTTI_ALGORITHM_TEXT];
    int32_t k = has_parameter(a, "group") ? group_size(q->topology, q->nranks) : 0;
    if (k) {
        snprintf(text, sizeof text, "group=%d", k);
        contender_add(all, a, text, most_steps, q);
    }
    if (q->topology->kind != TUTTI_TOPOLOGY_TORUS || !has_parameter(a, "columns")) return;
    for (int ways = 1; ways <= 2; ways++) {
        snprintf(text, sizeof text, "columns=%d,ways=%d", (int)q->topology->figure[TUTTI_FIGURE_X], ways);
        contender_add(all, a, text, most_steps, q);
    }
}

void tutti_contenders_open(const tutti_policy *policy, int64_t most_steps, const tutti_compile_request *request,
                           const tutti_topology *t, tutti_contenders *out)
{
    tutti_compile_request q = *request;
    q.topology = t;
    out->n = 0;
    for (int i = 0; i < tutti_algorithm_count(); i++) {
        const tutti_algorithm *a = tutti_algorithm_at(i);
        const char *text = allowed(policy, a->name);
        if (!text || (policy->is_brief && a->is_bound) || !(a->collectives & 1u << q.collective)) continue;
        if (strchr(text, ',')) {
            contender_ask(out, text, most_steps, &q);
            continue;
        }
        contender_add(out, a, NULL, most_steps, &q);
        for (int v = 0; a->variants[v]; v++) contender_add(out, a, a->variants[v], most_steps, &q);
        add_suggested(out, a, most_steps, &q);
    }
    for (int i = 0; i < out->n; i++) out->list[i].most_fan_in = policy->most_fan_in;
}

void tutti_contenders_close(tutti_contenders *c)
{
    for (int i = 0; i < c->n; i++) contender_close(&c->list[i]);
    c->n = 0;
}

tutti_status tutti_contender_simulate(const tutti_contender *c, const tutti_topology *t, int64_t n,
                                      tutti_simulation *out, tutti_failure *err)
{
    if (!c->compiled) return tutti_fail(err, TUTTI_ERR_USAGE, "%s", c->refusal);
    const tutti_status st = tutti_simulate_schedule(c->lowered ? c->lowered : c->compiled, t, n, out, err);
    if (st || !c->most_fan_in || out->fan_in <= c->most_fan_in) return st;
    return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks send to one at a time, and at most %d may", out->fan_in,
                      c->most_fan_in);
}
