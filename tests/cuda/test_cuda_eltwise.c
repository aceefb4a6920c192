/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_eltwise.c: ops that memory bounds, on a card, beside the reference's plain loops: odd sizes, every type,
 * both orders, types and orders mixed. Ops that round one by one have the reference's bits, exponentials are within
 * 2e-6 of it. */
#include "cuda/cuda_rig.h"

#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "kernel/choose/memory_order.h"
#include "kernel/cuda/cuda_value.h"
#include "kernel/kernel_impl.h"
#include "tensor/convert.h"

enum { MOST_INPUTS = 4 };

typedef struct {
    const char *op;
    const void *attrs;
    tutti_shape in;
    int64_t channels[MOST_INPUTS]; /* of all inputs; 0: there is none */
    double tolerance;
} op_case;

static const tutti_dropout_attrs drop = {0.3};
static const tutti_loss_attrs plain_loss = {.weight = 1}, smooth_loss = {.weight = 0.3, .label_smoothing = 0.1};
static const op_case cases[] = {
    {"relu", NULL, {4, {2, 7, 5, 3}}, {7}, 0},
    {"relu", NULL, {2, {3, 1031}}, {1031}, 0},
    {"sigmoid", NULL, {4, {1, 5, 3, 7}}, {5}, 2e-6},
    {"tanh", NULL, {4, {1, 5, 3, 7}}, {5}, 2e-6},
    {"add", NULL, {4, {2, 6, 3, 5}}, {6, 6}, 0},
    {"add", NULL, {2, {3, 37}}, {37, 37, 37}, 0},
    {"concat", NULL, {4, {2, 4, 2, 4}}, {4, 8, 12}, 0},
    {"concat", NULL, {4, {2, 3, 3, 5}}, {3, 1, 6}, 0},
    {"concat", NULL, {2, {3, 5}}, {5, 8}, 0},
    {"flatten", NULL, {4, {2, 7, 3, 3}}, {7}, 0},
    {"flatten", NULL, {4, {2, 34, 5, 7}}, {34}, 0},
    {"dropout", &drop, {4, {2, 6, 2, 4}}, {6}, 0},
    {"dropout", &drop, {4, {2, 5, 3, 3}}, {5}, 0},
    {"dropout", &drop, {2, {3, 41}}, {41}, 0},
    {"softmax-cross-entropy", &plain_loss, {2, {5, 10}}, {10}, 2e-6},
    {"softmax-cross-entropy", &plain_loss, {2, {3, 1003}}, {1003}, 2e-6},
    {"softmax-cross-entropy", &smooth_loss, {2, {4, 35}}, {35}, 2e-6},
    {"softmax-cross-entropy", &smooth_loss, {2, {3, 2605}}, {2605}, 2e-6},
};
enum { NCASES = sizeof cases / sizeof *cases };

/* A form says how inputs lie; the second type and order are those of all inputs but the first. */
typedef struct {
    const char *name;
    tutti_dtype type[2];
    tutti_order order[2];
    tutti_precision precision;
    size_t shift; /* memory begins so many numbers behind a multiple of 64 */
} form;
static const form forms[] = {
    {"f32", {TUTTI_F32, TUTTI_F32}, {TUTTI_ORDER_NCHW, TUTTI_ORDER_NCHW}, TUTTI_PRECISION_F32, 0},
    {"f32 channels last", {TUTTI_F32, TUTTI_F32}, {TUTTI_ORDER_NHWC, TUTTI_ORDER_NHWC}, TUTTI_PRECISION_F32, 0},
    {"f32 at odd places", {TUTTI_F32, TUTTI_F32}, {TUTTI_ORDER_NCHW, TUTTI_ORDER_NCHW}, TUTTI_PRECISION_F32, 1},
    {"bf16", {TUTTI_BF16, TUTTI_BF16}, {TUTTI_ORDER_NCHW, TUTTI_ORDER_NCHW}, TUTTI_PRECISION_BF16, 0},
    {"f16 channels last", {TUTTI_F16, TUTTI_F16}, {TUTTI_ORDER_NHWC, TUTTI_ORDER_NHWC}, TUTTI_PRECISION_F16, 0},
    {"all mixed", {TUTTI_F16, TUTTI_F32}, {TUTTI_ORDER_NHWC, TUTTI_ORDER_NCHW}, TUTTI_PRECISION_BF16, 0},
};
enum { NFORMS = sizeof forms / sizeof *forms };

typedef struct {
    cuda_rig *rig;
    const op_case *c;
    const form *f;
    tutti_layout layouts[MOST_INPUTS];
    tutti_value plain[MOST_INPUTS], in[MOST_INPUTS];
    tutti_kernel card, reference;
    tutti_kernel_args a, r; /* their arguments */
    int nin;
    float loss;
    int32_t correct, labels[8];
} bench;

/* ---- numbers ---- */

static float *draw(const tutti_shape *s, uint64_t tensor)
{
    const int64_t n = tutti_shape_count(s);
    float *x = malloc((size_t)n * sizeof *x + 1);
    for (int64_t i = 0; i < n; i++) {
        const tutti_random4 w = tutti_random(7, TUTTI_STREAM_TEST, tensor, (uint64_t)i);
        x[i] = w.word[1] % 9 ? tutti_random_unit(w.word[0]) * 8 - 4 : -0.0f;
    }
    return x;
}

/* Uploads into memory that begins where the form says. */
static void *upload(bench *b, const tutti_value *v, float *numbers)
{
    return rig_upload(b->rig, v, numbers, b->f->shift * tutti_dtype_bytes(v->dtype));
}

/* Compares what the card got with `want`, which is of f32 and is rounded to v's type. */
static void compare(const bench *b, const char *what, const tutti_value *v, float *want, const float *got)
{
    const int64_t n = tutti_shape_count(&v->shape);
    uint16_t *halves = malloc((size_t)n * sizeof *halves + 1);
    const double tolerance = b->c->tolerance, floor = 1e-4 * rig_largest(want, n);
    if (!tolerance && v->dtype != TUTTI_F32) {
        tutti_convert_from_f32(v->dtype, want, halves, n);
        tutti_convert_to_f32(v->dtype, halves, want, n);
    }
    free(halves);
    for (int64_t i = 0; i < n; i++) {
        const double off = fabs((double)got[i] - (double)want[i]), size = fabs((double)want[i]);
        const bool same = memcmp(&got[i], &want[i], sizeof(float)) == 0;
        const double slack = rig_rounding(v->dtype) * size + (v->dtype == TUTTI_F16 ? 0x1p-25 : 0);
        if (!same && (!tolerance || !(off <= tolerance * fmax(size, floor) + slack)))
            fail_msg("%s, %s: %s %lld is %.9g, not %.9g", b->c->op, b->f->name, what, (long long)i, (double)got[i],
                     (double)want[i]);
    }
}

/* ---- a kernel of each kind ---- */

static void describe_inputs(bench *b)
{
    for (b->nin = 0; b->nin < MOST_INPUTS && b->c->channels[b->nin]; b->nin++) {
        const int i = b->nin, how = i > 0;
        tutti_shape s = b->c->in;
        s.dim[1] = b->c->channels[i];
        b->plain[i] = tutti_value_plain(&s);
        b->in[i] = rig_value(&s, b->f->type[how], b->f->order[how], &b->layouts[i]);
    }
}

static void make(bench *b, bool training)
{
    tutti_failure err = {0};
    tutti_kernel_request r = {.engine = "auto",
                              .op = tutti_op_find(b->c->op),
                              .attrs = b->c->attrs,
                              .in = b->plain,
                              .nin = b->nin,
                              .training = training,
                              .nthreads = 1};
    if (tutti_kernel_create_by(r.op->reference, &r, &b->reference, &err)) fail_msg("%s: %s", b->c->op, err.text);
    r.in = b->in, r.precision = b->f->precision, r.device = b->rig->d;
    if (tutti_kernel_create(&r, &b->card, &err)) fail_msg("%s, %s: %s", b->c->op, b->f->name, err.text);
    assert_string_equal(b->card.chosen[TUTTI_PASS_FORWARD].name, "cuda");
}

static void place(bench *b, bool training)
{
    const size_t out = (size_t)tutti_shape_count(&b->card.out.shape) * sizeof(float);
    for (int i = 0; i < b->nin; i++) {
        float *numbers = draw(&b->in[i].shape, 10 + (uint64_t)i);
        /* All numbers of two samples are equal: the first is the largest, which is the label of one of the two. */
        for (int64_t e = 0; e < 2 * b->c->in.dim[1] && b->card.op->is_loss; e++) numbers[e] = 1.5f;
        b->a.in[i] = upload(b, &b->in[i], numbers);
        b->r.in[i] = numbers;
        b->r.din[i] = malloc(b->plain[i].bytes);
        if (!(b->card.passes_gradient >> i & 1)) b->a.din[i] = rig_buffer(b->rig, NULL, b->in[i].bytes, 0);
    }
    for (int i = 0; i < 8; i++) b->labels[i] = i * 5 % (int32_t)b->c->in.dim[1];
    b->r.labels = b->labels, b->r.loss = &b->loss, b->r.correct = &b->correct;
    b->r.training = training, b->r.layer = 3, b->r.loss_scale = 0.125f;
    b->r.seed = 5, b->r.step = 11, b->r.first_sample = 1000;
    b->r.out = malloc(out + 1), b->r.saved = malloc(b->reference.saved_bytes + 1);
    b->a.labels = rig_buffer(b->rig, b->labels, sizeof b->labels, 0);
    b->a.loss = rig_buffer(b->rig, NULL, sizeof(float), 0), b->a.correct = rig_buffer(b->rig, NULL, sizeof(int32_t), 0);
    b->a.training = training, b->a.layer = b->r.layer, b->a.loss_scale = b->r.loss_scale;
    b->a.seed = b->r.seed, b->a.step = b->r.step, b->a.first_sample = b->r.first_sample;
    b->a.out = rig_buffer(b->rig, NULL, b->card.out.bytes, 0);
    b->a.saved = rig_buffer(b->rig, NULL, b->card.saved_bytes, 0);
    b->a.scratch = rig_buffer(b->rig, NULL, b->card.scratch_bytes, 0);
}

static void finish(bench *b)
{
    for (int i = 0; i < b->nin; i++) free((void *)(uintptr_t)b->r.in[i]), free(b->r.din[i]);
    free(b->r.out), free(b->r.saved), free(b->r.dout);
    tutti_kernel_destroy(&b->card), tutti_kernel_destroy(&b->reference);
    rig_release(b->rig);
}

/* ---- what is compared ---- */

static void compare_losses(bench *b)
{
    float *loss = rig_read(b->rig, b->a.loss, sizeof *loss);
    int32_t *correct = rig_read(b->rig, b->a.correct, sizeof *correct);
    assert_int_equal(*correct, b->correct);
    if (!(fabs((double)*loss - (double)b->loss) <= 2e-6 * fabs((double)b->loss)))
        fail_msg("%s, %s: loss %.9g, not %.9g", b->c->op, b->f->name, (double)*loss, (double)b->loss);
    free(loss), free(correct);
}

static void check_forward(bench *b)
{
    for (int again = 0; again < 3; again++) { /* and replayed */
        const float nothing = NAN;
        b->rig->d->copy(b->rig->d, &(char *){(char *)b->a.loss}, 1, (const char *)&nothing, sizeof nothing, false);
        rig_launch(b->rig, &b->card, &b->a, TUTTI_PASS_FORWARD);
    }
    b->reference.row->forward(&b->reference, &b->r);
    if (b->card.op->is_loss) {
        compare_losses(b);
        return;
    }
    float *got = rig_download(b->rig, &b->card.out, b->a.out);
    compare(b, "output", &b->card.out, b->r.out, got);
    memcpy(b->r.out, got, (size_t)tutti_shape_count(&b->card.out.shape) * sizeof(float)); /* both go on from it */
    free(got);
}

/* Runs forward with the output over the first input. */
static void check_in_place(bench *b)
{
    tutti_kernel_args a = b->a;
    if (!b->card.in_place) return;
    void *before = rig_read(b->rig, a.in[0], b->in[0].bytes), *want = rig_read(b->rig, a.out, b->card.out.bytes);
    a.out = (void *)(uintptr_t)(a.in[0] = rig_buffer(b->rig, before, b->in[0].bytes, 0));
    rig_launch(b->rig, &b->card, &a, TUTTI_PASS_FORWARD);
    void *got = rig_read(b->rig, a.out, b->card.out.bytes);
    assert_memory_equal(got, want, b->card.out.bytes);
    free(before), free(want), free(got);
}

static void check_backward(bench *b)
{
    if (!b->card.op->is_loss) {
        b->r.dout = draw(&b->card.out.shape, 1);
        b->a.dout = upload(b, &b->card.out, b->r.dout);
    }
    const unsigned all = (1u << b->nin) - 1;
    if ((b->card.passes_gradient & all) != all) rig_launch(b->rig, &b->card, &b->a, TUTTI_PASS_DATA);
    b->reference.row->backward_data(&b->reference, &b->r);
    for (int i = 0; i < b->nin; i++) {
        const bool passed = b->card.passes_gradient >> i & 1;
        const tutti_value *v = &b->in[i];
        if (passed) assert_int_equal(v->dtype, b->card.out.dtype);
        float *got = rig_download(b->rig, v, passed ? b->a.dout : b->a.din[i]);
        compare(b, "gradient", v, b->r.din[i], got);
        free(got);
    }
}

static void check(cuda_rig *rig, const op_case *c, const form *f, bool training)
{
    bench b = {.rig = rig, .c = c, .f = f};
    describe_inputs(&b);
    make(&b, training);
    place(&b, training);
    check_forward(&b);
    check_in_place(&b);
    if (training) check_backward(&b);
    finish(&b);
}

static void rows_give_what_the_reference_gives(void **state)
{
    if (!*state) skip();
    for (int c = 0; c < NCASES; c++)
        for (int f = 0; f < NFORMS; f++)
            for (int training = 0; training < 2; training++) check(*state, &cases[c], &forms[f], training);
}

/* ---- whole values ---- */

typedef struct {
    const tutti_value *v;
    const void *from;
    void *to;
    int64_t *zeros;
    const void *parts[3];
    int kind;
} value_work;
enum { TO_PLAIN, FROM_PLAIN, SUM, ZEROS };

static void run_value(const tutti_device *d, const void *args, const void *varying)
{
    const value_work *w = args;
    tutti_cuda *c = tutti_cuda_of(d);
    const tutti_cuda_values *f;
    (void)varying;
    assert_int_equal(tutti_cuda_values_of(c, &f, NULL), TUTTI_OK);
    switch (w->kind) {
    case TO_PLAIN: tutti_cuda_value_to_plain(c, f, w->v, w->from, w->to); break;
    case FROM_PLAIN: tutti_cuda_value_from_plain(c, f, w->v, w->from, w->to); break;
    case SUM: tutti_cuda_value_sum(c, f, w->v, w->parts, 3, w->to); break;
    default: tutti_cuda_value_zeros(c, f, w->v, w->from, w->zeros); break;
    }
}
static const tutti_queue_work value_working = {"value", run_value, sizeof(value_work), 0, 0};

static void do_value(cuda_rig *r, const value_work *w)
{
    r->d->launch(r->d, &value_working, w);
    r->d->finish(r->d);
}

/* Makes n numbers with bits of every kind: zeros, subnormal ones, infinities, NaNs with payloads, halves between two
 * numbers. */
static float *odd_numbers(int64_t n)
{
    static const uint32_t bits[] = {0,          0x80000000, 1,          0x807fffff, 0x7f800000, 0xff800000, 0x7f800001,
                                    0xffc12345, 0x3f808000, 0x3f818000, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001,
                                    0x38801000, 0x387fffff, 0x7f7fffff, 0x3f803000, 0x3f801000, 0x7fbfffff};
    float *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        const tutti_random4 w = tutti_random(9, TUTTI_STREAM_TEST, 1, (uint64_t)i);
        const uint32_t word = i % 3 ? w.word[0] : bits[i / 3 % (int64_t)(sizeof bits / sizeof *bits)];
        memcpy(&x[i], &word, sizeof word);
    }
    return x;
}

static void check_value(cuda_rig *r, const tutti_shape *s, tutti_dtype type, tutti_order order)
{
    tutti_layout layout;
    const tutti_value v = rig_value(s, type, order, &layout);
    const int64_t n = tutti_shape_count(s);
    const size_t wide = (size_t)n * sizeof(float);
    float *plain = odd_numbers(n), *back = malloc(wide);
    void *memory = malloc(v.bytes), *sum = malloc(v.bytes);
    tutti_value_from_plain(&v, plain, memory);
    tutti_value_to_plain(&v, memory, back);
    void *from = rig_buffer(r, plain, wide, 0), *own = rig_buffer(r, NULL, v.bytes, 0);
    void *again = rig_buffer(r, NULL, wide, 0), *to = rig_buffer(r, NULL, v.bytes, 0);
    int64_t five = 5, *zeros = rig_buffer(r, &five, sizeof five, 0);
    do_value(r, &(value_work){.v = &v, .from = from, .to = own, .kind = FROM_PLAIN});
    do_value(r, &(value_work){.v = &v, .from = own, .to = again, .kind = TO_PLAIN});
    do_value(r, &(value_work){.v = &v, .from = own, .zeros = zeros, .kind = ZEROS});
    do_value(r, &(value_work){.v = &v, .parts = {own, own, own}, .to = to, .kind = SUM});
    void *got = rig_read(r, own, v.bytes), *got_back = rig_read(r, again, wide), *got_sum = rig_read(r, to, v.bytes);
    int64_t *got_zeros = rig_read(r, zeros, sizeof *got_zeros);
    assert_memory_equal(got, memory, v.bytes);
    assert_memory_equal(got_back, back, wide);
    assert_int_equal(*got_zeros, 5 + tutti_value_zeros(&v, memory));
    tutti_value_sum(&v, (const void *[]){memory, memory, memory}, 3, sum, 1);
    float *want_wide = malloc(wide), *got_wide = malloc(wide);
    tutti_value_to_plain(&v, sum, want_wide), tutti_value_to_plain(&v, got_sum, got_wide);
    for (int64_t i = 0; i < n; i++) /* what a processor makes of a NaN's payload in a sum is its own */
        if (!(isnan(want_wide[i]) && isnan(got_wide[i]))) assert_memory_equal(&got_wide[i], &want_wide[i], 4);
    free(plain), free(back), free(memory), free(sum), free(got), free(got_back), free(got_sum), free(got_zeros);
    free(want_wide), free(got_wide);
    rig_release(r);
}

static void values_are_copied_summed_and_counted(void **state)
{
    static const tutti_shape shapes[] = {{4, {2, 3, 5, 7}}, {4, {1, 37, 6, 7}}, {4, {2, 64, 1, 1}}, {2, {3, 77}}};
    static const tutti_dtype types[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
    const tutti_cuda_values *f;
    tutti_failure err = {0};
    if (!*state) skip();
    if (tutti_cuda_values_of(((cuda_rig *)*state)->cuda, &f, &err)) fail_msg("%s", err.text);
    for (int s = 0; s < 4; s++)
        for (int t = 0; t < 3; t++) {
            check_value(*state, &shapes[s], types[t], TUTTI_ORDER_NCHW);
            if (shapes[s].ndims == 4) check_value(*state, &shapes[s], types[t], TUTTI_ORDER_NHWC);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_give_what_the_reference_gives),
        cmocka_unit_test(values_are_copied_summed_and_counted),
    };
    return cmocka_run_group_tests(tests, cuda_rig_open, cuda_rig_close);
}
