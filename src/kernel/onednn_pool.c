/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_pool.c: max, average and global average pooling by oneDNN, in whatever order the input has. saved: the library's workspace with
 * the winners of max pooling.
 *
 * Where sizes round up, windows stick out of the padding and the padding at the end grows to hold them. For a mean the library
 * divides by the whole window or by what lies in the input; PyTorch's divisor, which knows what lies in the padding that was
 * asked for, is the second without padding and neither with it: then the reference row steps in. */
#include "onednn_impl.h"

typedef struct {
    dnnl_alg_kind_t alg;
    tutti_shape out; /* four dims */
    dnnl_memory_desc_t any_out;
    dnnl_dims_t strides, kernel, dilates, pad, pad_end;
} pool_desc;

/* Of one dimension: what was asked for, or as much as the last of nout windows needs. */
static int64_t padding_at_end(const tutti_pool_attrs *window, int64_t nin, int64_t nout)
{
    const int64_t needed = (nout - 1) * window->stride - window->pad + window->kernel - nin;
    return needed > window->pad ? needed : window->pad;
}

static pool_desc describe(const tutti_kernel *k, dnnl_alg_kind_t alg)
{
    const tutti_pool_attrs window = tutti_op_pool_window(k->attrs);
    pool_desc d = {
        .alg = alg,
        .out = k->out.shape,
        .strides = {window.stride, window.stride},
        .kernel = {window.kernel, window.kernel},
        .pad = {window.pad, window.pad},
    };
    for (int i = 0; i < 2; i++)
        d.pad_end[i] = padding_at_end(&window, k->in[0].shape.dim[2 + i], k->out.shape.dim[2 + i]);
    return d;
}

/* One window, as large as the planes. */
static pool_desc describe_global(const tutti_kernel *k)
{
    const int64_t *in = k->in[0].shape.dim;
    return (pool_desc){.alg = dnnl_pooling_avg_include_padding,
                       .out = {4, {in[0], in[1], 1, 1}},
                       .strides = {1, 1},
                       .kernel = {in[2], in[3]}};
}

static void build_forward(tutti_kernel *k, tutti_onednn_state *s, pool_desc *d, bool training)
{
    d->any_out = tutti_onednn_any(s, &d->out);
    tutti_onednn_ok(s,
                    dnnl_pooling_forward_primitive_desc_create(
                        &s->forward_pd, s->engine, training ? dnnl_forward_training : dnnl_forward_inference, d->alg,
                        s->in, d->any_out, d->strides, d->kernel, d->dilates, d->pad, d->pad_end, s->attr),
                    "find a pooling");
    if (s->failed != dnnl_success) return;
    if (k->out.shape.ndims == 4)
        tutti_onednn_set_out(k, tutti_onednn_wants(s->forward_pd, DNNL_ARG_DST));
    else
        s->out = tutti_onednn_plain(s, &d->out);
    const_dnnl_memory_desc_t workspace = dnnl_primitive_desc_query_md(s->forward_pd, dnnl_query_workspace_md, 0);
    k->saved_bytes = training && workspace ? dnnl_memory_desc_get_size(workspace) : 0;
    if (k->saved_bytes) k->backward_reads = TUTTI_READS_SAVED;
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, true},
        {DNNL_ARG_WORKSPACE, tutti_onednn_at(TUTTI_AT_SAVED, 0), NULL, true},
    };
    tutti_onednn_add(s, &s->forward, s->forward_pd, args, k->saved_bytes ? 3 : 2);
}

static void build_backward(tutti_kernel *k, tutti_onednn_state *s, pool_desc *d)
{
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_pooling_backward_primitive_desc_create(&pd, s->engine, d->alg, s->in, d->any_out, d->strides,
                                                                d->kernel, d->dilates, d->pad, d->pad_end,
                                                                s->forward_pd, s->attr),
                    "find the gradient of a pooling");
    if (s->failed != dnnl_success) return;
    tutti_onednn_arg args[] = {
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, false},
        {DNNL_ARG_DIFF_SRC, tutti_onednn_at(TUTTI_AT_DIN, 0), s->in, true},
        {DNNL_ARG_WORKSPACE, tutti_onednn_at(TUTTI_AT_SAVED, 0), NULL, false},
    };
    tutti_onednn_add(s, &s->backward_data, pd, args, k->saved_bytes ? 3 : 2);
}

static tutti_status create_pool(tutti_kernel *k, pool_desc d, const tutti_kernel_request *r, tutti_failure *err)
{
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    if (s->failed == dnnl_success) build_forward(k, s, &d, r->training);
    if (r->training) build_backward(k, s, &d);
    return tutti_onednn_finish(k, err);
}

static tutti_status create_max(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create_pool(k, describe(k, dnnl_pooling_max), r, err);
}

static tutti_status create_avg(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_pool_attrs window = tutti_op_pool_window(k->attrs);
    const int64_t *in = k->in[0].shape.dim, *out = k->out.shape.dim;
    const bool sticks_out =
        padding_at_end(&window, in[2], out[2]) > window.pad || padding_at_end(&window, in[3], out[3]) > window.pad;
    if (sticks_out && window.pad > 0) return tutti_kernel_fall_back(k, r, err);
    return create_pool(k, describe(k, sticks_out ? dnnl_pooling_avg_exclude_padding : dnnl_pooling_avg_include_padding),
                       r, err);
}

static tutti_status create_global(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create_pool(k, describe_global(k), r, err);
}

const tutti_kernel_row tutti_onednn_max_pool = {
    .engine = "onednn",
    .create = create_max,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_data = tutti_onednn_backward_data,
};

const tutti_kernel_row tutti_onednn_avg_pool = {
    .engine = "onednn",
    .create = create_avg,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_data = tutti_onednn_backward_data,
};

const tutti_kernel_row tutti_onednn_global_avg_pool = {
    .engine = "onednn",
    .create = create_global,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_data = tutti_onednn_backward_data,
};
