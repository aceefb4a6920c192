/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_rule.c: decides from which sparsity (part of zeros) on skipping zeros is faster. The time of skipping, divided
 * by the dense time, is fixed + products * (1 - sparsity). Skipping is faster where this is below 1.
 *
 * The costs are medians over layers of LeNet, AlexNet, VGG-A, ResNet-20 and ResNet-50, measured by ./dev bench sparse
 * --rounds 3 against the row that training uses (oneDNN 3.2) on one thread of an EPYC (Zen 4). `fixed` and `products`
 * follow from the times at sparsity 0.5 and 0.99. The fixed part is the time to make lists, to pack weights, and to
 * read and write sums. That part is small for kernels of 3 x 3 and more, and large for 1 x 1. */
#include "../kernel_impl.h"
#include "sparse_switch.h"

typedef struct {
    double products, fixed;
} cost;

/* WIDE: a layer with at least this number of input and of output channels is wide. FEW: fewer input channels than this
 * count as few */
enum { WIDE = 64, FEW = 16 };
static const double GAIN = 0.95;

static const cost wide[TUTTI_NPASSES] = {{1.29, 0.12}, {1.15, 0.17}, {1.37, 0.13}},
                  narrow[TUTTI_NPASSES] = {{1.65, 0.28}, {1.33, 0.24}, {2.31, 0.22}},
                  strided[TUTTI_NPASSES] = {{1.00, 0.27}, {1.29, 0.50}, {2.10, 0.41}},
                  narrow_strided[TUTTI_NPASSES] = {{1.61, 0.40}, {1.31, 1.33}, {4.47, 0.68}},
                  points[TUTTI_NPASSES] = {{1.17, 0.40}, {1.81, 0.59}, {2.12, 0.38}},
                  narrow_points[TUTTI_NPASSES] = {{1.05, 1.76}, {0.28, 2.08}, {4.30, 1.81}};

/* Costs of passes that skip zeros of the output's gradient, for convolutions whose output a max pool reads, measured in
 * the same way: medians of LeNet, AlexNet, VGG-A and GoogLeNet. Convolutions with few input channels gain only with a
 * stride, and 1 x 1 before a pool was not measured. */
static const cost narrow_5_data = {1.9, 0.26}, by_gradient = {1.33, 0.13}, few_by_gradient = {1.5, 0.5},
                  never = {0, 1e3};

static const cost *costs_of(const tutti_kernel *k)
{
    const tutti_conv_attrs *at = k->attrs;
    const int64_t in = k->in[0].shape.dim[1] / at->groups, out = at->out_channels / at->groups;
    const bool is_wide = in >= WIDE && out >= WIDE;
    if (at->kernel == 1) return is_wide ? points : narrow_points;
    if (at->stride > 1) return is_wide ? strided : narrow_strided;
    return is_wide ? wide : narrow;
}

static int64_t inputs_of(const tutti_kernel *k)
{
    return k->in[0].shape.dim[1] / ((const tutti_conv_attrs *)k->attrs)->groups;
}

/* Returns the costs of the weights' gradient if zeros of the output's gradient are skipped. */
static const cost *costs_by_gradient(const tutti_kernel *k)
{
    const tutti_conv_attrs *at = k->attrs;
    if (at->kernel == 1 || (inputs_of(k) < FEW && at->stride == 1)) return &never;
    return inputs_of(k) < FEW ? &few_by_gradient : &by_gradient;
}

static const cost *costs_for(const tutti_kernel *k, int pass)
{
    const tutti_conv_attrs *at = k->attrs;
    const cost *costs = costs_of(k);
    const bool five = costs == narrow && at->kernel >= 5 && inputs_of(k) >= FEW;
    return pass == TUTTI_PASS_DATA && five && tutti_sparse_masks_gradient(k) ? &narrow_5_data : &costs[pass];
}

unsigned tutti_sparse_rule(const tutti_kernel *k, double input, double gradient)
{
    unsigned passes = 0;
    if (!tutti_sparse_is_switch(k)) return 0;
    for (int pass = 0; pass < TUTTI_NPASSES; pass++) {
        const cost *c = costs_for(k, pass), *by = costs_by_gradient(k);
        const double sparsity = pass == TUTTI_PASS_DATA && tutti_sparse_masks_gradient(k) ? gradient : input;
        double part = c->fixed + c->products * (1 - sparsity);
        const double other = by->fixed + by->products * (1 - gradient);
        const bool better = pass == TUTTI_PASS_PARAMS && other < part;
        if (better) part = other;
        if (part * tutti_sparse_dense_speed(k, (tutti_kernel_pass)pass) >= GAIN) continue;
        passes |= 1u << pass | (better ? TUTTI_SPARSE_BY_GRADIENT : 0);
    }
    return passes;
}
