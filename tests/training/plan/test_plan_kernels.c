/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_kernels.c: the choice of kernels in graph and plan: it is in words and in the plan's hash, alike for every
 * rank; measured times change it, where sums are canonical they do not, and then all rows of an op add up in one
 * order. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../planned.h"
#include "kernel/choose/candidate.h"

typedef struct {
    tutti_model *model;
    tutti_graph *graph;
    tutti_plan *plan;
} world;

static void open_world(world *w, const char *kernels, int rank, int slots, const tutti_tuned *tuned)
{
    tutti_failure err = {0};
    const tutti_plan_config config = by_method((tutti_plan_config){.rank = rank,
                                                                   .nranks = 2,
                                                                   .batch = 16,
                                                                   .slots = slots,
                                                                   .algorithm = "auto",
                                                                   .bucket_bytes = 1 << 20,
                                                                   .engine = kernels,
                                                                   .nthreads = 1},
                                               "sync-sgd");
    const tutti_graph_config graph = {.batch = slots ? 16 / slots : 8,
                                      .engine = kernels,
                                      .nthreads = 1,
                                      .training = true,
                                      .canonical = slots > 0,
                                      .tuned = tuned};
    if (tutti_model_load("lenet", ".", &w->model, &err) || tutti_graph_build(w->model, &graph, &w->graph, &err) ||
        tutti_plan_build(w->graph, &config, &w->plan, &err))
        fail_msg("%s", err.text);
}

static void close_world(world *w)
{
    tutti_plan_destroy(w->plan);
    tutti_graph_destroy(w->graph);
    tutti_model_destroy(w->model);
}

static uint64_t hash_of(const char *kernels, int rank, int slots, const tutti_tuned *tuned)
{
    world w;
    open_world(&w, kernels, rank, slots, tuned);
    const uint64_t hash = tutti_plan_hash(w.plan);
    close_world(&w);
    return hash;
}

/* The same words for what computes: only the choice is another. conv2's weight gradient has two candidates at least in
 * a build with oneDNN. */
static bool find_other(const char **chosen, const char **other, char shape[TUTTI_CANDIDATE_SHAPE])
{
    const tutti_candidate_table table = tutti_candidates();
    const tutti_kernel_candidate *fits[16];
    world w;
    open_world(&w, "auto", 0, 0, NULL);
    const tutti_kernel *k = &w.graph->kernels[2];
    const tutti_kernel_request r = {.engine = "auto",
                                    .op = k->op,
                                    .attrs = k->attrs,
                                    .in = k->in,
                                    .nin = 1,
                                    .training = true,
                                    .nthreads = 1,
                                    .order = TUTTI_ORDER_NHWC};
    assert_string_equal(k->op->name, "conv");
    const int n = tutti_candidates_that_fit(&table, &r, TUTTI_PASS_PARAMS, fits, 16);
    *chosen = k->chosen[TUTTI_PASS_PARAMS].name, *other = NULL;
    for (int i = 0; i < n; i++)
        if (fits[i]->op && strcmp(fits[i]->name, *chosen) != 0) *other = fits[i]->name;
    tutti_kernel bare;
    assert_int_equal(tutti_kernel_begin(&r, &bare, NULL), TUTTI_OK);
    tutti_candidate_shape(&bare, &r, shape);
    close_world(&w);
    return *other;
}

static void the_hash_has_the_choice(void **state)
{
    (void)state;
    const char *chosen, *other;
    char shape[TUTTI_CANDIDATE_SHAPE];
    if (!find_other(&chosen, &other, shape)) skip();
    const tutti_tuned_entry as_it_is[] = {{"conv", shape, "f32", "params", chosen, 1e-3}},
                            as_it_is_not[] = {{"conv", shape, "f32", "params", other, 1e-3}};
    const tutti_tuned same = {.entries = as_it_is, .n = 1}, another = {.entries = as_it_is_not, .n = 1};
    const uint64_t hash = hash_of("auto", 0, 0, NULL);
    assert_true(hash_of("auto", 1, 0, NULL) == hash);
    assert_true(hash_of("auto", 0, 0, &same) == hash);
    assert_true(hash_of("auto", 0, 0, &another) != hash);
    assert_true(hash_of("auto", 1, 0, &another) == hash_of("auto", 0, 0, &another));
    assert_true(hash_of("auto", 0, 8, &another) == hash_of("auto", 0, 8, NULL)); /* canonical */
}

static void every_rank_chooses_alike(void **state)
{
    (void)state;
    const char *name;
    for (int i = 0; (name = tutti_candidate_name_at(i)); i++)
        for (int slots = 0; slots <= 8; slots += 8)
            assert_true(hash_of(name, 0, slots, NULL) == hash_of(name, 1, slots, NULL));
}

static void canonical_sums_are_of_one_class_an_op(void **state)
{
    (void)state;
    world w;
    open_world(&w, "auto", 0, 8, NULL);
    int nlooked = 0;
    for (int l = 0; l < w.graph->nkernels; l++) {
        const tutti_kernel *k = &w.graph->kernels[l];
        const tutti_kernel_candidate *first =
            tutti_candidate_find(k->chosen[TUTTI_PASS_FORWARD].name, k->op->name, TUTTI_PRECISION_F32);
        for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
            if (!k->chosen[pass].name) continue;
            const tutti_kernel_candidate *c =
                tutti_candidate_find(k->chosen[pass].name, k->op->name, TUTTI_PRECISION_F32);
            assert_true(c && first && c->sums == first->sums);
            nlooked++;
        }
    }
    assert_true(nlooked > 10);
    close_world(&w);
}

static void the_choice_is_said_by_layer_and_in_a_line(void **state)
{
    (void)state;
    world w;
    tutti_strbuf sb = {0};
    open_world(&w, "reference", 0, 0, NULL);
    tutti_graph_add_choices(w.graph, "# ", &sb);
    assert_non_null(strstr(sb.text, "# kernels: layer, pass, by what, why\n"
                                    "#   conv1                    forward params      reference  asked for\n"));
    assert_non_null(strstr(sb.text, "#   conv2                    forward params data reference  asked for\n"));
    char *line = tutti_graph_say_choices(w.graph), name[TUTTI_KERNEL_NAME];
    assert_non_null(strstr(line, "conv by reference 5, dense by reference 6, "));
    tutti_graph_kernel_name(&w.graph->kernels[0], name);
    assert_string_equal(name, "reference");
    free(line);
    tutti_strbuf_release(&sb);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_has_the_choice),
        cmocka_unit_test(every_rank_chooses_alike),
        cmocka_unit_test(canonical_sums_are_of_one_class_an_op),
        cmocka_unit_test(the_choice_is_said_by_layer_and_in_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
