/* SPDX-License-Identifier: Apache-2.0 */
/* tune_products.c: measures matrix products of many sizes and grows a decision tree from the times (tune_products.h).
 * */
#include "tune_products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/rng.h"
#include "tune_trial.h"

enum {
    LEAST_M = 4, /* log2 of the least m; it is lower than that of n and k because batches are smaller than layers */
    LEAST_NK = 7,
    MOST = 13,
    GRID_STEP = 2,    /* log2 of the factor between neighbouring sides of the grid */
    DRAWN = 480,      /* number of random sizes from which the tree learns, besides the grid */
    ROUND_SIDE = 64,  /* some random sides are multiples of this number, as units and inputs of many layers are */
    HELD = 120,       /* number of random sizes for judging the tree */
    MAX_SIZES = 1024, /* limit for the number of all sizes: grid, DRAWN and HELD */
    SWEEPS = 3
};
/* Disturbances by other programs last longer than the measurement of one size. So a sweep measures all sizes, and there
 * are several sweeps. A sweep leaves out ways that took more than WORTH[sweep] times the shortest time of earlier
 * sweeps. */
static const double WORTH[SWEEPS] = {INFINITY, 2, 1.1};
static const uint64_t SEED = 29;
static const double USUAL_PRODUCTS = 2147483648.0; /* largest m n k of a usual size: 2^31 */

/* ---- sizes ---- */

static double products_of(const tutti_nt_size *s)
{
    return (double)s->m * (double)s->n * (double)s->k;
}

/* Returns a whole number in 2^least .. 2^MOST, which follows from a random word. */
static int64_t draw_side(uint32_t word, int least)
{
    return (int64_t)(exp2(least + (MOST - least) * (double)tutti_random_unit(word)) + 0.5);
}

static void add_grid(tutti_products_tuned *t, double most)
{
    for (int m = LEAST_M; m <= MOST; m += GRID_STEP)
        for (int n = LEAST_NK; n <= MOST; n += GRID_STEP)
            for (int k = LEAST_NK; k <= MOST; k += GRID_STEP) {
                const tutti_nt_size s = {INT64_C(1) << m, INT64_C(1) << n, INT64_C(1) << k};
                if (products_of(&s) <= most) t->samples[t->n++] = (tutti_products_sample){.size = s, .is_grid = true};
            }
}

static int64_t rounded(int64_t side)
{
    return (side + ROUND_SIDE / 2) / ROUND_SIDE * ROUND_SIDE;
}

/* Adds n random sizes. A size that exists already is drawn again, so that no size is used both for learning and for
 * judging. Among sizes for learning, n is a multiple of ROUND_SIDE in every fourth size, and so is k. Three of four
 * sizes have at most 2^31 products, because larger ones take most of the time and tell little that is new. */
static void add_drawn(tutti_products_tuned *t, int n, double most, bool held)
{
    for (uint64_t try = 0; n > 0 && try < 100000; try++) {
        const tutti_random4 r = tutti_random(SEED, TUTTI_STREAM_SEARCH, held, try);
        tutti_nt_size s = {draw_side(r.word[0], LEAST_M), draw_side(r.word[1], LEAST_NK),
                           draw_side(r.word[2], LEAST_NK)};
        if (!held && r.word[3] % 4 == 0) s.n = rounded(s.n);
        if (!held && r.word[3] / 4 % 4 == 0) s.k = rounded(s.k);
        bool known = products_of(&s) > (held || n % 4 == 0 ? most : fmin(most, USUAL_PRODUCTS));
        for (int i = 0; i < t->n && !known; i++) known = !memcmp(&t->samples[i].size, &s, sizeof s);
        if (known) continue;
        t->samples[t->n++] = (tutti_products_sample){.size = s, .is_held = held};
        n--;
    }
}

/* ---- measuring ---- */

/* A size, as a request for a dense kernel without bias, and the ways to compute it. */
typedef struct {
    tutti_dense_attrs attrs;
    tutti_value in;
    tutti_kernel_request request;
    const tutti_kernel_candidate *ways[TUTTI_PRODUCT_WAYS];
    int nways;
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

/* Finds the ways to compute the size. Two are left out: plain loops, which are never the fastest, and the library's
 * inner product, which is its sgemm and so the same as nt. */
static void find_ways(asked *a)
{
    const tutti_kernel_candidate *all[2 * TUTTI_PRODUCT_WAYS];
    const tutti_candidate_table table = tutti_candidates();
    const int n = tutti_candidates_that_fit(&table, &a->request, TUTTI_PASS_FORWARD, all, 2 * TUTTI_PRODUCT_WAYS);
    a->nways = 0;
    for (int i = 0; i < n && a->nways < TUTTI_PRODUCT_WAYS; i++)
        if (all[i]->row && all[i]->row != &tutti_onednn_dense) a->ways[a->nways++] = all[i];
}

/* Returns the number of rounds in which a sweep measures this size, after a first run whose time also counts. Sizes
 * with long runs get fewer rounds, because a long run evens out disturbances by itself. */
static int rounds_for(const tutti_nt_size *s)
{
    const double products = products_of(s);
    return products < 3e7 ? 7 : products < 3e8 ? 4 : products < 2e9 ? 2 : 1;
}

static int soonest(const tutti_products_tuned *t, const double *seconds)
{
    int best = 0;
    for (int w = 1; w < t->nways; w++)
        if (seconds[w] < seconds[best]) best = w;
    return best;
}

static double shortest(const tutti_products_tuned *t, const tutti_products_sample *s)
{
    return s->seconds[soonest(t, s->seconds)];
}

/* Measures the ways that took at most `most` seconds in earlier sweeps. The seconds of all other ways stay as they
 * are. */
static tutti_status measure_ways(const tutti_products_sample *s, const asked *a, double most,
                                 tutti_trial_memory *memory, double *out, tutti_failure *err)
{
    tutti_kernel kernels[TUTTI_PRODUCT_WAYS], *list[TUTTI_PRODUCT_WAYS];
    double seconds[TUTTI_PRODUCT_WAYS];
    int way[TUTTI_PRODUCT_WAYS];
    tutti_status st = TUTTI_OK;
    int made = 0;
    for (int w = 0; w < a->nways && !st; w++) {
        if (s->seconds[w] > most) continue;
        st = tutti_kernel_create_by(a->ways[w]->row, &a->request, &kernels[made], err);
        if (st) continue;
        way[made] = w;
        list[made] = &kernels[made];
        made++;
    }
    if (!st)
        tutti_trial_measure(&(tutti_trial){list, made, TUTTI_PASS_FORWARD, a->request.nthreads, rounds_for(&s->size)},
                            memory, seconds);
    for (int i = 0; i < made; i++) {
        if (!st) out[way[i]] = seconds[i];
        tutti_kernel_destroy(&kernels[i]);
    }
    return st;
}

static tutti_status measure(tutti_products_tuned *t, tutti_products_sample *s, int nthreads, int sweep,
                            tutti_trial_memory *memory, tutti_failure *err)
{
    asked a;
    ask(&a, &s->size, nthreads);
    find_ways(&a);
    t->nways = a.nways;
    if (t->nways < 2)
        return tutti_fail(err, TUTTI_ERR_USAGE, "there is one way at most to dense's forward pass in this build");
    double seconds[TUTTI_PRODUCT_WAYS];
    for (int w = 0; w < t->nways; w++) {
        t->way[w] = a.ways[w]->name;
        seconds[w] = INFINITY;
        if (sweep == 0) s->seconds[w] = INFINITY;
    }
    const tutti_status st = measure_ways(s, &a, WORTH[sweep] * shortest(t, s), memory, seconds, err);
    for (int w = 0; w < t->nways; w++) s->seconds[w] = fmin(s->seconds[w], seconds[w]);
    if (sweep < 2) memcpy(sweep ? s->second : s->first, seconds, sizeof seconds);
    return st;
}

static tutti_status measure_all(const tutti_products_request *r, tutti_products_tuned *t, tutti_failure *err)
{
    tutti_trial_memory memory = {0};
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < SWEEPS * t->n && !st; i++) {
        if (r->progress) r->progress(r->arg, i, SWEEPS * t->n);
        st = measure(t, &t->samples[i % t->n], r->nthreads, i / t->n, &memory, err);
    }
    if (r->progress) r->progress(r->arg, SWEEPS * t->n, SWEEPS * t->n);
    tutti_trial_memory_release(&memory);
    return st;
}

/* ---- learning ---- */

/* Converts sizes to samples of the tree: the sizes that only judge the tree, or with `held` false all others. Returns
 * the number of samples. */
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
        if (s->is_held) sum += way < 0 ? shortest(t, s) : s->seconds[way];
    }
    return sum;
}

double tutti_tune_products_agree(const tutti_products_tuned *t)
{
    static const double near = 1.02;
    double agree = 0;
    for (int i = 0; i < t->n; i++) {
        const tutti_products_sample *s = &t->samples[i];
        const int a = soonest(t, s->first), b = soonest(t, s->second);
        if (!s->is_held) continue;
        agree += 0.5 * (s->first[b] <= near * s->first[a]) + 0.5 * (s->second[a] <= near * s->second[b]);
    }
    return agree;
}
