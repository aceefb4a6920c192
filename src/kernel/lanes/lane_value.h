/* SPDX-License-Identifier: Apache-2.0 */
/* lane_value.h: fills, sums, converts and copies whole values at the speed of memory, in every order and type, on
 * several threads. Bits do not depend on the number of threads. */
#ifndef TUTTI_LANE_VALUE_H
#define TUTTI_LANE_VALUE_H

#include "../choose/memory_order.h"
#include "lane_impl.h"

/* Describes k's output: in the order of its first input and in the type that the request asks for, which all inputs
 * must have. Fails if they do not. */
tutti_status tutti_lane_like_input(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err);

/* The function `fits` of the lane candidates (candidate.h): makes the checks that are possible before a kernel is
 * made. */
bool tutti_lane_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);

/* The function `destroy` of rows whose state is one piece of memory. */
void tutti_lane_free_state(tutti_kernel *k);

/* Runs a map over the n elements of call->to, padding included. Only call->type, x, y and `to` need to be set. */
void tutti_lane_map(tutti_map_loop *loop, const tutti_map_call *call, int64_t n, int nthreads);
void tutti_lane_sum(tutti_dtype type, const void *const *parts, int nparts, void *to, int64_t n, int nthreads);
/* Converts n elements from one type to another. */
void tutti_lane_convert(tutti_dtype from_type, const void *from, tutti_dtype to_type, void *to, int64_t n,
                        int nthreads);
/* Sets dout to zero where k's output is zero: the first step of the backward pass of a merged ReLU. */
void tutti_lane_mask_dout(const tutti_kernel *k, const tutti_kernel_args *a, int nthreads);
/* Adds each of nrows rows of n elements to sum, in their order. Uses one thread. */
void tutti_lane_sum_rows(tutti_dtype type, const void *rows, int64_t nrows, int64_t n, float *sum);
/* Writes zeros to the padding channels of the last block, if there are any. */
void tutti_lane_clear_padding(const tutti_value *v, void *memory);

/* A value, or its channels from a given one on. */
typedef struct {
    tutti_blocks at;
    tutti_dtype type;
    void *memory;
    int64_t channel;
} tutti_lane_place;
/* Returns the place of a value's channels from `channel` on. v must have an order of memory_order.h. */
tutti_lane_place tutti_lane_place_of(const tutti_value *v, const void *memory, int64_t channel);
/* Returns a view of elements (channel, position) of some channels at some positions of one sample. Several channels
 * must lie in one block. */
tutti_lane_view tutti_lane_view_of(const tutti_lane_place *p, int64_t sample, int64_t channel, int64_t position);
/* Moves nchannels channels of all samples and positions. If the last channel of `to` is among them, it also writes
 * zeros to the padding of `to`. */
void tutti_lane_move(const tutti_lane_place *from, const tutti_lane_place *to, int64_t nchannels, int nthreads);
/* Adds to = from[0] + from[1] + ...: sums in f32, in this order, rounded once. `to` may be from[0]'s memory, in the
 * same order. */
void tutti_lane_add(const tutti_lane_place *from, int n, const tutti_lane_place *to, int nthreads);

#endif
