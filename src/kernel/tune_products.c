/* SPDX-License-Identifier: Apache-2.0 */
/* tune_products.c: sizes, measured, and a tree grown from them (tune_products.h). */
#include "tune_products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/rng.h"
#include "tune_trial.h"

enum {
    LEAST_M = 4, /* log2: batches are smaller than layers */
    LEAST_NK = 7,
    MOST = 13,
    DRAWN = 200,     /* between, learned from */
    HELD = 120,      /* judged by */
    MAX_SIZES = 1024 /* of the grid, DRAWN and HELD together */
};
static const uint64_t SEED = 17;

/* ---- sizes ---- */

static double products_of(const tutti_nt_size *s)
{
    return (double)s->m * (double)s->n * (double)s->k;
}

/* A whole number of 2^least .. 2^MOST. */
static int64_t draw_side(uint32_t word, int least)
{
    return (int64_t)(exp2(least + (MOST - least) * (double)tutti_random_unit(word)) + 0.5);
}

static void add_grid(tutti_products_tuned *t, double most)
{
    for (int m = LEAST_M; m <= MOST; m++)
        for (int n = LEAST_NK; n <= MOST; n++)
            for (int k = LEAST_NK; k <= MOST; k++) {
                const tutti_nt_size s = {INT64_C(1) << m, INT64_C(1) << n, INT64_C(1) << k};
                if (products_of(&s) <= most) t->samples[t->n++] = (tutti_products_sample){.size = s, .is_grid = true};
            }
}

/* Sizes that are there already are drawn again, so that none is learned from that is judged by. */
static void add_drawn(tutti_products_tuned *t, int n, double most, bool held)
{
    for (uint64_t try = 0; n > 0 && try < 100000; try++) {
        const tutti_random4 r = tutti_random(SEED, TUTTI_STREAM_SEARCH, held, try);
        const tutti_nt_size s = {draw_side(r.word[0], LEAST_M), draw_side(r.word[1], LEAST_NK),
                                 draw_side(r.word[2], LEAST_NK)};
        bool known = products_of(&s) > most;
        for (int i = 0; i < t->n && !known; i++) known = !memcmp(&t->samples[i].size, &s, sizeof s);
        if (known) continue;
        t->samples[t->n++] = (tutti_products_sample){.size = s, .is_held = held};
        n--;
    }
}

/* ---- measuring ---- */

/* What a size is as a kernel of dense without bias. */
typedef struct {
    tutti_dense_attrs attrs;
    tutti_value in;
    tutti_kernel_request request;
} asked;

static void ask(asked *a, const tutti_nt_size *s, int nthreads)
{
    a->attrs = (tutti_dense_attrs){.units = s->n};
    a->in = tutti_value_plain(&(tutti_shape){2, {s->m, s->k}});
    a->request = (tutti_kernel_request){.engine = "auto",
                                        .op = &tutti_op_dense,
                                        .attrs = &a->attrs,
                                        .in = &a->in,
                                        .nin = 1,
                                        .precision = TUTTI_PRECISION_F32,
                                        .nthreads = nthreads};
}

/* Plain loops are never the soonest; the library's inner product is its sgemm, which is nt. */
static int find_ways(const asked *a, const tutti_kernel_candidate **ways)
{
    const tutti_kernel_candidate *all[2 * TUTTI_PRODUCT_WAYS];
    const tutti_candidate_table table = tutti_candidates();
    const int n = tutti_candidates_that_fit(&table, &a->request, TUTTI_PASS_FORWARD, all, 2 * TUTTI_PRODUCT_WAYS);
    int nways = 0;
    for (int i = 0; i < n && nways < TUTTI_PRODUCT_WAYS; i++)
        if (all[i]->row && all[i]->row != &tutti_onednn_dense) ways[nways++] = all[i];
    return nways;
}

/* Fewer rounds of what takes long: it meets more of what disturbs, and evens it out. */
static int rounds_for(const tutti_nt_size *s)
{
    const double products = products_of(s);
    return products < 3e7 ? 20 : products < 3e8 ? 12 : products < 2e9 ? 5 : 3;
}

static tutti_status measure(tutti_products_tuned *t, tutti_products_sample *s, int nthreads, tutti_trial_memory *memory,
                            tutti_failure *err)
{
    asked a;
    const tutti_kernel_candidate *ways[TUTTI_PRODUCT_WAYS];
    tutti_kernel kernels[TUTTI_PRODUCT_WAYS], *list[TUTTI_PRODUCT_WAYS];
    tutti_status st = TUTTI_OK;
    int made = 0;
    ask(&a, &s->size, nthreads);
    const int nways = find_ways(&a, ways);
    if (nways < 2)
        return tutti_fail(err, TUTTI_ERR_USAGE, "there is one way at most to dense's forward pass in this build");
    for (; made < nways && !st; made += !st) {
        t->way[made] = ways[made]->name;
        list[made] = &kernels[made];
        st = tutti_kernel_create_by(ways[made]->row, &a.request, &kernels[made], err);
    }
    t->nways = nways;
    if (!st) tutti_trial_measure(list, nways, TUTTI_PASS_FORWARD, nthreads, rounds_for(&s->size), memory, s->seconds);
    for (int i = 0; i < made; i++) tutti_kernel_destroy(&kernels[i]);
    return st;
}

static tutti_status measure_all(const tutti_products_request *r, tutti_products_tuned *t, tutti_failure *err)
{
    tutti_trial_memory memory = {0};
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < t->n && !st; i++) {
        if (r->progress) r->progress(r->arg, i, t->n);
        st = measure(t, &t->samples[i], r->nthreads, &memory, err);
    }
    if (r->progress) r->progress(r->arg, t->n, t->n);
    tutti_trial_memory_release(&memory);
    return st;
}

/* ---- learning ---- */

/* Of those that are held, or of the others. Returns how many. */
static int as_samples(const tutti_products_tuned *t, const tutti_processor *p, bool held, tutti_tree_sample *out)
{
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        const tutti_products_sample *s = &t->samples[i];
        if (s->is_held != held) continue;
        tutti_nt_features(p, &s->size, out[n].feature);
        for (int w = 0; w < t->nways; w++) out[n].seconds[w] = s->seconds[w];
        n++;
    }
    return n;
}

static void learn(tutti_products_tuned *t)
{
    tutti_processor here;
    tutti_tree_sample *samples = tutti_alloc((size_t)t->n * sizeof *samples);
    tutti_processor_read("", &here);
    const int nlearned = as_samples(t, &here, false, samples);
    tutti_choice_tree_grow(samples, nlearned, TUTTI_NT_FEATURES, t->nways, &t->tree);
    t->learned = tutti_choice_tree_score(&t->tree, samples, nlearned);
    t->held = tutti_choice_tree_score(&t->tree, samples, as_samples(t, &here, true, samples));
    free(samples);
}

tutti_status tutti_tune_products(const tutti_products_request *r, tutti_products_tuned *out, tutti_failure *err)
{
    tutti_products_tuned t = {.samples = tutti_alloc(MAX_SIZES * sizeof *t.samples)};
    add_grid(&t, r->most_products);
    add_drawn(&t, DRAWN, r->most_products, false);
    add_drawn(&t, HELD, r->most_products, true);
    const tutti_status st = measure_all(r, &t, err);
    if (st) {
        free(t.samples);
        return st;
    }
    learn(&t);
    *out = t;
    return TUTTI_OK;
}

void tutti_tune_products_add(const tutti_products_tuned *t, tutti_tune_file *f)
{
    tutti_tune_tree tree = {.name = TUTTI_NT_TREE, .precision = "f32", .tree = t->tree};
    for (int w = 0; w < t->nways; w++) tree.way[w] = t->way[w];
    for (int i = 0; i < TUTTI_NT_FEATURES; i++) tree.feature[i] = tutti_nt_feature_name(i);
    tutti_tune_file_add_tree(f, &tree);
}

double tutti_tune_products_held_s(const tutti_products_tuned *t, int way)
{
    double sum = 0;
    for (int i = 0; i < t->n; i++) {
        const tutti_products_sample *s = &t->samples[i];
        double least = INFINITY;
        for (int w = 0; w < t->nways; w++) least = fmin(least, s->seconds[w]);
        if (s->is_held) sum += way < 0 ? least : s->seconds[way];
    }
    return sum;
}
