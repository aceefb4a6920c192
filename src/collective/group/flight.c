/* SPDX-License-Identifier: Apache-2.0 */
/* flight.c: prints the flight recorder, the last operations of this rank, as text. */
#include "flight.h"

#include <stdlib.h>

tutti_flight *tutti_flight_create(void)
{
    tutti_flight *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
    if (!f) abort();
    memset(f, 0, sizeof *f);
    f->first_tick = tutti_flight_tick();
    f->first_ns = tutti_clock_ns();
    return f;
}

static const char *kind_name(const tutti_flight_record *r)
{
    switch ((tutti_flight_kind)r->kind) {
    case TUTTI_FLIGHT_START: return "start";
    case TUTTI_FLIGHT_WAIT: return "wait";
    case TUTTI_FLIGHT_WAKE: return "wake";
    case TUTTI_FLIGHT_CALL: return "call";
    case TUTTI_FLIGHT_ANSWER: return "answer";
    }
    return "?";
}

static void print_record(const tutti_flight_record *r, double seconds_ago, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "    %12.6f  %-6s  %-27.27s  %8lld", seconds_ago, kind_name(r), r->name,
                        (long long)r->invocation);
    if (r->step >= 0) tutti_strbuf_printf(out, "  step %d for rank %d", r->step, r->peer);
    if (r->kind == TUTTI_FLIGHT_START)
        tutti_strbuf_printf(out, "  %lld bytes to write%s", (long long)r->bytes, r->done ? ", done" : "");
    if (r->kind == TUTTI_FLIGHT_WAIT) tutti_strbuf_printf(out, "  %lld bytes missing", (long long)r->bytes);
    tutti_strbuf_puts(out, "\n");
}

void tutti_flight_print(const tutti_flight *f, tutti_strbuf *out)
{
    const uint64_t now_tick = tutti_flight_tick();
    const double ticks = (double)(now_tick - f->first_tick), ns = (double)(tutti_clock_ns() - f->first_ns);
    const double seconds_per_tick = ticks > 0 ? 1e-9 * ns / ticks : 0;
    const uint64_t noted = tutti_flight_noted(f);
    for (uint64_t back = 1; back <= TUTTI_FLIGHT_SHOWN && back <= noted; back++) {
        const tutti_flight_record *r = &f->records[(noted - back) % TUTTI_FLIGHT_RECORDS];
        print_record(r, (double)(now_tick - r->tick) * seconds_per_tick, out);
    }
}
