/* SPDX-License-Identifier: Apache-2.0 */
/* lane_avx2.c: the row for AVX2 with FMA and F16C: eight floats a vector. Nothing of it runs where
 * tutti_isa_here does not say avx2. */
#include "lane_row.h"

const tutti_lane_row tutti_lane_avx2 = LANE_ROW("avx2");
