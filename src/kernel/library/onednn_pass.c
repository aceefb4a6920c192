/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_pass.c: builds and runs the passes of a oneDNN kernel (see onednn_impl.h).
 *
 * The same shapes and number of threads give the same bits. Primitives are chosen by shape, threads and instruction set
 * alone. Each primitive splits its work by its thread count, which is set before create and before each run. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/signals.h"
#include "../crew.h"
#include "onednn_impl.h"

bool tutti_onednn_ok(tutti_onednn_state *s, dnnl_status_t status, const char *at)
{
    if (s->failed == dnnl_success && status != dnnl_success) {
        s->failed = status;
        s->failed_at = at;
    }
    return s->failed == dnnl_success;
}

static dnnl_memory_desc_t own(tutti_onednn_state *s, dnnl_memory_desc_t md)
{
    assert(s->nowned < TUTTI_ONEDNN_OWNED);
    return s->owned[s->nowned++] = md;
}

dnnl_memory_desc_t tutti_onednn_typed(tutti_onednn_state *s, dnnl_data_type_t type, const tutti_shape *shape,
                                      int64_t groups, dnnl_format_tag_t order)
{
    dnnl_dims_t dims = {0}; /* all DNNL_MAX_NDIMS are set, because the library copies the whole array */
    int first = groups > 0;
    for (int d = 0; d < shape->ndims; d++) dims[first + d] = shape->dim[d];
    if (first) {
        dims[0] = groups;
        dims[1] = shape->dim[0] / groups;
    }
    dnnl_memory_desc_t md = NULL;
    if (s->failed != dnnl_success) return NULL;
    tutti_onednn_ok(s, dnnl_memory_desc_create_with_tag(&md, first + shape->ndims, dims, type, order),
                    "describe a tensor");
    return own(s, md);
}

static dnnl_data_type_t type_of(const_dnnl_memory_desc_t md)
{
    dnnl_data_type_t type = dnnl_data_type_undef;
    dnnl_memory_desc_query(md, dnnl_query_data_type, &type);
    return type;
}

dnnl_memory_desc_t tutti_onednn_ordered(tutti_onednn_state *s, dnnl_data_type_t type, const tutti_shape *shape,
                                        tutti_order order)
{
    static const dnnl_format_tag_t row_major[] = {dnnl_a, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd};
    static const dnnl_format_tag_t planes[TUTTI_NORDERS] = {dnnl_abcd,    dnnl_abcd,    dnnl_aBcd8b,
                                                            dnnl_aBcd16b, dnnl_aBcd32b, dnnl_acdb};
    return tutti_onednn_typed(s, type, shape, 0, shape->ndims == 4 ? planes[order] : row_major[shape->ndims]);
}

tutti_order tutti_onednn_order_of(tutti_onednn_state *s, const_dnnl_memory_desc_t md, const tutti_shape *shape)
{
    const int end = shape->ndims == 4 ? TUTTI_NORDERS : TUTTI_ORDER_NCHW + 1;
    for (int i = TUTTI_ORDER_NCHW; i < end && s->failed == dnnl_success; i++) {
        const_dnnl_memory_desc_t tried = tutti_onednn_ordered(s, type_of(md), shape, (tutti_order)i);
        if (s->failed == dnnl_success && tutti_onednn_same_order(tried, md)) return (tutti_order)i;
    }
    return TUTTI_ORDER_NONE;
}

dnnl_memory_desc_t tutti_onednn_plain(tutti_onednn_state *s, const tutti_shape *shape)
{
    return tutti_onednn_ordered(s, dnnl_f32, shape, TUTTI_ORDER_NCHW);
}

dnnl_memory_desc_t tutti_onednn_any(tutti_onednn_state *s, const tutti_shape *shape)
{
    return tutti_onednn_typed(s, dnnl_f32, shape, 0, dnnl_format_tag_any);
}

dnnl_memory_desc_t tutti_onednn_innermost(tutti_onednn_state *s, const tutti_shape *shape)
{
    return tutti_onednn_ordered(s, dnnl_f32, shape, TUTTI_ORDER_NHWC);
}

const_dnnl_memory_desc_t tutti_onednn_wants(const_dnnl_primitive_desc_t pd, int arg)
{
    return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
}

static dnnl_data_type_t type_for(tutti_dtype type)
{
    return type == TUTTI_BF16 ? dnnl_bf16 : type == TUTTI_F16 ? dnnl_f16 : dnnl_f32;
}

dnnl_memory_desc_t tutti_onednn_input(tutti_kernel *k, int i)
{
    const tutti_order order = tutti_order_of(&k->in[i]);
    tutti_onednn_ok(k->state, order == TUTTI_ORDER_NONE ? dnnl_unimplemented : dnnl_success, "describe an input");
    return tutti_onednn_ordered(k->state, type_for(k->in[i].dtype), &k->in[i].shape, order);
}

tutti_onednn_state *tutti_onednn_open(tutti_kernel *k, int nthreads)
{
    tutti_onednn_state *s = tutti_alloc(sizeof *s);
    k->state = s;
    s->nthreads = nthreads < 1 ? 1 : nthreads;
    tutti_crew_ask(s->nthreads);
    tutti_onednn_ok(s, dnnl_engine_create(&s->engine, dnnl_cpu, 0), "create an engine");
    if (s->failed == dnnl_success)
        tutti_onednn_ok(s, dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags), "create a stream");
    tutti_onednn_ok(s, dnnl_primitive_attr_create(&s->attr), "create attributes");
    if (s->failed == dnnl_success)
        tutti_onednn_ok(s, dnnl_primitive_attr_set_scratchpad_mode(s->attr, dnnl_scratchpad_mode_user), "set scratch");
    if (s->failed == dnnl_success)
        tutti_onednn_ok(s, dnnl_primitive_attr_clone(&s->forward_attr, s->attr), "copy attributes");
    s->in = tutti_onednn_input(k, 0);
    return s;
}

static size_t round_up(size_t nbytes)
{
    return (nbytes + 63) / 64 * 64;
}

tutti_status tutti_onednn_finish(tutti_kernel *k, tutti_failure *err)
{
    tutti_onednn_state *s = k->state;
    if (s->failed != dnnl_success)
        return tutti_fail(err, TUTTI_ERR_FAILED, "oneDNN could not %s for op %s (status %d)", s->failed_at, k->op->name,
                          (int)s->failed);
    const tutti_onednn_pass *passes[] = {&s->forward, &s->backward_params, &s->backward_data};
    for (int i = 0; i < 3; i++)
        if (passes[i]->scratch_bytes > k->scratch_bytes) k->scratch_bytes = passes[i]->scratch_bytes;
    return TUTTI_OK;
}

static void pass_release(tutti_onednn_pass *pass)
{
    for (int i = 0; i < pass->nsteps; i++) dnnl_primitive_destroy(pass->steps[i].primitive);
    for (int i = 0; i < pass->nmemories; i++) dnnl_memory_destroy(pass->memories[i]);
}

void tutti_onednn_close(tutti_kernel *k)
{
    tutti_onednn_state *s = k->state;
    if (!s) return;
    pass_release(&s->forward);
    pass_release(&s->backward_params);
    pass_release(&s->backward_data);
    for (int i = 0; i < s->nowned; i++) dnnl_memory_desc_destroy(s->owned[i]);
    dnnl_primitive_desc_destroy(s->forward_pd);
    dnnl_primitive_attr_destroy(s->attr);
    dnnl_primitive_attr_destroy(s->forward_attr);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
    free(s);
}

/* Writes the blocked order that md describes to *out. Returns false if a layout cannot express it. */
static bool layout_of(const_dnnl_memory_desc_t md, tutti_layout *out)
{
    *out = (tutti_layout){0};
    dnnl_format_kind_t kind = dnnl_format_kind_undef;
    int ndims = 0, ninner = 0;
    const dnnl_dims_t *strides, *padded, *blocks, *dims;
    dnnl_dim_t start = 0;
    if (dnnl_memory_desc_query(md, dnnl_query_format_kind, &kind) != dnnl_success || kind != dnnl_blocked) return false;
    dnnl_memory_desc_query(md, dnnl_query_submemory_offset_s64, &start);
    dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &ndims);
    dnnl_memory_desc_query(md, dnnl_query_strides, (void *)&strides);
    dnnl_memory_desc_query(md, dnnl_query_padded_dims, (void *)&padded);
    dnnl_memory_desc_query(md, dnnl_query_inner_nblks_s32, &ninner);
    dnnl_memory_desc_query(md, dnnl_query_inner_blks, (void *)&blocks);
    dnnl_memory_desc_query(md, dnnl_query_inner_idxs, (void *)&dims);
    if (ndims > TUTTI_MAX_DIMS || ninner > TUTTI_MAX_INNER_BLOCKS || start != 0) return false;
    out->ninner = ninner;
    for (int d = 0; d < ndims; d++) {
        out->stride[d] = (*strides)[d];
        out->padded[d] = (*padded)[d];
    }
    for (int i = 0; i < ninner; i++) {
        out->inner_block[i] = (*blocks)[i];
        out->inner_dim[i] = (int)(*dims)[i];
    }
    return true;
}

/* True if both descriptions put every element at the same place. Strides of dims of size 1 make no difference. */
static bool same_layout(const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b)
{
    tutti_layout x, y;
    if (!layout_of(a, &x) || !layout_of(b, &y) || x.ninner != y.ninner) return false;
    for (int d = 0; d < TUTTI_MAX_DIMS; d++)
        if (x.padded[d] != y.padded[d] || (x.padded[d] > 1 && x.stride[d] != y.stride[d])) return false;
    for (int i = 0; i < x.ninner; i++)
        if (x.inner_block[i] != y.inner_block[i] || x.inner_dim[i] != y.inner_dim[i]) return false;
    return true;
}

bool tutti_onednn_same_order(const_dnnl_memory_desc_t a, const_dnnl_memory_desc_t b)
{
    return dnnl_memory_desc_equal(a, b) || (type_of(a) == type_of(b) && same_layout(a, b));
}

void tutti_onednn_set_out(tutti_kernel *k, tutti_order order, tutti_dtype type)
{
    tutti_onednn_state *s = k->state;
    k->out.dtype = type;
    tutti_order_apply(order, &k->out, &s->out_layout);
    s->out = tutti_onednn_ordered(s, type_for(type), &k->out.shape, order);
}

/* If md describes another number of dims than the tensor's ndims, writes the dims that md describes to *view; else
 * *view has no dims. */
static void view_of(const_dnnl_memory_desc_t md, int ndims, tutti_shape *view)
{
    const dnnl_dims_t *dims;
    dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &view->ndims);
    dnnl_memory_desc_query(md, dnnl_query_dims, (void *)&dims);
    for (int d = 0; d < view->ndims; d++) view->dim[d] = (*dims)[d];
    if (view->ndims == ndims) *view = (tutti_shape){0};
}

bool tutti_onednn_is_plain_loops(const_dnnl_primitive_desc_t pd)
{
    const char *name = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
    return strncmp(name, "ref", 3) == 0;
}

bool tutti_onednn_is_gemm(const_dnnl_primitive_desc_t pd)
{
    const char *name = "";
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
    return strstr(name, "gemm:") != NULL;
}

/* Describes to the library an order that a parameter has already. That is the library's own order, or an order that
 * another row has chosen: squares (winograd.h), inputs innermost (implicit_conv.c), rows in the order of planes
 * (dense_gemm.c). */
static const_dnnl_memory_desc_t describe_param(tutti_onednn_state *s, const tutti_param_desc *p)
{
    static const dnnl_format_tag_t chosen[] = {dnnl_ABcd16b16a, dnnl_ABcd8b8a, dnnl_ABcd4b4a,
                                               dnnl_acdb,       dnnl_aBcd8b,   dnnl_aBcd16b};
    const tutti_shape *shape = p->layout->view.ndims ? &p->layout->view : &p->shape;
    dnnl_memory_desc_t copy = NULL;
    if (p->layout->described) {
        tutti_onednn_ok(s, dnnl_memory_desc_clone(&copy, p->layout->described), "copy a description");
        return own(s, copy);
    }
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen && s->failed == dnnl_success && shape->ndims == 4; i++) {
        const_dnnl_memory_desc_t tried = tutti_onednn_typed(s, dnnl_f32, shape, 0, chosen[i]);
        tutti_layout layout;
        tutti_param_desc as = *p;
        as.layout = &layout;
        if (s->failed == dnnl_success && layout_of(tried, &layout) &&
            tutti_param_order_hash(&as) == tutti_param_order_hash(p))
            return tried;
    }
    tutti_onednn_ok(s, dnnl_unimplemented, "describe weights");
    return NULL;
}

const_dnnl_memory_desc_t tutti_onednn_param_order(tutti_kernel *k, const tutti_kernel_request *r, int p,
                                                  const_dnnl_memory_desc_t wanted, const_dnnl_memory_desc_t plain)
{
    tutti_onednn_state *s = k->state;
    tutti_param_desc *param = &k->params[p];
    dnnl_memory_desc_t chosen = NULL;
    if (s->failed != dnnl_success || (r->params_as && !param->layout)) return plain;
    if (param->layout) return describe_param(s, param);
    tutti_layout *layout = &s->param_layout[p];
    if (!r->training || tutti_onednn_same_order(wanted, plain) || !layout_of(wanted, layout)) return plain;
    if (!tutti_onednn_ok(s, dnnl_memory_desc_clone(&chosen, wanted), "copy a description")) return plain;
    layout->described = own(s, chosen);
    view_of(chosen, param->shape.ndims, &layout->view);
    param->layout = layout;
    param->elements = (int64_t)(dnnl_memory_desc_get_size(chosen) / sizeof(float));
    return chosen;
}

static dnnl_memory_t add_memory(tutti_onednn_state *s, tutti_onednn_pass *pass, const_dnnl_memory_desc_t order,
                                tutti_onednn_place place)
{
    dnnl_memory_t memory = NULL;
    assert(pass->nmemories < TUTTI_ONEDNN_MEMORIES);
    if (tutti_onednn_ok(s, dnnl_memory_create(&memory, order, s->engine, DNNL_MEMORY_NONE), "describe memory")) {
        pass->memories[pass->nmemories] = memory;
        pass->places[pass->nmemories++] = place;
    }
    return memory;
}

size_t tutti_onednn_take(tutti_onednn_pass *pass, size_t nbytes)
{
    const size_t at = pass->scratch_bytes;
    pass->scratch_bytes += round_up(nbytes);
    return at;
}

static tutti_onednn_place take_scratch(tutti_onednn_pass *pass, const_dnnl_memory_desc_t order)
{
    return tutti_onednn_at(TUTTI_AT_SCRATCH, tutti_onednn_take(pass, dnnl_memory_desc_get_size(order)));
}

void tutti_onednn_add_own(tutti_onednn_state *s, tutti_onednn_pass *pass, tutti_onednn_own_step *call,
                          const tutti_onednn_windows *w)
{
    if (s->failed != dnnl_success) return;
    assert(pass->nsteps < TUTTI_ONEDNN_STEPS);
    pass->steps[pass->nsteps++] = (tutti_onednn_step){.own = call, .windows = *w, .gradient_of = -1};
}

/* Appends a primitive whose arguments have their memory objects already. Signals are blocked during a product of the
 * library: until oneDNN 3.11 its generated code keeps the stack pointer in a small block of the heap (oneDNN's issue
 * 4845), and the frame of a handler that ran meanwhile would overwrite what lies below that block. */
static void add_step(tutti_onednn_state *s, tutti_onednn_pass *pass, const_dnnl_primitive_desc_t pd,
                     const dnnl_exec_arg_t *args, int nargs)
{
    if (s->failed != dnnl_success) return;
    assert(pass->nsteps < TUTTI_ONEDNN_STEPS && nargs < TUTTI_ONEDNN_ARGS);
    tutti_onednn_step *step = &pass->steps[pass->nsteps];
    if (!tutti_onednn_ok(s, dnnl_primitive_create(&step->primitive, pd), "create a primitive")) return;
    pass->nsteps++;
    memcpy(step->args, args, sizeof *args * (size_t)nargs);
    step->nargs = nargs;
    step->gradient_of = -1;
    step->holds_signals = tutti_onednn_is_gemm(pd);
    const_dnnl_memory_desc_t scratch = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    if (!scratch || dnnl_memory_desc_get_size(scratch) == 0) return;
    dnnl_memory_t memory = add_memory(s, pass, scratch, take_scratch(pass, scratch));
    step->args[step->nargs++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, memory};
}

static void add_reorder(tutti_onednn_state *s, tutti_onednn_pass *pass, dnnl_memory_t from, dnnl_memory_t to)
{
    const_dnnl_memory_desc_t from_order = NULL, to_order = NULL;
    dnnl_primitive_desc_t pd = NULL;
    if (s->failed != dnnl_success) return;
    dnnl_memory_get_memory_desc(from, &from_order);
    dnnl_memory_get_memory_desc(to, &to_order);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    if (tutti_onednn_ok(s, dnnl_reorder_primitive_desc_create(&pd, from_order, s->engine, to_order, s->engine, s->attr),
                        "reorder"))
        add_step(s, pass, pd, args, 2);
    dnnl_primitive_desc_destroy(pd);
}

void tutti_onednn_reorder(tutti_onednn_state *s, tutti_onednn_pass *pass, tutti_onednn_place from,
                          const_dnnl_memory_desc_t from_order, tutti_onednn_place to, const_dnnl_memory_desc_t to_order)
{
    if (s->failed != dnnl_success) return;
    dnnl_memory_t source = add_memory(s, pass, from_order, from), target = add_memory(s, pass, to_order, to);
    add_reorder(s, pass, source, target);
    if (s->failed == dnnl_success && to.where == TUTTI_AT_DIN)
        pass->steps[pass->nsteps - 1].gradient_of = (int)to.number;
}

void tutti_onednn_add(tutti_onednn_state *s, tutti_onednn_pass *pass, dnnl_primitive_desc_t taken,
                      const tutti_onednn_arg *args, int nargs)
{
    dnnl_exec_arg_t ready[TUTTI_ONEDNN_ARGS] = {{0}};
    dnnl_memory_t outside[TUTTI_ONEDNN_ARGS] = {0};
    for (int i = 0; i < nargs && s->failed == dnnl_success; i++) {
        const_dnnl_memory_desc_t wanted = tutti_onednn_wants(taken, args[i].arg);
        ready[i].arg = args[i].arg;
        if (!args[i].order || tutti_onednn_same_order(args[i].order, wanted)) {
            ready[i].memory = add_memory(s, pass, wanted, args[i].place);
            continue;
        }
        outside[i] = add_memory(s, pass, args[i].order, args[i].place);
        ready[i].memory = add_memory(s, pass, wanted, take_scratch(pass, wanted));
        if (!args[i].written) add_reorder(s, pass, outside[i], ready[i].memory);
    }
    add_step(s, pass, taken, ready, nargs);
    for (int i = 0; i < nargs && s->failed == dnnl_success; i++)
        if (outside[i] && args[i].written) add_reorder(s, pass, ready[i].memory, outside[i]);
    if (taken != s->forward_pd) dnnl_primitive_desc_destroy(taken);
}

static void *resolve(const tutti_onednn_place *p, const tutti_kernel_args *a)
{
    switch (p->where) {
    case TUTTI_AT_IN: return (void *)a->in[p->number];
    case TUTTI_AT_OUT: return a->out;
    case TUTTI_AT_DOUT: return (void *)a->dout;
    case TUTTI_AT_DIN: return a->din[p->number];
    case TUTTI_AT_PARAM: return (void *)a->param[p->number];
    case TUTTI_AT_DPARAM: return a->dparam[p->number];
    case TUTTI_AT_SAVED: return (char *)a->saved + p->number;
    case TUTTI_AT_SCRATCH: return (char *)a->scratch + p->number;
    }
    return NULL;
}

static void run_steps(const tutti_onednn_state *s, const tutti_onednn_pass *pass, int nsteps,
                      const tutti_kernel_args *a)
{
    tutti_crew_ask(s->nthreads);
    for (int i = 0; i < pass->nmemories; i++)
        dnnl_memory_set_data_handle(pass->memories[i], resolve(&pass->places[i], a));
    for (int i = 0; i < nsteps; i++) {
        const tutti_onednn_step *step = &pass->steps[i];
        if (step->gradient_of >= 0 && !a->din[step->gradient_of]) continue;
        if (step->own) {
            step->own(&step->windows, a);
            continue;
        }
        sigset_t before;
        if (step->holds_signals) tutti_signals_hold(&before);
        dnnl_status_t status = dnnl_primitive_execute(step->primitive, s->stream, step->nargs, step->args);
        if (step->holds_signals) tutti_signals_release(&before);
        if (status == dnnl_out_of_memory) tutti_no_memory(0); /* the library allocates some of its scratch only now */
        assert(status == dnnl_success);                       /* every other failure would have appeared at create */
    }
}

void tutti_onednn_run(const tutti_onednn_state *s, const tutti_onednn_pass *pass, const tutti_kernel_args *a)
{
    run_steps(s, pass, pass->nsteps, a);
}

void tutti_onednn_forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_run(s, &s->forward, a);
}

void tutti_onednn_backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_onednn_state *s = k->state;
    run_steps(s, &s->backward_params, tutti_kernel_params_wanted(k, a) ? s->backward_params.nsteps : s->nfeeding, a);
}

void tutti_onednn_backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    tutti_onednn_state *s = k->state;
    tutti_onednn_run(s, &s->backward_data, a);
}
