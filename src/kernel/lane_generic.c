/* SPDX-License-Identifier: Apache-2.0 */
/* lane_generic.c: the row in plain C with the compiler's vectors of four floats. */
#include "lane_row.h"

const tutti_lane_row tutti_lane_generic = LANE_ROW("generic");
