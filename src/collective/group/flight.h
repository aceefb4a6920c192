/* SPDX-License-Identifier: Apache-2.0 */
/* flight.h: the flight recorder: what this rank did last, for the report of a hang (dump.c).
 *
 * A ring of one cache line a record. Exchanges note their start, whether they are done, and the wait in which they
 * first fall asleep; control calls their beginning and end: not every step, because a step of 1 KB takes as long as a
 * record. Its time is the time stamp counter, turned into seconds when it is read, by two looks at both clocks.
 *
 * Threads: a record has one writer, and who begins one takes a place of its own: any. A report that is made meanwhile
 * may show half of the latest record; tutti_flight_done is whoever's drives the exchanges. */
#ifndef TUTTI_FLIGHT_H
#define TUTTI_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../base/text/strbuf.h"

enum { TUTTI_FLIGHT_RECORDS = 64, TUTTI_FLIGHT_SHOWN = 50, TUTTI_FLIGHT_NAME = 28 };

typedef enum {
    TUTTI_FLIGHT_START,  /* an invocation of an exchange; bytes: what this rank writes in it */
    TUTTI_FLIGHT_WAIT,   /* asleep in `step` for `peer`; bytes: still to write here */
    TUTTI_FLIGHT_WAKE,   /* that wait is over, and the exchange done */
    TUTTI_FLIGHT_CALL,   /* a control call; invocation: its ordinal */
    TUTTI_FLIGHT_ANSWER, /* its end */
} tutti_flight_kind;

typedef struct {
    uint64_t tick;
    int64_t invocation, bytes;
    int32_t step, peer;    /* -1: none */
    uint16_t kind;         /* tutti_flight_kind */
    _Atomic uint16_t done; /* of a start: the invocation has ended */
    char name[TUTTI_FLIGHT_NAME];
} tutti_flight_record;
_Static_assert(sizeof(tutti_flight_record) == 64, "a record is one cache line");

typedef struct tutti_flight {
    tutti_flight_record records[TUTTI_FLIGHT_RECORDS];
    _Atomic uint64_t noted; /* so far; the next goes to noted mod records */
    uint64_t first_tick;
    int64_t first_ns;
} tutti_flight;

#if defined(__x86_64__)
static inline uint64_t tutti_flight_tick(void)
{
    return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t tutti_flight_tick(void)
{
    return (uint64_t)tutti_clock_ns();
}
#endif

static inline uint64_t tutti_flight_noted(const tutti_flight *f)
{
    return atomic_load_explicit(&f->noted, memory_order_relaxed);
}

static inline void tutti_flight_set_done(tutti_flight_record *r, bool done)
{
    atomic_store_explicit(&r->done, done, memory_order_relaxed);
}

/* Which invocation of it; the step and the peer, -1: none; bytes. */
typedef struct {
    int64_t invocation;
    int32_t step, peer;
    int64_t bytes;
} tutti_flight_what;
/* name: an array of at least TUTTI_FLIGHT_NAME bytes, of which so many are kept. */
static inline tutti_flight_record *tutti_flight_note(tutti_flight *f, tutti_flight_kind kind, const char *name,
                                                     tutti_flight_what what)
{
    const uint64_t noted = atomic_fetch_add_explicit(&f->noted, 1, memory_order_relaxed);
    tutti_flight_record *r = &f->records[noted % TUTTI_FLIGHT_RECORDS];
    r->tick = tutti_flight_tick();
    r->invocation = what.invocation, r->bytes = what.bytes;
    r->step = what.step, r->peer = what.peer;
    r->kind = (uint16_t)kind;
    tutti_flight_set_done(r, false);
    memcpy(r->name, name, TUTTI_FLIGHT_NAME);
    return r;
}

/* The start that was record number `noted` is done, if it is still kept. */
static inline void tutti_flight_done(tutti_flight *f, uint64_t noted)
{
    if (tutti_flight_noted(f) - noted < TUTTI_FLIGHT_RECORDS)
        tutti_flight_set_done(&f->records[noted % TUTTI_FLIGHT_RECORDS], true);
}

/* On the heap, aligned; free(). */
tutti_flight *tutti_flight_create(void);
/* One line a record, the latest first, at most TUTTI_FLIGHT_SHOWN. */
void tutti_flight_print(const tutti_flight *f, tutti_strbuf *out);

#endif
