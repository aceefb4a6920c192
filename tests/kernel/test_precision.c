/* SPDX-License-Identifier: Apache-2.0 */
/* test_precision.c: values of 16 bits: their copies into row-major f32 and back, their sums; and kernels on them: every op
 * gives, to the bit, what its f32 kernel gives for the same numbers, rounded once. */
#include "kernel/kernel_cases.h"

#include "tensor/convert.h"

static const tutti_dtype dtypes[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
enum { NDTYPES = 3 };

/* (2, 5, 3) with dim 1 in blocks of 4: 2 * 2 blocks * 3 * 4 elements, of which 6 * 3 are padding. */
static const tutti_layout blocks = {
    .stride = {24, 12, 4}, .padded = {2, 8, 3}, .ninner = 1, .inner_block = {4}, .inner_dim = {1}};
enum { COUNT = 30, ROOM = 48 };

static tutti_value blocked(tutti_dtype type)
{
    return (tutti_value){
        .shape = {3, {2, 5, 3}}, .layout = &blocks, .bytes = ROOM * tutti_dtype_bytes(type), .dtype = type};
}

static void values_of_any_dtype_go_to_row_major_and_back(void **state)
{
    (void)state;
    for (int t = 0; t < NDTYPES; t++)
        for (int in_blocks = 0; in_blocks < 2; in_blocks++) {
            tutti_value v = blocked(dtypes[t]);
            if (!in_blocks) v.layout = NULL, v.bytes = COUNT * tutti_dtype_bytes(dtypes[t]);
            float plain[COUNT], back[COUNT];
            unsigned char memory[ROOM * sizeof(float) + 1];
            memset(memory, 0x5a, sizeof memory);
            for (int i = 0; i < COUNT; i++) plain[i] = (float)(i - 7) / 4; /* exact in 8 bits of mantissa */
            tutti_value_from_plain(&v, plain, memory);
            assert_int_equal(memory[v.bytes], 0x5a);
            tutti_value_to_plain(&v, memory, back);
            assert_memory_equal(back, plain, sizeof plain);
        }
}

static void values_of_any_dtype_are_added_padding_included(void **state)
{
    (void)state;
    for (int t = 0; t < NDTYPES; t++) {
        const tutti_value v = blocked(dtypes[t]);
        float a[COUNT], b[COUNT], sum[COUNT];
        float x[ROOM + 1], y[ROOM + 1]; /* memory for the widest dtype */
        for (int i = 0; i < COUNT; i++) a[i] = (float)i, b[i] = (float)(3 * i % 11);
        tutti_value_from_plain(&v, a, x);
        tutti_value_from_plain(&v, b, y);
        y[ROOM] = -1;
        tutti_value_sum(&v, (const void *const[]){y, x}, 2, y);
        tutti_value_to_plain(&v, y, sum);
        for (int i = 0; i < COUNT; i++) assert_true(sum[i] == a[i] + b[i]);
        assert_true(y[ROOM] == -1);
    }
}

/* ---- kernels ---- */

/* One kernel with memory for its arguments; `type` is that of activations. */
typedef struct {
    tutti_kernel k;
    tutti_kernel_args a;
    tutti_dtype type;
    float loss;
    int32_t correct, labels[MAX_LABELS];
} rig;

static int64_t elements(const tutti_value *v)
{
    return (int64_t)(v->bytes / tutti_dtype_bytes(v->dtype));
}

/* Numbers that 8 bits of mantissa hold, the same for every type and order. */
static void *fill(const kernel_case *c, const tutti_value *v, uint64_t tensor)
{
    const int64_t n = v->bytes ? count_of(&v->shape) : 0;
    float *plain = numbers((size_t)n * sizeof(float));
    void *memory = numbers(v->bytes);
    uint16_t half;
    for (int64_t i = 0; i < n; i++) {
        const float drawn = draw(c, tensor, i, n);
        tutti_convert_from_f32(TUTTI_BF16, &drawn, &half, 1);
        tutti_convert_to_f32(TUTTI_BF16, &half, &plain[i], 1);
    }
    if (n) tutti_value_from_plain(v, plain, memory);
    free(plain);
    return memory;
}

static void rig_params(rig *r, const kernel_case *c)
{
    for (int p = 0; p < r->k.nparams; p++) {
        const tutti_param_desc *d = &r->k.params[p];
        const size_t nbytes = (size_t)d->elements * sizeof(float);
        float *param = numbers(nbytes), *plain = numbers((size_t)count_of(&d->shape) * sizeof(float));
        for (int64_t i = 0; i < count_of(&d->shape); i++) plain[i] = 0.5f + draw(c, 2, i, count_of(&d->shape)) / 8;
        tutti_param_from_plain(d, plain, param);
        free(plain);
        r->a.param[p] = param;
        r->a.dparam[p] = numbers(nbytes);
    }
}

/* row: which one computes; NULL = the engine's choice. order: of all inputs, which are of one shape; NULL = row-major. */
static void rig_open(rig *r, const char *engine, const tutti_kernel_row *row, const tutti_value *order,
                     const kernel_case *c, tutti_precision precision, bool training)
{
    tutti_failure err = {0};
    tutti_value in[TUTTI_MAX_OP_INPUTS];
    memset(r, 0, sizeof *r);
    r->type = tutti_precision_dtype(precision);
    for (int i = 0; i <= c->nmore; i++) {
        const tutti_shape shape = case_shape(c, i);
        in[i] = tutti_value_plain(&shape);
        in[i].dtype = r->type;
        in[i].bytes = (size_t)count_of(&shape) * tutti_dtype_bytes(r->type);
    }
    for (int i = 0; i <= c->nmore && order; i++) in[i] = *order;
    const tutti_kernel_request request = {.engine = engine,
                                          .op = tutti_op_find(c->op),
                                          .attrs = c->attrs,
                                          .in = in,
                                          .nin = 1 + c->nmore,
                                          .precision = precision,
                                          .training = training,
                                          .nthreads = 1};
    if (row ? tutti_kernel_create_by(row, &request, &r->k, &err) : tutti_kernel_create(&request, &r->k, &err))
        fail_msg("%s, %s: %s", c->op, c->what, err.text);
    for (int i = 0; i < r->k.ninputs; i++) {
        r->a.in[i] = fill(c, &r->k.in[i], 10 + (uint64_t)i);
        r->a.din[i] = r->k.passes_gradient >> i & 1 ? NULL : numbers(r->k.in[i].bytes);
    }
    r->a.out = numbers(r->k.out.bytes);
    r->a.dout = fill(c, &r->k.out, 1);
    rig_params(r, c);
    for (int i = 0; i < MAX_LABELS; i++) r->labels[i] = i * 5 % (int32_t)c->in.dim[1];
    r->a.saved = numbers(r->k.saved_bytes), r->a.scratch = numbers(r->k.scratch_bytes);
    r->a.training = training, r->a.labels = r->labels, r->a.loss_scale = 0.25f;
    r->a.loss = &r->loss, r->a.correct = &r->correct;
}

static void rig_close(rig *r)
{
    for (int i = 0; i < r->k.ninputs; i++) {
        assert_guarded(r->a.in[i], r->k.in[i].bytes);
        if (r->a.din[i]) assert_guarded(r->a.din[i], r->k.in[i].bytes);
        free((void *)r->a.in[i]), free(r->a.din[i]);
    }
    assert_guarded(r->a.out, r->k.out.bytes), assert_guarded(r->a.scratch, r->k.scratch_bytes);
    for (int p = 0; p < r->k.nparams; p++) free((void *)r->a.param[p]), free(r->a.dparam[p]);
    free(r->a.out), free(r->a.dout), free(r->a.saved), free(r->a.scratch);
    tutti_kernel_destroy(&r->k);
}

/* What f32 memory is in the other type, compared to the bit. */
static void assert_rounds_to(const kernel_case *c, const char *what, const tutti_value *v, const void *wide,
                             const void *got)
{
    void *want = numbers(v->bytes);
    tutti_convert_from_f32(v->dtype, wide, want, elements(v));
    if (memcmp(want, got, v->bytes)) fail_msg("%s, %s: %s in %s", c->op, c->what, what, tutti_dtype_name(v->dtype));
    free(want);
}

static void backward(rig *r)
{
    const unsigned all = (1u << r->k.ninputs) - 1;
    memset(r->a.scratch, 0x7f, r->k.scratch_bytes);
    if (r->k.nparams) r->k.row->backward_params(&r->k, &r->a);
    memset(r->a.scratch, 0x7f, r->k.scratch_bytes);
    if ((r->k.passes_gradient & all) != all) r->k.row->backward_data(&r->k, &r->a);
}

static void compare_backward(const kernel_case *c, rig *wide, rig *half)
{
    /* both go on from the rounded output */
    tutti_convert_to_f32(half->type, half->a.out, wide->a.out, elements(&half->k.out));
    backward(wide);
    backward(half);
    for (int i = 0; i < wide->k.ninputs; i++)
        if (wide->a.din[i]) assert_rounds_to(c, "din", &half->k.in[i], wide->a.din[i], half->a.din[i]);
    for (int p = 0; p < wide->k.nparams; p++)
        assert_memory_equal(wide->a.dparam[p], half->a.dparam[p], (size_t)wide->k.params[p].elements * sizeof(float));
    if (half->k.writes_dout) assert_rounds_to(c, "dout", &half->k.out, wide->a.dout, half->a.dout);
}

/* order: of the inputs, of any dtype. */
static void compare_row(const char *engine, const tutti_kernel_row *row, const tutti_value *order, const kernel_case *c,
                        tutti_precision precision, bool training)
{
    rig wide, half;
    tutti_value orders[2];
    for (int i = 0; i < 2 && order; i++) {
        orders[i] = *order;
        orders[i].dtype = i ? tutti_precision_dtype(precision) : TUTTI_F32;
        orders[i].bytes = (size_t)elements(order) * tutti_dtype_bytes(orders[i].dtype);
    }
    rig_open(&wide, engine, NULL, order ? &orders[0] : NULL, c, TUTTI_PRECISION_F32, training);
    rig_open(&half, engine, row, order ? &orders[1] : NULL, c, precision, training);
    assert_int_equal(half.k.out.dtype, tutti_precision_dtype(precision));
    assert_int_equal(elements(&wide.k.out), elements(&half.k.out));
    wide.k.row->forward(&wide.k, &wide.a);
    half.k.row->forward(&half.k, &half.a);
    assert_rounds_to(c, "out", &half.k.out, wide.a.out, half.a.out);
    assert_true(wide.loss == half.loss && wide.correct == half.correct);
    if (training) compare_backward(c, &wide, &half);
    rig_close(&wide);
    rig_close(&half);
}

static void compare(const char *engine, const kernel_case *c, tutti_precision precision, bool training)
{
    compare_row(engine, &tutti_kernel_half_adapter, NULL, c, precision, training);
}

static void every_op_on_16_bits_is_its_f32_kernel_rounded_once(void **state)
{
    (void)state;
    static const char *const engines[] = {"reference", "onednn"};
    for (int e = 0; e < 2; e++) {
        char about[96];
        tutti_kernel_engine_describe(engines[e], about);
        for (int i = 0; i < NCASES && about[0]; i++)
            for (int training = 0; training < 2; training++) {
                compare(engines[e], &kernel_cases[i], TUTTI_PRECISION_BF16, training);
                compare(engines[e], &kernel_cases[i], TUTTI_PRECISION_F16, training);
            }
    }
}

static kernel_case with_relu(const kernel_case *c, char attrs[128], bool addend)
{
    const tutti_op_row *op = tutti_op_find(c->op);
    kernel_case fused = *c;
    assert_true(op->attrs_bytes <= 128);
    memcpy(attrs, c->attrs, op->attrs_bytes);
    *(bool *)(attrs + op->relu_at) = true;
    fused.attrs = attrs;
    fused.nmore = addend;
    return fused;
}

static void ops_with_a_merged_relu_do_so_too(void **state)
{
    (void)state;
    int nfused = 0;
    for (int i = 0; i < NCASES; i++) {
        const tutti_op_row *op = tutti_op_find(kernel_cases[i].op);
        char attrs[128];
        for (int addend = 0; op->relu_at && addend <= op->takes_addend; addend++, nfused++) {
            const kernel_case fused = with_relu(&kernel_cases[i], attrs, addend);
            compare("reference", &fused, TUTTI_PRECISION_F16, true);
            if (tutti_kernel_engine_onednn.find("conv")) compare("onednn", &fused, TUTTI_PRECISION_BF16, true);
        }
    }
    assert_true(nfused > 8);
}

/* ---- products of bf16 ---- */

static void assert_equal_values(const kernel_case *c, const char *what, const tutti_value *v, const void *x,
                                const tutti_value *w, const void *y)
{
    const int64_t n = count_of(&v->shape);
    float *a = numbers((size_t)n * sizeof(float)), *b = numbers((size_t)n * sizeof(float));
    tutti_value_to_plain(v, x, a);
    tutti_value_to_plain(w, y, b);
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i])
            fail_msg("%s, %s: %s[%d] is %g, rounded once %g", c->op, c->what, what, (int)i, (double)b[i], (double)a[i]);
    free(a), free(b);
}

static void compare_products(const kernel_case *c, const tutti_value *order, bool training)
{
    rig stored, native;
    const tutti_kernel_row *row = tutti_kernel_engine_onednn.find_half(c->op, TUTTI_PRECISION_BF16, true);
    rig_open(&stored, "reference", &tutti_kernel_half_adapter, NULL, c, TUTTI_PRECISION_BF16, training);
    rig_open(&native, "onednn", row, order, c, TUTTI_PRECISION_BF16, training);
    stored.k.row->forward(&stored.k, &stored.a);
    native.k.row->forward(&native.k, &native.a);
    assert_equal_values(c, "out", &stored.k.out, stored.a.out, &native.k.out, native.a.out);
    if (training) {
        backward(&stored), backward(&native);
        assert_equal_values(c, "din", &stored.k.in[0], stored.a.din[0], &native.k.in[0], native.a.din[0]);
        for (int p = 0; p < stored.k.nparams; p++) {
            const tutti_value v = tutti_value_plain(&stored.k.params[p].shape);
            assert_null(native.k.params[p].layout);
            assert_equal_values(c, "dparam", &v, stored.a.dparam[p], &v, native.a.dparam[p]);
        }
    }
    rig_close(&stored);
    rig_close(&native);
}

/* A convolution whose output has the shape of the case's input: its order is what the case is given. */
static bool open_producer(const kernel_case *c, tutti_conv_attrs *attrs, tutti_kernel *k)
{
    tutti_failure err = {0};
    if (c->in.ndims != 4) return false;
    *attrs = (tutti_conv_attrs){.out_channels = c->in.dim[1], .kernel = 1, .stride = 1, .groups = 1};
    const tutti_value in = tutti_value_plain(&(tutti_shape){4, {c->in.dim[0], 16, c->in.dim[2], c->in.dim[3]}});
    const tutti_kernel_request request = {.engine = "onednn",
                                          .op = &tutti_op_conv,
                                          .attrs = attrs,
                                          .in = &in,
                                          .nin = 1,
                                          .precision = TUTTI_PRECISION_BF16,
                                          .training = true,
                                          .nthreads = 1};
    const tutti_kernel_row *row = tutti_kernel_engine_onednn.find_half("conv", TUTTI_PRECISION_BF16, true);
    if (tutti_kernel_create_by(row, &request, k, &err)) fail_msg("%s", err.text);
    return true;
}

/* Small whole numbers: sums are exact in any order, so that both round the same number. On processors that do not multiply
 * bf16 the library does it by f32 instructions, and jobs use other rows. */
static void products_of_bf16_are_those_of_f32_rounded_once(void **state)
{
    (void)state;
    int ncompared = 0, nblocked = 0;
    for (int i = 0; i < NCASES; i++) {
        const kernel_case *c = &kernel_cases[i];
        char attrs[128];
        if (!c->exact || !tutti_kernel_engine_onednn.find_half(c->op, TUTTI_PRECISION_BF16, true)) continue;
        const kernel_case fused = with_relu(c, attrs, false);
        tutti_conv_attrs conv;
        tutti_kernel before = {0};
        compare_products(c, NULL, true);
        compare_products(c, NULL, false);
        compare_products(&fused, NULL, true);
        ncompared++;
        if (!open_producer(c, &conv, &before)) continue;
        nblocked += before.out.layout != NULL;
        compare_products(&fused, &before.out, true);
        tutti_kernel_destroy(&before);
    }
    if (!tutti_kernel_engine_onednn.find("conv")) skip();
    assert_true(ncompared > 6 && nblocked > 2);
}

/* A gradient in two parts is their sum, rounded once, as another kernel would have left it. */
static void compare_parts(const tutti_kernel_row *row, const tutti_value *order, const kernel_case *c,
                          tutti_precision precision)
{
    rig whole, parts;
    tutti_value in = order ? *order : tutti_value_plain(&c->in);
    in.bytes = (size_t)elements(&in) * sizeof(uint16_t), in.dtype = tutti_precision_dtype(precision);
    rig_open(&whole, "onednn", row, &in, c, precision, true);
    rig_open(&parts, "onednn", row, &in, c, precision, true);
    assert_int_equal(parts.k.max_dout_parts, 2);
    void *more = fill(c, &parts.k.out, 20);
    const void *both[] = {parts.a.dout, more};
    tutti_value_sum(&whole.k.out, both, 2, whole.a.dout);
    parts.a.ndout_parts = 2;
    memcpy(parts.a.dout_parts, both, sizeof both);
    whole.k.row->forward(&whole.k, &whole.a), backward(&whole);
    parts.k.row->forward(&parts.k, &parts.a), backward(&parts);
    assert_memory_equal(whole.a.dout, parts.a.dout, whole.k.out.bytes);
    assert_memory_equal(whole.a.din[0], parts.a.din[0], whole.k.in[0].bytes);
    for (int p = 0; p < whole.k.nparams; p++)
        assert_memory_equal(whole.a.dparam[p], parts.a.dparam[p], (size_t)whole.k.params[p].elements * sizeof(float));
    free(more);
    rig_close(&whole);
    rig_close(&parts);
}

/* Rows of its own for 16 bits: the same arithmetic, so the same bits. */
static void batch_norm_in_lanes_is_its_f32_kernel_rounded_once(void **state)
{
    (void)state;
    const tutti_kernel_row *row = tutti_kernel_engine_onednn.find_half("batch-norm", TUTTI_PRECISION_F16, false);
    const kernel_case flat = {"batch-norm", &norm, {2, {6, 32}}, false, true, 1, .what = "two dims"};
    const kernel_case planes = {"batch-norm", &norm, {4, {3, 20, 5, 4}}, false, true, 1, .what = "blocks, padded"};
    const kernel_case large = {"batch-norm", &norm, {4, {4, 64, 48, 48}}, false, true, 1, .what = "past the caches"};
    const kernel_case *cases[] = {&flat, &planes, &large};
    if (!row) skip();
    for (int i = 0; i < 3; i++)
        for (int precision = TUTTI_PRECISION_BF16; precision <= TUTTI_PRECISION_F16; precision++) {
            char attrs[128];
            tutti_conv_attrs conv;
            tutti_kernel before = {0};
            const tutti_value *order = open_producer(cases[i], &conv, &before) ? &before.out : NULL;
            compare_row("onednn", row, order, cases[i], (tutti_precision)precision, true);
            compare_row("onednn", row, order, cases[i], (tutti_precision)precision, false);
            for (int addend = 0; addend < 2; addend++) {
                const kernel_case fused = with_relu(cases[i], attrs, addend);
                compare_row("onednn", row, order, &fused, (tutti_precision)precision, true);
                if (addend) compare_parts(row, order, &fused, (tutti_precision)precision);
            }
            tutti_kernel_destroy(&before);
        }
}

static void a_precision_says_how_it_computes(void **state)
{
    (void)state;
    char text[96];
    tutti_kernel_precision_describe("reference", TUTTI_PRECISION_F32, text);
    assert_string_equal(text, "f32");
    tutti_kernel_precision_describe("reference", TUTTI_PRECISION_BF16, text);
    assert_string_equal(text, "bf16 (stored; f32 arithmetic)");
    tutti_kernel_precision_describe("onednn", TUTTI_PRECISION_F16, text);
    assert_string_equal(text, "f16 (stored; f32 arithmetic)");
    const char *by = tutti_kernel_engine_onednn.multiplies(TUTTI_PRECISION_BF16);
    tutti_kernel_precision_describe("onednn", TUTTI_PRECISION_BF16, text);
    assert_non_null(strstr(text, by ? by : "stored"));
}

static void kernels_on_16_bits_work_in_place_where_f32_ones_do(void **state)
{
    (void)state;
    int nin_place = 0;
    for (int i = 0; i < NCASES; i++) {
        rig apart, same;
        rig_open(&apart, "reference", NULL, NULL, &kernel_cases[i], TUTTI_PRECISION_BF16, true);
        rig_open(&same, "reference", NULL, NULL, &kernel_cases[i], TUTTI_PRECISION_BF16, true);
        if (apart.k.in_place) {
            void *const din = same.a.din[0], *const out = same.a.out;
            same.a.out = (void *)same.a.in[0];
            if (din) same.a.din[0] = same.a.dout;
            apart.k.row->forward(&apart.k, &apart.a), backward(&apart);
            same.k.row->forward(&same.k, &same.a), backward(&same);
            assert_memory_equal(apart.a.out, same.a.out, apart.k.out.bytes);
            if (din) assert_memory_equal(apart.a.din[0], same.a.din[0], apart.k.in[0].bytes);
            same.a.out = out, same.a.din[0] = din;
            nin_place++;
        }
        rig_close(&apart);
        rig_close(&same);
    }
    assert_true(nin_place > 3);
}

static void an_f32_input_needs_no_copy(void **state)
{
    (void)state;
    const tutti_value images = tutti_value_plain(&(tutti_shape){4, {2, 3, 6, 5}});
    const tutti_kernel_request request = {.engine = "reference",
                                          .op = &tutti_op_conv,
                                          .attrs = &conv3,
                                          .in = &images,
                                          .nin = 1,
                                          .precision = TUTTI_PRECISION_BF16,
                                          .training = true,
                                          .nthreads = 1};
    tutti_kernel k;
    assert_int_equal(tutti_kernel_create(&request, &k, NULL), TUTTI_OK);
    assert_int_equal(k.out.bytes, 2 * count_of(&k.out.shape));
    assert_int_equal(k.scratch_bytes, (2 * k.out.bytes + 63) / 64 * 64);
    tutti_kernel_destroy(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_any_dtype_go_to_row_major_and_back),
        cmocka_unit_test(values_of_any_dtype_are_added_padding_included),
        cmocka_unit_test(every_op_on_16_bits_is_its_f32_kernel_rounded_once),
        cmocka_unit_test(ops_with_a_merged_relu_do_so_too),
        cmocka_unit_test(products_of_bf16_are_those_of_f32_rounded_once),
        cmocka_unit_test(batch_norm_in_lanes_is_its_f32_kernel_rounded_once),
        cmocka_unit_test(a_precision_says_how_it_computes),
        cmocka_unit_test(kernels_on_16_bits_work_in_place_where_f32_ones_do),
        cmocka_unit_test(an_f32_input_needs_no_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
