/* SPDX-License-Identifier: Apache-2.0 */
/* stop_request.c: decides whether a signal is the first request to end, its repetition, or an order to end at once
 * (stop_request.h). */
#include "stop_request.h"

const int tutti_stop_signals[TUTTI_NSTOP_SIGNALS] = {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP};

tutti_stop_meaning tutti_stop_request_take(tutti_stop_request *r, int signal_number, double now)
{
    const bool is_first = !r->first, is_first_term = signal_number == SIGTERM && !r->had_term;
    const bool was_warned = !is_first && r->first != SIGINT;
    r->had_term |= signal_number == SIGTERM;
    if (is_first) r->first = signal_number;
    if (is_first || (is_first_term && was_warned)) {
        r->at = now;
        return is_first ? TUTTI_STOP_ASKED : TUTTI_STOP_SAME;
    }
    if (signal_number == SIGINT) return TUTTI_STOP_NOW;
    return now - r->at <= TUTTI_ONE_REQUEST_S ? TUTTI_STOP_SAME : TUTTI_STOP_NOW;
}
