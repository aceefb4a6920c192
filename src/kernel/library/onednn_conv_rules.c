/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_conv_rules.c: rules of candidates: which convolutions our own steps fit, and how many seconds they take.
 *
 * The rows fit every shape that their loops can compute. Only some shapes are calibrated: those like the shapes in the
 * tables of onednn_conv_lanes.c. There our steps take the library's time multiplied by the ratios below, which are
 * means over those tables. All other shapes have no rule, so the library keeps them unless a job or a tune file says
 * otherwise. */
#include "../lanes/lane_impl.h"
#include "../lanes/tile_conv.h"
#include "onednn_impl.h"

enum {
    /* With vectors of at least this number of lanes, our loops are used up to MOST_INPUTS input channels. Narrower
     * vectors leave fewer lanes empty in the library, and there are half as many registers. */
    LEAST_WIDTH = 16,
    FEW_INPUTS = 16,  /* with narrower vectors, our loops are used up to this number of input channels */
    MOST_VECTORS = 3, /* largest number of vectors with which all sums of a position stay in registers */
    MOST_INPUTS = 128,
    MOST_STRIDE = 2,
    MANY_CHANNELS = 512,
    SMALL_PLANE = 64,
    BLOCK = 16 /* number of channels that fill one of the library's vectors, or the rows of a tile */
};

/* Seconds of our steps divided by the library's seconds. LANES: of the loops of lanes/, for each pass; TILES: of our
 * tiles. */
static const double LANES[TUTTI_NPASSES] = {0.8, 0.85, 0.75}, TILES = 0.7;

static int64_t inputs_of(const tutti_kernel *k)
{
    return k->in[0].shape.dim[1];
}

static int64_t outputs_of(const tutti_kernel *k)
{
    return k->out.shape.dim[1];
}

/* True if channels lie innermost. With one channel or one position, row-major is the same order. */
static bool is_innermost(tutti_order order, const tutti_shape *s)
{
    const bool same = s->dim[1] == 1 || s->dim[2] * s->dim[3] == 1;
    return order == TUTTI_ORDER_NHWC || (order == TUTTI_ORDER_NCHW && same);
}

/* True if the request has the properties that all these rows need: one group, channels innermost. */
static bool is_plain(const tutti_kernel *k, const tutti_kernel_request *r, int64_t most_stride)
{
    const tutti_conv_attrs *at = k->attrs;
    const bool small = at->stride <= most_stride && at->groups == 1;
    return small && tutti_onednn_fits(k, r, TUTTI_PASS_FORWARD) &&
           is_innermost(tutti_order_of(&k->in[0]), &k->in[0].shape) &&
           is_innermost(tutti_onednn_wanted_order(k, r), &k->out.shape);
}

static bool reads_input(const tutti_kernel *k, const tutti_kernel_request *r)
{
    return k->in[0].dtype == TUTTI_F32 || k->in[0].dtype == tutti_precision_dtype(r->precision);
}

/* True if at most half a vector is left over. */
static bool fills_lanes(int64_t n)
{
    const int64_t width = tutti_lane_here()->width;
    return n >= width && n % width <= width / 2;
}

bool tutti_conv_lanes_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const tutti_conv_attrs *at = k->attrs;
    const tutti_dtype type = tutti_precision_dtype(r->precision);
    const int64_t out = outputs_of(k), taps = at->kernel * inputs_of(k);
    if (type == TUTTI_BF16 && !(tutti_onednn_multiplies_pairs() && tutti_lane_conv_bf16())) return false;
    if (!is_plain(k, r, 1) || !reads_input(k, r)) return false;
    if (!fills_lanes(out) || out / tutti_lane_here()->width > MOST_VECTORS) return false;
    if (k->out.shape.dim[3] < TUTTI_CONV_WIDTH || taps < TUTTI_CONV_TAPS) return false;
    if (pass != TUTTI_PASS_DATA) return true;
    return fills_lanes(taps) && k->out.shape.dim[2] >= TUTTI_CONV_HEIGHT && k->in[0].dtype == type;
}

double tutti_conv_lanes_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t width = tutti_lane_here()->width, in = inputs_of(k), out = outputs_of(k);
    if (at->kernel == 1 || in > (width < LEAST_WIDTH ? FEW_INPUTS : MOST_INPUTS) || out % width == 0) return -1;
    if (pass == TUTTI_PASS_DATA && (in % width == 0 || out < 2 * in || at->kernel * in < 2 * width)) return -1;
    return LANES[pass] * tutti_onednn_seconds(k, r, pass);
}

bool tutti_conv_tiles_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const tutti_conv_attrs *at = k->attrs;
    (void)pass;
    return tutti_onednn_multiplies_tiles() && tutti_tile_conv_here() && is_plain(k, r, MOST_STRIDE) &&
           reads_input(k, r) && at->kernel > 1 && tutti_tile_conv_fits(inputs_of(k), outputs_of(k), at->stride);
}

/* If input and output channels both fill the library's tiles, the library computes the convolution, unless there are
 * many channels and small planes. Milliseconds of oneDNN 3.2 and of our tiles in a step of ResNet-50, 3 x 3, 16
 * samples, one thread of a Xeon with AMX; taken: our tiles are chosen:
 *
 *   channels, stride, plane of the output         library  tiles    taken
 *   512 to 512, 1, 7 x 7                          13.8     7.9      yes
 *   512 to 512, 2, 7 x 7                          19.4     8.7      yes
 *   256 to 256, 2, 14 x 14                        8.6      6.8      yes
 *   256 to 256, 1, 14 x 14                        5.5      5.5      no
 *   128 to 128, 1, 28 x 28                        4.0      5.7      no */
double tutti_conv_tiles_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t in = inputs_of(k), out = outputs_of(k), plane = k->out.shape.dim[2] * k->out.shape.dim[3];
    const bool fills = in >= 2 * BLOCK && in % BLOCK == 0 && out % (2 * BLOCK) == 0;
    const int64_t least = in < out ? in : out;
    const bool many = at->stride > 1 ? least >= MANY_CHANNELS / 2 && plane <= 4 * SMALL_PLANE
                                     : least >= MANY_CHANNELS && plane <= SMALL_PLANE;
    if (tutti_lane_here()->width < LEAST_WIDTH) return -1;
    if (fills ? !many : at->stride > 1 || in > MOST_INPUTS || out > TUTTI_TILE_CONV_GROUP) return -1;
    return TILES * tutti_onednn_seconds(k, r, pass);
}
