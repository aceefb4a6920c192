/* SPDX-License-Identifier: Apache-2.0 */
/* test_ops.c: every row of the ops table: its reference kernel against central differences and against numbers worked
 * out by hand, its shape rule, its parameters. */
#include "kernel/kernel_cases.h"

#include <math.h>

/* What the backward pass differentiates: sum of dout * out, or the scaled loss. In double, so that it adds no error. */
static double objective(bench *b)
{
    run_forward(b);
    if (b->k.op->is_loss) return (double)b->loss * (double)b->a.loss_scale;
    double sum = 0;
    int64_t n = count_of(&b->k.out.shape);
    for (int64_t i = 0; i < n; i++) sum += (double)b->dout[i] * (double)b->out[i];
    return sum;
}

static void check_gradient(bench *b, const kernel_case *c, const char *of, float *x, const float *gradient, int64_t n)
{
    for (int64_t i = 0; i<n; i += n> 2000 ? 37 : n > 200 ? 3 : 1) {
        float at = x[i], eps = (float)c->eps;
        x[i] = at + eps;
        double above = objective(b);
        x[i] = at - eps;
        double below = objective(b);
        x[i] = at;
        double difference = (above - below) / (2 * (double)eps), got = (double)gradient[i];
        bool agrees = c->exact ? difference == got : fabs(difference - got) <= 2e-3 * (1 + fabs(got));
        if (!agrees)
            fail_msg("%s, %s: %s[%lld]: gradient %.9g, differences %.9g", c->op, c->what, of, (long long)i, got,
                     difference);
    }
}

static float *copy_of(const float *x, int64_t n)
{
    float *y = malloc((size_t)n * sizeof *y);
    return memcpy(y, x, (size_t)n * sizeof *y);
}

static void gradients_of_every_op_agree_with_central_differences(void **state)
{
    (void)state;
    for (int i = 0; i < NCASES; i++) {
        const kernel_case *c = &kernel_cases[i];
        bench b;
        bench_open(&b, "reference", c, NULL, true, 1);
        run_forward(&b);
        run_backward(&b);
        float *din[TUTTI_MAX_OP_INPUTS], *dparam[TUTTI_MAX_OP_PARAMS];
        for (int in = 0; in < b.k.ninputs; in++) din[in] = copy_of(b.din[in], count_of(&b.k.in[in].shape));
        for (int p = 0; p < b.k.nparams; p++) dparam[p] = copy_of(b.dparam[p], count_of(&b.k.params[p].shape));
        for (int in = 0; in < b.k.ninputs; in++) {
            check_gradient(&b, c, "input", b.in[in], din[in], count_of(&b.k.in[in].shape));
            free(din[in]);
        }
        for (int p = 0; p < b.k.nparams; p++) {
            if (b.k.params[p].kind != TUTTI_PARAM_STATISTIC)
                check_gradient(&b, c, b.k.params[p].name, b.param[p], dparam[p], count_of(&b.k.params[p].shape));
            free(dparam[p]);
        }
        bench_close(&b);
    }
}

static void every_op_has_a_case_and_a_complete_row(void **state)
{
    (void)state;
    for (int i = 0; i < tutti_op_count(); i++) {
        const tutti_op_row *op = tutti_op_at(i);
        assert_ptr_equal(tutti_op_find(op->name), op);
        assert_non_null(op->infer);
        assert_non_null(op->flops);
        assert_non_null(op->reference);
        int ncases = 0;
        for (int c = 0; c < NCASES; c++) ncases += strcmp(kernel_cases[c].op, op->name) == 0;
        if (!ncases) fail_msg("op %s has no case in kernel_cases.h", op->name);
    }
    assert_null(tutti_op_find("convolution"));
    assert_null(tutti_op_at(tutti_op_count()));
}

static void refused(const char *op, const void *attrs, tutti_shape in, const char *words)
{
    tutti_shape out;
    tutti_failure err = {0};
    assert_int_equal(tutti_op_infer(tutti_op_find(op), attrs, &in, 1, &out, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, words)) fail_msg("%s: \"%s\" does not say \"%s\"", op, err.text, words);
}

static void refused_pair(const char *op, tutti_shape first, tutti_shape second, const char *words)
{
    tutti_shape out, in[] = {first, second};
    tutti_failure err = {0};
    assert_int_equal(tutti_op_infer(tutti_op_find(op), NULL, in, 2, &out, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, words)) fail_msg("%s: \"%s\" does not say \"%s\"", op, err.text, words);
}

static void wrong_shapes_are_refused_with_the_shapes(void **state)
{
    (void)state;
    tutti_pool_attrs pad_too_large = {.kernel = 3, .stride = 1, .pad = 2};
    tutti_dense_attrs huge = {.units = INT32_MAX, .bias = true};
    refused("conv", &conv5, (tutti_shape){4, {2, 3, 4, 9}}, "turns (2, 3, 4, 9) into (2, 4, 0, 5)");
    refused("conv", &conv5, (tutti_shape){2, {2, 3}}, "has (2, 3)");
    refused("conv", &conv_halves, (tutti_shape){4, {2, 3, 6, 6}},
            "3 input and 6 output channels cannot be cut into 2 groups");
    refused("global-avg-pool", NULL, (tutti_shape){2, {2, 3}}, "has (2, 3)");
    refused_pair("add", (tutti_shape){2, {2, 3}}, (tutti_shape){2, {3, 2}}, "input 1 has (2, 3), input 2 has (3, 2)");
    refused_pair("concat", (tutti_shape){4, {2, 3, 4, 4}}, (tutti_shape){4, {2, 3, 4, 5}}, "input 2 has (2, 3, 4, 5)");
    refused_pair("concat", (tutti_shape){1, {2}}, (tutti_shape){1, {2}}, "may differ in dim 1 only");
    refused("max-pool", &pool2, (tutti_shape){2, {2, 3}}, "has (2, 3)");
    refused("lrn", &lrn5, (tutti_shape){1, {2}}, "has (2)");
    refused("avg-pool", &pad_too_large, (tutti_shape){4, {1, 1, 9, 9}}, "pad 2 is more than half the kernel 3");
    refused("softmax-cross-entropy", &loss, (tutti_shape){4, {1, 2, 3, 4}}, "has (1, 2, 3, 4)");
    refused("batch-norm", &norm, (tutti_shape){3, {1, 2, 3}}, "has (1, 2, 3)");
    refused("dense", &huge, (tutti_shape){4, {1, 1000, 1000, 1000}}, "weight (2147483647, 1000000000) is too large");
    refused("relu", NULL, (tutti_shape){4, {1 << 20, 1 << 20, 1 << 20, 1 << 20}}, "is too large");
    refused("relu", NULL, (tutti_shape){2, {0, 4}}, "input (0, 4) is too large or empty");
}

static void conv_and_dense_start_as_in_pytorch(void **state)
{
    (void)state;
    tutti_param_desc p[TUTTI_MAX_OP_PARAMS];
    tutti_shape in = {4, {64, 3, 16, 16}};
    assert_int_equal(tutti_op_conv.params(&conv5, &in, p), 2);
    tutti_shape weight = {4, {4, 3, 5, 5}}, bias = {1, {4}};
    assert_true(tutti_shape_equal(&p[0].shape, &weight) && tutti_shape_equal(&p[1].shape, &bias));
    assert_true(p[0].init_bound == 1 / sqrt(75.0) && p[1].init_bound == 1 / sqrt(75.0));
    assert_int_equal(tutti_op_dense.params(&dense7, &in, p), 1);
    tutti_shape flat = {2, {7, 768}};
    assert_true(tutti_shape_equal(&p[0].shape, &flat));
    assert_true(p[0].init_bound == 1 / sqrt(768.0));
    assert_int_equal(tutti_op_batch_norm.params(&norm, &in, p), 4);
    assert_true(p[0].init_constant == 1 && p[3].init_constant == 1 && p[0].kind == TUTTI_PARAM_BIAS);
    assert_true(p[2].kind == TUTTI_PARAM_STATISTIC && p[2].take == 0.1);
}

static void pools_that_round_up_begin_their_last_window_inside(void **state)
{
    (void)state;
    const struct {
        int64_t kernel, stride, pad, n, want; /* want: torch.nn.MaxPool2d(kernel, stride, pad, ceil_mode=True) */
    } cases[] = {{3, 2, 0, 6, 3}, {3, 2, 0, 7, 3},    {2, 2, 0, 5, 3}, {2, 3, 1, 4, 2}, {3, 3, 1, 5, 2},
                 {3, 2, 0, 2, 1}, {3, 2, 1, 112, 57}, {2, 2, 1, 3, 2}, {5, 4, 2, 6, 2}, {4, 3, 2, 7, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_pool_attrs pool = {cases[i].kernel, cases[i].stride, cases[i].pad, true};
        tutti_shape in = {4, {1, 1, cases[i].n, cases[i].n}}, out;
        assert_int_equal(tutti_op_infer(&tutti_op_max_pool, &pool, &in, 1, &out, NULL), TUTTI_OK);
        assert_int_equal(out.dim[2], cases[i].want);
        assert_int_equal(out.dim[3], cases[i].want);
    }
}

static void the_weight_of_batch_norm_starts_where_it_is_told(void **state)
{
    (void)state;
    tutti_batch_norm_attrs last = norm;
    last.scale_init = 0;
    tutti_param_desc p[TUTTI_MAX_OP_PARAMS];
    tutti_shape in = {4, {2, 4, 6, 6}};
    assert_int_equal(tutti_op_batch_norm.params(&last, &in, p), 4);
    assert_true(p[0].init_constant == 0 && p[3].init_constant == 1);
}

static void a_he_start_is_normal_with_the_fan_out(void **state)
{
    (void)state;
    tutti_conv_attrs he = conv_halves;
    he.init = TUTTI_CONV_HE;
    tutti_param_desc p[TUTTI_MAX_OP_PARAMS];
    tutti_shape in = {4, {2, 4, 6, 6}}, weight = {4, {6, 2, 3, 3}};
    assert_int_equal(tutti_op_conv.params(&he, &in, p), 2);
    assert_true(tutti_shape_equal(&p[0].shape, &weight));
    assert_true(p[0].init_bound == 0 && p[0].init_deviation == sqrt(2 / 54.0)); /* 6 filters of 3 x 3 */
    assert_true(p[1].init_bound == 0 && p[1].init_deviation == 0 && p[1].init_constant == 0);
    assert_int_equal(tutti_op_conv.params(&conv_halves, &in, p), 2);
    assert_true(p[0].init_bound == 1 / sqrt(18.0) && p[0].init_deviation == 0);
}

static void the_weight_of_a_loss_multiplies_it_and_its_gradient(void **state)
{
    (void)state;
    tutti_loss_attrs half = {.weight = 0.5};
    kernel_case c = {"softmax-cross-entropy", &loss, {2, {4, 5}}, false, true, 1, .what = "whole"}, part = c;
    part.attrs = &half;
    bench w, p;
    bench_open(&w, "reference", &c, NULL, true, 1);
    bench_open(&p, "reference", &part, NULL, true, 1);
    run_forward(&w), run_backward(&w);
    run_forward(&p), run_backward(&p);
    assert_true(w.loss > 0 && p.loss == w.loss / 2 && p.correct == w.correct);
    for (int i = 0; i < 20; i++) assert_true(p.din[0][i] == w.din[0][i] / 2);
    bench_close(&w);
    bench_close(&p);
}

static void add_passes_its_gradient_on(void **state)
{
    (void)state;
    kernel_case c = {"add", NULL, {2, {3, 5}}, true, false, 1, .what = "three", .nmore = 2};
    bench b;
    bench_open(&b, "reference", &c, NULL, true, 1);
    assert_int_equal(b.k.passes_gradient, 7);
    assert_int_equal(b.k.backward_reads, 0);
    bench_close(&b);
}

static void batch_norm_reports_the_mean_and_the_unbiased_variance(void **state)
{
    (void)state;
    kernel_case c = {"batch-norm", &norm, {2, {4, 2}}, true, false, 1, .what = "by hand"};
    bench b;
    bench_open(&b, "reference", &c, NULL, true, 1);
    const float in[8] = {1, 10, 2, 10, 3, 10, 6, 10};
    memcpy(b.in[0], in, sizeof in);
    run_forward(&b);
    assert_true(b.dparam[2][0] == 3 && b.dparam[2][1] == 10);
    assert_true(b.dparam[3][0] == 14.0f / 3 && b.dparam[3][1] == 0);
    assert_true(b.out[1] == b.param[1][1]); /* no variance: the shift is all that is left */
    bench_close(&b);
}

static void batch_norm_in_evaluation_uses_the_running_statistics(void **state)
{
    (void)state;
    tutti_batch_norm_attrs no_eps = {.momentum = 0.1};
    kernel_case c = {"batch-norm", &no_eps, {2, {1, 1}}, true, false, 1, .what = "by hand"};
    bench b;
    bench_open(&b, "reference", &c, NULL, false, 1);
    b.in[0][0] = 7, b.param[0][0] = 3, b.param[1][0] = 1, b.param[2][0] = 5, b.param[3][0] = 4;
    run_forward(&b);
    assert_true(b.out[0] == 4); /* (7 - 5) / 2 * 3 + 1 */
    bench_close(&b);
}

static void batch_norm_of_one_value_a_channel_is_refused_in_training(void **state)
{
    (void)state;
    const tutti_value in = tutti_value_plain(&(tutti_shape){2, {1, 3}});
    tutti_kernel k = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_kernel_create(&(tutti_kernel_request){.engine = "reference",
                                                                 .op = &tutti_op_batch_norm,
                                                                 .attrs = &norm,
                                                                 .in = &in,
                                                                 .nin = 1,
                                                                 .training = true,
                                                                 .nthreads = 1},
                                         &k, &err),
                     TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "(1, 3) has one value a channel"));
    tutti_kernel_destroy(&k);
}

static void the_dropout_mask_does_not_depend_on_how_the_batch_is_cut(void **state)
{
    (void)state;
    kernel_case whole = {"dropout", &drop, {2, {6, 10}}, true, false, 1, .what = "whole"}, part = whole;
    part.in.dim[0] = 2;
    bench w, p;
    bench_open(&w, "reference", &whole, NULL, true, 1);
    bench_open(&p, "reference", &part, NULL, true, 1);
    for (int i = 0; i < 60; i++) w.in[0][i] = 3;
    for (int i = 0; i < 20; i++) p.in[0][i] = 3;
    run_forward(&w);
    int dropped = 0;
    for (int i = 0; i < 60; i++) dropped += w.out[i] == 0;
    assert_in_range(dropped, 5, 25); /* of 60 at rate 1/4 */
    for (int i = 0; i < 60; i++) assert_true(w.out[i] == 0 || w.out[i] == 4);
    for (int first = 0; first < 6; first += 2) {
        p.a.first_sample = 100 + (uint64_t)first;
        run_forward(&p);
        assert_memory_equal(p.out, w.out + first * 10, 20 * sizeof(float));
    }
    p.a.first_sample = 100, p.a.step++;
    run_forward(&p);
    assert_memory_not_equal(p.out, w.out, 20 * sizeof(float));
    p.a.step--, p.a.layer++;
    run_forward(&p);
    assert_memory_not_equal(p.out, w.out, 20 * sizeof(float));
    bench_close(&w);
    bench_close(&p);
}

static void dropout_in_evaluation_changes_nothing(void **state)
{
    (void)state;
    kernel_case c = {"dropout", &drop, {2, {6, 10}}, true, false, 1, .what = "evaluation"};
    bench b;
    bench_open(&b, "reference", &c, NULL, false, 1);
    run_forward(&b);
    assert_memory_equal(b.out, b.in[0], b.k.in[0].bytes);
    bench_close(&b);
}

static void the_loss_counts_and_sums_by_hand(void **state)
{
    (void)state;
    kernel_case c = {"softmax-cross-entropy", &loss, {2, {2, 2}}, true, false, 1, .what = "by hand"};
    bench b;
    bench_open(&b, "reference", &c, NULL, true, 1);
    b.in[0][0] = 5, b.in[0][1] = 5, b.in[0][2] = 1000, b.in[0][3] = 0; /* equal logits: the first wins; no overflow */
    b.labels[0] = 1, b.labels[1] = 0;
    run_forward(&b);
    assert_true(b.loss == (float)log(2));
    assert_int_equal(b.correct, 1);
    run_backward(&b);
    assert_true(b.din[0][0] == 0.125f && b.din[0][1] == -0.125f && b.din[0][2] == 0 && b.din[0][3] == 0);
    bench_close(&b);
}

/* Ten equal logits but one, far from 0: log(10) is as true there as beside 0. */
static void the_loss_does_not_lose_its_logarithm_beside_large_logits(void **state)
{
    (void)state;
    const float far[] = {0, 1e7F, -1e9F, 1e15F, 3e17F, 1e30F, -3e38F};
    kernel_case c = {"softmax-cross-entropy", &loss, {2, {1, 10}}, true, false, 1, .what = "far"};
    bench b;
    bench_open(&b, "reference", &c, NULL, true, 1);
    for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
        for (int i = 0; i < 10; i++) b.in[0][i] = far[k];
        b.labels[0] = 7;
        run_forward(&b);
        if (b.loss != (float)log(10)) fail_msg("logits of %g: loss %.9g", (double)far[k], (double)b.loss);
    }
    for (int i = 0; i < 10; i++) b.in[0][i] = i == 7 ? -2e20F : 1e20F;
    run_forward(&b);
    assert_true(b.loss == (float)(log(9) + ((double)1e20F + (double)2e20F)));
    bench_close(&b);
}

static void max_pool_gives_the_gradient_to_the_first_of_equals(void **state)
{
    (void)state;
    kernel_case c = {"max-pool", &pool2, {4, {1, 1, 2, 2}}, true, false, 1, .what = "ties"};
    bench b;
    bench_open(&b, "reference", &c, NULL, true, 1);
    b.in[0][0] = 1, b.in[0][1] = 2, b.in[0][2] = 2, b.in[0][3] = 2, b.dout[0] = 3;
    run_forward(&b);
    run_backward(&b);
    assert_true(b.out[0] == 2 && b.din[0][0] == 0 && b.din[0][1] == 3 && b.din[0][2] == 0 && b.din[0][3] == 0);
    bench_close(&b);
}

static void in_place_kernels_give_the_same_numbers_in_place(void **state)
{
    (void)state;
    for (int i = 0; i < NCASES; i++) {
        bench apart, same;
        bench_open(&apart, "reference", &kernel_cases[i], NULL, true, 1);
        bench_open(&same, "reference", &kernel_cases[i], NULL, true, 1);
        if (apart.k.in_place) {
            same.a.out = same.in[0];
            same.a.din[0] = same.dout;
            run_forward(&apart), run_backward(&apart);
            run_forward(&same), run_backward(&same);
            assert_memory_equal(apart.out, same.in[0], apart.k.out.bytes);
            assert_memory_equal(apart.din[0], same.dout, apart.k.in[0].bytes);
            assert_false(apart.k.backward_reads & TUTTI_READS_INPUT);
        }
        bench_close(&apart);
        bench_close(&same);
    }
}

static void unknown_kernels_are_refused_by_name(void **state)
{
    (void)state;
    const tutti_value in = tutti_value_plain(&(tutti_shape){2, {1, 3}});
    tutti_kernel k = {0};
    tutti_failure err = {0};
    assert_int_equal(tutti_kernel_create(&(tutti_kernel_request){.engine = "eigen",
                                                                 .op = &tutti_op_relu,
                                                                 .attrs = NULL,
                                                                 .in = &in,
                                                                 .nin = 1,
                                                                 .training = true,
                                                                 .nthreads = 1},
                                         &k, &err),
                     TUTTI_ERR_USAGE);
    assert_non_null(strstr(err.text, "no kernels are called 'eigen'; there are auto, onednn, "));
    char text[96];
    tutti_kernel_engine_describe("reference", text);
    assert_string_equal(text, "reference");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_a_case_and_a_complete_row),
        cmocka_unit_test(gradients_of_every_op_agree_with_central_differences),
        cmocka_unit_test(wrong_shapes_are_refused_with_the_shapes),
        cmocka_unit_test(conv_and_dense_start_as_in_pytorch),
        cmocka_unit_test(pools_that_round_up_begin_their_last_window_inside),
        cmocka_unit_test(the_weight_of_batch_norm_starts_where_it_is_told),
        cmocka_unit_test(a_he_start_is_normal_with_the_fan_out),
        cmocka_unit_test(the_weight_of_a_loss_multiplies_it_and_its_gradient),
        cmocka_unit_test(add_passes_its_gradient_on),
        cmocka_unit_test(batch_norm_reports_the_mean_and_the_unbiased_variance),
        cmocka_unit_test(batch_norm_in_evaluation_uses_the_running_statistics),
        cmocka_unit_test(batch_norm_of_one_value_a_channel_is_refused_in_training),
        cmocka_unit_test(the_dropout_mask_does_not_depend_on_how_the_batch_is_cut),
        cmocka_unit_test(dropout_in_evaluation_changes_nothing),
        cmocka_unit_test(the_loss_counts_and_sums_by_hand),
        cmocka_unit_test(the_loss_does_not_lose_its_logarithm_beside_large_logits),
        cmocka_unit_test(max_pool_gives_the_gradient_to_the_first_of_equals),
        cmocka_unit_test(in_place_kernels_give_the_same_numbers_in_place),
        cmocka_unit_test(unknown_kernels_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
