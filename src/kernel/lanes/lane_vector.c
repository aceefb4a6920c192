/* SPDX-License-Identifier: Apache-2.0 */
/* lane_vector.c: the table of loops of one instruction set behind lane_*.c (lane_impl.h). */
#include "../winograd/lane_winograd5_loops.h"
#include "../winograd/lane_winograd_loops.h"
#include "lane_conv_f32.h"
#include "lane_conv_loops.h"
#include "lane_copy_loops.h"
#include "lane_drop_loops.h"
#include "lane_lrn_loops.h"
#include "lane_map_loops.h"
#include "lane_norm_loops.h"
#include "lane_pool_loops.h"

const tutti_lane_row TUTTI_ISA_ROW(tutti_lane) = {
    .width = WIDTH,
    .norm = {norm_sums, norm_normalise, norm_gradient_sums, norm_gradient},
    .map = {map_relu, map_sigmoid, map_tanh, map_relu_gradient, map_sigmoid_gradient, map_tanh_gradient},
    .sum = map_sum,
    .copy = copy_rectangle,
    .pool = pool,
    .pool_gradient = pool_gradient,
    .plane_sums = plane_sums,
    .conv = {conv_forward, conv_weight_gradient, conv_input_gradient, NULL},
    .winograd = {TAPS, TILE_OUT, winograd_input, winograd_gradient, winograd_output, winograd_weights,
                 winograd_weight_gradient, winograd_square, winograd_product},
    .winograd5_wide = {TAPS5, TILE5_OUT, winograd_input, wide5_gradient, wide5_output, wide5_weights,
                       wide5_weight_gradient, winograd_square, winograd_product},
    .winograd5 = {winograd5_input, winograd5_gradient, winograd5_output, winograd5_spread, winograd5_place,
                  winograd5_weights, winograd5_weight_gradient},
    .lrn = lrn,
    .lrn_gradient = lrn_gradient,
    .draw = draw,
    .drop = drop,
};
