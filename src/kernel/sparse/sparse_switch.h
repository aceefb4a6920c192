/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_switch.h: a convolution that either skips zeros or does not, pass by pass, and may be told to change between
 * steps.
 *
 * Both kernels are made at the beginning, so saved memory and scratch are those of the larger kernel, and nothing is
 * made or moved at a change. The caller decides which passes skip zeros: the same passes on all ranks, from counted
 * zeros. tutti_sparse_rule says from which sparsity on skipping is faster. Threads: one at a time, and not while a pass
 * runs. */
#ifndef TUTTI_SPARSE_SWITCH_H
#define TUTTI_SPARSE_SWITCH_H

#include "../kernel.h"

/* Puts k into a switch beside a second kernel that skips zeros. This is done in training for f32 convolutions that keep
 * nothing between their passes, if a ReLU made the input or if only max pools read the output. Any other k is left as
 * it is. */
void tutti_sparse_switch_around(const tutti_kernel_request *r, tutti_kernel *k);
bool tutti_sparse_is_switch(const tutti_kernel *k);

/* tutti_sparse_set_passes sets which passes skip zeros, as bits 1 << TUTTI_PASS_...; the next function returns these
 * bits. With TUTTI_SPARSE_BY_GRADIENT the weights' gradient skips zeros of the output's gradient instead of the
 * input's. At first all passes are dense. For kernels that are no switch, setting does nothing and the result is 0. */
enum { TUTTI_SPARSE_BY_GRADIENT = 1 << TUTTI_NPASSES };
void tutti_sparse_set_passes(tutti_kernel *k, unsigned passes);
unsigned tutti_sparse_passes(const tutti_kernel *k);

/* Returns the speed of a switch's dense kernel, divided by the speed of the library's direct convolution, by the
 * candidates' rules. */
double tutti_sparse_dense_speed(const tutti_kernel *k, tutti_kernel_pass pass);

/* True if a switch's input gradient skips zeros of the output's gradient: if a ReLU is merged into the convolution, or
 * if only max pools read its output. */
bool tutti_sparse_masks_gradient(const tutti_kernel *k);

/* Returns the passes that are faster if they skip zeros. input, gradient: the sparsity of the input and of the output's
 * gradient, that is, the least parts of zeros that were counted. A pass must gain a twentieth of its time, so that
 * passes of about equal speed do not change. */
unsigned tutti_sparse_rule(const tutti_kernel *k, double input, double gradient);

#endif
