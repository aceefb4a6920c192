/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.h: judges by times whether a run seems to live and to move. The judgement colours the page, and asks a run
 * that stands still to report; it ends nothing: what ends a rank is exchange.deadline_s alone. Threads: any. */
#ifndef TUTTI_SERVE_MONITOR_H
#define TUTTI_SERVE_MONITOR_H

#include <stdbool.h>

typedef enum {
    TUTTI_LIVENESS_NONE, /* there is no attempt at this moment */
    TUTTI_LIVENESS_LIVE,
    TUTTI_LIVENESS_SUSPECT, /* no sign of life for 5 s */
    TUTTI_LIVENESS_DEAD,    /* for 15 s */
    TUTTI_LIVENESS_STALLED, /* it lives, and has taken no step for max(60 s, 10 times the usual gap) */
} tutti_liveness;

/* Times are seconds since 1970; 0 or NAN = never. */
typedef struct {
    bool is_alive; /* the attempt has begun, and its end is not known */
    double now;
    double begun;    /* when the attempt began */
    double seen;     /* when the engine last saw it live */
    double line_at;  /* when the run wrote its last line */
    double step_at;  /* when the run last told of a step, a test or a restart */
    double step_gap; /* median of seconds between two such lines */
} tutti_monitor_times;

tutti_liveness tutti_monitor_judge(const tutti_monitor_times *t);
const char *tutti_liveness_word(tutti_liveness l); /* "live", "suspect", ... */

#endif
