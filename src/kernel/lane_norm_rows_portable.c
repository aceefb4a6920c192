/* SPDX-License-Identifier: Apache-2.0 */
/* lane_norm_rows_portable.c: the table of rows on processors without x86-64's vectors. */
#include "lane_norm_impl.h"

const tutti_lane_norm_row *const tutti_lane_norm_rows[] = {&tutti_lane_norm_generic};
const int tutti_lane_norm_nrows = sizeof tutti_lane_norm_rows / sizeof tutti_lane_norm_rows[0];
