/* SPDX-License-Identifier: Apache-2.0 */
/* order_rule.h: the rule that chooses the memory order of activations. One order is chosen for all convolutions of a
 * model. The layers between them (norms, ReLUs, sums, pools) keep the order of their input, so no value has to be
 * converted:
 *
 *   - bf16 that is multiplied by AMX: channels last, the only order for which oneDNN 3.2 has fast products there.
 *   - else blocks of 16 channels with AVX-512, of 8 without, unless filling blocks up would add more than a quarter to
 *     the arithmetic of all convolutions together: then channels last, where nothing is filled up.
 *
 * The rule looks at shapes, precision and instruction set, never at times. So every run, every rank and a resumed run
 * decide alike. TUTTI_ORDER=nchw|nchw8c|nchw16c|nchw32c|nhwc forces another order, for tests and benchmarks;
 * convolutions that cannot compute in it copy their inputs and outputs. */
#ifndef TUTTI_KERNEL_ORDER_RULE_H
#define TUTTI_KERNEL_ORDER_RULE_H

#include "../kernel.h"

/* A vote: a convolution's facts for the rule. They are input and output channels of a group, and floating-point
 * operations. */
typedef struct {
    int64_t in, out;
    double flops;
} tutti_order_vote;
/* Fills in the vote of an op. Returns false if the op is not a convolution. */
bool tutti_order_vote_of(const tutti_op_row *op, const void *attrs, const tutti_shape *in, const tutti_shape *out,
                         tutti_order_vote *vote);
/* tutti_order_preferred returns the order that the candidates of this name (kernel.h) prefer. tutti_order_rule returns
 * that order if the convolutions' channels fill its blocks, else channels last. Without votes it returns
 * TUTTI_ORDER_NONE. */
tutti_order tutti_order_preferred(const char *engine, tutti_precision precision);
tutti_order tutti_order_rule(const char *engine, tutti_precision precision, const tutti_order_vote *votes, int n);

/* Returns the order that TUTTI_ORDER names, or TUTTI_ORDER_NONE if it is unset or unknown. */
tutti_order tutti_order_forced(void);
tutti_status tutti_order_check_forced(tutti_failure *err);

#endif
