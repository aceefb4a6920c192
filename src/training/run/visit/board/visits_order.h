/* SPDX-License-Identifier: Apache-2.0 */
/* visits_order.h: the record of a run whose ranks take steps of their own: which rank took which share, and which rank
 * visited when. With its file such a run can be played again with the same bits. Threads: one at a time. */
#ifndef TUTTI_VISITS_ORDER_H
#define TUTTI_VISITS_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "../../../plan/plan.h"
#include "tutti/failure.h"

typedef struct {
    int nranks;
    uint64_t plan_hash;
    int64_t first_share;
    int64_t nshares, nvisits, nstops;
    /* shares: the rank that took each share, from the first on; visits: the rank of each visit, in the order in which
     * they began */
    int32_t *shares, *visits;
    int64_t *stops; /* steps at which all ranks met, ascending */
    int64_t lost;   /* a rank that died on the way, -1 = none; a record with a death cannot be followed */
} tutti_visits_order;

/* Writes the record as JSON, completely or not at all. */
tutti_status tutti_visits_order_write(const char *path, const tutti_visits_order *o, tutti_failure *err);
/* Reads a record. TUTTI_ERR_DATA says which line is wrong and why; the caller releases *out in any case. */
tutti_status tutti_visits_order_read(const char *path, tutti_visits_order *out, tutti_failure *err);
tutti_status tutti_visits_order_parse(const char *name, const char *text, size_t nbytes, tutti_visits_order *out,
                                      tutti_failure *err);
/* Checks a record. TUTTI_ERR_DATA, with the name and the contradiction, if no run by this plan can have had this order:
 * a run that followed it would wait for a visit that never comes. A rank visits after its shares; before each stop it
 * has played all of its shares, and visited as often as they require. */
tutti_status tutti_visits_order_check(const char *name, const tutti_visits_order *o, const tutti_plan *plan,
                                      tutti_failure *err);
void tutti_visits_order_release(tutti_visits_order *o);

#endif
