/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_rig.h: one kernel with memory for all its arguments, of any precision and in any order: what the suites of
 * kernels on 16 bits and in every order run. Numbers are those of kernel_cases.h, rounded to what 8 bits of mantissa
 * hold, so that they are the same for every type. */
#ifndef TUTTI_TESTS_KERNEL_RIG_H
#define TUTTI_TESTS_KERNEL_RIG_H

#include "kernel/kernel_cases.h"

#include "tensor/convert.h"

/* `type` is that of activations. */
typedef struct {
    tutti_kernel k;
    tutti_kernel_args a;
    tutti_layout layout; /* for a test that gives the first input an order */
    tutti_dtype type;
    float loss;
    int32_t correct, labels[MAX_LABELS];
} rig;

static inline int64_t elements(const tutti_value *v)
{
    return (int64_t)(v->bytes / tutti_dtype_bytes(v->dtype));
}

static inline void *fill(const kernel_case *c, const tutti_value *v, uint64_t tensor)
{
    const int64_t n = v->bytes ? count_of(&v->shape) : 0;
    float *plain = numbers((size_t)n * sizeof(float));
    void *memory = numbers(v->bytes);
    uint16_t *halves = malloc((size_t)n * sizeof *halves + 1);
    for (int64_t i = 0; i < n; i++) plain[i] = draw(c, tensor, i, n);
    tutti_convert_from_f32(TUTTI_BF16, plain, halves, n);
    tutti_convert_to_f32(TUTTI_BF16, halves, plain, n);
    if (n) tutti_value_from_plain(v, plain, memory);
    free(plain), free(halves);
    return memory;
}

static inline void rig_params(rig *r, const kernel_case *c)
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

static inline void rig_memory(rig *r, const kernel_case *c)
{
    for (int i = 0; i < r->k.ninputs; i++) {
        r->a.in[i] = fill(c, &r->k.in[i], 10 + (uint64_t)i);
        r->a.din[i] = r->k.passes_gradient >> i & 1 ? NULL : numbers(r->k.in[i].bytes);
    }
    r->a.out = numbers(r->k.out.bytes);
    r->a.dout = fill(c, &r->k.out, 1);
    rig_params(r, c);
    for (int i = 0; i < MAX_LABELS; i++) r->labels[i] = i * 5 % (int32_t)c->in.dim[1];
    r->a.saved = numbers(r->k.saved_bytes), r->a.scratch = numbers(r->k.scratch_bytes);
    r->a.labels = r->labels, r->a.loss_scale = 0.25f;
    r->a.loss = &r->loss, r->a.correct = &r->correct;
    r->a.seed = 3, r->a.step = 11, r->a.first_sample = 100, r->a.layer = 2;
}

/* Creates the kernel alone; rig_memory brings the memory of its arguments. row: which one computes; NULL = the engine's
 * choice. request: all but the op, its attributes and how many inputs there are; no inputs there: row-major ones of its
 * precision. */
static inline void rig_create(rig *r, const kernel_case *c, const tutti_kernel_row *row,
                              const tutti_kernel_request *request)
{
    tutti_failure err = {0};
    tutti_value plain[TUTTI_MAX_OP_INPUTS];
    tutti_kernel_request full = *request;
    memset(r, 0, sizeof *r);
    r->type = tutti_precision_dtype(request->precision);
    for (int i = 0; i <= c->nmore; i++) {
        const tutti_shape shape = case_shape(c, i);
        plain[i] = tutti_value_plain(&shape);
        plain[i].dtype = r->type;
        plain[i].bytes = (size_t)count_of(&shape) * tutti_dtype_bytes(r->type);
    }
    full.op = tutti_op_find(c->op), full.attrs = c->attrs, full.nin = 1 + c->nmore;
    if (!full.in) full.in = plain;
    if (row ? tutti_kernel_create_by(row, &full, &r->k, &err) : tutti_kernel_create(&full, &r->k, &err))
        fail_msg("%s, %s: %s", c->op, c->what, err.text);
    r->a.training = request->training;
}

static inline void rig_make(rig *r, const kernel_case *c, const tutti_kernel_row *row,
                            const tutti_kernel_request *request)
{
    rig_create(r, c, row, request);
    rig_memory(r, c);
}

static inline void rig_close(rig *r)
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

static inline void rig_forward(rig *r)
{
    memset(r->a.scratch, 0x7f, r->k.scratch_bytes); /* it may hold anything */
    r->k.row->forward(&r->k, &r->a);
}

static inline void rig_backward(rig *r)
{
    const unsigned all = (1u << r->k.ninputs) - 1;
    memset(r->a.scratch, 0x7f, r->k.scratch_bytes);
    if (r->k.nparams) r->k.row->backward_params(&r->k, &r->a);
    memset(r->a.scratch, 0x7f, r->k.scratch_bytes);
    if ((r->k.passes_gradient & all) != all) r->k.row->backward_data(&r->k, &r->a);
}

/* What f32 memory is in the other type, compared to the bit. */
static inline void assert_rounds_to(const kernel_case *c, const char *what, const tutti_value *v, const void *wide,
                                    const void *got)
{
    void *want = numbers(v->bytes);
    tutti_convert_from_f32(v->dtype, wide, want, elements(v));
    if (memcmp(want, got, v->bytes)) fail_msg("%s, %s: %s in %s", c->op, c->what, what, tutti_dtype_name(v->dtype));
    free(want);
}

/* Of a kernel on f32 and one on 16 bits that is to give the same, rounded once. */
static inline void rig_compare_backward(const kernel_case *c, rig *wide, rig *half)
{
    /* both go on from the rounded output */
    tutti_convert_to_f32(half->type, half->a.out, wide->a.out, elements(&half->k.out));
    rig_backward(wide);
    rig_backward(half);
    for (int i = 0; i < wide->k.ninputs; i++)
        if (wide->a.din[i]) assert_rounds_to(c, "din", &half->k.in[i], wide->a.din[i], half->a.din[i]);
    for (int p = 0; p < wide->k.nparams; p++)
        assert_memory_equal(wide->a.dparam[p], half->a.dparam[p], (size_t)wide->k.params[p].elements * sizeof(float));
    if (half->k.writes_dout) assert_rounds_to(c, "dout", &half->k.out, wide->a.dout, half->a.dout);
}

static inline kernel_case with_relu(const kernel_case *c, char attrs[128], bool addend)
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

#endif
