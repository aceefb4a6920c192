/* SPDX-License-Identifier: Apache-2.0 */
/* plan_player.h: plays the loops of all ranks in one process, so that tests can look at the numbers. The exchange is
 * the test's own: a balanced tree over all ranks' roots. Memory is filled with NaN before each slot, so that reading
 * what nobody wrote shows. */
#ifndef TUTTI_PLAN_PLAYER_H
#define TUTTI_PLAN_PLAYER_H

#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../planned.h"
#include "../toy_net.h"
#include "kernel/choose/memory_order.h"
#include "training/plan/placement.h"

#ifndef PLAYED_BATCH
#define PLAYED_BATCH 48 /* what divides by many numbers of ranks */
#endif
enum { BATCH = PLAYED_BATCH, SEED = 5 };

typedef struct {
    tutti_model *read, *model; /* as the text has it; as it is played */
    tutti_graph *graph;
    tutti_plan *plan;
    tutti_arena work;
    tutti_placement memory;
    float *weights, *grads, *numbers; /* grads, numbers: ncopies vectors */
    char *arena;
    int64_t sample_size;
    float *samples;
    int32_t labels[BATCH];
} player;

/* What is played: a shipped model, or a text in the format of model files, on an engine, by so many ranks. */
typedef struct {
    const char *model, *engine;
    int nranks, slots;
    bool fused;
    tutti_precision precision;
    const struct tutti_tuned *tuned;
    int nthreads; /* 0: one */
} scene;

static inline void begin(player *y, const scene *sc)
{
    tutti_failure err = {0};
    const tutti_plan_config config = by_method(
        (tutti_plan_config){
            .nranks = sc->nranks, .slots = sc->slots, .batch = BATCH, .bucket_bytes = 20000, .prove_later = true},
        "sync-sgd");
    if ((strchr(sc->model, '\n') ? tutti_model_parse("text", sc->model, strlen(sc->model), &y->read, &err)
                                 : tutti_model_load(sc->model, ".", &y->read, &err)))
        fail_msg("%s", err.text);
    y->model = sc->fused ? tutti_model_fuse(y->read) : y->read;
    if (tutti_graph_build(y->model,
                          &(tutti_graph_config){.batch = BATCH / (sc->slots ? sc->slots : sc->nranks),
                                                .engine = sc->engine,
                                                .nthreads = sc->nthreads ? sc->nthreads : 1,
                                                .training = true,
                                                .precision = sc->precision,
                                                .tuned = sc->tuned,
                                                .canonical = sc->slots > 0},
                          &y->graph, &err))
        fail_msg("%s", err.text);
    if (tutti_plan_build(y->graph, &config, &y->plan, &err)) fail_msg("%s", err.text);
    tutti_placement_make(y->graph, &y->work, &y->memory);
    y->weights = calloc((size_t)y->plan->total, sizeof(float));
    y->grads = malloc((size_t)(y->plan->total * y->plan->ncopies) * sizeof(float));
    y->numbers = malloc((size_t)(y->plan->control.count * y->plan->ncopies) * sizeof(float));
    for (int i = 0; i < y->plan->control.first_param; i++)
        tutti_graph_init_param(&y->graph->params[y->plan->order[i]], SEED,
                               y->weights + y->plan->param_offset[y->plan->order[i]]);
    y->sample_size = tutti_shape_count(&y->model->input);
    const tutti_param all = {.name = "samples", .count = BATCH * y->sample_size, .desc = {.init_bound = 1}};
    y->samples = malloc((size_t)all.count * sizeof(float));
    tutti_graph_init_param(&all, SEED, y->samples);
    for (int i = 0; i < BATCH; i++) y->labels[i] = i * 7 % y->model->nclasses;
}

static inline void end(player *y)
{
    free(y->weights);
    free(y->grads);
    free(y->numbers);
    free(y->samples);
    tutti_plan_destroy(y->plan);
    tutti_arena_release(&y->work);
    tutti_graph_destroy(y->graph);
    if (y->model != y->read) tutti_model_destroy(y->model);
    tutti_model_destroy(y->read);
}

/* Every datum in its own place, as if there were memory without end; only what a kernel makes of the gradient that it
 * is given lies where that does. */
static inline void unshare(player *y)
{
    const tutti_graph *g = y->graph;
    int64_t at = 0;
    for (int l = 0; l < g->model->nlayers; l++) {
        int64_t *const places[2] = {&y->memory.value[l], &y->memory.saved[l]};
        const size_t bytes[2] = {g->kernels[l].out.bytes, g->kernels[l].saved_bytes};
        for (int i = 0; i < 2; i++)
            if (*places[i] >= 0) {
                *places[i] = at;
                at += ((int64_t)bytes[i] + 63) / 64 * 64;
            }
    }
    for (int i = 0; i < g->ngrads; i++) {
        y->memory.grad[i] = at;
        at += ((int64_t)g->kernels[g->grads[i].layer].out.bytes + 63) / 64 * 64;
    }
    for (int l = 0; l < g->model->nlayers; l++)
        if (g->layer_grads[l].out >= 0)
            y->memory.grad[g->layer_grads[l].changed] = y->memory.grad[g->layer_grads[l].out];
    for (int t = 0; t < g->nnodes; t++)
        if (y->memory.scratch[t] >= 0) {
            y->memory.scratch[t] = at;
            at += ((int64_t)g->kernels[g->nodes[t].layer].scratch_bytes + 63) / 64 * 64;
        }
    y->memory.bytes = at;
}

static inline void *place(const player *y, const int64_t *offsets, int i)
{
    return i < 0 || offsets[i] < 0 ? NULL : y->arena + offsets[i];
}

static inline void sum_gradients(player *y, int l)
{
    const tutti_layer_grads *own = &y->graph->layer_grads[l];
    const void *parts[TUTTI_MAX_SUM_PARTS];
    for (int i = 0; i < own->nparts; i++) parts[i] = place(y, y->memory.grad, own->parts[i]);
    tutti_value_sum(&y->graph->kernels[l].out, parts, own->nparts, place(y, y->memory.grad, own->out), 1);
}

static inline void fill_values(player *y, int l, float *samples, tutti_kernel_args *args)
{
    const tutti_layer_grads *own = &y->graph->layer_grads[l];
    for (int i = 0; i < y->model->layers[l].nin; i++) {
        const int from = y->model->layers[l].in[i];
        args->in[i] = from < 0 ? samples : place(y, y->memory.value, from);
        if (!(y->graph->kernels[l].passes_gradient >> i & 1)) args->din[i] = place(y, y->memory.grad, own->in[i]);
    }
    args->out = place(y, y->memory.value, l);
    args->dout = place(y, y->memory.grad, own->out);
    args->ndout_parts = own->takes_parts ? own->nparts : 0;
    for (int i = 0; i < args->ndout_parts; i++) args->dout_parts[i] = place(y, y->memory.grad, own->parts[i]);
    args->saved = place(y, y->memory.saved, l);
}

/* A slot's part of a parameter's gradient. */
static inline float *gradient(const player *y, int copy, int param)
{
    const tutti_plan *p = y->plan;
    return (y->graph->params[param].layer < 0 ? y->numbers + copy * p->control.count : y->grads + copy * p->total) +
           p->param_offset[param];
}

/* Channels that fill up a last block hold zeros (memory_order.h): others read them. of: what it has been made by. */
static inline void expect_filled_up(const char *of, const tutti_value *v, const void *memory)
{
    tutti_blocks b;
    if (!memory || !tutti_blocks_of(v, &b)) return;
    for (int64_t i = 0; i < b.batch * b.plane; i++) {
        const int64_t last = b.nblocks - 1, filled = b.channels - last * b.block,
                      at = i / b.plane * b.sample_step + last * b.block_step + i % b.plane * b.block;
        for (int64_t c = filled; c < b.block; c++) {
            const bool is_zero = v->dtype == TUTTI_F32 ? ((const float *)memory)[at + c] == 0
                                                       : !(((const uint16_t *)memory)[at + c] & 0x7fff);
            if (!is_zero) fail_msg("%s leaves channel %lld of %lld no zero", of, (long long)c, (long long)filled);
        }
    }
}

static inline void expect_all_filled_up(const player *y, int l, tutti_node_kind kind, const tutti_kernel_args *args)
{
    static const char *const passes[] = {"forward", "d weights", "d input"};
    const tutti_kernel *k = &y->graph->kernels[l];
    const tutti_kernel_pass pass = kind == TUTTI_NODE_FORWARD ? TUTTI_PASS_FORWARD : TUTTI_PASS_DATA;
    char of[160];
    snprintf(of, sizeof of, "%s of %s (%s) by %s", passes[pass], y->model->layers[l].name, k->op->name,
             k->chosen[pass].name ? k->chosen[pass].name : "-");
    if (kind == TUTTI_NODE_FORWARD) expect_filled_up(of, &k->out, args->out);
    for (int i = 0; i < y->model->layers[l].nin && kind == TUTTI_NODE_BACKWARD_DATA; i++)
        if (y->model->layers[l].in[i] >= 0) expect_filled_up(of, &k->in[i], args->din[i]);
}

static inline void run_kernel(player *y, const tutti_action *a, int first_slot)
{
    const tutti_node_kind kind = y->graph->nodes[a->node].kind;
    const int l = y->graph->nodes[a->node].layer;
    tutti_kernel *k = &y->graph->kernels[l];
    const int64_t first = (first_slot + a->slot) * y->plan->samples_per_call;
    int32_t correct = -1;
    tutti_kernel_args args = {.training = true,
                              .seed = SEED,
                              .step = 3,
                              .first_sample = (uint64_t)first,
                              .layer = (uint32_t)y->model->layers[l].number,
                              .labels = y->labels + first,
                              .loss_scale = 1.0f / BATCH,
                              .loss = gradient(y, a->dst, toy_param(y->graph, "@loss")) +
                                      tutti_graph_loss_number(y->graph, l),
                              .correct = &correct};
    fill_values(y, l, y->samples + first * y->sample_size, &args);
    args.scratch = place(y, y->memory.scratch, a->node);
    for (int i = 0; i < y->graph->nparams; i++)
        if (y->graph->params[i].layer == l) {
            args.param[y->graph->params[i].ordinal] = y->weights + y->plan->param_offset[i];
            args.dparam[y->graph->params[i].ordinal] = gradient(y, a->dst, i);
        }
    if (kind == TUTTI_NODE_FORWARD) k->row->forward(k, &args);
    if (kind == TUTTI_NODE_BACKWARD_PARAMS) k->row->backward_params(k, &args);
    if (kind == TUTTI_NODE_BACKWARD_DATA) k->row->backward_data(k, &args);
    if (kind == TUTTI_NODE_SUM) sum_gradients(y, l);
    expect_all_filled_up(y, l, kind, &args);
    if (correct >= 0) *gradient(y, a->dst, toy_param(y->graph, "@correct")) = (float)correct;
    if (l == 0) *gradient(y, a->dst, toy_param(y->graph, "@stop")) = 0;
}

static inline void fold(player *y, const tutti_action *a)
{
    const tutti_bucket *b = tutti_plan_bucket_at(y->plan, a->bucket);
    const int64_t total = a->bucket == TUTTI_CONTROL_BUCKET ? y->plan->control.count : y->plan->total;
    float *of = a->bucket == TUTTI_CONTROL_BUCKET ? y->numbers : y->grads;
    for (int64_t e = b->offset; e < b->offset + b->count; e++) of[a->dst * total + e] += of[a->src * total + e];
}

static inline void play_rank(player *y, int rank)
{
    const tutti_plan *p = y->plan;
    tutti_arena arena = {0};
    tutti_loop loops[TUTTI_NDRIVERS];
    tutti_plan_list_loops(p, rank, &arena, loops);
    const tutti_loop *l = &loops[TUTTI_EACH_STEP];
    const int64_t slots = p->config.slots ? p->config.slots : p->config.nranks;
    const int first_slot = (int)(slots * rank / p->config.nranks);
    y->arena = aligned_alloc(64, (size_t)y->memory.bytes);
    memset(y->grads, 0xff, (size_t)(p->total * p->ncopies) * sizeof(float));
    for (int i = 0, slot = -1; i < l->nactions; i++) {
        const tutti_action *a = &l->actions[i];
        if (a->kind == TUTTI_DO_KERNEL && a->slot != slot) memset(y->arena, 0xff, (size_t)y->memory.bytes);
        if (a->kind == TUTTI_DO_KERNEL) slot = a->slot;
        if (a->kind == TUTTI_DO_KERNEL) run_kernel(y, a, first_slot);
        if (a->kind == TUTTI_DO_FOLD) fold(y, a);
    }
    free(y->arena);
    tutti_arena_release(&arena);
}

/* sums[first leaf] of n leaves becomes the balanced tree of sums over them; runs that are whole already are left. */
static inline void combine(float **sums, const int *nleaves, int first, int n, int64_t count)
{
    if (nleaves[first] >= n) return;
    combine(sums, nleaves, first, n / 2, count);
    combine(sums, nleaves, first + n / 2, n / 2, count);
    for (int64_t e = 0; e < count; e++) sums[first][e] += sums[first + n / 2][e];
}

/* The summed gradient of one step, in params order, row-major; the caller frees. */
static inline float *step(const scene *sc, bool shared, int64_t *count)
{
    const int nranks = sc->nranks, slots = sc->slots;
    player *y = calloc(1, sizeof *y);
    begin(y, sc);
    if (!shared) unshare(y);
    const int nslots = slots ? slots : nranks;
    const int64_t total = y->plan->total, length = total + y->plan->control.count; /* control numbers behind */
    float *sums[64] = {NULL};
    int nleaves[64] = {0};
    for (int r = 0; r < nranks; r++) {
        tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
        const int n = tutti_plan_roots(slots, nranks, r, roots);
        play_rank(y, r);
        for (int i = 0; i < n; i++) {
            float *sum = malloc((size_t)length * sizeof(float));
            memcpy(sum, y->grads + i * total, (size_t)total * sizeof(float));
            memcpy(sum + total, y->numbers + i * (length - total), (size_t)(length - total) * sizeof(float));
            sums[roots[i].first_slot] = sum;
            nleaves[roots[i].first_slot] = roots[i].nslots;
        }
    }
    combine(sums, nleaves, 0, nslots, length);
    *count = 0;
    float *out = malloc((size_t)length * sizeof(float));
    for (int i = 0; i < y->graph->nparams; i++) {
        const tutti_param *p = &y->graph->params[i];
        tutti_param_to_plain(&p->desc, sums[0] + (p->layer < 0 ? total : 0) + y->plan->param_offset[i], out + *count);
        *count += p->count;
    }
    for (int i = 0; i < nslots; i++) free(sums[i]);
    end(y);
    free(y);
    for (int64_t e = 0; e < *count; e++)
        if (!isfinite(out[e]))
            fail_msg("%.60s by %s in %s, %d ranks: number %lld of %lld is %a", sc->model, sc->engine,
                     tutti_precision_name(sc->precision), nranks, (long long)e, (long long)*count, (double)out[e]);
    return out;
}

static inline void expect_same_bits(const scene *sc, const float *expected, int64_t count)
{
    int64_t n;
    float *sum = step(sc, true, &n);
    assert_int_equal(n, count);
    for (int64_t e = 0; e < count; e++)
        if (memcmp(&sum[e], &expected[e], sizeof *sum) != 0)
            fail_msg("%.60s by %s, %d ranks, %d threads: number %lld is %a, not %a", sc->model, sc->engine, sc->nranks,
                     sc->nthreads, (long long)e, (double)sum[e], (double)expected[e]);
    free(sum);
}

static inline bool is_built(const char *engine)
{
    char about[96];
    tutti_kernel_engine_describe(engine, about);
    return about[0];
}

static const char *const engines[] = {"reference", "auto"};

#endif
