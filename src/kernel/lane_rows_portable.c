/* SPDX-License-Identifier: Apache-2.0 */
/* lane_rows_portable.c: the table of rows on processors without x86-64's vectors. */
#include "lane_impl.h"

const tutti_lane_row *const tutti_lane_rows[] = {&tutti_lane_generic};
const int tutti_lane_nrows = sizeof tutti_lane_rows / sizeof tutti_lane_rows[0];

const tutti_conv_loops *tutti_lane_conv_bf16(void)
{
    return NULL;
}
