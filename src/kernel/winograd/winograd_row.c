/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_row.c: the rows of Winograd convolutions and their rules as candidates, for stride 1, one group, f32.
 * `winograd` computes 3 x 3 and `winograd5-wide` 5 x 5 with channels that fill vectors (winograd.h); `winograd5`
 * computes 5 x 5 with other channels (winograd5.h). They use no library. A merged ReLU costs nothing forward; backward,
 * the parameters' pass masks dout in place before anything reads it.
 *
 * Weights that are trained have the order that the products read. That is squares of a vector's width, which oneDNN can
 * read too, or for winograd5 tap by tap with outputs innermost. Weights in any other order are copied into it once a
 * call. */
#include "../lanes/lane_value.h"
#include "winograd5.h"

typedef struct {
    const tutti_winograd_size *size;
    tutti_winograd w;
    tutti_layout out_layout, weights_layout;
    bool relu, direct; /* relu: a ReLU is merged; direct: the parameter already has the products' order */
    /* offsets in scratch of the weights (or their gradient), behind the scratch of the products. weights_at: in the
     * products' order; plain_at: row-major */
    size_t weights_at, plain_at;
} winograd;

static tutti_param_desc as_wanted(const tutti_kernel *k)
{
    const winograd *s = k->state;
    tutti_param_desc p = k->params[0];
    p.layout = &s->weights_layout;
    p.elements = tutti_shape_count(&p.shape);
    return p;
}

static void order_params(tutti_kernel *k, const tutti_kernel_request *r)
{
    winograd *s = k->state;
    tutti_param_desc *p = &k->params[0];
    s->size->weights_order(&s->w, &s->weights_layout);
    if (r->training && !r->params_as) *p = as_wanted(k);
    const tutti_param_desc wanted = as_wanted(k);
    const size_t nbytes = (size_t)wanted.elements * sizeof(float);
    s->direct = tutti_param_order_hash(p) == tutti_param_order_hash(&wanted);
    k->scratch_bytes = s->size->scratch(&s->w);
    s->weights_at = k->scratch_bytes;
    s->plain_at = s->weights_at + nbytes;
    if (!s->direct) k->scratch_bytes = s->plain_at + nbytes;
}

/* Plans the convolution for a row. Sets *out to the description of the output in its memory order. */
static bool plan(const tutti_winograd_size *size, const tutti_kernel *k, const tutti_kernel_request *r,
                 tutti_value *out, tutti_layout *out_layout, tutti_winograd *w)
{
    const tutti_conv_attrs *at = k->attrs;
    if (at->kernel != size->kernel || at->stride != 1 || at->groups != 1 || r->precision != TUTTI_PRECISION_F32 ||
        k->in[0].dtype != TUTTI_F32)
        return false;
    *out = k->out;
    tutti_order_apply(r->order == TUTTI_ORDER_NONE ? tutti_order_of(&k->in[0]) : r->order, out, out_layout);
    return size->plan(&k->in[0], out, at->pad, r->nthreads, w);
}

static bool fits(const tutti_winograd_size *size, const tutti_kernel *k, const tutti_kernel_request *r)
{
    tutti_value out;
    tutti_layout layout;
    tutti_winograd w;
    return plan(size, k, r, &out, &layout, &w);
}

bool tutti_winograd_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)pass;
    return fits(&tutti_winograd_three, k, r);
}

bool tutti_winograd5_wide_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)pass;
    return fits(&tutti_winograd_five_wide, k, r);
}

bool tutti_winograd5_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)pass;
    return fits(&tutti_winograd_five, k, r);
}

/* Predicts the seconds of a pass: the times of its multiplications, of moving the elements of tiles, and of moving the
 * elements of weights, each at its own rate. The rates are those of one thread of an EPYC (Zen 4) with AVX-512. With
 * vectors half as long, this row and oneDNN take longer by about the same factor. Milliseconds by this rule | measured,
 * for forward, weights' gradient, input's gradient:
 *
 *   64 -> 64, 56 x 56, 16     14.1 14.2 14.1 | 13.5 15.7 13.5
 *   128 -> 128, 28 x 28, 16   11.4 11.7 11.4 | 11.6 12.9 11.3
 *   256 -> 256, 14 x 14, 16   14.2 15.6 14.2 | 15.7 18.9 15.6
 *   512 -> 512, 7 x 7, 16     17.5 23.1 17.5 | 16.3 23.5 16.5
 *   512 -> 512, 7 x 7, 1       6.4 12.1  6.4 |  4.6 11.8  5.2
 *   16 -> 16, 32 x 32, 64      2.9  2.9  2.9 |  2.3  2.2  2.3 */
static double seconds(const tutti_winograd_size *size, const tutti_kernel *k, const tutti_kernel_request *r,
                      tutti_kernel_pass pass)
{
    enum { LANES = 16 };
    static const double PRODUCT = 1 / 1.1e11, NUMBER = 0.36e-9, WEIGHT = 0.6e-9;
    tutti_value out;
    tutti_layout layout;
    tutti_winograd w;
    if (!plan(size, k, r, &out, &layout, &w)) return -1;
    const tutti_blocks *tiled = pass == TUTTI_PASS_DATA ? &w.in : &w.out;
    const int64_t side = w.loops->tile, down = (tiled->height + side - 1) / side,
                  right = (tiled->width + side - 1) / side;
    const double tiles = (double)(tiled->batch * down * right), in = (double)w.in.channels, to = (double)w.out.channels;
    const double each = 2 * tiles * in * to * PRODUCT + tiles * (in + to) * NUMBER +
                        in * to * WEIGHT * (pass == TUTTI_PASS_PARAMS ? 2 : 1);
    return TUTTI_WINOGRAD_PRODUCTS * each * LANES / w.row->width / (r->nthreads > 1 ? r->nthreads : 1);
}

double tutti_winograd_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    return seconds(&tutti_winograd_three, k, r, pass);
}

double tutti_winograd5_wide_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    return seconds(&tutti_winograd_five_wide, k, r, pass);
}

static int64_t rounded_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Predicts the seconds of a pass: the times of its multiplications (in whole vectors and half vectors), of moving tiles
 * (in whole vectors), and of reading weights, which each block reads anew, each at its own rate. Milliseconds of
 * forward, gradient of weights and gradient of the input, on one thread of an EPYC (Zen 4) with AVX-512: by this rule |
 * measured in training steps | measured for the fastest other row (`lanes` for the first line, mostly oneDNN for the
 * rest):
 *
 *   20 -> 50, 12 x 12 (LeNet), 64      1.33 1.33 1.38 | 1.09 1.22 1.28 | 1.82 1.91 1.94
 *   20 -> 36, 12 x 12, pad 2, 64       2.20 2.20 2.30 | 2.31 2.55 2.56 | 3.68 3.24 3.88
 *   24 -> 66, 14 x 14, 64              3.18 3.18 3.04 | 3.35 3.00 3.28 | 5.96 6.16 6.50
 *   66 -> 64, 10 x 10, pad 2, 64       7.26 7.26 7.40 | 7.14 6.20 8.07 | 9.54 10.4 12.3
 *   36 -> 24, 12 x 12, pad 3, 64       - | 3.46 4.02 3.82 | 4.83 4.35 5.19
 *   50 -> 20, 8 x 8, pad 4, 64         - | 3.52 3.96 3.06 | 3.17 3.17 2.59
 *
 * With AVX2 (Zen 3) this row and the library take longer by half or more; the first line is 1.67 1.71 1.59 measured |
 * 2.93 3.85 4.25 for the fastest other row (bench/kernels/NOTES.md). Two cases have no rule: padding of more than 2,
 * where the library skips zeros, and samples whose tiles are too large for the second-level cache. */
double tutti_winograd5_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    enum { MOST_BYTES = 512 << 10, MOST_PAD = 2 };
    static const double PRODUCT = 1 / 1.1e11, NUMBER = 0.1e-9, WEIGHT = 0.2e-9;
    tutti_value out;
    tutti_layout layout;
    tutti_winograd w;
    if (!plan(&tutti_winograd_five, k, r, &out, &layout, &w) || w.pad > MOST_PAD) return -1;
    const int64_t width = w.row->width, in = w.in.channels, to = w.out.channels;
    if (tutti_winograd5_block_bytes(&w) > MOST_BYTES) return -1;
    const bool back = pass == TUTTI_PASS_DATA; /* true for the input's gradient, in which lanes hold inputs */
    const int64_t products = back ? rounded_up(in, width / 2) * to : in * rounded_up(to, width / 2),
                  moved = rounded_up(in, width) + rounded_up(to, width), tiles = w.out.batch * w.down * w.right,
                  blocks = (w.out.batch + w.samples - 1) / w.samples;
    const double each = 2 * (double)(tiles * products) * PRODUCT + (double)(tiles * moved) * NUMBER +
                        (double)(blocks * in * to) * WEIGHT;
    return TUTTI_WINOGRAD_PRODUCTS * each / (r->nthreads > 1 ? r->nthreads : 1);
}

static tutti_status create(const tutti_winograd_size *size, tutti_kernel *k, const tutti_kernel_request *r,
                           tutti_failure *err)
{
    const tutti_conv_attrs *at = k->attrs;
    winograd *s = tutti_alloc(sizeof *s);
    tutti_value out;
    k->state = s;
    s->size = size;
    if (!plan(size, k, r, &out, &s->out_layout, &s->w)) return tutti_fail(err, TUTTI_ERR_USAGE, "%s", size->refusal);
    k->out = out;
    order_params(k, r);
    s->relu = at->relu;
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0);
    k->writes_dout = k->feeds_data = at->relu;
    return TUTTI_OK;
}

static tutti_status create_three(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create(&tutti_winograd_three, k, r, err);
}

static tutti_status create_five_wide(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create(&tutti_winograd_five_wide, k, r, err);
}

static tutti_status create_five(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create(&tutti_winograd_five, k, r, err);
}

/* Returns the weights in the products' order. */
static const float *weights_of(const tutti_kernel *k, const tutti_kernel_args *a)
{
    const winograd *s = k->state;
    if (s->direct) return a->param[0];
    const tutti_param_desc wanted = as_wanted(k);
    float *weights = (float *)((char *)a->scratch + s->weights_at),
          *plain = (float *)((char *)a->scratch + s->plain_at);
    if (k->params[0].layout) tutti_param_to_plain(&k->params[0], a->param[0], plain);
    tutti_param_from_plain(&wanted, k->params[0].layout ? plain : a->param[0], weights);
    return weights;
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const winograd *s = k->state;
    const tutti_winograd_sum sum = {k->nparams > 1 ? a->param[1] : NULL, s->relu, a->out};
    s->size->forward(&s->w, a->in[0], weights_of(k, a), &sum, a->scratch);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    const winograd *s = k->state;
    if (s->relu) tutti_lane_mask_dout(k, a, s->w.nthreads);
    if (!tutti_kernel_params_wanted(k, a)) return;
    float *gradient = (float *)((char *)a->scratch + s->weights_at),
          *plain = (float *)((char *)a->scratch + s->plain_at);
    s->size->weight_gradient(&s->w, a->in[0], a->dout, s->direct ? a->dparam[0] : gradient,
                             k->nparams > 1 ? a->dparam[1] : NULL, a->scratch);
    if (s->direct || !a->dparam[0]) return;
    const tutti_param_desc from = as_wanted(k);
    tutti_param_to_plain(&from, gradient, plain);
    tutti_param_from_plain(&k->params[0], plain, a->dparam[0]);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    const winograd *s = k->state;
    s->size->input_gradient(&s->w, a->dout, weights_of(k, a), a->din[0], a->scratch);
}

#define WINOGRAD_ROW(create_it)                                                                                        \
    {                                                                                                                  \
        .fuses = true, .create = create_it, .destroy = tutti_lane_free_state, .forward = forward,                      \
        .backward_params = backward_params, .backward_data = backward_data,                                            \
    }

const tutti_kernel_row tutti_winograd_conv = WINOGRAD_ROW(create_three);
const tutti_kernel_row tutti_winograd5_wide_conv = WINOGRAD_ROW(create_five_wide);
const tutti_kernel_row tutti_winograd5_conv = WINOGRAD_ROW(create_five);
