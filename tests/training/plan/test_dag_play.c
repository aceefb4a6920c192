/* SPDX-License-Identifier: Apache-2.0 */
/* test_dag_play.c: models with branches and several losses are played (plan_player.h): their gradients are those of
 * central differences, sharing memory changes no bit, and canonical sums do not depend on the number of ranks. */
#include "plan_player.h"

#include "../random_dag.h"

/* x has four readers, one of which passes its gradient on; sum has two, cat reads x twice. Smooth, so that differences
 * are good approximations. */
static const char smooth[] = "name: smooth\n"
                             "input: [2, 4, 4]\n"
                             "classes: 3\n"
                             "layers:\n"
                             "  - conv: {name: stem, out_channels: 3, kernel: 3, pad: 1}\n"
                             "  - batch-norm: {name: norm}\n"
                             "  - tanh: {name: x}\n"
                             "  - conv: {name: left, out_channels: 3, kernel: 3, pad: 1, from: x}\n"
                             "  - tanh: {name: left_out}\n"
                             "  - conv: {name: right, out_channels: 2, kernel: 1, from: x}\n"
                             "  - sigmoid: {name: right_out}\n"
                             "  - add: {name: sum, from: [left_out, x]}\n"
                             "  - concat: {name: cat, from: [x, sum, right_out, x]}\n"
                             "  - conv: {name: mix, out_channels: 3, kernel: 1}\n"
                             "  - dense: {name: aux_fc, units: 3, from: sum}\n"
                             "  - softmax-cross-entropy: {name: aux, weight: 0.25}\n"
                             "  - add: {name: twice, from: [mix, mix]}\n"
                             "  - dense: {name: fc, units: 3}\n"
                             "  - softmax-cross-entropy: {name: main}\n";

/* The sum of all losses of the whole batch at the player's weights; its gradients are in grads. */
static double loss_of(player *y)
{
    play_rank(y, 0);
    const float *parts = gradient(y, 0, toy_param(y->graph, "@loss"));
    double sum = 0;
    for (int i = 0; i < tutti_graph_losses(y->graph); i++) sum += (double)parts[i];
    return sum;
}

static void check_param(player *y, int p, const float *gradients)
{
    const tutti_param *param = &y->graph->params[p];
    const int64_t at = y->plan->param_offset[p];
    for (int64_t e = 0; e < param->count; e++) {
        const float kept = y->weights[at + e], h = 0.005f;
        y->weights[at + e] = kept + h;
        const double up = loss_of(y);
        y->weights[at + e] = kept - h;
        const double down = loss_of(y), wide = (double)(kept + h) - (double)(kept - h);
        y->weights[at + e] = kept;
        const double difference = (up - down) / wide, gradient = (double)gradients[at + e] * BATCH;
        if (fabs(difference - gradient) > 0.01 + 0.004 * fabs(gradient))
            fail_msg("%s[%d]: gradient %g, central difference %g", param->name, (int)e, gradient, difference);
    }
}

static void gradients_through_branches_and_losses_are_those_of_central_differences(void **state)
{
    (void)state;
    player *y = calloc(1, sizeof *y);
    begin(y, &(scene){.model = smooth, .engine = "reference", .nranks = 1});
    loss_of(y);
    const size_t nbytes = (size_t)y->plan->total * sizeof(float);
    float *gradients = malloc(nbytes);
    memcpy(gradients, y->grads, nbytes);
    int nchecked = 0;
    for (int p = 0; p < y->graph->nparams; p++) {
        if (y->graph->params[p].desc.kind == TUTTI_PARAM_STATISTIC) continue;
        check_param(y, p, gradients);
        nchecked++;
    }
    assert_int_equal(nchecked, 14);
    free(gradients);
    end(y);
    free(y);
}

static void engines_agree_on_gradients_through_branches(void **state)
{
    (void)state;
    if (!is_built("onednn")) skip();
    int64_t count, other_count;
    float *expected = step(&(scene){.model = smooth, .engine = "reference", .nranks = 1}, true, &count);
    float *found = step(&(scene){.model = smooth, .engine = "auto", .nranks = 1}, true, &other_count);
    assert_int_equal(count, other_count);
    for (int64_t e = 0; e < count; e++)
        assert_true(fabsf(expected[e] - found[e]) <= 1e-5f + 1e-4f * fabsf(expected[e]));
    free(expected);
    free(found);
}

static void each_loss_is_told_by_itself_and_the_main_one_counts_right_answers(void **state)
{
    (void)state;
    int64_t count;
    float *sum = step(&(scene){.model = smooth, .engine = "reference", .nranks = 2, .slots = 8}, true, &count);
    const float *control = sum + count - 4;                               /* two losses, @correct, @stop */
    assert_true(control[0] > 0.15f * BATCH && control[0] < 0.5f * BATCH); /* a quarter of log 3 = 1.1 */
    assert_true(control[1] > 0.6f * BATCH && control[1] < 2.0f * BATCH);
    assert_true(control[2] >= 0 && control[2] <= BATCH && control[2] == floorf(control[2]));
    assert_true(control[3] == 0);
    free(sum);
}

static void sharing_memory_changes_no_bit_of_random_networks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (int e = 0; e < 2 && is_built(engines[e]); e++) {
            char *text = dag_text(seed);
            const scene sc = {.model = text,
                              .engine = engines[e],
                              .nranks = 1,
                              .slots = 2,
                              .fused = seed % 2 == 0,
                              .precision = (tutti_precision)(seed % 3)};
            int64_t count;
            float *unshared = step(&sc, false, &count);
            expect_same_bits(&sc, unshared, count);
            free(unshared);
            free(text);
        }
}

/* Two residual blocks, the second with a batch norm on both sides; x is read three times, y twice: the batch norm that
 * the end of the first block is merged into takes its gradient in two parts. 16 channels, which fill vectors. */
static const char residual[] = "name: residual\n"
                               "input: [2, 4, 4]\n"
                               "classes: 3\n"
                               "layers:\n"
                               "  - conv: {name: stem, out_channels: 16, kernel: 3, pad: 1}\n"
                               "  - relu: {name: x}\n"
                               "  - conv: {name: c1, out_channels: 16, kernel: 3, pad: 1}\n"
                               "  - batch-norm: {name: n1}\n"
                               "  - relu: {name: r1}\n"
                               "  - conv: {name: c2, out_channels: 16, kernel: 1}\n"
                               "  - batch-norm: {name: n2}\n"
                               "  - add: {name: j1, from: [n2, x]}\n"
                               "  - relu: {name: y}\n"
                               "  - conv: {name: c3, out_channels: 16, kernel: 2, stride: 2}\n"
                               "  - batch-norm: {name: n3}\n"
                               "  - conv: {name: short, out_channels: 16, kernel: 2, stride: 2, from: y}\n"
                               "  - batch-norm: {name: n4}\n"
                               "  - add: {name: j2, from: [n3, n4]}\n"
                               "  - relu\n"
                               "  - dropout\n"
                               "  - dense: {name: f1, units: 6}\n"
                               "  - relu: {name: last}\n"
                               "  - dense: {name: aux_fc, units: 3, from: x}\n"
                               "  - softmax-cross-entropy: {name: aux, weight: 0.25}\n"
                               "  - dense: {name: fc, units: 3, from: last}\n"
                               "  - softmax-cross-entropy: {name: main}\n";

static void expect_fused_is_unfused(const char *text, const char *engine, int nranks)
{
    scene sc = {.model = text, .engine = engine, .nranks = nranks, .slots = 4};
    int64_t count;
    float *unfused = step(&sc, true, &count);
    sc.fused = true;
    expect_same_bits(&sc, unfused, count);
    free(unfused);
}

static void merged_layers_change_no_bit_of_the_reference(void **state)
{
    (void)state;
    expect_fused_is_unfused(residual, "reference", 1);
    expect_fused_is_unfused(residual, "reference", 3);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        char *text = dag_text(seed);
        expect_fused_is_unfused(text, "reference", 1);
        free(text);
    }
}

static void engines_agree_on_merged_layers(void **state)
{
    (void)state;
    if (!is_built("onednn")) skip();
    for (uint64_t seed = 0; seed <= 60; seed++) {
        char *text = seed ? dag_text(seed) : strdup(residual);
        int64_t count, other_count;
        float *expected =
            step(&(scene){.model = text, .engine = "reference", .nranks = 1, .fused = true}, true, &count);
        float *found = step(&(scene){.model = text, .engine = "auto", .nranks = 1, .fused = true}, true, &other_count);
        assert_int_equal(count, other_count);
        for (int64_t e = 0; e < count; e++)
            if (!(fabsf(expected[e] - found[e]) <= 2e-4f + 1e-3f * fabsf(expected[e])))
                fail_msg("seed %d, element %d: reference %g, onednn %g", (int)seed, (int)e, (double)expected[e],
                         (double)found[e]);
        free(expected);
        free(found);
        free(text);
    }
}

static void canonical_gradients_of_branches_do_not_depend_on_the_number_of_ranks(void **state)
{
    (void)state;
    for (int e = 0; e < 2 && is_built(engines[e]); e++) {
        int64_t count;
        scene sc = {.model = residual, .engine = engines[e], .nranks = 1, .slots = 8, .fused = true};
        float *alone = step(&sc, true, &count);
        for (sc.nranks = 2; sc.nranks <= 8; sc.nranks++) expect_same_bits(&sc, alone, count);
        free(alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_through_branches_and_losses_are_those_of_central_differences),
        cmocka_unit_test(engines_agree_on_gradients_through_branches),
        cmocka_unit_test(each_loss_is_told_by_itself_and_the_main_one_counts_right_answers),
        cmocka_unit_test(sharing_memory_changes_no_bit_of_random_networks),
        cmocka_unit_test(merged_layers_change_no_bit_of_the_reference),
        cmocka_unit_test(engines_agree_on_merged_layers),
        cmocka_unit_test(canonical_gradients_of_branches_do_not_depend_on_the_number_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
