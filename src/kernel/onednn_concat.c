/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_concat.c: inputs one behind the other along the channels by oneDNN. The output has the order of the first
 * input where each input's window then begins and ends with a block, else channels innermost; row-major if the first is. (The
 * library's own choice puts the blocks of channels outside the batch, which no convolution wants.) Gradients are copies of
 * windows of dout. */
#include "onednn_impl.h"

/* The channels of `whole` that are input i's; false = the order has no such description. */
static bool describe_window(const tutti_kernel *k, const_dnnl_memory_desc_t whole, int i, dnnl_memory_desc_t *window)
{
    const tutti_shape *in = &k->in[i].shape;
    dnnl_dims_t dims = {0}, first = {0};
    for (int d = 0; d < in->ndims; d++) dims[d] = in->dim[d];
    for (int j = 0; j < i; j++) first[1] += k->in[j].shape.dim[1];
    return dnnl_memory_desc_create_submemory(window, whole, dims, first) == dnnl_success;
}

static bool has_windows(const tutti_kernel *k, const_dnnl_memory_desc_t whole)
{
    bool all = true;
    for (int i = 0; i < k->ninputs && all; i++) {
        dnnl_memory_desc_t window = NULL;
        all = describe_window(k, whole, i, &window);
        dnnl_memory_desc_destroy(window);
    }
    return all;
}

static dnnl_memory_desc_t choose_order(tutti_kernel *k, tutti_onednn_state *s)
{
    static const dnnl_format_tag_t blocked[] = {dnnl_aBcd16b, dnnl_aBcd8b};
    if (!k->in[0].layout || k->out.shape.ndims != 4) return tutti_onednn_plain(s, &k->out.shape);
    for (int i = 0; i < 2; i++) {
        dnnl_memory_desc_t first = tutti_onednn_grouped(s, &k->in[0].shape, 0, blocked[i]);
        dnnl_memory_desc_t out = tutti_onednn_grouped(s, &k->out.shape, 0, blocked[i]);
        if (s->failed == dnnl_success && tutti_onednn_same_order(first, s->in) && has_windows(k, out)) return out;
    }
    return tutti_onednn_innermost(s, &k->out.shape);
}

static void build_forward(tutti_kernel *k, tutti_onednn_state *s)
{
    const_dnnl_memory_desc_t orders[TUTTI_MAX_OP_INPUTS];
    tutti_onednn_arg args[TUTTI_MAX_OP_INPUTS + 1];
    for (int i = 0; i < k->ninputs; i++) {
        orders[i] = tutti_onednn_input(k, i);
        args[i] =
            (tutti_onednn_arg){DNNL_ARG_MULTIPLE_SRC + i, tutti_onednn_at(TUTTI_AT_IN, (size_t)i), orders[i], false};
    }
    dnnl_memory_desc_t out = choose_order(k, s);
    if (s->failed != dnnl_success) return;
    tutti_onednn_ok(s,
                    dnnl_concat_primitive_desc_create(&s->forward_pd, s->engine, out, k->ninputs, 1, orders, s->attr),
                    "find a concatenation");
    if (s->failed != dnnl_success) return;
    tutti_onednn_set_out(k, out);
    args[k->ninputs] = (tutti_onednn_arg){DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, true};
    tutti_onednn_add(s, &s->forward, s->forward_pd, args, k->ninputs + 1);
}

static void build_backward(tutti_kernel *k, tutti_onednn_state *s)
{
    for (int i = 0; i < k->ninputs && s->failed == dnnl_success; i++) {
        dnnl_memory_desc_t window = NULL;
        if (!describe_window(k, s->out, i, &window)) tutti_onednn_ok(s, dnnl_unimplemented, "cut a gradient");
        tutti_onednn_reorder(s, &s->backward_data, tutti_onednn_at(TUTTI_AT_DOUT, 0), window,
                             tutti_onednn_at(TUTTI_AT_DIN, (size_t)i), tutti_onednn_input(k, i));
        dnnl_memory_desc_destroy(window);
    }
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    build_forward(k, s);
    if (r->training) build_backward(k, s);
    return tutti_onednn_finish(k, err);
}

const tutti_kernel_row tutti_onednn_concat = {
    .engine = "onednn",
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_data = tutti_onednn_backward_data,
};
