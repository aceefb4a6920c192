/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_products.c: convolutions and dense layers by libraries on a card, beside the reference's plain loops.
 * Numbers are small whole ones, so that all sums are exact: results differ by roundings to 16 bits, and by what an
 * algorithm of cuDNN's that transforms its numbers leaves. Cases have channels that must be filled up, groups, both
 * orders, types mixed, weights as a training kernel orders them and row-major. Without a card, or without the library,
 * the suite is skipped. */
#include "cuda/cuda_rig.h"

#include <math.h>

#include "base/rng.h"
#include "kernel/choose/memory_order.h"
#include "kernel/kernel_impl.h"

typedef struct {
    const char *op;
    tutti_shape in;
    tutti_conv_attrs conv;
    tutti_dense_attrs dense;
} op_case;

/* out_channels, kernel, stride, pad, groups, init, bias, relu */
static const op_case convs[] = {
    {"conv", {4, {2, 3, 9, 7}}, {16, 3, 2, 1, 1, 0, true, true}, {0}},
    {"conv", {4, {3, 16, 5, 5}}, {24, 1, 1, 0, 1, 0, false, false}, {0}},
    {"conv", {4, {2, 16, 6, 5}}, {16, 3, 1, 1, 2, 0, true, false}, {0}},
    {"conv", {4, {2, 20, 8, 8}}, {50, 5, 1, 0, 1, 0, true, true}, {0}},
    {"conv", {4, {3, 1, 9, 9}}, {20, 5, 1, 0, 1, 0, true, false}, {0}},
    {"conv", {4, {2, 8, 5, 4}}, {6, 3, 1, 1, 2, 0, false, true}, {0}},
    {"conv", {4, {2, 64, 4, 3}}, {128, 1, 2, 0, 1, 0, false, false}, {0}},
    {"conv", {4, {2, 8, 20, 19}}, {16, 3, 1, 1, 1, 0, true, true}, {0}},
};
static const op_case denses[] = {
    {"dense", {2, {5, 24}}, {0}, {16, true, true}},   {"dense", {4, {3, 6, 4, 5}}, {0}, {10, true, false}},
    {"dense", {2, {4, 13}}, {0}, {7, false, true}},   {"dense", {4, {7, 16, 3, 3}}, {0}, {40, true, true}},
    {"dense", {2, {300, 32}}, {0}, {8, true, false}}, {"dense", {2, {3, 5}}, {0}, {1, false, false}},
};

typedef struct {
    const char *name;
    tutti_dtype type;
    tutti_order order;
    tutti_precision precision;
} form;
static const form forms[] = {
    {"f32", TUTTI_F32, TUTTI_ORDER_NCHW, TUTTI_PRECISION_F32},
    {"f32, channels last", TUTTI_F32, TUTTI_ORDER_NHWC, TUTTI_PRECISION_F32},
    {"bf16, channels last", TUTTI_BF16, TUTTI_ORDER_NHWC, TUTTI_PRECISION_BF16},
    {"f16, channels last", TUTTI_F16, TUTTI_ORDER_NHWC, TUTTI_PRECISION_F16},
    {"bf16 of f32", TUTTI_F32, TUTTI_ORDER_NCHW, TUTTI_PRECISION_BF16},
    {"bf16 of f16", TUTTI_F16, TUTTI_ORDER_NHWC, TUTTI_PRECISION_BF16},
    {"f32 of bf16", TUTTI_BF16, TUTTI_ORDER_NHWC, TUTTI_PRECISION_F32},
};
enum { NFORMS = sizeof forms / sizeof *forms };

typedef struct {
    cuda_rig *rig;
    const char *engine;
    const op_case *c;
    const form *f;
    tutti_layout layout;
    tutti_value plain, in;
    tutti_kernel card, reference;
    tutti_kernel_args a, r; /* their arguments */
    float *params[2];
} bench;

/* ---- numbers ---- */

static float *draw(int64_t n, uint64_t tensor)
{
    float *x = malloc((size_t)n * sizeof *x + 1);
    for (int64_t i = 0; i < n; i++)
        x[i] = rintf(tutti_random_unit(tutti_random(9, TUTTI_STREAM_TEST, tensor, (uint64_t)i).word[0]) * 6 - 3);
    return x;
}

/* Numbers may be off by `each` of their own size (a rounding to a type) and `of_most` of the largest one's. */
typedef struct {
    double each, of_most;
} allowed;

/* Says how far a product may be off after roundings to both types. cuDNN may take an algorithm that transforms its
 * numbers, which a product of matrices does not. */
static allowed product_off(const op_case *c, tutti_dtype multiplied, tutti_dtype kept)
{
    const bool is_conv = c->conv.out_channels;
    const double of_most = !is_conv ? 0 : multiplied == TUTTI_F32 ? 1e-5 : 1.0 / 1024;
    return (allowed){rig_rounding(multiplied) + rig_rounding(kept), of_most};
}

static void compare(const bench *b, const char *what, int64_t n, const float *want, const float *got, allowed off)
{
    const double most = rig_largest(want, n);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= off.each * fabs((double)want[i]) + off.of_most * most))
            fail_msg("%s by %s of %lldx%lld.., %s: %s %lld of %lld is %.9g, not %.9g", b->c->op, b->engine,
                     (long long)b->c->in.dim[0], (long long)b->c->in.dim[1], b->f->name, what, (long long)i,
                     (long long)n, (double)got[i], (double)want[i]);
}

static void compare_value(const bench *b, const char *what, const tutti_value *v, const float *want, const void *at,
                          allowed off)
{
    float *numbers = rig_download(b->rig, v, at);
    compare(b, what, tutti_shape_count(&v->shape), want, numbers, off);
    free(numbers);
}

/* ---- a kernel of each kind ---- */

static const void *attrs_of(const op_case *c)
{
    return c->conv.out_channels ? (const void *)&c->conv : &c->dense;
}

static tutti_kernel_request request_of(bench *b, bool training, const tutti_param_desc *params_as)
{
    return (tutti_kernel_request){.engine = b->engine,
                                  .op = tutti_op_find(b->c->op),
                                  .attrs = attrs_of(b->c),
                                  .in = &b->in,
                                  .nin = 1,
                                  .precision = b->f->precision,
                                  .training = training,
                                  .nthreads = 1,
                                  .order = TUTTI_ORDER_NHWC,
                                  .device = b->rig->d,
                                  .params_as = params_as};
}

static void make(bench *b, bool training, const tutti_param_desc *params_as)
{
    tutti_failure err = {0};
    b->plain = tutti_value_plain(&b->c->in);
    b->in = rig_value(&b->c->in, b->f->type, b->f->order, &b->layout);
    tutti_kernel_request r = request_of(b, training, params_as);
    if (tutti_kernel_create(&r, &b->card, &err)) fail_msg("%s, %s: %s", b->c->op, b->f->name, err.text);
    assert_string_equal(b->card.chosen[TUTTI_PASS_FORWARD].name, b->engine);
    r.engine = "reference", r.in = &b->plain, r.precision = TUTTI_PRECISION_F32, r.device = NULL;
    r.params_as = NULL, r.order = TUTTI_ORDER_NCHW;
    if (tutti_kernel_create(&r, &b->reference, &err)) fail_msg("%s: %s", b->c->op, err.text);
}

static void place(bench *b, bool training)
{
    float *in = draw(tutti_shape_count(&b->c->in), 10);
    b->r.in[0] = in, b->a.in[0] = rig_upload(b->rig, &b->in, in, 0);
    b->r.din[0] = malloc(b->plain.bytes), b->a.din[0] = rig_buffer(b->rig, NULL, b->in.bytes, 0);
    for (int p = 0; p < b->card.nparams; p++) {
        const size_t bytes = (size_t)b->card.params[p].elements * sizeof(float);
        float *ordered = malloc(bytes);
        b->params[p] = draw(tutti_shape_count(&b->card.params[p].shape), 20 + (uint64_t)p);
        tutti_param_from_plain(&b->card.params[p], b->params[p], ordered);
        b->r.param[p] = b->params[p], b->r.dparam[p] = malloc(bytes);
        b->a.param[p] = rig_buffer(b->rig, ordered, bytes, 0);
        b->a.dparam[p] = rig_buffer(b->rig, NULL, bytes, 0);
        free(ordered);
    }
    b->r.training = b->a.training = training;
    b->r.out = malloc(b->reference.out.bytes);
    b->r.saved = malloc(b->reference.saved_bytes + 1), b->r.scratch = malloc(b->reference.scratch_bytes + 1);
    b->a.out = rig_buffer(b->rig, NULL, b->card.out.bytes, 0);
    b->a.scratch = rig_buffer(b->rig, NULL, b->card.scratch_bytes, 64); /* as low as the contract goes */
}

static void finish(bench *b)
{
    free((void *)(uintptr_t)b->r.in[0]), free(b->r.din[0]);
    for (int p = 0; p < b->card.nparams; p++) free(b->params[p]), free(b->r.dparam[p]);
    free(b->r.out), free(b->r.saved), free(b->r.scratch), free(b->r.dout);
    tutti_kernel_destroy(&b->card), tutti_kernel_destroy(&b->reference);
    rig_release(b->rig);
}

/* ---- what is compared ---- */

static void check_forward(bench *b)
{
    rig_launch_forward(b->rig, &b->card, &b->a);
    b->reference.row->forward(&b->reference, &b->r);
    const tutti_dtype type = b->card.out.dtype;
    compare_value(b, "output", &b->card.out, b->r.out, b->a.out, product_off(b->c, type, TUTTI_F32));
}

/* A library may leave a convolution's gradient of weights in the type that it multiplies. */
static void compare_gradients(const bench *b)
{
    const tutti_dtype type = tutti_precision_dtype(b->f->precision);
    const allowed exact = {0, 0}, product = product_off(b->c, type, TUTTI_F32);
    for (int p = 0; p < b->card.nparams; p++) {
        const tutti_param_desc *d = &b->card.params[p];
        const int64_t n = tutti_shape_count(&d->shape);
        float *got = rig_read(b->rig, b->a.dparam[p], (size_t)d->elements * sizeof *got),
              *plain = malloc((size_t)n * sizeof *plain);
        tutti_param_to_plain(d, got, plain);
        compare(b, d->name, n, b->r.dparam[p], plain, b->c->conv.out_channels && p == 0 ? product : exact);
        free(got), free(plain);
    }
    compare_value(b, "gradient", &b->in, b->r.din[0], b->a.din[0], product_off(b->c, type, b->in.dtype));
}

static void check_backward(bench *b)
{
    b->r.dout = draw(tutti_shape_count(&b->card.out.shape), 1);
    b->a.dout = rig_upload(b->rig, &b->card.out, b->r.dout, 0);
    rig_launch(b->rig, &b->card, &b->a, TUTTI_PASS_PARAMS);
    rig_launch(b->rig, &b->card, &b->a, TUTTI_PASS_DATA);
    b->reference.row->backward_params(&b->reference, &b->r);
    b->reference.row->backward_data(&b->reference, &b->r);
    compare_gradients(b);
}

/* Gradients of the input are the same where nobody wants those of parameters. */
static void check_data_alone(bench *b)
{
    for (int p = 0; p < b->card.nparams; p++) b->a.dparam[p] = NULL;
    free(b->r.dout);
    b->r.dout = draw(tutti_shape_count(&b->card.out.shape), 1);
    b->a.dout = rig_upload(b->rig, &b->card.out, b->r.dout, 0);
    if (b->card.feeds_data) rig_launch(b->rig, &b->card, &b->a, TUTTI_PASS_PARAMS);
    rig_launch(b->rig, &b->card, &b->a, TUTTI_PASS_DATA);
    const tutti_dtype type = tutti_precision_dtype(b->f->precision);
    compare_value(b, "gradient alone", &b->in, b->r.din[0], b->a.din[0], product_off(b->c, type, b->in.dtype));
}

static void check_evaluation(const bench *like, const form *f, const tutti_param_desc *params_as)
{
    bench b = {.rig = like->rig, .engine = like->engine, .c = like->c, .f = f};
    make(&b, false, params_as);
    place(&b, false);
    check_forward(&b);
    finish(&b);
}

/* Checks one case, also with weights that were trained for the other order, where they can be read. */
static void check_one(cuda_rig *rig, const char *engine, const op_case *c, const form *f)
{
    bench trained = {.rig = rig, .engine = engine, .c = c, .f = f};
    form turned = *f;
    turned.order = f->order == TUTTI_ORDER_NCHW ? TUTTI_ORDER_NHWC : TUTTI_ORDER_NCHW;
    check_evaluation(&trained, f, NULL);
    make(&trained, true, NULL);
    check_evaluation(&trained, f, trained.card.params);
    if (strcmp(engine, "cuda-tnn") != 0) check_evaluation(&trained, &turned, trained.card.params);
    place(&trained, true);
    check_forward(&trained);
    check_backward(&trained);
    check_data_alone(&trained);
    finish(&trained);
}

static void convolutions_compute_as_the_reference_does(void **state)
{
    if (!*state || !rig_has("cudnn")) skip();
    for (size_t c = 0; c < sizeof convs / sizeof *convs; c++)
        for (int f = 0; f < NFORMS; f++) check_one(*state, "cudnn", &convs[c], &forms[f]);
}

static void dense_layers_compute_as_the_reference_does(void **state)
{
    if (!*state || !rig_has("cublasLt")) skip();
    for (size_t c = 0; c < sizeof denses / sizeof *denses; c++)
        for (int f = 0; f < NFORMS; f++) check_one(*state, "cublaslt", &denses[c], &forms[f]);
}

static void dense_layers_do_by_weights_that_are_transposed_first(void **state)
{
    if (!*state || !rig_has("cublasLt")) skip();
    for (size_t c = 0; c < sizeof denses / sizeof *denses; c++) check_one(*state, "cuda-tnn", &denses[c], &forms[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_compute_as_the_reference_does),
        cmocka_unit_test(dense_layers_compute_as_the_reference_does),
        cmocka_unit_test(dense_layers_do_by_weights_that_are_transposed_first),
    };
    return cmocka_run_group_tests(tests, cuda_rig_open, cuda_rig_close);
}
