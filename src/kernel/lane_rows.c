/* SPDX-License-Identifier: Apache-2.0 */
/* lane_rows.c: picks the row for this processor, which isa.h names. */
#include <string.h>

#include "../tensor/isa.h"
#include "lane_impl.h"

const tutti_lane_row *tutti_lane_here(void)
{
    for (int i = 0; i < tutti_lane_nrows; i++)
        if (strcmp(tutti_lane_rows[i]->name, tutti_isa_name(tutti_isa_here())) == 0) return tutti_lane_rows[i];
    return tutti_lane_rows[tutti_lane_nrows - 1];
}

const tutti_lane_row *tutti_lane_for(int64_t lanes)
{
    const tutti_lane_row *here = tutti_lane_here();
    bool allowed = false;
    for (int i = 0; i < tutti_lane_nrows; i++) {
        allowed = allowed || tutti_lane_rows[i] == here;
        if (allowed && tutti_lane_rows[i]->width <= lanes) return tutti_lane_rows[i];
    }
    return tutti_lane_rows[tutti_lane_nrows - 1];
}
