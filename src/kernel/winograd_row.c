/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_row.c: the row `winograd` of conv: 3 x 3, stride 1, one group, f32, channels that fill vectors (winograd.h). It has no library
 * under it. A merged ReLU costs nothing forward; backward, the parameters' pass masks dout in place before anything reads it.
 *
 * Weights that are trained lie in squares of a vector's width, in which oneDNN takes them, too; weights in any other order are brought into
 * squares once a call. */
#include "winograd.h"

#include "lane_value.h"

typedef struct {
    tutti_winograd w;
    tutti_layout out_layout, squares;
    bool relu, direct;           /* direct: weights lie in squares */
    size_t weights_at, plain_at; /* in scratch, behind what passes need */
} winograd;

static tutti_param_desc in_squares(const tutti_kernel *k)
{
    const winograd *s = k->state;
    tutti_param_desc p = k->params[0];
    p.layout = &s->squares;
    p.elements = tutti_shape_count(&p.shape);
    return p;
}

static void order_params(tutti_kernel *k, const tutti_kernel_request *r)
{
    winograd *s = k->state;
    tutti_param_desc *p = &k->params[0];
    tutti_winograd_weights_order(&s->w, &s->squares);
    if (r->training && !r->params_as) *p = in_squares(k);
    const tutti_param_desc squares = in_squares(k);
    const size_t nbytes = (size_t)squares.elements * sizeof(float);
    s->direct = tutti_param_order_hash(p) == tutti_param_order_hash(&squares);
    k->scratch_bytes = tutti_winograd_scratch(&s->w);
    s->weights_at = k->scratch_bytes;
    s->plain_at = s->weights_at + nbytes;
    if (!s->direct) k->scratch_bytes = s->plain_at + nbytes;
}

/* What the row computes; out becomes the output in its order. */
static bool plan(const tutti_kernel *k, const tutti_kernel_request *r, tutti_value *out, tutti_layout *out_layout,
                 tutti_winograd *w)
{
    const tutti_conv_attrs *at = k->attrs;
    if (at->kernel != 3 || at->stride != 1 || at->groups != 1 || r->precision != TUTTI_PRECISION_F32 ||
        k->in[0].dtype != TUTTI_F32)
        return false;
    *out = k->out;
    tutti_order_apply(r->order == TUTTI_ORDER_NONE ? tutti_order_of(&k->in[0]) : r->order, out, out_layout);
    return tutti_winograd_of(&k->in[0], out, at->pad, r->nthreads, w);
}

bool tutti_winograd_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    tutti_value out;
    tutti_layout layout;
    tutti_winograd w;
    (void)pass;
    return plan(k, r, &out, &layout, &w);
}

/* Products, numbers of tiles and of weights that are moved, each at its rate. Of one thread of an EPYC (Zen 4) with AVX-512; with vectors half
 * as long it, and oneDNN beside it, take longer by as much or by less. ms by the rule | measured, forward, gradient of weights, of the input:
 *
 *   64 -> 64, 56 x 56, 16     14.1 14.2 14.1 | 13.5 15.7 13.5      512 -> 512, 7 x 7, 16     17.5 23.1 17.5 | 16.3 23.5 16.5
 *   128 -> 128, 28 x 28, 16   11.4 11.7 11.4 | 11.6 12.9 11.3      512 -> 512, 7 x 7, 1       6.4 12.1  6.4 |  4.6 11.8  5.2
 *   256 -> 256, 14 x 14, 16   14.2 15.6 14.2 | 15.7 18.9 15.6      16 -> 16, 32 x 32, 64      2.9  2.9  2.9 |  2.3  2.2  2.3 */
double tutti_winograd_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    enum { LANES = 16 };
    static const double PRODUCT = 1 / 1.1e11, NUMBER = 0.36e-9, WEIGHT = 0.6e-9;
    tutti_value out;
    tutti_layout layout;
    tutti_winograd w;
    if (!plan(k, r, &out, &layout, &w)) return -1;
    const tutti_blocks *tiled = pass == TUTTI_PASS_DATA ? &w.in : &w.out;
    const int64_t side = TUTTI_WINOGRAD_TILE, down = (tiled->height + side - 1) / side,
                  right = (tiled->width + side - 1) / side;
    const double tiles = (double)(tiled->batch * down * right), in = (double)w.in.channels, to = (double)w.out.channels;
    const double each = 2 * tiles * in * to * PRODUCT + tiles * (in + to) * NUMBER +
                        in * to * WEIGHT * (pass == TUTTI_PASS_PARAMS ? 2 : 1);
    return TUTTI_WINOGRAD_PRODUCTS * each * LANES / w.row->width / (r->nthreads > 1 ? r->nthreads : 1);
}

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    winograd *s = tutti_alloc(sizeof *s);
    tutti_value out;
    k->state = s;
    if (!plan(k, r, &out, &s->out_layout, &s->w))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "winograd convolves 3 x 3 with stride 1, one group, padding of at most 2, f32, and channels "
                          "that fill vectors");
    k->out = out;
    order_params(k, r);
    s->relu = at->relu;
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0);
    k->writes_dout = k->feeds_data = at->relu;
    return TUTTI_OK;
}

/* Weights in squares. */
static const float *weights_of(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const winograd *s = k->state;
    if (s->direct) return a->param[0];
    const tutti_param_desc squares = in_squares(k);
    float *weights = (float *)((char *)a->scratch + s->weights_at),
          *plain = (float *)((char *)a->scratch + s->plain_at);
    if (k->params[0].layout) tutti_param_to_plain(&k->params[0], a->param[0], plain);
    tutti_param_from_plain(&squares, k->params[0].layout ? plain : a->param[0], weights);
    return weights;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const winograd *s = k->state;
    tutti_winograd_forward(&s->w, a->in[0], weights_of(k, a), k->nparams > 1 ? a->param[1] : NULL, s->relu, a->out,
                           a->scratch);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const winograd *s = k->state;
    if (s->relu)
        tutti_lane_map(tutti_lane_here()->map.relu_gradient, TUTTI_F32, a->out, a->dout, a->dout,
                       tutti_value_elements(&k->out), s->w.nthreads);
    if (!tutti_kernel_params_wanted(k, a)) return;
    float *squares = (float *)((char *)a->scratch + s->weights_at),
          *plain = (float *)((char *)a->scratch + s->plain_at);
    tutti_winograd_weight_gradient(&s->w, a->in[0], a->dout, s->direct ? a->dparam[0] : squares,
                                   k->nparams > 1 ? a->dparam[1] : NULL, a->scratch);
    if (s->direct || !a->dparam[0]) return;
    const tutti_param_desc from = in_squares(k);
    tutti_param_to_plain(&from, squares, plain);
    tutti_param_from_plain(&k->params[0], plain, a->dparam[0]);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const winograd *s = k->state;
    tutti_winograd_input_gradient(&s->w, a->dout, weights_of(k, a), a->din[0], a->scratch);
}

const tutti_kernel_row tutti_winograd_conv = {
    .engine = "onednn",
    .fuses = true,
    .create = create,
    .destroy = tutti_lane_free_state,
    .forward = forward,
    .backward_params = backward_params,
    .backward_data = backward_data,
};
