/* SPDX-License-Identifier: Apache-2.0 */
/* lane_rows_avx2.c: the table of rows where the vector instructions of x86-64 may exist. Its name makes CMake leave it out elsewhere;
 * lane_rows_portable.c stands in. */
#include "lane_impl.h"

const tutti_lane_row *const tutti_lane_rows[] = {
    &tutti_lane_avx512,
    &tutti_lane_avx2,
    &tutti_lane_generic,
};
const int tutti_lane_nrows = sizeof tutti_lane_rows / sizeof tutti_lane_rows[0];

const tutti_conv_loops *tutti_lane_conv_bf16(void)
{
    const bool here = tutti_lane_here() == &tutti_lane_avx512 && __builtin_cpu_supports("avx512bf16");
    return here ? &tutti_lane_conv_avx512_bf16 : NULL;
}
