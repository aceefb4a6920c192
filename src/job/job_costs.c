/* SPDX-License-Identifier: Apache-2.0 */
/* job_costs.c: measures what the exchanges of buckets cost between the ranks, by the plan's own schedules, for
 * `exchange.buckets: auto`.
 *
 * Ranks rewrite their gradients before each exchange, as kernels do: cache lines that other ranks have read must be
 * taken back from their caches, which is part of the cost. The time of the same rewriting without a reader is
 * subtracted. The second fastest of several blocks of exchanges counts: a block that was interrupted says nothing about
 * the wire. */
#include "job_costs.h"

#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/sort.h"
#include "../collective/exchange/executor.h"
#include "../tensor/elementwise.h"
#include "../training/run/train.h"
#include "job_fields.h"

enum { FIRST_BYTES = 4096, GROWTH = 4, MOST_BYTES = 64 << 20, NBLOCKS = 5, MAX_INVOCATIONS = 256 };
static const double BLOCK_S = 0.002;

typedef struct {
    tutti_group *group;
    const tutti_plan *plan;
    /* nins + 1 vectors; an exchange between two memories reads the first nins and writes the last */
    tutti_region *region;
    float *own, *zeros;
    int64_t n; /* elements of the largest vector */
    tutti_exchange **exchanges;
    int nexchanges;
} bench;

static tutti_status bench_create(bench *b, tutti_failure *err)
{
    const int64_t most = (b->plan->config.nranks > 1 ? MOST_BYTES : FIRST_BYTES) / (int64_t)sizeof(float);
    b->n = b->plan->total < most ? b->plan->total : most;
    const size_t nbytes = (size_t)b->n * sizeof(float);
    b->zeros = tutti_alloc(nbytes);
    b->exchanges = tutti_alloc((size_t)b->plan->nexchanges * sizeof(tutti_exchange *));
    tutti_status st = tutti_region_create(b->group, "costs", (size_t)(b->plan->nins + 1) * nbytes, &b->region, err);
    if (!st) b->own = tutti_region_base(b->region, tutti_group_rank(b->group));
    return st;
}

static void unbind(bench *b)
{
    for (int i = 0; i < b->nexchanges; i++) tutti_exchange_destroy(b->exchanges[i]);
    b->nexchanges = 0;
}

static void bench_destroy(bench *b)
{
    unbind(b);
    if (b->region) tutti_region_destroy(b->region);
    free(b->exchanges);
    free(b->zeros);
}

/* Binds the exchanges of one bucket, as if it had n elements: those exchanges that a step or period starts. The bucket
 * is the first whose layers are not split; one is enough, because all buckets use the same algorithms. All ranks make
 * the exchanges, even ranks that take no part in some of them. */
static tutti_status bind_bucket(bench *b, int64_t n, const tutti_place *roots, tutti_failure *err)
{
    const tutti_plan *plan = b->plan;
    const int nins = plan->nins;
    const size_t stride = (size_t)b->n * sizeof(float);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < plan->nexchanges && !st; i++) {
        const tutti_plan_exchange *x = &plan->exchanges[i];
        if (x->bucket != tutti_plan_common_bucket(plan) || x->bucket < 0 ||
            !(x->drivers & (1u << TUTTI_EACH_STEP | 1u << TUTTI_EACH_PERIOD)))
            continue;
        const bool in_place = x->in.memory == x->out.memory;
        const tutti_dtype in = plan->memories[x->in.memory].type, out = plan->memories[x->out.memory].type;
        const tutti_exchange_binding binding = {.name = "costs",
                                                .n = n,
                                                .members = x->members,
                                                .nmembers = x->nmembers,
                                                .type = out,
                                                .op = x->op,
                                                .sent = x->sent,
                                                .taken = in,
                                                .in = roots,
                                                .nin = plan->memories[x->in.memory].copies > 1 ? nins : 1,
                                                .out = {b->region, in_place ? 0 : (size_t)nins * stride}};
        const int schedule = tutti_plan_schedule_of_size(plan, x->schedule, n * (int64_t)sizeof(float));
        st = tutti_exchange_create(b->group, plan->schedules[schedule].lowered, &binding,
                                   &b->exchanges[b->nexchanges++], err);
    }
    return st;
}

static tutti_status bind(bench *b, int64_t n, tutti_failure *err)
{
    const size_t nins = (size_t)b->plan->nins;
    tutti_place *roots = tutti_alloc(sizeof *roots * nins);
    for (size_t k = 0; k < nins; k++) roots[k] = (tutti_place){b->region, k * (size_t)b->n * sizeof(float)};
    unbind(b);
    const tutti_status st = bind_bucket(b, n, roots, err);
    free(roots);
    return st;
}

static void rewrite(const bench *b, int64_t n)
{
    tutti_elementwise_copy((float *const *)&b->own, 1, b->zeros, n, false);
}

static tutti_status exchange_once(bench *b, int64_t n, tutti_failure *err)
{
    rewrite(b, n);
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < b->nexchanges && !st; i++) {
        if (!b->exchanges[i]) continue; /* the exchange is between other ranks */
        tutti_exchange_start(b->exchanges[i], TUTTI_WHEN_READY | TUTTI_WHEN_FREE);
        st = tutti_exchange_wait(b->exchanges[i], err);
    }
    return st;
}

static tutti_status time_block(bench *b, int64_t n, int invocations, double *seconds, tutti_failure *err)
{
    tutti_status st = tutti_group_barrier(b->group, "costs of exchanges", err);
    const double begin = tutti_clock_s();
    for (int i = 0; i < invocations && !st; i++) st = exchange_once(b, n, err);
    *seconds = (tutti_clock_s() - begin) / invocations;
    return st;
}

static double time_rewriting(const bench *b, int64_t n, int invocations)
{
    rewrite(b, n);
    const double begin = tutti_clock_s();
    for (int i = 0; i < invocations; i++) rewrite(b, n);
    return (tutti_clock_s() - begin) / invocations;
}

/* Times a block of exchanges. If they are between some ranks only, the block ends when the last rank has finished. */
static tutti_status time_together(bench *b, int64_t n, int invocations, double *seconds, tutti_failure *err)
{
    const int nranks = b->plan->config.nranks;
    tutti_status st = time_block(b, n, invocations, seconds, err);
    if (st || tutti_plan_is_between_all(b->plan)) return st;
    double *all = tutti_alloc(sizeof *all * (size_t)nranks);
    st = tutti_group_all_gather(b->group, "costs of exchanges", seconds, all, sizeof *seconds, err);
    for (int r = 0; r < nranks && !st; r++) *seconds = all[r] > *seconds ? all[r] : *seconds;
    free(all);
    return st;
}

/* Measures the seconds of one exchange of n elements. Rank 0 decides how often the exchange is repeated. */
static tutti_status time_size(bench *b, int64_t n, double *seconds, tutti_failure *err)
{
    double blocks[NBLOCKS], once;
    tutti_status st = bind(b, n, err);
    if (!st) st = time_together(b, n, 2, &once, err);
    int invocations = !st && once * MAX_INVOCATIONS < BLOCK_S ? MAX_INVOCATIONS : st ? 1 : 1 + (int)(BLOCK_S / once);
    if (!st) st = tutti_group_broadcast(b->group, "costs of exchanges", 0, &invocations, sizeof invocations, err);
    for (int i = 0; i < NBLOCKS && !st; i++) st = time_together(b, n, invocations, &blocks[i], err);
    if (st) return st;
    const double alone = time_rewriting(b, n, invocations);
    tutti_sort_doubles(blocks, NBLOCKS);
    *seconds = blocks[1] > 2 * alone ? blocks[1] - alone : blocks[1] / 2;
    return TUTTI_OK;
}

static tutti_status measure(tutti_group *group, const tutti_plan *plan, tutti_plan_costs *c, tutti_failure *err)
{
    bench b = {.group = group, .plan = plan};
    tutti_reals *bytes = &c->exchange_bytes, *seconds = &c->exchange_s;
    bytes->values = TUTTI_ARENA_NEW(&c->arena, double, TUTTI_MAX_COST_POINTS);
    seconds->values = TUTTI_ARENA_NEW(&c->arena, double, TUTTI_MAX_COST_POINTS);
    c->ranks = plan->config.nranks;
    c->threads = plan->config.nthreads;
    tutti_status st = bench_create(&b, err);
    for (int64_t n = FIRST_BYTES / sizeof(float); !st; n *= GROWTH) {
        if (n > b.n) n = b.n;
        st = time_size(&b, n, &seconds->values[seconds->n++], err);
        bytes->values[bytes->n++] = (double)n * sizeof(float);
        if (n == b.n) break;
    }
    bench_destroy(&b);
    return st;
}

/* ---- the costs of an earlier run ---- */

static bool find_stored(const char *dir, const tutti_plan *plan, tutti_plan_costs *out)
{
    char *path = NULL, *text = NULL;
    bool found = dir && !tutti_checkpoint_newest(dir, &path, NULL, NULL) && path &&
                 !tutti_checkpoint_read_text(path, TUTTI_COSTS_FILE, &text, NULL) &&
                 !tutti_plan_costs_parse(path, text, out, NULL);
    if (found && (out->ranks != plan->config.nranks || out->threads != plan->config.nthreads)) {
        tutti_plan_costs_release(out);
        found = false;
    }
    free(path);
    free(text);
    return found;
}

/* ---- sharing rank 0's costs ---- */

static tutti_status share(tutti_group *group, tutti_plan_costs *c, tutti_failure *err)
{
    const bool tells = tutti_group_rank(group) == 0;
    char *text = tells ? tutti_plan_costs_print(c) : NULL;
    int64_t nbytes = tells ? (int64_t)strlen(text) + 1 : 0;
    tutti_status st = tutti_group_broadcast(group, "costs", 0, &nbytes, sizeof nbytes, err);
    if (!st && !tells) text = tutti_alloc((size_t)nbytes);
    if (!st) st = tutti_group_broadcast(group, "costs", 0, text, (size_t)nbytes, err);
    tutti_plan_costs_release(c);
    /* rank 0 parses its own text too, so that all ranks have the same costs */
    if (!st) st = tutti_plan_costs_parse("costs of rank 0", text, c, err);
    free(text);
    return st;
}

tutti_status tutti_job_merge_measured(const tutti_job *job, tutti_group *group, const char *dir, tutti_resolved *r,
                                      tutti_failure *err)
{
    if (job->exchange.buckets != TUTTI_BUCKETS_SOONEST) return TUTTI_OK;
    tutti_plan_costs costs = {0};
    int32_t found = tutti_group_rank(group) == 0 && find_stored(dir, r->plan, &costs);
    tutti_status st = tutti_group_broadcast(group, "costs", 0, &found, sizeof found, err);
    if (!st && !found) st = measure(group, r->plan, &costs, err);
    if (!st) st = share(group, &costs, err);
    if (!st) st = tutti_resolved_replan(r, &costs, err);
    tutti_plan_costs_release(&costs);
    /* the other ranks must not wait for this rank */
    if (st && st != TUTTI_ERR_PEER) tutti_group_abort(group, err->text);
    return st;
}
