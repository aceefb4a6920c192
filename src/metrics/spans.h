/* SPDX-License-Identifier: Apache-2.0 */
/* spans.h: named stretches of time of one rank, recorded into memory that is there beforehand: to record is five stores.
 *
 * Names are labels: a table that is the same on all ranks, so that a span is 24 bytes and travels as it is. Times are those of
 * tutti_clock_ns (CLOCK_MONOTONIC): on one host all ranks read the same clock, so their spans need no shifting.
 * Threads: owner. */
#ifndef TUTTI_SPANS_H
#define TUTTI_SPANS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t begin_ns, end_ns;
    int32_t label;
    int32_t step; /* from 1, as in metrics.jsonl */
} tutti_span;
static_assert(sizeof(tutti_span) == 24, "spans travel between ranks as they are");

typedef struct {
    tutti_span *spans;
    int64_t n, capacity, dropped; /* dropped: there was no room for them */
} tutti_spans;

void tutti_spans_init(tutti_spans *s, int64_t capacity);
void tutti_spans_release(tutti_spans *s);

static inline void tutti_spans_add(tutti_spans *s, int32_t label, int64_t step, int64_t begin_ns, int64_t end_ns)
{
    if (s->n < s->capacity)
        s->spans[s->n++] = (tutti_span){begin_ns, end_ns, label, (int32_t)step};
    else
        s->dropped++;
}

/* Where a span is drawn. Stretches of compute follow or enclose one another; those of the others may overlap. */
typedef enum { TUTTI_TRACK_COMPUTE, TUTTI_TRACK_EXCHANGE, TUTTI_TRACK_LOADER, TUTTI_NTRACKS } tutti_track;

typedef struct {
    const char *name;
    tutti_track track;
    bool numbered; /* the step is a part of the name: "ProfilerStep#7" */
    /* what travels; collective, as schedules name it: NULL = nothing does */
    const char *collective, *algorithm;
    const char *type;                  /* of its elements, as tutti_dtype_name says it */
    int64_t elements_in, elements_out; /* of each rank */
    const int32_t *members;            /* between whom; NULL: all */
    int nmembers;
} tutti_span_label;

#endif
