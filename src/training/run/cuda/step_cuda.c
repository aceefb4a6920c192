/* SPDX-License-Identifier: Apache-2.0 */
/* step_cuda.c: the table of work of a CUDA card: each function puts one launch on the card's stream; results have the
 * bits of the cpu's loops. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/host/memory.h"
#include "../../../device/cuda/cuda.h"
#include "../../../kernel/cuda/cuda_value.h"
#include "../step/step_table.h"

extern const tutti_embedded_text tutti_step_texts[]; /* made by the build */

/* These repeat the declarations of common.cu. */
enum { THREADS = 256, TILE = 4096, QUAD = 4, QUAD_BYTES = 16 };
enum { TILES_AT_ONCE = 1024 }; /* at most this many blocks share the tiles of a vector */
enum { MOST_RULES = 16 };

typedef struct {
    float *w, *state[TUTTI_RULE_MAX_STATES];
    const float *sum, *centre;
    int64_t n;
    int32_t skew;
} slice;

typedef struct {
    slice s[TUTTI_WORK_TOGETHER];
    uint32_t first[TUTTI_WORK_TOGETHER];
} updates;

/* These repeat the structs of step.cu. */
typedef struct {
    float *w;
    const float *sum;
    int64_t n;
    int32_t skew, replaces;
    float keep, take;
} running;

typedef struct {
    running s[TUTTI_WORK_TOGETHER];
    uint32_t first[TUTTI_WORK_TOGETHER];
} statistics;

typedef struct {
    const float *x[TUTTI_WORK_TOGETHER];
    int64_t n[TUTTI_WORK_TOGETHER];
    uint32_t first[TUTTI_WORK_TOGETHER], nblocks[TUTTI_WORK_TOGETHER];
} looked_at;

/* The functions of one rule. */
typedef struct {
    const tutti_rule_row *rule;
    tutti_cuda_function update, norms;
} rule_functions;

/* All functions that a step runs, found once for each card, before the first step. */
typedef struct {
    tutti_cuda_function blocks, control, no_loss, statistic, are_finite, elastic, outer, meet, mean;
    rule_functions rules[MOST_RULES];
    int nrules;
    const tutti_cuda_values *values;
} tutti_cuda_step;

/* ---- before the first step ---- */

static tutti_status make(tutti_cuda *c, void **out, tutti_failure *err)
{
    tutti_cuda_step *f = tutti_alloc(sizeof *f);
    const tutti_cuda_wanted wanted[] = {{"blocks", &f->blocks},
                                        {"control", &f->control},
                                        {"no_loss", &f->no_loss},
                                        {"statistic", &f->statistic},
                                        {"are_finite", &f->are_finite},
                                        {"elastic", &f->elastic},
                                        {"outer", &f->outer},
                                        {"meet", &f->meet},
                                        {"mean", &f->mean}};
    tutti_status st = tutti_cuda_values_of(c, &f->values, err);
    if (!st) st = tutti_cuda_find_all(c, tutti_step_texts, "step", wanted, sizeof wanted / sizeof *wanted, err);
    if (st)
        free(f);
    else
        *out = f;
    return st;
}

static const tutti_cuda_kept keeping = {"step", make, free};

static tutti_status find_rule(tutti_cuda *c, const tutti_rule_row *rule, rule_functions *out, tutti_failure *err)
{
    char module[64];
    snprintf(module, sizeof module, "rule_%s", rule->name);
    *out = (rule_functions){.rule = rule};
    if (!tutti_embedded_find(tutti_step_texts, module))
        return tutti_fail(err, TUTTI_ERR_FAILED, "rule '%s' has no loop for a card; use 'device: cpu' or another rule",
                          rule->name);
    tutti_status st = tutti_cuda_find(c, tutti_step_texts, module, "update", &out->update, err);
    if (!st && rule->trust) st = tutti_cuda_find(c, tutti_step_texts, module, "norms", &out->norms, err);
    return st;
}

static const rule_functions *rule_functions_of(const tutti_cuda_step *f, const tutti_rule_row *rule)
{
    for (int i = 0; i < f->nrules; i++)
        if (f->rules[i].rule == rule) return &f->rules[i];
    return NULL;
}

tutti_status tutti_step_prepare_cuda(const tutti_device *d, const tutti_rule_row *rule, tutti_failure *err)
{
    tutti_cuda *c = tutti_cuda_of(d);
    void *kept = NULL;
    tutti_status st = tutti_cuda_keep(c, &keeping, &kept, err);
    tutti_cuda_step *f = kept;
    if (st || !rule || rule_functions_of(f, rule)) return st;
    assert(f->nrules < MOST_RULES);
    st = find_rule(c, rule, &f->rules[f->nrules], err);
    if (!st) f->nrules++;
    return st;
}

/* Returns the functions of a card that was prepared. */
static const tutti_cuda_step *step_of(tutti_cuda *c)
{
    void *kept = NULL;
    const tutti_status st = tutti_cuda_keep(c, &keeping, &kept, NULL);
    assert(!st);
    (void)st;
    return kept;
}

/* ---- helpers of launches ---- */

/* Returns by how many elements all these vectors lie past a multiple of 16 bytes; -1: they differ. NULLs are
 * ignored. */
static int32_t skew_of(const void *const *vectors, int n)
{
    const uintptr_t first = (uintptr_t)vectors[0] % QUAD_BYTES;
    for (int i = 1; i < n; i++)
        if (vectors[i] && (uintptr_t)vectors[i] % QUAD_BYTES != first) return -1;
    return (int32_t)(first / sizeof(float));
}
#define SKEW_OF(...)                                                                                                   \
    skew_of((const void *const[]){__VA_ARGS__}, sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *))

/* A thread takes four elements; the first of them may lie before the vectors. */
static tutti_cuda_grid cover(int64_t n, int32_t skew)
{
    return tutti_cuda_cover(n + (skew > 0 ? skew : 0), THREADS, QUAD);
}

static void run_over(tutti_cuda *c, tutti_cuda_function f, int64_t n, int32_t skew, void *const *args)
{
    if (n > 0) tutti_cuda_run(c, f, cover(n, skew), args);
}

/* ---- kernels ---- */

typedef void pass(tutti_kernel *k, const tutti_kernel_args *a);

static void run_pass(pass *run, const tutti_kernel_work *w, const void *varying)
{
    tutti_kernel_args args = w->args;
    args.drawn = varying;
    run(w->kernel, &args);
}

static void forward_work(const tutti_device *d, const void *kernel_work, const void *varying)
{
    (void)d;
    const tutti_kernel_work *w = kernel_work;
    run_pass(w->kernel->row->forward, w, varying);
}

static void backward_params_work(const tutti_device *d, const void *kernel_work, const void *varying)
{
    (void)d;
    const tutti_kernel_work *w = kernel_work;
    run_pass(w->kernel->row->backward_params, w, varying);
}

static void backward_data_work(const tutti_device *d, const void *kernel_work, const void *varying)
{
    (void)d;
    const tutti_kernel_work *w = kernel_work;
    run_pass(w->kernel->row->backward_data, w, varying);
}

static void sum_work(const tutti_device *d, const void *sum_work, const void *varying)
{
    (void)varying;
    const tutti_sum_work *w = sum_work;
    tutti_cuda *c = tutti_cuda_of(d);
    tutti_cuda_value_sum(c, step_of(c)->values, w->value, w->parts, w->nparts, w->out);
}

static void to_plain_work(const tutti_device *d, const void *plain_work, const void *varying)
{
    (void)varying;
    const tutti_plain_work *w = plain_work;
    tutti_cuda *c = tutti_cuda_of(d);
    tutti_cuda_value_to_plain(c, step_of(c)->values, w->value, w->from, w->to);
}

static void from_plain_work(const tutti_device *d, const void *plain_work, const void *varying)
{
    (void)varying;
    const tutti_plain_work *w = plain_work;
    tutti_cuda *c = tutti_cuda_of(d);
    tutti_cuda_value_from_plain(c, step_of(c)->values, w->value, w->from, w->to);
}

static void blocks_work(const tutti_device *d, const void *blocks_work, const void *varying)
{
    (void)varying;
    tutti_blocks_work w = *(const tutti_blocks_work *)blocks_work;
    int32_t parts = w.parts, into = w.into;
    tutti_cuda *c = tutti_cuda_of(d);
    const int64_t n = w.nsamples * parts * (w.noutputs / parts);
    tutti_cuda_run(c, step_of(c)->blocks, tutti_cuda_cover(n, THREADS, 1),
                   (void *[]){&w.rows, &w.blocks, &w.nsamples, &w.noutputs, &parts, &into});
}

static const tutti_cuda_grid one_thread = {{1}, {1}, 0};

static void control_work(const tutti_device *d, const void *control_work, const void *varying)
{
    tutti_control_work w = *(const tutti_control_work *)control_work;
    tutti_cuda *c = tutti_cuda_of(d);
    tutti_cuda_run(c, step_of(c)->control, one_thread, (void *[]){&w.correct, &w.counted, &w.stops, &varying});
}

static void no_loss_work(const tutti_device *d, const void *loss, const void *varying)
{
    (void)varying;
    float *at = *(float *const *)loss;
    tutti_cuda *c = tutti_cuda_of(d);
    tutti_cuda_run(c, step_of(c)->no_loss, one_thread, (void *[]){&at});
}

/* ---- the rule ---- */

/* Blocks of a launch are dealt to its vectors: the blocks of vector i begin at first[i]. No block begins behind the
 * last vector. */
typedef struct {
    uint32_t *first;
    uint32_t nblocks; /* blocks dealt so far */
} dealing;

static dealing deal(uint32_t first[TUTTI_WORK_TOGETHER])
{
    for (int i = 0; i < TUTTI_WORK_TOGETHER; i++) first[i] = UINT32_MAX;
    return (dealing){first, 0};
}

static void deal_blocks(dealing *d, int vector, uint32_t nblocks)
{
    d->first[vector] = d->nblocks;
    d->nblocks += nblocks;
}

static void run_dealt(tutti_cuda *c, tutti_cuda_function f, const dealing *d, void *const *args)
{
    tutti_cuda_run(c, f, (tutti_cuda_grid){{d->nblocks}, {THREADS}, 0}, args);
}

static uint32_t blocks_over(int64_t n, int32_t skew)
{
    return n > 0 ? cover(n, skew).blocks[0] : 0;
}

static slice slice_of(const tutti_update_slice *s)
{
    const int32_t skew = SKEW_OF(s->w, s->state[0], s->state[1], s->sum, s->centre);
    return (slice){s->w, {s->state[0], s->state[1]}, s->sum, s->centre, s->n, skew};
}

static void update_work(const tutti_device *d, const void *update_work, const void *varying)
{
    const tutti_update_work *w = update_work;
    tutti_cuda *c = tutti_cuda_of(d);
    const rule_functions *f = rule_functions_of(step_of(c), w->rule);
    updates u = {0};
    dealing blocks = deal(u.first);
    assert(f);
    for (int i = 0; i < w->nslices; i++) {
        u.s[i] = slice_of(&w->slices[i]);
        deal_blocks(&blocks, i, blocks_over(u.s[i].n, u.s[i].skew));
    }
    run_dealt(c, f->update, &blocks, (void *[]){&u, &varying});
}

static void statistic_work(const tutti_device *d, const void *statistic_work, const void *varying)
{
    (void)varying;
    const tutti_statistic_work *w = statistic_work;
    tutti_cuda *c = tutti_cuda_of(d);
    float slots = (float)w->nslots;
    statistics all = {0};
    dealing blocks = deal(all.first);
    for (int i = 0; i < w->nslices; i++) {
        const tutti_statistic_slice *s = &w->slices[i];
        all.s[i] =
            (running){s->w, s->sum, s->n, SKEW_OF(s->w, s->sum), s->take == 1, (float)(1 - s->take), (float)s->take};
        deal_blocks(&blocks, i, blocks_over(s->n, all.s[i].skew));
    }
    run_dealt(c, step_of(c)->statistic, &blocks, (void *[]){&all, &slots});
}

/* Returns how many blocks share the tiles of n elements. */
static uint32_t blocks_for_tiles(int64_t n)
{
    const int64_t tiles = (n + TILE - 1) / TILE;
    return (uint32_t)(tiles < TILES_AT_ONCE ? tiles : TILES_AT_ONCE);
}

static void finite_work(const tutti_device *d, const void *finite_work, const void *varying)
{
    (void)varying;
    tutti_finite_work w = *(const tutti_finite_work *)finite_work;
    tutti_cuda *c = tutti_cuda_of(d);
    looked_at v = {0};
    dealing blocks = deal(v.first);
    for (int i = 0; i < w.nvectors; i++) {
        v.x[i] = w.x[i], v.n[i] = w.n[i];
        v.nblocks[i] = blocks_for_tiles(w.n[i]);
        deal_blocks(&blocks, i, v.nblocks[i]);
    }
    run_dealt(c, step_of(c)->are_finite, &blocks, (void *[]){&v, &w.squares, &w.bad});
}

/* Sums the squares of the weights and of what the rule compares them with. If the rule compares the weights with
 * something else than gradients, also looks whether the gradients are finite. */
static void norms_work(const tutti_device *d, const void *norms_work, const void *varying)
{
    tutti_norms_work w = *(const tutti_norms_work *)norms_work;
    tutti_cuda *c = tutti_cuda_of(d);
    const rule_functions *f = rule_functions_of(step_of(c), w.rule);
    slice s = slice_of(&w.slice);
    assert(f && f->norms);
    const uint32_t nvectors = w.rule->measures[tutti_isa_here()] ? 3 : 2;
    const tutti_cuda_grid grid = {{blocks_for_tiles(s.n), nvectors}, {THREADS}, 0};
    tutti_cuda_run(c, f->norms, grid, (void *[]){&s, &varying, &w.squares, &w.bad});
}

static void zeros_work(const tutti_device *d, const void *zeros_work, const void *varying)
{
    (void)varying;
    const tutti_zeros_work *w = zeros_work;
    tutti_cuda *c = tutti_cuda_of(d);
    tutti_cuda_value_zeros(c, step_of(c)->values, w->value, w->memory, w->zeros);
}

static void clear_work(const tutti_device *d, const void *clear_work, const void *varying)
{
    (void)varying;
    const tutti_clear_work *w = clear_work;
    tutti_cuda_fill(tutti_cuda_of(d), w->numbers, 0, sizeof *w->numbers * (size_t)w->n);
}

/* ---- loops over elements, by name ---- */

static void elastic_work(const tutti_device *d, const void *elements, const void *varying)
{
    tutti_elements w = *(const tutti_elements *)elements;
    float nworkers = (float)w.nworkers;
    int32_t skew = SKEW_OF(w.to, w.from);
    tutti_cuda *c = tutti_cuda_of(d);
    run_over(c, step_of(c)->elastic, w.n, skew, (void *[]){&w.to, &w.from, &w.n, &skew, &nworkers, &varying});
}

static void outer_work(const tutti_device *d, const void *elements, const void *varying)
{
    (void)varying;
    tutti_elements w = *(const tutti_elements *)elements;
    float rate = (float)w.rule.outer_rate, mu = (float)w.rule.outer_mu;
    int32_t skew = SKEW_OF(w.to, w.other, w.from);
    tutti_cuda *c = tutti_cuda_of(d);
    run_over(c, step_of(c)->outer, w.n, skew, (void *[]){&w.to, &w.other, &w.from, &w.n, &skew, &rate, &mu});
}

static void meet_work(const tutti_device *d, const void *elements, const void *varying)
{
    tutti_elements w = *(const tutti_elements *)elements;
    int32_t skew = SKEW_OF(w.to, w.from, w.other);
    tutti_cuda *c = tutti_cuda_of(d);
    run_over(c, step_of(c)->meet, w.n, skew, (void *[]){&w.to, &w.from, &w.other, &w.n, &skew, &varying});
}

static void mean_work(const tutti_device *d, const void *elements, const void *varying)
{
    (void)varying;
    tutti_elements w = *(const tutti_elements *)elements;
    float nworkers = (float)w.nworkers;
    int32_t skew = SKEW_OF(w.to, w.from);
    tutti_cuda *c = tutti_cuda_of(d);
    run_over(c, step_of(c)->mean, w.n, skew, (void *[]){&w.to, &w.from, &w.n, &skew, &nworkers});
}

static void read_work(const tutti_device *d, const void *elements, const void *varying)
{
    (void)varying;
    const tutti_elements *w = elements;
    tutti_cuda_move(tutti_cuda_of(d), w->to, w->from, sizeof *w->to * (size_t)w->n);
}

static const struct {
    const char *name;
    void (*work)(const tutti_device *d, const void *elements, const void *varying);
} element_loops[] = {
    {"elastic", elastic_work}, {"outer", outer_work}, {"meet", meet_work}, {"mean", mean_work}, {"read", read_work}};
enum { NLOOPS = sizeof element_loops / sizeof *element_loops };

static int loop_of(const tutti_element_loop *loop)
{
    int i = 0;
    while (i < NLOOPS && strcmp(element_loops[i].name, loop->name)) i++;
    return i;
}

bool tutti_step_has_loop_cuda(const tutti_element_loop *loop)
{
    return loop_of(loop) < NLOOPS;
}

static void elements_work(const tutti_device *d, const void *elements, const void *varying)
{
    element_loops[loop_of(((const tutti_elements *)elements)->loop)].work(d, elements, varying);
}

const tutti_queue_work tutti_works_cuda[TUTTI_NWORKS] = TUTTI_STEP_TABLE;
