/* SPDX-License-Identifier: Apache-2.0 */
/* lane_row.h: the row of loops that a file an instruction set makes, which has included its tensor/vector_*.h before. */
#ifndef TUTTI_LANE_ROW_H
#define TUTTI_LANE_ROW_H

#include "lane_conv_f32.h"
#include "lane_conv_loops.h"
#include "lane_copy_loops.h"
#include "lane_drop_loops.h"
#include "lane_lrn_loops.h"
#include "lane_map_loops.h"
#include "lane_norm_loops.h"
#include "lane_pool_loops.h"
#include "lane_winograd_loops.h"

#define LANE_ROW(isa)                                                                                                  \
    {                                                                                                                  \
        isa, WIDTH, {norm_sums, norm_normalise, norm_gradient_sums, norm_gradient},                                    \
            {map_relu, map_sigmoid, map_tanh, map_relu_gradient, map_sigmoid_gradient, map_tanh_gradient}, map_sum,    \
            copy_rectangle, pool, pool_gradient, plane_sums,                                                           \
            {conv_forward, conv_weight_gradient, conv_input_gradient, NULL},                                           \
            {winograd_input,           winograd_gradient, winograd_output, winograd_weights,                           \
             winograd_weight_gradient, winograd_square,   winograd_product},                                           \
            lrn, lrn_gradient, draw, drop,                                                                             \
    }

#endif
