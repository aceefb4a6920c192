/* SPDX-License-Identifier: Apache-2.0 */
/* flight.h: the flight recorder: the latest actions of this rank, for the report of a hang (dump.c).
 *
 * A ring of records, one cache line each. Exchanges note their start, their end, and the wait in which they first fall
 * asleep; control calls note their beginning and end. Steps are not noted, because a step of 1 KB takes as long as a
 * record. A record's time is a value of the time stamp counter. The reader converts it to seconds: counter and clock
 * were both read when the recorder was made, and are read again for the report.
 *
 * Threads: any. Each record has one writer, and a thread that begins a record takes a place of its own. A report that
 * is made meanwhile may show half of the latest record. Only the thread that drives the exchanges calls
 * tutti_flight_done. */
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
    TUTTI_FLIGHT_START,  /* an invocation of an exchange begins; bytes: what this rank writes in the invocation */
    TUTTI_FLIGHT_WAIT,   /* the rank sleeps in `step` and waits for `peer`; bytes: what the exchange has still to write
                          * on this rank */
    TUTTI_FLIGHT_WAKE,   /* the wait is over, and the exchange has ended */
    TUTTI_FLIGHT_CALL,   /* a control call begins; invocation: its ordinal */
    TUTTI_FLIGHT_ANSWER, /* the control call ends */
} tutti_flight_kind;

typedef struct {
    uint64_t tick;
    int64_t invocation, bytes;
    int32_t step, peer;    /* number of the schedule step, and rank of the peer; -1: none */
    uint16_t kind;         /* what happened: a tutti_flight_kind */
    _Atomic uint16_t done; /* in the record of a start: set to 1 when the invocation has ended */
    char name[TUTTI_FLIGHT_NAME];
} tutti_flight_record;
_Static_assert(sizeof(tutti_flight_record) == 64, "a record is one cache line");

typedef struct tutti_flight {
    tutti_flight_record records[TUTTI_FLIGHT_RECORDS];
    _Atomic uint64_t noted; /* number of records written so far; the next one is written at `noted` modulo the size of
                             * the ring */
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

/* Contents of a record: number of the invocation; the step and the peer, -1 = none; bytes. */
typedef struct {
    int64_t invocation;
    int32_t step, peer;
    int64_t bytes;
} tutti_flight_what;
/* Notes a record. name: an array of at least TUTTI_FLIGHT_NAME bytes; that number of bytes is kept. */
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

/* Marks the start with record number `noted` as done, if it is still in the ring. */
static inline void tutti_flight_done(tutti_flight *f, uint64_t noted)
{
    if (tutti_flight_noted(f) - noted < TUTTI_FLIGHT_RECORDS)
        tutti_flight_set_done(&f->records[noted % TUTTI_FLIGHT_RECORDS], true);
}

/* Makes a recorder on the heap, aligned; give it to free(). */
tutti_flight *tutti_flight_create(void);
/* Prints one line for each record, the latest first, at most TUTTI_FLIGHT_SHOWN. */
void tutti_flight_print(const tutti_flight *f, tutti_strbuf *out);

#endif
