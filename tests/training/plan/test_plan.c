/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c: whole plans with their schedules: what must be equal on all ranks is, and what does not go together is
 * refused with what would. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "../planned.h"
#include "../toy_net.h"
#include "kernel/kernel_impl.h"

static const tutti_plan_config base = {
    .nranks = 2, .batch = 16, .algorithm = "auto", .bucket_bytes = 300, .engine = "reference", .nthreads = 1};

static tutti_status make(toy_net *net, tutti_plan_config config, tutti_graph **g, tutti_plan **p, tutti_failure *err)
{
    int64_t samples;
    *g = NULL;
    *p = NULL;
    toy_make(net);
    config = by_method(config, "sync-sgd");
    tutti_status st = tutti_plan_samples_per_call(&config, &samples, err);
    if (!st)
        st = tutti_graph_build(
            &net->model,
            &(tutti_graph_config){.batch = samples, .engine = "reference", .nthreads = 1, .training = true}, g, err);
    if (!st) st = tutti_plan_build(*g, &config, p, err);
    return st;
}

static void must_make(toy_net *net, tutti_plan_config config, tutti_graph **g, tutti_plan **p)
{
    tutti_failure err = {0};
    if (make(net, config, g, p, &err)) fail_msg("%s", err.text);
}

static void ranks_agree_on_all_but_their_share(void **state)
{
    (void)state;
    for (int slots = 0; slots <= 8; slots += 8) {
        uint64_t hash = 0;
        int64_t next = 0;
        for (int r = 0; r < 4; r++) {
            tutti_plan_config config = base;
            config.nranks = 4;
            config.rank = r;
            config.slots = slots;
            toy_net net;
            tutti_graph *g;
            tutti_plan *p;
            must_make(&net, config, &g, &p);
            if (r) assert_true(tutti_plan_hash(p) == hash);
            hash = tutti_plan_hash(p);
            assert_int_equal(p->my_first_sample, next);
            next += p->my_nsamples;
            tutti_plan_destroy(p);
            tutti_graph_destroy(g);
        }
        assert_int_equal(next, 16);
    }
}

static void hash_tells_apart_what_ranks_must_not_mix(void **state)
{
    (void)state;
    tutti_plan_config configs[5] = {base, base, base, base, base};
    configs[1].bucket_bytes = 0;
    configs[2].batch = 32;
    configs[3].slots = 8;
    configs[4].nthreads = 2;
    uint64_t hash[5];
    for (int i = 0; i < 5; i++) {
        toy_net net;
        tutti_graph *g;
        tutti_plan *p;
        must_make(&net, configs[i], &g, &p);
        hash[i] = tutti_plan_hash(p);
        for (int j = 0; j < i; j++) assert_true(hash[i] != hash[j]);
        tutti_plan_destroy(p);
        tutti_graph_destroy(g);
    }
}

/* The compiler's own reading of who holds which slots must be the plan's: buffer i of role IN is root i. */
static void roots_are_the_in_buffers_of_the_compiled_reduce_scatter(void **state)
{
    (void)state;
    for (int slots = 0; slots <= 8; slots += 8)
        for (int nranks = 1; nranks <= 8; nranks++) {
            tutti_plan_config config = base;
            config.nranks = nranks;
            config.slots = slots;
            config.batch = 8 * 3 * 5 * 7;
            toy_net net;
            tutti_graph *g;
            tutti_plan *p;
            must_make(&net, config, &g, &p);
            const tutti_schedule *stages[2] = {p->schedules[0].compiled, p->schedules[0].lowered};
            for (int s = 0; s < 2; s++)
                for (int r = 0; r < nranks; r++) {
                    tutti_slot_run roots[TUTTI_MAX_SLOT_RUNS];
                    const int n = tutti_plan_roots(slots, nranks, r, roots);
                    assert_in_range(n, 1, p->nins);
                    tutti_part part;
                    tutti_schedule_part(stages[s], r, &part);
                    int nins = 0;
                    for (int b = 0; b < part.nbuffers; b++) {
                        const tutti_buffer *buffer = &part.buffers[b];
                        if (buffer->role != TUTTI_BUFFER_IN) continue;
                        nins++;
                        assert_in_range(buffer->ordinal, 0, n - 1);
                        assert_int_equal(buffer->leaf, roots[buffer->ordinal].first_slot);
                        assert_int_equal(buffer->nleaves, roots[buffer->ordinal].nslots);
                    }
                    assert_int_equal(nins, n);
                    tutti_part_release(&part);
                }
            tutti_plan_destroy(p);
            tutti_graph_destroy(g);
        }
}

static void schedules_are_in_place_lowered_and_of_the_class_asked_for(void **state)
{
    (void)state;
    for (int slots = 0; slots <= 8; slots += 8) {
        tutti_plan_config config = base;
        config.slots = slots;
        toy_net net;
        tutti_graph *g;
        tutti_plan *p;
        must_make(&net, config, &g, &p);
        tutti_failure err = {0};
        assert_int_equal(tutti_plan_check_schedules(p, &err), TUTTI_OK);
        for (int b = 0; b < p->nbuckets; b++) {
            const tutti_schedule_header *rs = tutti_schedule_head(lowered_of(p, exchange_of(p, "gradients", b)));
            const tutti_schedule_header *ag = tutti_schedule_head(lowered_of(p, exchange_of(p, "weights", b)));
            assert_int_equal(rs->collective, TUTTI_REDUCE_SCATTER);
            assert_int_equal(ag->collective, TUTTI_ALL_GATHER);
            assert_true(rs->in_place && ag->in_place);
            assert_int_equal(rs->wire, TUTTI_WIRE_MAPPED);
            assert_int_equal(rs->slots, slots);
            assert_int_equal(rs->determinism == TUTTI_DETERMINISM_CANONICAL, slots > 0);
        }
        tutti_plan_destroy(p);
        tutti_graph_destroy(g);
    }
}

static void text_shows_buckets_schedules_memory_and_loop(void **state)
{
    (void)state;
    tutti_plan_config config = base;
    config.slots = 8;
    toy_net net;
    tutti_graph *g;
    tutti_plan *p;
    must_make(&net, config, &g, &p);
    char *text = tutti_plan_print(p), *dot = tutti_plan_dot(p);
    static const char *const words[] = {"canonical over 8 slots; mine in 1 root: [0, 4)",
                                        "reduce-scatter direct, in place",
                                        ", sums canonical",
                                        "fc1.weight",
                                        "(8, 12)",
                                        "without sharing",
                                        "fold bucket 0: copy 0 += 1",
                                        "slot 3 into copy 2 of the gradients",
                                        "wait weights of bucket",
                                        "control numbers          allreduce of control numbers to control sums 0 + 48",
                                        "loop each step: "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(text, words[i])) fail_msg("no \"%s\" in\n%s", words[i], text);
    assert_non_null(strstr(dot, "-> x0 [label=\"ready, free\"]"));
    free(text);
    free(dot);
    tutti_plan_destroy(p);
    tutti_graph_destroy(g);
}

static void what_does_not_divide_is_refused_with_the_nearest_that_does(void **state)
{
    (void)state;
    static const struct {
        int64_t batch;
        int nranks, slots;
        const char *words;
    } cases[] = {
        {65, 2, 0, "batch: batch 65 does not divide into 2 ranks; batch 64 or 66 would"},
        {7, 4, 0, "batch 4 or 8 would"},
        {1, 4, 0, "; batch 4 would"},
        {20, 2, 8, "batch 20 does not divide into 8 slots; batch 16 or 24 would"},
        {64, 9, 8, "slots: 8 slots for 9 ranks: each rank needs one; use 16 slots"},
        {64, 2, 6, "slots: 6 is not a power of two; use 8"},
        {64, 2, -1, "use 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_plan_config config = base;
        config.batch = cases[i].batch;
        config.nranks = cases[i].nranks;
        config.slots = cases[i].slots;
        int64_t samples;
        tutti_failure err = {0};
        assert_int_equal(tutti_plan_samples_per_call(&config, &samples, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i].words)) fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].words);
    }
}

static void ring_is_refused_for_canonical_sums_with_the_compilers_reason(void **state)
{
    (void)state;
    tutti_plan_config config = base;
    config.slots = 8;
    config.algorithm = "ring";
    toy_net net;
    tutti_graph *g;
    tutti_plan *p;
    tutti_failure err = {0};
    assert_int_equal(make(&net, config, &g, &p, &err), TUTTI_ERR_USAGE);
    if (!strstr(err.text, "exchange (reduce-scatter): ") || !strstr(err.text, "ring")) fail_msg("%s", err.text);
    assert_null(p);
    tutti_graph_destroy(g);
}

static void graph_for_another_share_is_refused(void **state)
{
    (void)state;
    toy_net net;
    tutti_graph *g;
    tutti_plan *p;
    must_make(&net, base, &g, &p);
    tutti_plan_destroy(p);
    tutti_plan_config config = base;
    config.batch = 32;
    tutti_failure err = {0};
    assert_int_equal(tutti_plan_build(g, &config, &p, &err), TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "training of 8 samples a call; the plan trains 16"));
    tutti_graph_destroy(g);
}

/* Gradients are summed element by element as they lie. */
static void hash_tells_apart_orders_of_parameters(void **state)
{
    (void)state;
    toy_net net;
    tutti_graph *g;
    tutti_plan *p;
    must_make(&net, base, &g, &p);
    const uint64_t plain = tutti_plan_hash(p);
    const tutti_layout rows = {.stride = {4, 1}, .padded = {8, 4}}, columns = {.stride = {1, 8}, .padded = {8, 4}};
    g->params[0].desc.layout = &rows;
    const uint64_t by_rows = tutti_plan_hash(p);
    g->params[0].desc.layout = &columns;
    const uint64_t by_columns = tutti_plan_hash(p);
    assert_true(plain != by_rows && plain != by_columns && by_rows != by_columns);
    tutti_plan_destroy(p);
    tutti_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_agree_on_all_but_their_share),
        cmocka_unit_test(hash_tells_apart_what_ranks_must_not_mix),
        cmocka_unit_test(hash_tells_apart_orders_of_parameters),
        cmocka_unit_test(roots_are_the_in_buffers_of_the_compiled_reduce_scatter),
        cmocka_unit_test(schedules_are_in_place_lowered_and_of_the_class_asked_for),
        cmocka_unit_test(text_shows_buckets_schedules_memory_and_loop),
        cmocka_unit_test(what_does_not_divide_is_refused_with_the_nearest_that_does),
        cmocka_unit_test(ring_is_refused_for_canonical_sums_with_the_compilers_reason),
        cmocka_unit_test(graph_for_another_share_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
