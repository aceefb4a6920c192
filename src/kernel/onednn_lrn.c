/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_lrn.c: local response normalisation across channels by oneDNN, in whatever order the input has. Its alpha is divided by
 * the size, as ours. saved: the library's workspace.
 *
 * An even window lies around its channel otherwise than PyTorch's, and two dims the library does not take: there the reference
 * row steps in. */
#include "onednn_impl.h"

static void build_forward(tutti_kernel *k, tutti_onednn_state *s, bool training)
{
    const tutti_lrn_attrs *at = k->attrs;
    tutti_onednn_ok(s,
                    dnnl_lrn_forward_primitive_desc_create(&s->forward_pd, s->engine,
                                                           training ? dnnl_forward_training : dnnl_forward_inference,
                                                           dnnl_lrn_across_channels, s->in, s->in, at->size,
                                                           (float)at->alpha, (float)at->beta, (float)at->k, s->attr),
                    "find a local response normalisation");
    if (s->failed != dnnl_success) return;
    tutti_onednn_set_out(k, s->in);
    const_dnnl_memory_desc_t workspace = dnnl_primitive_desc_query_md(s->forward_pd, dnnl_query_workspace_md, 0);
    k->saved_bytes = training && workspace ? dnnl_memory_desc_get_size(workspace) : 0;
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_DST, tutti_onednn_at(TUTTI_AT_OUT, 0), s->out, true},
        {DNNL_ARG_WORKSPACE, tutti_onednn_at(TUTTI_AT_SAVED, 0), NULL, true},
    };
    tutti_onednn_add(s, &s->forward, s->forward_pd, args, k->saved_bytes ? 3 : 2);
}

static void build_backward(tutti_kernel *k, tutti_onednn_state *s)
{
    const tutti_lrn_attrs *at = k->attrs;
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    k->backward_reads = TUTTI_READS_INPUT | (k->saved_bytes ? TUTTI_READS_SAVED : 0);
    tutti_onednn_ok(s,
                    dnnl_lrn_backward_primitive_desc_create(&pd, s->engine, dnnl_lrn_across_channels, s->in, s->out,
                                                            s->in, at->size, (float)at->alpha, (float)at->beta,
                                                            (float)at->k, s->forward_pd, s->attr),
                    "find the gradient of a local response normalisation");
    if (s->failed != dnnl_success) return;
    tutti_onednn_arg args[] = {
        {DNNL_ARG_SRC, tutti_onednn_at(TUTTI_AT_IN, 0), s->in, false},
        {DNNL_ARG_DIFF_DST, tutti_onednn_at(TUTTI_AT_DOUT, 0), s->out, false},
        {DNNL_ARG_DIFF_SRC, tutti_onednn_at(TUTTI_AT_DIN, 0), s->in, true},
        {DNNL_ARG_WORKSPACE, tutti_onednn_at(TUTTI_AT_SAVED, 0), NULL, false},
    };
    tutti_onednn_add(s, &s->backward_data, pd, args, k->saved_bytes ? 4 : 3);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_lrn_attrs *at = k->attrs;
    if (at->size % 2 == 0 || k->in[0].shape.ndims != 4) return tutti_kernel_fall_back(k, r, err);
    tutti_onednn_state *s = tutti_onednn_open(k, r->nthreads);
    if (s->failed == dnnl_success) build_forward(k, s, r->training);
    if (r->training) build_backward(k, s);
    return tutti_onednn_finish(k, err);
}

const tutti_kernel_row tutti_onednn_lrn = {
    .engine = "onednn",
    .create = create,
    .destroy = tutti_onednn_close,
    .forward = tutti_onednn_forward,
    .backward_data = tutti_onednn_backward_data,
};
