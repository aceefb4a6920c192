/* SPDX-License-Identifier: Apache-2.0 */
/* lane_conv_bf16_avx512.c: convolutions of bf16 by AVX512-BF16. Nothing of it runs where tutti_lane_conv_bf16 does not name it. */
#include "lane_conv_bf16.h"
#include "lane_conv_loops.h"

const tutti_conv_loops tutti_lane_conv_avx512_bf16 = {conv_forward, conv_weight_gradient, conv_input_gradient,
                                                      conv_join};
