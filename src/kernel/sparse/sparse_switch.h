/* SPDX-License-Identifier: Apache-2.0 */
/* sparse_switch.h: a convolution that either skips zeros or does not, pass by pass, and may be told to change between
 * steps.
 *
 * Both kernels are there from the beginning, so memory is that of the larger and nothing is made or moved when one
 * takes over from the other. Which passes skip is the caller's to say: the same on all ranks, from counted zeros; the
 * rule knows from which sparsity on it is worth it. Threads: owner; not while a pass runs. */
#ifndef TUTTI_SPARSE_SWITCH_H
#define TUTTI_SPARSE_SWITCH_H

#include "../kernel.h"

/* Makes k, which computes what is asked, one of two: the other skips zeros. A kernel is left as it is where that is not
 * possible: its op is no convolution, no ReLU made its input and no max pool alone reads its output, it is not in f32,
 * or keeps something between its passes. */
void tutti_sparse_switch_around(const tutti_kernel_request *r, tutti_kernel *k);
bool tutti_sparse_is_switch(const tutti_kernel *k);

/* Bits: 1 << TUTTI_PASS_, and whether the weights' gradient skips zeros of the output's gradient and not those of the
 * input. All passes are dense at first; other kernels ignore it and say 0. */
enum { TUTTI_SPARSE_BY_GRADIENT = 1 << TUTTI_NPASSES };
void tutti_sparse_set_passes(tutti_kernel *k, unsigned passes);
unsigned tutti_sparse_passes(const tutti_kernel *k);

/* Of a switch: how many times as fast as the library's direct convolution its dense kernel is, by the candidates'
 * rules. */
double tutti_sparse_dense_speed(const tutti_kernel *k, tutti_kernel_pass pass);

/* Of a switch: its input gradient skips zeros of the output's gradient: a ReLU is merged into it, or only max pools
 * read it. */
bool tutti_sparse_masks_gradient(const tutti_kernel *k);

/* What part of the input is zero, and of the output's gradient, at least: the passes that are faster skipped. A pass
 * must gain a twentieth, so that what is about equal stays as it was made. */
unsigned tutti_sparse_rule(const tutti_kernel *k, double input, double gradient);

#endif
