/* SPDX-License-Identifier: Apache-2.0 */
/* test_onednn.c: every op by what the chooser takes for it in a build with oneDNN gives what its reference row gives,
 * from row-major inputs and from inputs in the order that a convolution before it would leave; twice the same bits.
 * Skipped in a build without oneDNN. */
#include "kernel/kernel_cases.h"

#include <math.h>

static bool is_absent(void)
{
    char text[96];
    tutti_kernel_engine_describe("onednn", text);
    return text[0] == '\0';
}

static float *plain_copy(const tutti_value *v, const float *from)
{
    float *plain = numbers((size_t)count_of(&v->shape) * sizeof(float));
    tutti_value_to_plain(v, from, plain);
    return plain;
}

static void assert_close(const kernel_case *c, const char *what, const float *want, const float *got, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double error = fabs((double)want[i] - (double)got[i]);
        if (c->exact ? want[i] != got[i] : !(error <= 2e-5 * (1 + fabs((double)want[i]))))
            fail_msg("%s, %s: %s[%lld] is %.9g, reference has %.9g", c->op, c->what, what, (long long)i, (double)got[i],
                     (double)want[i]);
    }
}

static void assert_same_value(const kernel_case *c, const char *what, const tutti_value *v, const float *want,
                              const float *got)
{
    float *plain = plain_copy(v, got);
    assert_close(c, what, want, plain, count_of(&v->shape));
    free(plain);
}

/* want is row-major, got in the order of the parameter, whose padding must hold zeros. */
static void assert_same_param(const kernel_case *c, const tutti_param_desc *desc, const float *want, const float *got)
{
    float *plain = numbers((size_t)count_of(&desc->shape) * sizeof(float)),
          *again = numbers((size_t)desc->elements * sizeof(float));
    tutti_param_to_plain(desc, got, plain);
    assert_close(c, desc->name, want, plain, count_of(&desc->shape));
    tutti_param_from_plain(desc, plain, again);
    for (int64_t i = 0; i < desc->elements; i++) assert_true(again[i] == got[i]);
    free(plain), free(again);
}

/* Runs both engines; `in` describes the input for oneDNN, NULL = row-major. */
static void compare(const kernel_case *c, const tutti_value *in, bool training, int nthreads)
{
    bench want, got;
    bench_open(&want, "reference", c, NULL, training, 1);
    bench_open(&got, "auto", c, in, training, nthreads);
    run_forward(&want);
    run_forward(&got);
    if (want.k.op->is_loss)
        assert_close(c, "loss", &want.loss, &got.loss, 1);
    else
        assert_same_value(c, "out", &got.k.out, want.out, got.out);
    if (training) {
        run_backward(&want);
        run_backward(&got);
        for (int i = 0; i < want.k.ninputs; i++) assert_same_value(c, "din", &got.k.in[i], want.din[i], got.din[i]);
        for (int p = 0; p < want.k.nparams; p++) assert_same_param(c, &got.k.params[p], want.dparam[p], got.dparam[p]);
    }
    bench_close(&want);
    bench_close(&got);
}

/* 1x1 convolutions whose outputs have the shapes of a case's inputs: their order is what the case is given. */
typedef struct {
    tutti_conv_attrs attrs[TUTTI_MAX_OP_INPUTS];
    tutti_kernel k[TUTTI_MAX_OP_INPUTS];
    tutti_value out[TUTTI_MAX_OP_INPUTS];
} producers;

/* which: bit i = input i comes from a convolution; the others are row-major. */
static bool open_producers(producers *p, const kernel_case *c, unsigned which)
{
    memset(p, 0, sizeof *p);
    if (c->in.ndims != 4) return false;
    for (int i = 0; i <= c->nmore; i++) {
        tutti_failure err = {0};
        const tutti_shape shape = case_shape(c, i);
        p->out[i] = tutti_value_plain(&shape);
        if (!(which >> i & 1)) continue;
        p->attrs[i] = (tutti_conv_attrs){.out_channels = shape.dim[1], .kernel = 1, .stride = 1, .groups = 1};
        const tutti_value in = tutti_value_plain(&(tutti_shape){4, {shape.dim[0], 16, shape.dim[2], shape.dim[3]}});
        const tutti_kernel_request request = {.engine = "auto",
                                              .op = &tutti_op_conv,
                                              .attrs = &p->attrs[i],
                                              .in = &in,
                                              .nin = 1,
                                              .training = true,
                                              .nthreads = 1};
        if (tutti_kernel_create(&request, &p->k[i], &err) != TUTTI_OK) fail_msg("%s", err.text);
        p->out[i] = p->k[i].out;
    }
    return true;
}

static void close_producers(producers *p)
{
    for (int i = 0; i < TUTTI_MAX_OP_INPUTS; i++) tutti_kernel_destroy(&p->k[i]);
}

enum { ALL = (1 << TUTTI_MAX_OP_INPUTS) - 1, FIRST = 1 };

static void every_op_gives_what_its_reference_gives(void **state)
{
    (void)state;
    if (is_absent()) skip();
    for (int i = 0; i < NCASES; i++)
        for (int nthreads = 1; nthreads <= 2; nthreads++) compare(&kernel_cases[i], NULL, true, nthreads);
}

static void every_op_takes_what_a_convolution_leaves(void **state)
{
    (void)state;
    if (is_absent()) skip();
    int nblocked = 0;
    for (int i = 0; i < NCASES; i++) {
        producers p;
        const unsigned which[] = {ALL, FIRST, ALL - FIRST};
        for (int w = 0; w < (kernel_cases[i].nmore ? 3 : 1) && open_producers(&p, &kernel_cases[i], which[w]); w++) {
            nblocked += p.out[0].layout != NULL;
            compare(&kernel_cases[i], p.out, true, 1);
            compare(&kernel_cases[i], p.out, false, 1);
            close_producers(&p);
        }
    }
    assert_true(nblocked > 0); /* else this test would test nothing */
}

static void the_first_of_equal_elements_wins_in_max_pool(void **state)
{
    (void)state;
    if (is_absent()) skip();
    /* Small integers: nearly every window has its largest element twice, as after a relu. */
    const tutti_pool_attrs *windows[] = {&pool2, &pool3, &pool_overlap, &pool_up, &pool_out};
    for (int i = 0; i < 5; i++) {
        kernel_case c = {"max-pool", windows[i], {4, {2, 20, 9, 8}}, true, false, 1, .what = "ties"};
        producers p;
        open_producers(&p, &c, ALL);
        compare(&c, NULL, true, 1);
        compare(&c, p.out, true, 1);
        close_producers(&p);
    }
}

/* Whole blocks, a block with padding, channels innermost, several tiles of positions, a mean far from zero. */
static void batch_norm_in_every_order_gives_what_the_reference_gives(void **state)
{
    (void)state;
    if (is_absent()) skip();
    static const tutti_shape shapes[] = {{4, {2, 32, 5, 7}}, {4, {3, 45, 3, 3}},   {4, {3, 24, 4, 5}},
                                         {4, {2, 8, 6, 6}},  {4, {2, 16, 23, 23}}, {4, {5, 64, 1, 1}},
                                         {2, {7, 48}},       {2, {9, 20}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const kernel_case c = {"batch-norm", &norm, shapes[i], false, true, 1, .what = "orders"};
        producers from;
        for (int training = 0; training < 2; training++) {
            compare(&c, NULL, training, 1);
            if (!open_producers(&from, &c, 1)) continue;
            compare(&c, from.out, training, 1);
            close_producers(&from);
        }
    }
}

/* Channels innermost: by the library, by products of windows where the outputs are twice as many, and in lanes where
 * those fill few vectors badly. */
static void convolutions_with_channels_innermost_give_what_the_reference_gives(void **state)
{
    (void)state;
    if (is_absent()) skip();
    static const tutti_conv_attrs
        valid = {.out_channels = 50, .kernel = 5, .stride = 1, .groups = 1, .bias = true},
        padded = {.out_channels = 50, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true, .relu = true},
        beyond = {.out_channels = 50, .kernel = 3, .stride = 1, .pad = 4, .groups = 1},
        strided = {.out_channels = 50, .kernel = 3, .stride = 2, .pad = 1, .groups = 1, .bias = true},
        as_many = {.out_channels = 20, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true, .relu = true},
        few = {.out_channels = 20, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true, .relu = true},
        odd = {.out_channels = 19, .kernel = 5, .stride = 1, .pad = 1, .groups = 1, .bias = true, .relu = true},
        thirds = {.out_channels = 36, .kernel = 3, .stride = 1, .groups = 1},
        half = {.out_channels = 8, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true};
    static const kernel_case cases[] = {
        {"conv", &valid, {4, {3, 20, 14, 13}}, true, false, 1, .what = "tiles of several samples, not square"},
        {"conv", &padded, {4, {2, 20, 21, 9}}, true, false, 1, .what = "padding, a tile left over, relu"},
        {"conv", &padded, {4, {2, 20, 2, 3}}, true, false, 1, .what = "windows wider than the input"},
        {"conv", &beyond, {4, {2, 20, 3, 2}}, true, false, 1, .what = "windows wholly in the padding, without bias"},
        {"conv", &strided, {4, {2, 20, 7, 6}}, true, false, 1, .what = "stride 2"},
        {"conv", &as_many, {4, {2, 20, 9, 7}}, true, false, 1, .what = "as many outputs, relu"},
        {"conv", &as_many, {4, {2, 20, 9, 12}}, true, false, 1, .what = "as many outputs, wide, relu"},
        {"conv", &few, {4, {3, 1, 9, 11}}, true, false, 1, .what = "one channel, padding, relu"},
        {"conv", &odd, {4, {2, 7, 9, 14}}, true, false, 1, .what = "odd channels, padding, relu"},
        {"conv", &thirds, {4, {2, 3, 5, 13}}, true, false, 1, .what = "three channels, without bias"},
        {"conv", &half, {4, {2, 5, 6, 10}}, true, false, 1, .what = "half a vector of outputs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        producers from;
        open_producers(&from, &cases[i], ALL);
        for (int nthreads = 1; nthreads <= 2; nthreads++) compare(&cases[i], from.out, true, nthreads);
        compare(&cases[i], NULL, true, 1);
        close_producers(&from);
    }
}

/* Against the reference behind fused_adapter.c. */
static void merged_relus_and_additions_give_what_the_reference_gives(void **state)
{
    (void)state;
    if (is_absent()) skip();
    static const tutti_conv_attrs conv = {
        .out_channels = 20, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true, .relu = true};
    static const tutti_dense_attrs dense = {.units = 10, .bias = true, .relu = true};
    static const tutti_batch_norm_attrs bn = {.eps = 1e-5, .momentum = 0.1, .relu = true};
    static const kernel_case cases[] = {
        {"conv", &conv, {4, {2, 16, 6, 5}}, true, false, 1, .what = "relu"},
        {"dense", &dense, {4, {3, 16, 3, 3}}, true, false, 1, .what = "relu, planes"},
        {"dense", &dense, {2, {5, 12}}, true, false, 1, .what = "relu"},
        {"batch-norm", &bn, {4, {2, 32, 9, 5}}, false, true, 1, .what = "relu"},
        {"batch-norm", &bn, {4, {3, 7, 4, 3}}, false, true, 1, .what = "relu, odd channels"},
        {"batch-norm", &bn, {4, {2, 32, 9, 5}}, false, true, 1, .what = "addition, relu", .nmore = 1},
        {"batch-norm", &bn, {4, {2, 45, 3, 3}}, false, true, 1, .what = "addition, relu, padding", .nmore = 1},
        {"batch-norm", &bn, {2, {9, 48}}, false, true, 1, .what = "addition, relu, two dims", .nmore = 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        producers from;
        compare(&cases[i], NULL, true, 1);
        compare(&cases[i], NULL, false, 1);
        const unsigned which[] = {ALL, 1}; /* of both inputs, and of the first alone */
        for (int w = 0; w <= cases[i].nmore && open_producers(&from, &cases[i], which[w]); w++) {
            compare(&cases[i], from.out, true, 1);
            compare(&cases[i], from.out, false, 1);
            close_producers(&from);
        }
    }
}

static int64_t between(uint64_t draw, uint64_t what, int64_t lo, int64_t hi)
{
    return lo + (int64_t)tutti_random_below(tutti_random(13, TUTTI_STREAM_TEST, draw, what), (uint64_t)(hi - lo + 1));
}

static void drawn_shapes_give_what_the_reference_gives(void **state)
{
    (void)state;
    if (is_absent()) skip();
    int ncompared = 0;
    for (uint64_t i = 0; i < 60; i++) {
        const int64_t groups = i % 2 ? 1 : between(i, 9, 1, 3);
        tutti_conv_attrs conv = {.out_channels = groups * between(i, 0, 1, 40 / groups),
                                 .kernel = between(i, 1, 1, 5),
                                 .stride = between(i, 2, 1, 3),
                                 .pad = between(i, 3, 0, 4),
                                 .groups = groups,
                                 .bias = between(i, 4, 0, 1)};
        tutti_pool_attrs pool = {conv.kernel, conv.stride, conv.pad % (conv.kernel / 2 + 1), between(i, 10, 0, 1)};
        const kernel_case drawn[] = {{"conv", &conv, {0}, true, false, 1, .what = "drawn"},
                                     {"max-pool", &pool, {0}, true, false, 1, .what = "drawn"},
                                     {"avg-pool", &pool, {0}, false, false, 1, .what = "drawn"}};
        kernel_case c = drawn[i % 3];
        c.in = (tutti_shape){
            4,
            {between(i, 5, 1, 4), groups * between(i, 6, 1, 40 / groups), between(i, 7, 1, 12), between(i, 8, 1, 12)}};
        tutti_shape out;
        if (tutti_op_infer(tutti_op_find(c.op), c.attrs, &c.in, 1, &out, NULL) != TUTTI_OK) continue;
        producers p;
        open_producers(&p, &c, ALL);
        compare(&c, i & 1 ? p.out : NULL, true, 1);
        close_producers(&p);
        ncompared++;
    }
    assert_true(ncompared > 40);
}

static void evaluation_gives_what_the_reference_gives(void **state)
{
    (void)state;
    if (is_absent()) skip();
    for (int i = 0; i < NCASES; i++) compare(&kernel_cases[i], NULL, false, 1);
}

static void evaluation_takes_over_the_order_of_trained_weights(void **state)
{
    (void)state;
    if (is_absent()) skip();
    int nordered = 0;
    for (int i = 0; i < NCASES; i++) {
        const kernel_case *c = &kernel_cases[i];
        bench trained, plain;
        tutti_kernel other;
        tutti_failure err = {0};
        bench_open(&trained, "auto", c, NULL, true, 1);
        bench_open(&plain, "auto", c, NULL, false, 1);
        const tutti_kernel_request request = {.engine = "auto",
                                              .op = trained.k.op,
                                              .attrs = c->attrs,
                                              .in = plain.k.in,
                                              .nin = plain.k.ninputs,
                                              .nthreads = 1,
                                              .params_as = trained.k.params};
        if (tutti_kernel_create(&request, &other, &err) != TUTTI_OK) fail_msg("%s", err.text);
        run_forward(&plain);
        float *want = plain_copy(&plain.k.out, plain.out);
        tutti_kernel_args args = plain.a;
        args.scratch = numbers(other.scratch_bytes);
        for (int p = 0; p < other.nparams; p++) {
            nordered += other.params[p].layout != NULL;
            assert_true(other.params[p].elements == trained.k.params[p].elements);
            args.param[p] = trained.param[p];
        }
        if (other.out.bytes) memset(plain.out, 0xff, other.out.bytes);
        other.row->forward(&other, &args);
        if (!other.op->is_loss) assert_same_value(c, "out", &other.out, want, plain.out);
        free(want), free(args.scratch);
        tutti_kernel_destroy(&other);
        bench_close(&trained);
        bench_close(&plain);
    }
    assert_true(nordered > 0); /* else this test would test nothing */
}

static void running_twice_gives_the_same_bits(void **state)
{
    (void)state;
    if (is_absent()) skip();
    for (int i = 0; i < NCASES; i++) {
        bench a, b;
        bench_open(&a, "auto", &kernel_cases[i], NULL, true, 2);
        bench_open(&b, "auto", &kernel_cases[i], NULL, true, 2);
        memset(b.a.scratch, 0x41, b.k.scratch_bytes); /* scratch may hold anything */
        run_forward(&a), run_backward(&a);
        run_forward(&b), run_backward(&b);
        assert_memory_equal(a.out, b.out, a.k.out.bytes);
        for (int in = 0; in < a.k.ninputs; in++) assert_memory_equal(a.din[in], b.din[in], a.k.in[in].bytes);
        for (int p = 0; p < a.k.nparams; p++)
            assert_memory_equal(a.dparam[p], b.dparam[p], (size_t)a.k.params[p].elements * sizeof(float));
        bench_close(&a);
        bench_close(&b);
    }
}

static void in_place_gives_the_same_bits(void **state)
{
    (void)state;
    if (is_absent()) skip();
    int nin_place = 0;
    for (int i = 0; i < NCASES; i++) {
        bench apart, same;
        bench_open(&apart, "auto", &kernel_cases[i], NULL, true, 1);
        bench_open(&same, "auto", &kernel_cases[i], NULL, true, 1);
        if (apart.k.in_place) {
            nin_place++;
            same.a.out = same.in[0];
            same.a.din[0] = same.dout;
            run_forward(&apart), run_backward(&apart);
            run_forward(&same), run_backward(&same);
            assert_memory_equal(apart.out, same.in[0], apart.k.out.bytes);
            assert_memory_equal(apart.din[0], same.dout, apart.k.in[0].bytes);
        }
        bench_close(&apart);
        bench_close(&same);
    }
    assert_true(nin_place > 3);
}

static void a_gradient_that_nobody_wants_is_left_out(void **state)
{
    (void)state;
    if (is_absent()) skip();
    for (int i = 0; i < NCASES; i++) {
        const kernel_case *c = &kernel_cases[i];
        producers p;
        if (!c->nmore || !open_producers(&p, c, FIRST)) continue;
        for (int left_out = 0; left_out <= c->nmore; left_out++) {
            bench all, one;
            bench_open(&all, "auto", c, p.out, true, 1);
            bench_open(&one, "auto", c, p.out, true, 1);
            one.a.din[left_out] = NULL;
            run_forward(&all), run_backward(&all);
            run_forward(&one), run_backward(&one);
            for (int in = 0; in <= c->nmore; in++)
                if (in != left_out) assert_memory_equal(all.din[in], one.din[in], all.k.in[in].bytes);
            bench_close(&all);
            bench_close(&one);
        }
        close_producers(&p);
    }
}

static void inputs_in_one_order_are_joined_without_copies(void **state)
{
    (void)state;
    if (is_absent()) skip();
    for (int i = 0; i < NCASES; i++) {
        const kernel_case *c = &kernel_cases[i];
        producers p;
        const bool adds = strcmp(c->op, "add") == 0;
        if (!(adds || strcmp(c->what, "whole blocks") == 0) || !open_producers(&p, c, ALL)) continue;
        bench b;
        bench_open(&b, "auto", c, p.out, true, 1);
        assert_non_null(b.k.out.layout);
        assert_int_equal(b.k.passes_gradient, adds ? (2u << c->nmore) - 1 : 0);
        assert_true(b.k.scratch_bytes < b.k.in[0].bytes); /* no room for a copy of an input */
        bench_close(&b);
        close_producers(&p);
    }
}

static void blocked_memory_goes_to_row_major_and_back(void **state)
{
    (void)state;
    if (is_absent()) skip();
    kernel_case c = {"conv", &conv3, {4, {2, 7, 5, 6}}, true, false, 1, .what = "7 channels"};
    producers p;
    assert_true(open_producers(&p, &c, ALL));
    const tutti_value *v = &p.out[0];
    int64_t n = count_of(&v->shape);
    float *plain = numbers((size_t)n * sizeof(float)), *blocked = numbers(v->bytes);
    for (int64_t i = 0; i < n; i++) plain[i] = (float)(i + 1);
    tutti_value_from_plain(v, plain, blocked);
    double sum = 0; /* the padding is zero, everything else is there once */
    for (size_t i = 0; i < v->bytes / sizeof(float); i++) sum += (double)blocked[i];
    assert_true(sum == (double)n * (double)(n + 1) / 2);
    float *back = plain_copy(v, blocked);
    assert_memory_equal(back, plain, (size_t)n * sizeof(float));
    free(plain), free(blocked), free(back);
    close_producers(&p);
}

static void the_engine_names_its_version_and_instruction_set(void **state)
{
    (void)state;
    if (is_absent()) skip();
    char text[96];
    tutti_kernel_engine_describe("onednn", text);
    assert_true(strncmp(text, "oneDNN 3.", 9) == 0 && strchr(text, '('));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_gives_what_its_reference_gives),
        cmocka_unit_test(every_op_takes_what_a_convolution_leaves),
        cmocka_unit_test(the_first_of_equal_elements_wins_in_max_pool),
        cmocka_unit_test(batch_norm_in_every_order_gives_what_the_reference_gives),
        cmocka_unit_test(convolutions_with_channels_innermost_give_what_the_reference_gives),
        cmocka_unit_test(merged_relus_and_additions_give_what_the_reference_gives),
        cmocka_unit_test(drawn_shapes_give_what_the_reference_gives),
        cmocka_unit_test(evaluation_gives_what_the_reference_gives),
        cmocka_unit_test(evaluation_takes_over_the_order_of_trained_weights),
        cmocka_unit_test(running_twice_gives_the_same_bits),
        cmocka_unit_test(in_place_gives_the_same_bits),
        cmocka_unit_test(a_gradient_that_nobody_wants_is_left_out),
        cmocka_unit_test(inputs_in_one_order_are_joined_without_copies),
        cmocka_unit_test(blocked_memory_goes_to_row_major_and_back),
        cmocka_unit_test(the_engine_names_its_version_and_instruction_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
