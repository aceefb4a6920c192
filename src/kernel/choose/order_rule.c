/* SPDX-License-Identifier: Apache-2.0 */
/* order_rule.c: chooses the memory order of a model's activations (order_rule.h). The rule rests on these times in ms.
 * Each is the sum over the oneDNN primitives of a training step, on one thread of an EPYC (Zen 4). waste: arithmetic
 * with channels filled up to whole blocks, divided by arithmetic without:
 *
 *   model, batch, precision    waste   blocks of 16   channels last
 *   ResNet-50, 16, f32         1.00    4213           4550
 *   ResNet-50, 16, bf16        1.00    1941           1996
 *   LeNet, 64, f32             2.0     16.2           12.1
 *   LeNet, 64, bf16            2.0     1310           7.9     (a weight gradient of one channel in plain loops) */
#include "order_rule.h"

#include <stdlib.h>
#include <string.h>

#include "memory_order.h"

static const double MOST_WASTE = 1.25;

bool tutti_order_vote_of(const tutti_op_row *op, const void *attrs, const tutti_shape *in, const tutti_shape *out,
                         tutti_order_vote *vote)
{
    if (op != &tutti_op_conv) return false;
    const tutti_conv_attrs *at = attrs;
    *vote = (tutti_order_vote){in->dim[1] / at->groups, at->out_channels / at->groups, op->flops(attrs, in, out)};
    return true;
}

/* Returns the arithmetic with channels padded to whole blocks, divided by the arithmetic without padding. The few input
 * channels of an image are never padded. */
static double waste_of(const tutti_order_vote *v, int64_t block)
{
    const double in = (double)((v->in + block - 1) / block * block) / (double)v->in,
                 out = (double)((v->out + block - 1) / block * block) / (double)v->out;
    return out * (v->in < block / 2 ? 1 : in);
}

static int64_t block_of(tutti_order order)
{
    return order == TUTTI_ORDER_NCHW8C ? 8 : order == TUTTI_ORDER_NCHW16C ? 16 : 1;
}

tutti_order tutti_order_preferred(const char *engine, tutti_precision precision)
{
    return strcmp(engine, "reference") != 0 ? tutti_onednn_prefers(precision) : TUTTI_ORDER_NCHW;
}

tutti_order tutti_order_rule(const char *engine, tutti_precision precision, const tutti_order_vote *votes, int n)
{
    const tutti_order forced = tutti_order_forced(), preferred = tutti_order_preferred(engine, precision);
    double padded = 0, all = 0;
    if (n == 0) return TUTTI_ORDER_NONE;
    if (forced != TUTTI_ORDER_NONE) return forced;
    for (int i = 0; i < n; i++) {
        padded += votes[i].flops * waste_of(&votes[i], block_of(preferred));
        all += votes[i].flops;
    }
    return block_of(preferred) > 1 && padded > MOST_WASTE * all ? TUTTI_ORDER_NHWC : preferred;
}

tutti_order tutti_order_forced(void)
{
    const char *name = getenv("TUTTI_ORDER");
    tutti_order order = TUTTI_ORDER_NONE;
    if (name) tutti_order_find(name, &order);
    return order;
}

tutti_status tutti_order_check_forced(tutti_failure *err)
{
    const char *name = getenv("TUTTI_ORDER");
    if (!name || !*name || tutti_order_forced() != TUTTI_ORDER_NONE) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "TUTTI_ORDER=%s: there are nchw, nchw8c, nchw16c, nchw32c and nhwc", name);
}
