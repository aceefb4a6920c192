/* SPDX-License-Identifier: Apache-2.0 */
/* test_fake_libs.c: convolutions and products of the fake cuDNN and cuBLASLt against direct sums in f64, whatever
 * algorithm is taken; the same bits where sums have an order, others where they have none; captured work; throughput
 * enough for small networks. */
#include "fake_libs_rig.h"

#include <math.h>

#include "base/clock.h"

/* ---- convolutions ---- */

/* These say where numbers of the input, the output and the weights lie. */
static int64_t x_at(const conv *v, int n, int c, int h, int w)
{
    const conv_shape *s = &v->s;
    const int64_t sample = (int64_t)s->channels * s->height * s->width + s->gap;
    return n * sample +
           (s->first ? (int64_t)(c * s->height + h) * s->width + w : (int64_t)(h * s->width + w) * s->channels + c);
}

static int64_t y_at(const conv *v, int n, int k, int h, int w)
{
    const int64_t sample = (int64_t)v->s.filters * v->out_height * v->out_width;
    return n * sample + (v->s.first ? (int64_t)(k * v->out_height + h) * v->out_width + w
                                    : (int64_t)(h * v->out_width + w) * v->s.filters + k);
}

static int64_t w_at(const conv *v, int k, int c, int y, int x)
{
    const int channels = v->s.channels / v->s.groups, kernel = v->s.kernel;
    return v->s.first ? ((int64_t)(k * channels + c) * kernel + y) * kernel + x
                      : ((int64_t)(k * kernel + y) * kernel + x) * channels + c;
}

/* A triple is a product's input, weight and output: visited in any order, triples give the sums of all three passes. */
typedef struct {
    int64_t x, w, y;
} triple;

static bool triple_of(const conv *v, const int at[6], triple *t) /* n, k, out h, out w, c, window */
{
    const conv_shape *s = &v->s;
    const int y = at[5] / s->kernel, x = at[5] % s->kernel, h = at[2] * s->stride - s->pad + y,
              w = at[3] * s->stride - s->pad + x, channels = s->channels / s->groups,
              group = at[1] / (s->filters / s->groups);
    if (h < 0 || w < 0 || h >= s->height || w >= s->width) return false;
    *t = (triple){x_at(v, at[0], group * channels + at[4], h, w), w_at(v, at[1], at[4], y, x),
                  y_at(v, at[0], at[1], at[2], at[3])};
    return true;
}

static void add_all(const conv *v, conv_pass pass, const operand of[3], double *sums, double *sizes)
{
    const conv_shape *s = &v->s;
    const int ends[6] = {
        s->batch, s->filters, v->out_height, v->out_width, s->channels / s->groups, s->kernel * s->kernel};
    int at[6] = {0};
    for (int axis = 0; axis >= 0;) {
        triple t;
        if (triple_of(v, at, &t)) {
            const double x = of[0].values[t.x], w = of[1].values[t.w], y = of[2].values[t.y];
            const int64_t to = pass == FORWARD ? t.y : pass == DATA ? t.x : t.w;
            const double term = pass == FORWARD ? x * w : pass == DATA ? y * w : x * y;
            sums[to] += term;
            sizes[to] += fabs(term);
        }
        for (axis = 5; axis >= 0 && ++at[axis] == ends[axis]; axis--) at[axis] = 0;
    }
}

static operand operand_of(const conv *v, int which, uint32_t seed)
{
    const conv_shape *s = &v->s;
    const int64_t n[] = {(int64_t)s->batch * ((int64_t)s->channels * s->height * s->width + s->gap),
                         (int64_t)s->filters * s->channels / s->groups * s->kernel * s->kernel,
                         (int64_t)s->batch * s->filters * v->out_height * v->out_width};
    return operand_new(s->type, n[which], seed);
}

typedef struct {
    int algorithm, math;
    float alpha, beta;
} way;

/* Runs a pass and says the largest error, in parts of the sum's size. `bits` gets the result, where it is not NULL. */
static double error_of(const conv_shape *s, conv_pass pass, way how, float *bits)
{
    static const int results[] = {2, 0, 1};
    conv v = conv_new(s, how.math);
    operand of[3] = {operand_of(&v, 0, 1), operand_of(&v, 1, 2), operand_of(&v, 2, 3)}, *out = &of[results[pass]];
    const size_t n = (size_t)out->n;
    double *sums = calloc(n, sizeof *sums), *sizes = calloc(n, sizeof *sizes), worst = 0;
    size_t bytes = 0;
    add_all(&v, pass, of, sums, sizes);
    for (size_t i = 0; i < n; i++) {
        const bool is_written = sizes[i] != 0 || s->gap == 0;
        sums[i] = is_written ? how.alpha * sums[i] + how.beta * out->values[i] : out->values[i];
        sizes[i] += fabs(how.beta * out->values[i]);
    }
    assert_int_equal(conv_workspace(&v, pass, how.algorithm, &bytes), 0);
    const uint64_t workspace = card_new(&card, bytes + 1);
    const conv_memory m = {of[0].at, of[1].at,  of[2].at, bytes ? (void *)(uintptr_t)workspace : NULL,
                           bytes,    how.alpha, how.beta};
    assert_int_equal(conv_run(&v, pass, how.algorithm, &m), 0);
    conv_free(&v); /* before the work has run */
    operand_read(out);
    for (size_t i = 0; i < n; i++) {
        const double off = fabs(out->values[i] - sums[i]) - roundings[s->type] * fabs(sums[i]),
                     relative = off / (sizes[i] + 1e-6);
        if (!(relative <= worst)) worst = relative;
        if (bits) bits[i] = out->values[i];
    }
    card.cuMemFree_v2(workspace);
    for (int i = 0; i < 3; i++) operand_free(&of[i]);
    free(sums);
    free(sizes);
    return worst;
}

static const conv_shape shapes[] = {
    {2, 16, 7, 7, 24, 1, 1, 0, 1, F32, false, 0},  {2, 8, 9, 7, 12, 3, 1, 1, 1, F32, false, 0},
    {2, 3, 23, 19, 10, 7, 2, 3, 1, F32, false, 0}, {3, 1, 12, 12, 6, 5, 1, 0, 1, F32, false, 0},
    {2, 8, 9, 9, 6, 3, 2, 1, 2, F32, false, 0},    {2, 6, 8, 8, 6, 3, 1, 1, 6, F32, false, 0},
    {2, 5, 8, 6, 7, 1, 2, 0, 1, F32, false, 0},    {2, 5, 8, 6, 7, 3, 1, 1, 1, F32, true, 0},
    {2, 4, 9, 9, 6, 5, 2, 2, 2, F32, true, 0},     {2, 16, 9, 7, 24, 3, 1, 1, 1, BF16, false, 0},
    {2, 16, 9, 7, 16, 3, 2, 1, 2, F16, false, 0},  {2, 3, 9, 7, 5, 3, 1, 1, 1, BF16, true, 0},
    {2, 8, 9, 7, 8, 1, 1, 0, 1, F16, false, 0},    {2, 8, 6, 5, 4, 3, 1, 1, 1, F32, false, 24},
    {1, 4, 3, 3, 4, 3, 1, 0, 1, F32, false, 0},    {1, 2, 5, 5, 3, 2, 3, 0, 1, F32, false, 0},
};

static void convolutions_are_sums_by_each_algorithm(void **state)
{
    (void)state;
    int ways = 0, with_workspace = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int pass = 0; pass < 3; pass++) {
            const int math = shapes[i].type == F32 ? TUTTI_CUDNN_FMA_MATH : TUTTI_CUDNN_TENSOR_OP_MATH;
            conv v = conv_new(&shapes[i], math);
            tutti_cudnn_algorithm found[8];
            int n = 0;
            assert_int_equal(conv_advice(&v, (conv_pass)pass, &n, found), 0);
            for (int f = 0; f < n && found[f].status == 0; f++) {
                const way how = {found[f].algorithm, math, f % 2 ? 0.5f : 1, f % 2 ? -0.75f : 0};
                const double error = error_of(&shapes[i], (conv_pass)pass, how, NULL);
                if (!(error < 1e-6)) fail_msg("shape %zu, pass %d, algorithm %d: %g", i, pass, how.algorithm, error);
                ways++;
                with_workspace += found[f].workspace_bytes > 0;
            }
            conv_free(&v);
        }
    assert_true(ways > 150 && with_workspace > 50);
}

static void what_is_not_forbidden_is_computed_in_tf32(void **state)
{
    (void)state;
    for (int pass = 0; pass < 3; pass++) {
        const double exact = error_of(&shapes[1], (conv_pass)pass, (way){1, TUTTI_CUDNN_FMA_MATH, 1, 0}, NULL),
                     tf32 = error_of(&shapes[1], (conv_pass)pass, (way){1, TUTTI_CUDNN_DEFAULT_MATH, 1, 0}, NULL);
        assert_true(exact < 1e-6 && tf32 > 1e-5 && tf32 < 0x1p-10);
    }
}

static bool are_same_bits(conv_pass pass, int algorithm)
{
    float first[4096], second[4096];
    const way how = {algorithm, TUTTI_CUDNN_FMA_MATH, 1, 0};
    memset(first, 0, sizeof first);
    memset(second, 0, sizeof second);
    error_of(&shapes[1], pass, how, first);
    error_of(&shapes[1], pass, how, second);
    return !memcmp(first, second, sizeof first);
}

static void bits_differ_where_sums_have_no_order(void **state)
{
    (void)state;
    for (int pass = 0; pass < 3; pass++) {
        conv v = conv_new(&shapes[1], TUTTI_CUDNN_FMA_MATH);
        tutti_cudnn_algorithm found[8];
        int n = 0, unordered = 0;
        assert_int_equal(conv_advice(&v, (conv_pass)pass, &n, found), 0);
        if (pass != FORWARD) assert_int_equal(found[0].determinism, 0);
        for (int f = 0; f < n && found[f].status == 0; f++) {
            unordered += found[f].determinism == 0;
            assert_int_equal(are_same_bits((conv_pass)pass, found[f].algorithm), found[f].determinism);
        }
        assert_true(pass == FORWARD || unordered > 0);
        conv_free(&v);
    }
}

static void advice_ends_with_what_is_not_there(void **state)
{
    (void)state;
    for (int pass = 0; pass < 3; pass++) {
        conv v = conv_new(&shapes[9], TUTTI_CUDNN_TENSOR_OP_MATH);
        tutti_cudnn_algorithm found[8];
        int n = 0;
        bool there = true, tensor = false, other = false;
        assert_int_equal(conv_advice(&v, (conv_pass)pass, &n, found), 0);
        assert_int_equal(n, 8);
        for (int f = 0; f < n; f++) {
            size_t bytes;
            const int status = conv_workspace(&v, (conv_pass)pass, found[f].algorithm, &bytes);
            assert_true(there || found[f].status != 0);
            there = found[f].status == 0;
            assert_int_equal(status, found[f].status);
            if (there) tensor |= found[f].math == TUTTI_CUDNN_TENSOR_OP_MATH;
            if (there) other |= found[f].math != TUTTI_CUDNN_TENSOR_OP_MATH;
        }
        assert_true(!there && tensor && other);
        conv_free(&v);
    }
}

/* ---- products ---- */

static int64_t step_of(const product_shape *s, int which)
{
    const int64_t rows[] = {s->transpose_a ? s->k : s->m, s->transpose_b ? s->n : s->k, s->m};
    return rows[which] + s->gap;
}

static double expected(const product_shape *s, const operand of[4], int64_t i, int64_t j, double *size)
{
    double sum = 0;
    for (int64_t k = 0; k < s->k; k++) {
        const int64_t a = s->transpose_a ? i * step_of(s, 0) + k : k * step_of(s, 0) + i,
                      b = s->transpose_b ? k * step_of(s, 1) + j : j * step_of(s, 1) + k;
        sum += (double)of[0].values[a] * of[1].values[b];
        *size += fabs((double)of[0].values[a] * of[1].values[b]);
    }
    return sum;
}

static void check_product(const product_shape *s, int which, float alpha, float beta)
{
    product p = product_new(s);
    const int64_t columns[] = {s->transpose_a ? s->m : s->k, s->transpose_b ? s->k : s->n, s->n};
    operand of[4] = {operand_new(s->type, step_of(s, 0) * columns[0], 1),
                     operand_new(s->type, step_of(s, 1) * columns[1], 2),
                     operand_new(s->type_d, step_of(s, 2) * columns[2], 3), operand_new(s->type_d, s->m, 4)};
    tutti_cublaslt_found found[2];
    int n = 0;
    if (s->epilogue & TUTTI_CUBLASLT_EPILOGUE_BIAS) product_bias(&p, of[3].at);
    assert_int_equal(product_advice(&p, 2, found, &n), 0);
    const tutti_cublaslt_found *taken = &found[which < n ? which : n - 1];
    const uint64_t workspace = card_new(&card, taken->workspace_bytes + 1);
    operand before = of[2];
    before.values = malloc((size_t)before.n * sizeof(float));
    memcpy(before.values, of[2].values, (size_t)before.n * sizeof(float));
    const product_memory m = {
        of[0].at, of[1].at, of[2].at, of[2].at, (void *)(uintptr_t)workspace, taken->workspace_bytes, alpha, beta};
    assert_int_equal(product_run(&p, &taken->algorithm, &m), 0);
    product_free(&p); /* before the work has run */
    operand_read(&of[2]);
    for (int64_t at = 0; at < of[2].n; at++) {
        const int64_t i = at % step_of(s, 2), j = at / step_of(s, 2);
        double size = 1, want = before.values[at]; /* between columns */
        if (i < s->m) {
            want = alpha * expected(s, of, i, j, &size) + beta * want;
            if (s->epilogue & TUTTI_CUBLASLT_EPILOGUE_BIAS) want += of[3].values[i];
            if (s->epilogue & TUTTI_CUBLASLT_EPILOGUE_RELU && want < 0) want = 0;
        }
        const double allowed = 1e-6 * size + roundings[s->type_d] * fabs(want);
        if (!(fabs(of[2].values[at] - want) <= allowed))
            fail_msg("%lld: %g for %g", (long long)at, of[2].values[at], want);
    }
    card.cuMemFree_v2(workspace);
    free(before.values);
    for (int i = 0; i < 4; i++) operand_free(&of[i]);
}

static void products_are_sums(void **state)
{
    (void)state;
    static const product_shape basis[] = {
        {16, 5, 7, false, false, F32, F32, 1, 0},     {33, 17, 200, false, false, F32, F32, 1, 0},
        {1, 1, 1, false, false, F32, F32, 1, 0},      {10, 32, 84, false, false, F32, F32, 6, 0},
        {24, 9, 100, false, false, BF16, BF16, 6, 0}, {24, 9, 100, false, false, F16, F16, 4, 0},
        {12, 9, 30, false, false, BF16, F32, 2, 0},   {13, 9, 30, false, false, F16, F32, 1, 3},
        {8, 9, 70, false, false, F32, F32, 2, 5},
    };
    for (size_t i = 0; i < sizeof basis / sizeof *basis; i++)
        for (int turns = 0; turns < 4; turns++) {
            product_shape s = basis[i];
            s.transpose_a = turns & 1;
            s.transpose_b = turns & 2;
            check_product(&s, turns / 2, turns % 2 ? -0.5f : 1, turns % 3 ? 0.75f : 0);
        }
}

/* ---- streams ---- */

static void a_graph_computes_what_its_inputs_are_then(void **state)
{
    (void)state;
    conv v = conv_new(&shapes[0], TUTTI_CUDNN_FMA_MATH);
    operand x = operand_of(&v, 0, 1), w = operand_of(&v, 1, 2), y = operand_of(&v, 2, 3);
    void *graph, *instance;
    size_t bytes;
    assert_int_equal(conv_workspace(&v, FORWARD, 1, &bytes), 0);
    assert_int_equal(bytes, 0);
    const conv_memory m = {x.at, w.at, y.at, NULL, 0, 1, 0};
    assert_int_equal(card.cuStreamBeginCapture_v2(card.stream, 2), 0);
    assert_int_equal(conv_run(&v, FORWARD, 1, &m), 0);
    assert_int_equal(card.cuStreamEndCapture(card.stream, &graph), 0);
    assert_int_equal(card.cuGraphInstantiateWithFlags(&instance, graph, 0), 0);
    for (int zeros = 1; zeros >= 0; zeros--) {
        void *bits = packed(&x);
        if (zeros) memset(bits, 0, bytes_of(&x));
        card.cuMemcpyHtoDAsync_v2((uint64_t)(uintptr_t)x.at, bits, bytes_of(&x), card.stream);
        assert_int_equal(card.cuGraphLaunch(instance, card.stream), 0);
        operand_read(&y);
        for (int64_t i = 0; i < y.n; i++) assert_true((y.values[i] == 0) == (zeros == 1));
        free(bits);
    }
    card.cuGraphExecDestroy(instance);
    card.cuGraphDestroy(graph);
    operand_free(&x);
    operand_free(&w);
    operand_free(&y);
    conv_free(&v);
}

/* Prints the rate. The bound is far below what any machine does, for one that is busy. */
static void small_networks_take_seconds(void **state)
{
    (void)state;
    static const conv_shape layer = {16, 32, 16, 16, 32, 3, 1, 1, 1, F32, false, 0};
    conv v = conv_new(&layer, TUTTI_CUDNN_FMA_MATH);
    operand x = operand_of(&v, 0, 1), w = operand_of(&v, 1, 2), y = operand_of(&v, 2, 3);
    const double flops = 2.0 * 16 * 256 * 32 * 32 * 9;
    for (int pass = 0; pass < 3; pass++) {
        size_t bytes;
        assert_int_equal(conv_workspace(&v, (conv_pass)pass, 1, &bytes), 0);
        const uint64_t workspace = card_new(&card, bytes);
        const conv_memory m = {x.at, w.at, y.at, (void *)(uintptr_t)workspace, bytes, 1, 0};
        const int64_t begin = tutti_clock_ns();
        assert_int_equal(conv_run(&v, (conv_pass)pass, 1, &m), 0);
        assert_int_equal(card.cuStreamSynchronize(card.stream), 0);
        const double rate = flops / (double)(tutti_clock_ns() - begin);
        print_message("pass %d: %.1f GFLOP/s\n", pass, rate);
        assert_true(rate > 0.05);
        card.cuMemFree_v2(workspace);
    }
    operand_free(&x);
    operand_free(&w);
    operand_free(&y);
    conv_free(&v);
}

static int open_libraries(void **state)
{
    (void)state;
    libraries_open();
    return 0;
}

static int close_libraries(void **state)
{
    (void)state;
    libraries_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_sums_by_each_algorithm),
        cmocka_unit_test(what_is_not_forbidden_is_computed_in_tf32),
        cmocka_unit_test(bits_differ_where_sums_have_no_order),
        cmocka_unit_test(advice_ends_with_what_is_not_there),
        cmocka_unit_test(products_are_sums),
        cmocka_unit_test(a_graph_computes_what_its_inputs_are_then),
        cmocka_unit_test(small_networks_take_seconds),
    };
    return cmocka_run_group_tests(tests, open_libraries, close_libraries);
}
