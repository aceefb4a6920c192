/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.c: compares the ages of signs of life and of steps with their limits. */
#include "monitor.h"

static const double SUSPECT_S = 5, DEAD_S = 15, STALLED_S = 60, STALLED_GAPS = 10;

tutti_liveness tutti_monitor_judge(const tutti_monitor_times *t)
{
    if (!t->is_alive) return TUTTI_LIVENESS_NONE;
    const double sign = t->line_at > t->seen ? t->line_at : t->seen, age = t->now - sign;
    const double usual = t->step_gap > 0 ? STALLED_GAPS * t->step_gap : 0; /* false for NAN */
    if (age >= DEAD_S) return TUTTI_LIVENESS_DEAD;
    if (age >= SUSPECT_S) return TUTTI_LIVENESS_SUSPECT;
    /* an attempt that has not come to its first step yet is loading data, and may take its time */
    if (t->step_at >= t->begun && t->now - t->step_at >= (usual > STALLED_S ? usual : STALLED_S))
        return TUTTI_LIVENESS_STALLED;
    return TUTTI_LIVENESS_LIVE;
}

const char *tutti_liveness_word(tutti_liveness l)
{
    static const char *const words[] = {"none", "live", "suspect", "dead", "stalled"};
    return words[l];
}
