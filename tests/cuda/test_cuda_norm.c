/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_norm.c: batch norms, pools and LRN on a card, beside the reference's plain loops: odd sizes, both orders,
 * every type, types and orders mixed. Whole numbers go through max pools and so come out the same; else f32 is within
 * 1e-5 of the largest number, f16 within 2e-3, bf16 within 1e-2. */
#include "cuda/cuda_rig.h"

#include <math.h>

#include "base/rng.h"
#include "kernel/choose/memory_order.h"
#include "kernel/kernel_impl.h"

typedef struct {
    const char *op;
    const void *attrs;
    tutti_shape in;
    int nin;
    double offset; /* of the numbers that are drawn */
    bool is_exact;
} op_case;

static const tutti_batch_norm_attrs bare = {1e-5, 0.1, 1, false}, relu = {1e-5, 0.1, 1, true};
static const tutti_pool_attrs three = {3, 2, 1, false}, two = {2, 0, 0, false}, same = {3, 1, 1, true},
                              rounds_up = {3, 2, 1, true}, gaps = {2, 3, 0, true}, large = {17, 5, 8, false};
static const tutti_lrn_attrs five = {5, 0.5, 0.75, 2}, four = {4, 1e-1, 0.5, 1};
static const op_case cases[] = {
    {"batch-norm", &bare, {4, {3, 24, 7, 5}}, 1, 0, false},
    {"batch-norm", &relu, {4, {2, 72, 9, 4}}, 1, 0, false},
    {"batch-norm", &relu, {4, {3, 72, 5, 3}}, 2, 0, false},
    {"batch-norm", &bare, {4, {1, 16, 1, 6}}, 1, 0, false},
    {"batch-norm", &relu, {4, {2, 64, 41, 37}}, 2, 0, false},
    {"batch-norm", &relu, {4, {2, 64, 23, 41}}, 1, 30, false},
    {"batch-norm", &bare, {2, {37, 136}}, 1, 0, false},
    {"batch-norm", &relu, {2, {19, 40}}, 2, 0, false},
    {"batch-norm", &bare, {4, {2, 7, 5, 3}}, 1, 30, false},
    {"batch-norm", &relu, {4, {2, 7, 5, 3}}, 2, 0, false},
    {"max-pool", &three, {4, {2, 16, 11, 9}}, 1, 0, true},
    {"max-pool", &two, {4, {3, 5, 6, 7}}, 1, 0, true},
    {"max-pool", &same, {4, {1, 8, 5, 7}}, 1, 0, true},
    {"max-pool", &gaps, {4, {2, 24, 8, 7}}, 1, 0, true},
    {"max-pool", &large, {4, {1, 8, 40, 23}}, 1, 0, true},
    {"avg-pool", &three, {4, {2, 16, 11, 9}}, 1, 0, false},
    {"avg-pool", &rounds_up, {4, {2, 8, 10, 6}}, 1, 0, false},
    {"avg-pool", &rounds_up, {4, {2, 3, 10, 6}}, 1, 0, false},
    {"avg-pool", &gaps, {4, {2, 24, 8, 7}}, 1, 0, false},
    {"global-avg-pool", NULL, {4, {3, 24, 7, 7}}, 1, 0, false},
    {"global-avg-pool", NULL, {4, {2, 264, 3, 3}}, 1, 0, false},
    {"global-avg-pool", NULL, {4, {3, 5, 4, 3}}, 1, 0, false},
    {"lrn", &five, {4, {2, 16, 3, 5}}, 1, 0, false},
    {"lrn", &five, {2, {5, 24}}, 1, 0, false},
    {"lrn", &five, {4, {1, 6, 3, 5}}, 1, 0, false},
    {"lrn", &four, {4, {2, 8, 3, 3}}, 1, 0, false},
};
enum { NCASES = sizeof cases / sizeof *cases };

/* A form says how the first and the second input lie. */
typedef struct {
    const char *name;
    tutti_dtype type[2];
    tutti_order order[2];
    tutti_precision precision;
    double tolerance;
} form;
static const form forms[] = {
    {"f32", {TUTTI_F32, TUTTI_F32}, {TUTTI_ORDER_NCHW, TUTTI_ORDER_NCHW}, TUTTI_PRECISION_F32, 1e-5},
    {"f32 channels last", {TUTTI_F32, TUTTI_F32}, {TUTTI_ORDER_NHWC, TUTTI_ORDER_NHWC}, TUTTI_PRECISION_F32, 1e-5},
    {"bf16 channels last", {TUTTI_BF16, TUTTI_BF16}, {TUTTI_ORDER_NHWC, TUTTI_ORDER_NHWC}, TUTTI_PRECISION_BF16, 1e-2},
    {"f16 channels last", {TUTTI_F16, TUTTI_F16}, {TUTTI_ORDER_NHWC, TUTTI_ORDER_NHWC}, TUTTI_PRECISION_F16, 2e-3},
    {"all mixed", {TUTTI_BF16, TUTTI_F32}, {TUTTI_ORDER_NHWC, TUTTI_ORDER_NCHW}, TUTTI_PRECISION_F16, 1e-2},
};
enum { NFORMS = sizeof forms / sizeof *forms };

typedef struct {
    cuda_rig *rig;
    const op_case *c;
    const form *f;
    tutti_layout layouts[2];
    tutti_value plain[2], in[2];
    tutti_kernel card, reference;
    tutti_kernel_args a, r; /* their arguments */
    float *params[4], *dparams[4], *part;
} bench;

/* ---- numbers ---- */

/* Draws n numbers: whole ones, of which many are equal, where the case is exact; others in between. */
static float *draw(const bench *b, int64_t n, uint64_t tensor, double offset)
{
    float *x = malloc((size_t)n * sizeof *x + 1);
    for (int64_t i = 0; i < n; i++) {
        const tutti_random4 w = tutti_random(9, TUTTI_STREAM_TEST, tensor, (uint64_t)i);
        const float u = tutti_random_unit(w.word[0]) * 8 - 4;
        x[i] = (b->c->is_exact ? rintf(u) : u) + (float)offset;
    }
    return x;
}

static void compare(const bench *b, const char *what, int64_t n, const float *want, const float *got, double tolerance)
{
    const double most = rig_largest(want, n);
    for (int64_t i = 0; i < n; i++) {
        const bool are_nan = isnan(want[i]) && isnan(got[i]);
        if (!are_nan && !(fabs((double)got[i] - (double)want[i]) <= tolerance * most))
            fail_msg("%s of %lldx%lld.., %s: %s %lld of %lld is %.9g, not %.9g", b->c->op, (long long)b->c->in.dim[0],
                     (long long)b->c->in.dim[1], b->f->name, what, (long long)i, (long long)n, (double)got[i],
                     (double)want[i]);
    }
}

static void compare_value(bench *b, const char *what, const tutti_value *v, const float *want, const void *at)
{
    float *got = rig_download(b->rig, v, at);
    const int64_t n = tutti_shape_count(&v->shape);
    compare(b, what, n, want, got, b->c->is_exact ? 0 : b->f->tolerance);
    free(got);
}

/* ---- a kernel of each kind ---- */

static void describe_inputs(bench *b)
{
    for (int i = 0; i < b->c->nin; i++) {
        b->plain[i] = tutti_value_plain(&b->c->in);
        b->in[i] = rig_value(&b->c->in, b->f->type[i], b->f->order[i], &b->layouts[i]);
    }
}

static void make(bench *b, bool training)
{
    tutti_failure err = {0};
    tutti_kernel_request r = {.engine = "reference",
                              .op = tutti_op_find(b->c->op),
                              .attrs = b->c->attrs,
                              .in = b->plain,
                              .nin = b->c->nin,
                              .training = training,
                              .nthreads = 1};
    if (tutti_kernel_create(&r, &b->reference, &err)) fail_msg("%s: %s", b->c->op, err.text);
    r.engine = "auto", r.in = b->in, r.precision = b->f->precision, r.device = b->rig->d;
    if (tutti_kernel_create(&r, &b->card, &err)) fail_msg("%s, %s: %s", b->c->op, b->f->name, err.text);
    assert_string_equal(b->card.chosen[TUTTI_PASS_FORWARD].name, "cuda");
}

static void place_params(bench *b)
{
    for (int p = 0; p < b->card.nparams; p++) {
        const size_t bytes = (size_t)b->card.params[p].elements * sizeof(float);
        b->params[p] = draw(b, b->card.params[p].elements, 20 + (uint64_t)p, p == 3 ? 4.5 : p == 2 ? b->c->offset : 0);
        b->dparams[p] = malloc(bytes);
        b->r.param[p] = b->params[p], b->r.dparam[p] = b->dparams[p];
        b->a.param[p] = rig_buffer(b->rig, b->params[p], bytes, 0);
        b->a.dparam[p] = rig_buffer(b->rig, NULL, bytes, 0);
    }
}

static void place(bench *b, bool training)
{
    for (int i = 0; i < b->c->nin; i++) {
        float *numbers = draw(b, tutti_shape_count(&b->c->in), 10 + (uint64_t)i, i ? 0 : b->c->offset);
        if (b->c->is_exact) numbers[5] = numbers[21] = NAN;
        b->a.in[i] = rig_upload(b->rig, &b->in[i], numbers, 0);
        b->r.in[i] = numbers;
        b->r.din[i] = malloc(b->plain[i].bytes);
        if (!(b->card.passes_gradient >> i & 1)) b->a.din[i] = rig_buffer(b->rig, NULL, b->in[i].bytes, 0);
    }
    place_params(b);
    b->r.training = b->a.training = training;
    b->r.out = malloc(b->reference.out.bytes);
    b->r.saved = malloc(b->reference.saved_bytes + 1), b->r.scratch = malloc(b->reference.scratch_bytes + 1);
    b->a.out = rig_buffer(b->rig, NULL, b->card.out.bytes, 0);
    b->a.saved = rig_buffer(b->rig, NULL, b->card.saved_bytes, 0);
    b->a.scratch = rig_buffer(b->rig, NULL, b->card.scratch_bytes, 0);
}

static void finish(bench *b)
{
    for (int i = 0; i < b->c->nin; i++) free((void *)(uintptr_t)b->r.in[i]), free(b->r.din[i]);
    for (int p = 0; p < b->card.nparams; p++) free(b->params[p]), free(b->dparams[p]);
    free(b->r.out), free(b->r.saved), free(b->r.scratch), free(b->r.dout), free(b->part);
    tutti_kernel_destroy(&b->card), tutti_kernel_destroy(&b->reference);
    rig_release(b->rig);
}

/* ---- what is compared ---- */

static void compare_params(bench *b, bool statistics)
{
    for (int p = 0; p < b->card.nparams; p++) {
        if ((b->card.params[p].kind == TUTTI_PARAM_STATISTIC) != statistics) continue;
        const int64_t n = b->card.params[p].elements;
        float *got = rig_read(b->rig, b->a.dparam[p], (size_t)n * sizeof *got);
        compare(b, b->card.params[p].name, n, b->dparams[p], got, b->f->tolerance);
        free(got);
    }
}

static void check_forward(bench *b)
{
    rig_launch_forward(b->rig, &b->card, &b->a);
    b->reference.row->forward(&b->reference, &b->r);
    compare_value(b, "output", &b->card.out, b->r.out, b->a.out);
    if (b->a.training) compare_params(b, true);
}

/* The gradient comes in two parts where the kernel adds them up itself. The reference gets their sum. */
static void place_gradient(bench *b)
{
    const tutti_value *v = &b->card.out;
    const int64_t n = tutti_shape_count(&v->shape);
    b->r.dout = draw(b, n, 1, 0);
    b->a.dout = rig_upload(b->rig, v, b->r.dout, 0);
    if (b->card.max_dout_parts < 2) return;
    b->part = draw(b, n, 2, 0);
    b->a.dout_parts[0] = rig_upload(b->rig, v, b->part, 0), b->a.dout_parts[1] = b->a.dout, b->a.ndout_parts = 2;
    for (int64_t i = 0; i < n; i++) ((float *)b->r.dout)[i] += b->part[i];
}

static void run_backward(tutti_kernel *k, const tutti_kernel_args *a)
{
    if (k->row->backward_params) k->row->backward_params(k, a);
    k->row->backward_data(k, a);
}

static void check_backward(bench *b)
{
    place_gradient(b);
    b->reference.joint_backward = b->card.joint_backward = false;
    if (b->card.row->backward_params) rig_launch(b->rig, &b->card, &b->a, TUTTI_PASS_PARAMS);
    rig_launch(b->rig, &b->card, &b->a, TUTTI_PASS_DATA);
    run_backward(&b->reference, &b->r);
    compare_params(b, false);
    for (int i = 0; i < b->c->nin; i++) {
        const bool passed = b->card.passes_gradient >> i & 1, too = b->reference.passes_gradient >> i & 1;
        if (passed) assert_true(b->in[i].dtype == b->card.out.dtype && tutti_order_same(&b->in[i], &b->card.out));
        compare_value(b, i ? "addend's gradient" : "gradient", &b->in[i], too ? b->r.dout : b->r.din[i],
                      passed ? b->a.dout : b->a.din[i]);
    }
}

/* Without TUTTI_LONG every other form of a large case is left out, of the next large case the others: a fake card takes
 * a second for each. */
static bool is_left_out(int c, int f)
{
    return tutti_shape_count(&cases[c].in) > 65536 && (c + f) % 2 && !getenv("TUTTI_LONG");
}

static void check(void **state, bool training)
{
    if (!*state) skip();
    for (int c = 0; c < NCASES; c++)
        for (int f = 0; f < NFORMS; f++) {
            if (is_left_out(c, f)) continue;
            bench b = {.rig = *state, .c = &cases[c], .f = &forms[f]};
            describe_inputs(&b);
            make(&b, training);
            place(&b, training);
            check_forward(&b);
            if (training) check_backward(&b);
            finish(&b);
        }
}

static void a_card_trains_as_the_reference_does(void **state)
{
    check(state, true);
}

static void a_card_evaluates_as_the_reference_does(void **state)
{
    check(state, false);
}

/* A residual network's layers in 16 bits: the gradient of an addend is dout itself, and nothing is kept that can be
 * computed again. */
static void rows_of_channels_cost_what_they_must(void **state)
{
    if (!*state) skip();
    bench b = {.rig = *state, .c = &cases[4], .f = &forms[2]};
    describe_inputs(&b);
    make(&b, true);
    const int64_t n = tutti_shape_count(&b.c->in);
    assert_int_equal(b.card.passes_gradient, 2);
    assert_true(b.card.writes_dout && b.card.feeds_data && b.card.max_dout_parts == 2);
    assert_int_equal(b.card.saved_bytes, 4 * sizeof(float) * 64 + (size_t)n / 8);
    tutti_kernel_destroy(&b.card), tutti_kernel_destroy(&b.reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_card_trains_as_the_reference_does),
        cmocka_unit_test(a_card_evaluates_as_the_reference_does),
        cmocka_unit_test(rows_of_channels_cost_what_they_must),
    };
    return cmocka_run_group_tests(tests, cuda_rig_open, cuda_rig_close);
}
