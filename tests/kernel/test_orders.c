/* SPDX-License-Identifier: Apache-2.0 */
/* test_orders.c: every kernel row in every memory order, forced, whatever this processor would choose: row-major,
 * blocks of 8, 16 and 32 channels, channels last, padding among them; in f32, bf16 and f16; in training and evaluation;
 * by any number of threads. Outputs and gradients are those of the reference; in 16 bits they are, to the bit, those of
 * the same row in f32, rounded once. What memory bounds runs in loops of our own everywhere: that no adapter stood in
 * is part of the test. Under other instruction sets: tests/isa. */
#include "kernel/kernel_rig.h"

#include <math.h>

#include "kernel/choose/candidate.h"
#include "kernel/lanes/lane_value.h"

static const tutti_order orders[] = {TUTTI_ORDER_NCHW, TUTTI_ORDER_NCHW8C, TUTTI_ORDER_NCHW16C, TUTTI_ORDER_NCHW32C,
                                     TUTTI_ORDER_NHWC};
enum { NORDERS = sizeof orders / sizeof *orders };

static bool is_absent(void)
{
    char text[96];
    tutti_kernel_engine_describe("onednn", text);
    return text[0] == '\0';
}

typedef struct {
    tutti_order order, others; /* of the first input and of the others */
    tutti_precision precision;
    bool training;
    int nthreads;
} setting;

/* A rig whose inputs lie in the setting's orders. */
typedef struct {
    tutti_layout layout[TUTTI_MAX_OP_INPUTS];
    tutti_value in[TUTTI_MAX_OP_INPUTS];
    rig r;
} scene;

static void open_scene(scene *s, const kernel_case *c, const setting *at)
{
    for (int i = 0; i <= c->nmore; i++) {
        s->in[i] = (tutti_value){.shape = case_shape(c, i), .dtype = tutti_precision_dtype(at->precision)};
        tutti_order_apply(i ? at->others : at->order, &s->in[i], &s->layout[i]);
    }
    tutti_kernel_request r = {.in = s->in,
                              .precision = at->precision,
                              .training = at->training,
                              .nthreads = at->nthreads,
                              .order = at->order};
    r.engine = engine_for(c, r);
    rig_make(&s->r, c, NULL, &r);
}

/* Says what went wrong and where. */
#define FAIL(c, at, ...)                                                                                               \
    do {                                                                                                               \
        print_message("%s, %s, %s (others %s), %s, %d threads%s:\n", (c)->op, (c)->what,                               \
                      tutti_order_name((at)->order), tutti_order_name((at)->others),                                   \
                      tutti_precision_name((at)->precision), (at)->nthreads, (at)->training ? ", training" : "");      \
        fail_msg(__VA_ARGS__);                                                                                         \
    } while (0)

static bool is_product(const tutti_kernel *k)
{
    return k->op == &tutti_op_conv || k->op == &tutti_op_dense;
}

/* What memory bounds: the row of our own, NULL = there is none. */
static const tutti_kernel_row *find_lanes(const char *op)
{
    const tutti_kernel_candidate *c = tutti_candidate_find("lanes", op, TUTTI_PRECISION_F32);
    return c ? c->row : NULL;
}

/* An addend that lies otherwise than what is normalised is the adapters': a model has one order, so it does not happen
 * there. */
static bool has_own_row(const kernel_case *c, const setting *at, const tutti_kernel *k)
{
    const bool moves = k->op == &tutti_op_batch_norm && k->ninputs > 1 && at->order != at->others && c->in.ndims == 4;
    return find_lanes(c->op) && !is_product(k) && !moves;
}

static void assert_row_and_order(const kernel_case *c, const setting *at, const tutti_kernel *k)
{
    if (has_own_row(c, at, k) && k->row != find_lanes(c->op))
        FAIL(c, at, "computed by '%s'", k->chosen[TUTTI_PASS_FORWARD].name);
    /* an op that only the reference has runs behind the adapter, which gives row-major */
    if (k->out.shape.ndims != 4 || (!is_product(k) && !find_lanes(c->op))) return;
    tutti_value want = k->out;
    tutti_layout layout;
    tutti_order_apply(at->order, &want, &layout);
    if (!tutti_order_same(&want, &k->out) || want.bytes != k->out.bytes)
        FAIL(c, at, "the output lies in %s", tutti_order_name(tutti_order_of(&k->out)));
}

static float *plain_of(const tutti_value *v, const void *memory)
{
    float *plain = numbers((size_t)count_of(&v->shape) * sizeof(float));
    tutti_value_to_plain(v, memory, plain);
    return plain;
}

static void assert_padding_is_zero(const kernel_case *c, const setting *at, const char *what, const tutti_value *v,
                                   const void *memory)
{
    float *plain = plain_of(v, memory);
    void *again = numbers(v->bytes);
    tutti_value_from_plain(v, plain, again);
    if (memcmp(again, memory, v->bytes)) FAIL(c, at, "%s: its padding is not zero", what);
    free(plain), free(again);
}

static double tolerance_of(tutti_precision p)
{
    return p == TUTTI_PRECISION_F32 ? 2e-5 : p == TUTTI_PRECISION_F16 ? 0x1p-9 : 0x1p-6;
}

static void assert_near(const kernel_case *c, const setting *at, const char *what, const float *want, const float *got,
                        int64_t n)
{
    const double most = tolerance_of(at->precision);
    const tutti_dtype type = tutti_precision_dtype(at->precision);
    for (int64_t i = 0; i < n; i++) {
        float exact = want[i];
        uint16_t half;
        if (type != TUTTI_F32)
            tutti_convert_from_f32(type, &want[i], &half, 1), tutti_convert_to_f32(type, &half, &exact, 1);
        const double error = fabs((double)want[i] - (double)got[i]);
        if (c->exact ? got[i] != exact && got[i] != want[i] : !(error <= most * (1 + fabs((double)want[i]))))
            FAIL(c, at, "%s[%d] is %.9g, the reference has %.9g", what, (int)i, (double)got[i], (double)want[i]);
    }
}

static void assert_value(const kernel_case *c, const setting *at, const char *what, const tutti_value *want_at,
                         const void *want, const tutti_value *got_at, const void *got)
{
    float *x = plain_of(want_at, want), *y = plain_of(got_at, got);
    assert_near(c, at, what, x, y, count_of(&want_at->shape));
    assert_padding_is_zero(c, at, what, got_at, got);
    free(x), free(y);
}

static void assert_params(const kernel_case *c, const setting *at, const rig *want, const rig *got)
{
    for (int p = 0; p < want->k.nparams; p++) {
        const tutti_param_desc *d = &got->k.params[p];
        float *plain = numbers((size_t)count_of(&d->shape) * sizeof(float));
        tutti_param_to_plain(d, got->a.dparam[p], plain);
        assert_near(c, at, d->name, want->a.dparam[p], plain, count_of(&d->shape));
        free(plain);
    }
}

/* The gradient of input i: where the kernel passes it on it is dout. */
static const void *gradient_of(const rig *r, int i, const tutti_value **v)
{
    const bool passed = r->k.passes_gradient >> i & 1;
    *v = passed ? &r->k.out : &r->k.in[i];
    return passed ? r->a.dout : r->a.din[i];
}

static void compare_with_reference(const kernel_case *c, const setting *at)
{
    rig want;
    scene got;
    rig_make(&want, c, NULL, &(tutti_kernel_request){.engine = "reference", .training = at->training, .nthreads = 1});
    open_scene(&got, c, at);
    assert_row_and_order(c, at, &got.r.k);
    rig_forward(&want), rig_forward(&got.r);
    if (want.k.op->is_loss)
        assert_near(c, at, "loss", &want.loss, &got.r.loss, 1);
    else
        assert_value(c, at, "out", &want.k.out, want.a.out, &got.r.k.out, got.r.a.out);
    if (at->training) {
        rig_backward(&want), rig_backward(&got.r);
        for (int i = 0; i < want.k.ninputs; i++) {
            const tutti_value *x, *y;
            const void *in = gradient_of(&want, i, &x), *din = gradient_of(&got.r, i, &y);
            assert_value(c, at, "din", x, in, y, din);
        }
        assert_params(c, at, &want, &got.r);
    }
    rig_close(&want), rig_close(&got.r);
}

/* Calls it for each case, with what may be merged into it: a ReLU, and an addition before that. */
static void for_each_case(void (*call)(const kernel_case *c))
{
    for (int i = 0; i < NCASES; i++) {
        const tutti_op_row *op = tutti_op_find(kernel_cases[i].op);
        char attrs[128];
        call(&kernel_cases[i]);
        for (int addend = 0; op->relu_at && addend <= op->takes_addend; addend++) {
            const kernel_case fused = with_relu(&kernel_cases[i], attrs, addend);
            call(&fused);
        }
    }
}

/* Orders of the other inputs that are tried beside one of the first. */
static int nothers(const kernel_case *c)
{
    return c->nmore && c->in.ndims == 4 ? NORDERS : 1;
}

static void in_every_order(const kernel_case *c)
{
    for (int o = 0; o < (c->in.ndims == 4 ? NORDERS : 1); o++)
        for (int other = 0; other < nothers(c); other++)
            for (int mode = 0; mode < 3; mode++) {
                const setting at = {.order = orders[o],
                                    .others = orders[(o + other) % NORDERS],
                                    .training = mode < 2,
                                    .nthreads = 1 + (mode == 1)};
                compare_with_reference(c, &at);
            }
}

static void every_row_gives_what_the_reference_gives_in_every_order(void **state)
{
    (void)state;
    if (is_absent()) skip();
    for_each_case(in_every_order);
}

/* Products in 16 bits may have rows of their own, whose sums are others: exact cases compare with the reference. */
static void compare_halves(const kernel_case *c, const setting *at)
{
    scene wide, half;
    setting as_f32 = *at;
    as_f32.precision = TUTTI_PRECISION_F32;
    open_scene(&wide, c, &as_f32), open_scene(&half, c, at);
    assert_row_and_order(c, at, &half.r.k);
    rig_forward(&wide.r), rig_forward(&half.r);
    assert_rounds_to(c, "out", &half.r.k.out, wide.r.a.out, half.r.a.out);
    if (at->training) rig_compare_backward(c, &wide.r, &half.r);
    rig_close(&wide.r), rig_close(&half.r);
}

static void in_every_order_and_half(const kernel_case *c)
{
    const tutti_op_row *op = tutti_op_find(c->op);
    const bool is_sum = op == &tutti_op_conv || op == &tutti_op_dense;
    for (int o = 0; o < (c->in.ndims == 4 ? NORDERS : 1); o++)
        for (int other = 0; other < nothers(c); other++)
            for (int mode = 0; mode < 4; mode++) {
                const setting at = {.order = orders[o],
                                    .others = orders[(o + other) % NORDERS],
                                    .precision = mode & 1 ? TUTTI_PRECISION_BF16 : TUTTI_PRECISION_F16,
                                    .training = mode & 2,
                                    .nthreads = 1};
                compare_with_reference(c, &at);
                if (!is_sum) compare_halves(c, &at);
            }
}

static void every_row_rounds_once_in_16_bits_in_every_order(void **state)
{
    (void)state;
    if (is_absent()) skip();
    for_each_case(in_every_order_and_half);
}

/* ---- threads ---- */

static const tutti_batch_norm_attrs norm_relu = {.eps = 1e-5, .momentum = 0.1, .scale_init = 1, .relu = true};

/* Large enough that threads share the work, and in parts of one channel, block or sample. */
static const kernel_case large_cases[] = {
    {"batch-norm", &norm, {4, {2, 40, 33, 31}}, false, true, 1, .what = "five blocks of 8"},
    {"batch-norm", &norm_relu, {4, {3, 20, 34, 51}}, false, true, 1, .what = "few channels"},
    {"batch-norm", &norm_relu, {4, {2, 64, 24, 25}}, false, true, 1, .what = "with an addend", .nmore = 1},
    {"batch-norm", &norm, {2, {460, 150}}, false, true, 1, .what = "two dims"},
    {"relu", NULL, {4, {2, 40, 17, 19}}, false, true, 1, .what = "many"},
    {"sigmoid", NULL, {4, {2, 40, 17, 19}}, false, true, 1, .what = "many"},
    {"add", NULL, {4, {2, 40, 17, 19}}, false, true, 1, .what = "three", .nmore = 2},
    {"concat", NULL, {4, {2, 40, 17, 19}}, false, true, 1, .what = "two", .nmore = 1, .channels = {24}},
    {"max-pool", &pool3, {4, {2, 40, 17, 19}}, false, true, 1, .what = "overlap and padding"},
    {"avg-pool", &pool2, {4, {2, 40, 17, 19}}, false, true, 1, .what = "apart"},
    {"global-avg-pool", NULL, {4, {2, 40, 17, 19}}, false, true, 1, .what = "planes"},
    {"lrn", &lrn5, {4, {2, 40, 17, 19}}, false, true, 1, .what = "planes"},
    {"dropout", &drop, {4, {2, 40, 17, 19}}, false, true, 1, .what = "planes"},
};
enum { NLARGE = sizeof large_cases / sizeof *large_cases };

static void assert_same_bits(const kernel_case *c, const setting *at, const rig *one, const rig *many)
{
    bool same =
        !memcmp(one->a.out, many->a.out, one->k.out.bytes) && !memcmp(one->a.dout, many->a.dout, one->k.out.bytes);
    for (int i = 0; i < one->k.ninputs; i++)
        same = same && (!one->a.din[i] || !memcmp(one->a.din[i], many->a.din[i], one->k.in[i].bytes));
    for (int p = 0; p < one->k.nparams; p++)
        same = same && !memcmp(one->a.dparam[p], many->a.dparam[p], (size_t)one->k.params[p].elements * sizeof(float));
    if (!same) FAIL(c, at, "other bits than with one thread");
}

static void own_rows_give_the_same_bits_by_any_number_of_threads(void **state)
{
    (void)state;
    if (is_absent()) skip();
    for (int i = 0; i < NLARGE * NORDERS * TUTTI_NPRECISIONS; i++) {
        const kernel_case *c = &large_cases[i / NORDERS % NLARGE];
        setting at = {.order = orders[i % NORDERS],
                      .others = orders[i % NORDERS],
                      .precision = (tutti_precision)(i / NORDERS / NLARGE),
                      .training = true,
                      .nthreads = 1};
        scene one, many;
        if (c->in.ndims != 4 && at.order != TUTTI_ORDER_NCHW) continue;
        open_scene(&one, c, &at);
        rig_forward(&one.r), rig_backward(&one.r);
        for (at.nthreads = 2; at.nthreads <= 5; at.nthreads += 3) {
            open_scene(&many, c, &at);
            assert_row_and_order(c, &at, &many.r.k);
            rig_forward(&many.r), rig_backward(&many.r);
            assert_same_bits(c, &at, &one.r, &many.r);
            rig_close(&many.r);
        }
        rig_close(&one.r);
    }
}

/* ---- in place ---- */

static void in_place(const kernel_case *c)
{
    for (int i = 0; i < NORDERS * TUTTI_NPRECISIONS; i++) {
        const setting at = {.order = orders[i % NORDERS],
                            .others = orders[i % NORDERS],
                            .precision = (tutti_precision)(i / NORDERS),
                            .training = true,
                            .nthreads = 2};
        scene apart, same;
        if (c->in.ndims != 4 && at.order != TUTTI_ORDER_NCHW) continue;
        open_scene(&apart, c, &at), open_scene(&same, c, &at);
        if (apart.r.k.in_place) {
            void *const out = same.r.a.out, *const din = same.r.a.din[0];
            same.r.a.out = (void *)same.r.a.in[0];
            if (din) same.r.a.din[0] = same.r.a.dout;
            rig_forward(&apart.r), rig_backward(&apart.r);
            rig_forward(&same.r), rig_backward(&same.r);
            if (memcmp(apart.r.a.out, same.r.a.out, apart.r.k.out.bytes)) FAIL(c, &at, "another output in place");
            if (din && memcmp(apart.r.a.din[0], same.r.a.din[0], apart.r.k.in[0].bytes))
                FAIL(c, &at, "another gradient in place");
            same.r.a.out = out, same.r.a.din[0] = din;
        }
        rig_close(&apart.r), rig_close(&same.r);
    }
}

static void rows_that_work_in_place_do_so_in_every_order(void **state)
{
    (void)state;
    if (is_absent()) skip();
    for (int i = 0; i < NCASES; i++)
        if (strcmp(kernel_cases[i].op, "conv") != 0 && strcmp(kernel_cases[i].op, "dense") != 0)
            in_place(&kernel_cases[i]);
}

/* ---- conversions ---- */

enum { PATTERNS = 1 << 16 };

/* (1, 37, 41, 44) has room for all of them. */
static const tutti_shape patterns_shape = {4, {1, 37, 41, 44}};

static bool is_nan_of(tutti_dtype type, uint16_t half)
{
    return type == TUTTI_BF16 ? (half & 0x7fff) > 0x7f80 : (half & 0x7fff) > 0x7c00;
}

static void every_number_of_16_bits_goes_to_row_major_and_back_in_every_order(void **state)
{
    (void)state;
    const int64_t n = count_of(&patterns_shape);
    uint16_t *from = malloc((size_t)n * sizeof *from);
    float *wide = malloc((size_t)n * sizeof *wide), *back = malloc((size_t)n * sizeof *back);
    for (int type = 0; type < 2; type++)
        for (int o = 0; o < NORDERS; o++) {
            tutti_value v = {.shape = patterns_shape, .dtype = type ? TUTTI_F16 : TUTTI_BF16};
            tutti_layout layout;
            tutti_order_apply(orders[o], &v, &layout);
            uint16_t *memory = (uint16_t *)numbers(v.bytes), half;
            for (int64_t i = 0; i < n; i++) from[i] = (uint16_t)(i % PATTERNS);
            tutti_convert_to_f32(v.dtype, from, wide, n);
            tutti_value_from_plain(&v, wide, memory);
            tutti_value_to_plain(&v, memory, back);
            for (int64_t i = 0; i < n; i++) {
                tutti_convert_from_f32(v.dtype, &back[i], &half, 1);
                assert_true(is_nan_of(v.dtype, from[i]) ? isnan(back[i]) : half == from[i]);
            }
            assert_guarded(memory, v.bytes);
            free(memory);
        }
    free(from), free(wide), free(back);
}

/* Ties, overflow, denormals, NaN: as tensor/convert.h rounds, from every length of a last vector. */
static void conversions_in_lanes_round_as_those_of_vectors(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    float from[MANY];
    uint16_t want[MANY], got[MANY];
    for (int i = 0; i < MANY; i++) {
        const uint32_t word = tutti_random(17, TUTTI_STREAM_TEST, 1, (uint64_t)i).word[0];
        const uint32_t tie = i % 3 ? word : (word & 0xffff0000u) | (i % 2 ? 0x8000u : 0x7fffu + (uint32_t)(i % 5));
        memcpy(&from[i], &tie, sizeof tie);
    }
    for (int type = 0; type < 2; type++)
        for (int n = 1; n <= MANY; n = n < 70 ? n + 1 : n * 3 + 1) {
            const tutti_dtype to = type ? TUTTI_F16 : TUTTI_BF16;
            tutti_convert_from_f32(to, from, want, n);
            memset(got, 0x55, sizeof got);
            tutti_lane_convert(TUTTI_F32, from, to, got, n, 1 + n % 2);
            assert_memory_equal(want, got, (size_t)n * sizeof *got);
            if (n < MANY) assert_int_equal(got[n], 0x5555);
        }
}

/* Units of two vectors round by instructions of their own: infinities, denormals and ties come of any two patterns. */
static void sums_in_lanes_round_as_conversions_do(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static uint16_t x[MANY], y[MANY], want[MANY], got[MANY + 1];
    for (int type = 0; type < 2; type++)
        for (int n = MANY; n > 0; n = n > 200 ? 200 : n - 1) {
            const tutti_dtype of = type ? TUTTI_F16 : TUTTI_BF16;
            for (int i = 0; i < n; i++) {
                const tutti_random4 r = tutti_random(19, TUTTI_STREAM_TEST, 2, (uint64_t)i);
                float a, b;
                x[i] = (uint16_t)r.word[0], y[i] = i % 2 ? (uint16_t)r.word[1] : (uint16_t)(x[i] ^ r.word[1] % 512);
                tutti_convert_to_f32(of, &x[i], &a, 1), tutti_convert_to_f32(of, &y[i], &b, 1);
                a += b;
                tutti_convert_from_f32(of, &a, &want[i], 1);
            }
            got[n] = 0x5555;
            tutti_lane_sum(of, (const void *const[]){x, y}, 2, got, n, 1);
            for (int i = 0; i < n; i++) assert_true(is_nan_of(of, want[i]) ? is_nan_of(of, got[i]) : want[i] == got[i]);
            assert_int_equal(got[n], 0x5555);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_gives_what_the_reference_gives_in_every_order),
        cmocka_unit_test(every_row_rounds_once_in_16_bits_in_every_order),
        cmocka_unit_test(own_rows_give_the_same_bits_by_any_number_of_threads),
        cmocka_unit_test(rows_that_work_in_place_do_so_in_every_order),
        cmocka_unit_test(every_number_of_16_bits_goes_to_row_major_and_back_in_every_order),
        cmocka_unit_test(conversions_in_lanes_round_as_those_of_vectors),
        cmocka_unit_test(sums_in_lanes_round_as_conversions_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
