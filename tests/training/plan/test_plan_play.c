/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_play.c: plays loops, with every engine there is, in one process and looks at the numbers: sharing memory
 * changes no bit, and in canonical mode neither does the number of ranks. The exchange is the test's own: a balanced
 * tree over all ranks' roots. Memory is filled with NaN before each slot, so that reading what nobody wrote shows. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../toy_net.h"
#include "training/plan/placement.h"
#include "training/plan/plan_impl.h"

enum { BATCH = 48, SEED = 5 };

typedef struct {
    tutti_model *model;
    tutti_graph *graph;
    tutti_plan plan;
    tutti_placement memory;
    float *weights, *grads; /* grads: nroots_max vectors */
    char *arena;
    int64_t sample_size;
    float *samples;
    int32_t labels[BATCH];
} player;

/* What is played: a shipped model on an engine, by so many ranks. */
typedef struct {
    const char *model, *engine;
    int nranks, slots;
} scene;

static void begin(player *y, const scene *sc)
{
    tutti_failure err = {0};
    y->plan = (tutti_plan){.config = {.nranks = sc->nranks, .slots = sc->slots, .batch = BATCH, .bucket_bytes = 20000}};
    y->plan.samples_per_call = BATCH / (sc->slots ? sc->slots : sc->nranks);
    if (tutti_model_load(sc->model, ".", &y->model, &err) ||
        tutti_graph_build(y->model,
                          &(tutti_graph_config){
                              .batch = y->plan.samples_per_call, .engine = sc->engine, .nthreads = 1, .training = true},
                          &y->graph, &err))
        fail_msg("%s", err.text);
    y->plan.graph = y->graph;
    tutti_plan_pack_params(&y->plan);
    tutti_plan_count_buffers(&y->plan);
    tutti_placement_make(y->graph, &y->plan.arena, &y->memory);
    y->weights = calloc((size_t)y->plan.total, sizeof(float));
    y->grads = malloc((size_t)(y->plan.total * y->plan.nroots_max) * sizeof(float));
    for (int i = 0; i < y->graph->nparams; i++)
        tutti_graph_init_param(&y->graph->params[i], SEED, y->weights + y->plan.param_offset[i]);
    y->sample_size = tutti_shape_count(&y->model->input);
    const tutti_param all = {.name = "samples", .count = BATCH * y->sample_size, .desc = {.init_bound = 1}};
    y->samples = malloc((size_t)all.count * sizeof(float));
    tutti_graph_init_param(&all, SEED, y->samples);
    for (int i = 0; i < BATCH; i++) y->labels[i] = i * 7 % y->model->nclasses;
}

static void end(player *y)
{
    free(y->weights);
    free(y->grads);
    free(y->samples);
    tutti_arena_release(&y->plan.arena);
    tutti_graph_destroy(y->graph);
    tutti_model_destroy(y->model);
}

/* Every datum in its own place, as if there were memory without end. */
static void unshare(player *y)
{
    int64_t at = 0;
    for (int l = 0; l < y->graph->model->nlayers; l++) {
        const tutti_kernel *k = &y->graph->kernels[l];
        int64_t *const places[3] = {&y->memory.value[l], &y->memory.value_grad[l], &y->memory.saved[l]};
        const int64_t bytes[3] = {(int64_t)k->out.bytes, (int64_t)k->out.bytes, (int64_t)k->saved_bytes};
        for (int i = 0; i < 3; i++)
            if (*places[i] >= 0) {
                *places[i] = at;
                at += (bytes[i] + 63) / 64 * 64;
            }
    }
    y->memory.bytes += at - y->memory.scratch;
    y->memory.scratch = at;
}

static float *place(const player *y, int64_t offset)
{
    return offset < 0 ? NULL : (float *)(void *)(y->arena + offset);
}

static void run_kernel(player *y, const tutti_action *a, int first_slot)
{
    const int l = a->layer, from = y->model->layers[l].in[0];
    tutti_kernel *k = &y->graph->kernels[l];
    const int64_t first = (first_slot + a->slot) * y->plan.samples_per_call;
    float *grads = y->grads + a->root_dst * y->plan.total;
    int32_t correct = -1;
    tutti_kernel_args args = {.in = {from < 0 ? y->samples + first * y->sample_size : place(y, y->memory.value[from])},
                              .out = place(y, y->memory.value[l]),
                              .dout = place(y, y->memory.value_grad[l]),
                              .din = {from < 0 ? NULL : place(y, y->memory.value_grad[from])},
                              .saved = place(y, y->memory.saved[l]),
                              .scratch = place(y, y->memory.scratch),
                              .training = true,
                              .seed = SEED,
                              .step = 3,
                              .first_sample = (uint64_t)first,
                              .layer = (uint32_t)l,
                              .labels = y->labels + first,
                              .loss_scale = 1.0f / BATCH,
                              .loss = grads + y->plan.param_offset[toy_param(y->graph, "@loss")],
                              .correct = &correct};
    for (int i = 0; i < y->graph->nparams; i++)
        if (y->graph->params[i].layer == l) {
            args.param[y->graph->params[i].ordinal] = y->weights + y->plan.param_offset[i];
            args.dparam[y->graph->params[i].ordinal] = grads + y->plan.param_offset[i];
        }
    if (a->kind == TUTTI_DO_FORWARD) k->row->forward(k, &args);
    if (a->kind == TUTTI_DO_BACKWARD_PARAMS) k->row->backward_params(k, &args);
    if (a->kind == TUTTI_DO_BACKWARD_DATA) k->row->backward_data(k, &args);
    if (correct >= 0) grads[y->plan.param_offset[toy_param(y->graph, "@correct")]] = (float)correct;
    if (l == 0) grads[y->plan.param_offset[toy_param(y->graph, "@stop")]] = 0;
}

static void play_rank(player *y, int rank)
{
    tutti_arena arena = {0};
    tutti_action *a;
    int n;
    tutti_plan_list_actions(&y->plan, rank, &arena, &a, &n);
    const int64_t slots = y->plan.config.slots ? y->plan.config.slots : y->plan.config.nranks;
    const int first_slot = (int)(slots * rank / y->plan.config.nranks);
    y->arena = aligned_alloc(64, (size_t)y->memory.bytes);
    memset(y->grads, 0xff, (size_t)(y->plan.total * y->plan.nroots_max) * sizeof(float));
    for (int i = 0, slot = -1; i < n; i++) {
        if (a[i].slot != slot) memset(y->arena, 0xff, (size_t)y->memory.bytes);
        slot = a[i].slot;
        if (a[i].layer >= 0) run_kernel(y, &a[i], first_slot);
        if (a[i].kind != TUTTI_DO_FOLD) continue;
        const tutti_bucket *b = &y->plan.buckets[a[i].bucket];
        float *dst = y->grads + a[i].root_dst * y->plan.total, *src = y->grads + a[i].root_src * y->plan.total;
        for (int64_t e = b->offset; e < b->offset + b->count; e++) dst[e] += src[e];
    }
    free(y->arena);
    tutti_arena_release(&arena);
}

/* sums[first leaf] of n leaves becomes the balanced tree of sums over them; runs that are whole already are left. */
static void combine(float **sums, const int *nleaves, int first, int n, int64_t count)
{
    if (nleaves[first] >= n) return;
    combine(sums, nleaves, first, n / 2, count);
    combine(sums, nleaves, first + n / 2, n / 2, count);
    for (int64_t e = 0; e < count; e++) sums[first][e] += sums[first + n / 2][e];
}

/* The summed gradient of one step, in params order; the caller frees. */
static float *step(const scene *sc, bool shared, int64_t *count)
{
    const int nranks = sc->nranks, slots = sc->slots;
    player *y = calloc(1, sizeof *y);
    begin(y, sc);
    if (!shared) unshare(y);
    const int nslots = slots ? slots : nranks;
    float *sums[64] = {NULL};
    int nleaves[64] = {0};
    for (int r = 0; r < nranks; r++) {
        tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
        const int n = tutti_plan_roots(slots, nranks, r, roots);
        play_rank(y, r);
        for (int i = 0; i < n; i++) {
            float *sum = malloc((size_t)y->plan.total * sizeof(float));
            memcpy(sum, y->grads + i * y->plan.total, (size_t)y->plan.total * sizeof(float));
            sums[roots[i].first_slot] = sum;
            nleaves[roots[i].first_slot] = roots[i].nslots;
        }
    }
    combine(sums, nleaves, 0, nslots, y->plan.total);
    *count = 0;
    float *out = malloc((size_t)y->plan.total * sizeof(float));
    for (int i = 0; i < y->graph->nparams; i++) {
        memcpy(out + *count, sums[0] + y->plan.param_offset[i], (size_t)y->graph->params[i].count * sizeof(float));
        *count += y->graph->params[i].count;
    }
    for (int i = 0; i < nslots; i++) free(sums[i]);
    end(y);
    free(y);
    for (int64_t e = 0; e < *count; e++) assert_true(isfinite(out[e]));
    return out;
}

static void expect_same_bits(const scene *sc, const float *expected, int64_t count)
{
    int64_t n;
    float *sum = step(sc, true, &n);
    assert_int_equal(n, count);
    assert_memory_equal(sum, expected, (size_t)count * sizeof(float));
    free(sum);
}

static bool is_built(const char *engine)
{
    char about[96];
    tutti_kernel_engine_describe(engine, about);
    return about[0];
}

static const char *const engines[] = {"reference", "onednn"}; /* the second where it is built */

static void sharing_memory_changes_no_bit(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp", "convnet-bn", "lenet"};
    for (int e = 0; e < 2 && is_built(engines[e]); e++)
        for (int m = 0; m < 2 + e; m++) { /* lenet on the fast engine only: tests are to be short */
            const scene sc = {models[m], engines[e], 2, 4};
            int64_t count;
            float *unshared = step(&sc, false, &count);
            expect_same_bits(&sc, unshared, count);
            free(unshared);
        }
}

static void canonical_gradients_do_not_depend_on_the_number_of_ranks(void **state)
{
    (void)state;
    for (int e = 0; e < 2 && is_built(engines[e]); e++)
        for (int slots = 2; slots <= 16; slots *= 8) {
            int64_t count;
            scene sc = {e ? "convnet-bn" : "mlp", engines[e], 1, slots};
            float *alone = step(&sc, true, &count);
            for (sc.nranks = 2; sc.nranks <= slots; sc.nranks += sc.nranks < 5 ? 1 : 4)
                expect_same_bits(&sc, alone, count);
            free(alone);
        }
}

static void control_numbers_are_sums_over_the_global_batch(void **state)
{
    (void)state;
    int64_t count;
    const scene sc = {"mlp", "reference", 3, 8};
    float *sum = step(&sc, true, &count);
    const float loss = sum[count - 3], correct = sum[count - 2], stop = sum[count - 1];
    assert_true(loss > 0.5f * BATCH && loss < 10.0f * BATCH); /* log 10 = 2.3 a sample for an untrained net */
    assert_true(correct >= 0 && correct <= BATCH && correct == floorf(correct));
    assert_true(stop == 0);
    free(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharing_memory_changes_no_bit),
        cmocka_unit_test(canonical_gradients_do_not_depend_on_the_number_of_ranks),
        cmocka_unit_test(control_numbers_are_sums_over_the_global_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
