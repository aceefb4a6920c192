/* SPDX-License-Identifier: Apache-2.0 */
/* lane_avx512.c: the row for AVX-512 (F, BW, VL, DQ): sixteen floats a vector. Nothing of it runs where
 * tutti_isa_here does not say avx512. */
#include "lane_row.h"

const tutti_lane_row tutti_lane_avx512 = LANE_ROW("avx512");
