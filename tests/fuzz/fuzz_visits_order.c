/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_visits_order.c: libFuzzer target: any bytes are either refused with words or an order whose ranks are there and
 * whose stops rise. */
#include <stdint.h>
#include <stdlib.h>

#include "training/run/visit/board/visits_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

static void look_at(const tutti_visits_order *o)
{
    if (o->nranks < 1 || o->first_share < 0) abort();
    for (int64_t i = 0; i < o->nshares; i++)
        if (o->shares[i] < 0 || o->shares[i] >= o->nranks) abort();
    for (int64_t i = 0; i < o->nvisits; i++)
        if (o->visits[i] < 0 || o->visits[i] >= o->nranks) abort();
    for (int64_t i = 1; i < o->nstops; i++)
        if (o->stops[i] <= o->stops[i - 1]) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    tutti_failure err = {0};
    tutti_visits_order o;
    if (tutti_visits_order_parse("fuzz", (const char *)data, nbytes, &o, &err) == TUTTI_OK)
        look_at(&o);
    else if (err.status != TUTTI_ERR_DATA || !err.text[0])
        abort();
    tutti_visits_order_release(&o);
    return 0;
}
