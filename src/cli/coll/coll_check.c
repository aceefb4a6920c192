/* SPDX-License-Identifier: Apache-2.0 */
/* coll_check.c: `tutti coll check F|ALGORITHM`: proves a schedule, prints what it costs, or a counter-example (exit
 * code 1). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../collective/check/check_source.h"
#include "../../collective/interpret/interpret.h"
#include "coll.h"
#include "tutti/check.h"

static const tutti_flag flags[] = {
    TUTTI_COLL_SCHEDULE_FLAGS,
    {"interpret", "N", "also run it on real memory, in N random interleavings", 0},
    {"allow", "WHAT", "hasdep: steps of an MSCCL program are told also where what they wait for has hasdep=\"0\"", 0},
};

static void print_fraction(const char *label, int64_t part, int64_t whole, const char *what)
{
    printf("  %-13s %.4g n %s (%" PRId64 "/%" PRId64 ")\n", label, (double)part / (double)whole, what, part, whole);
}

static void print_report(const tutti_schedule *s, const tutti_check_report *r, double took_s)
{
    const tutti_schedule_header *h = tutti_schedule_head(s);
    printf("%s %s of %d ranks (%s): right for every vector length, proved in %.2f s\n", h->algorithm,
           tutti_collective_name(h->collective), h->nranks, tutti_wire_class_name(h->wire), took_s);
    printf("  %-13s %" PRId64 " of all ranks, %d stages\n", "steps", r->nsteps, r->nstages);
    printf("  %-13s %" PRId64 "\n", h->wire == TUTTI_WIRE_TWO_SIDED ? "messages" : "signals", r->nmessages);
    printf("  %-13s %d one after the other\n", "synchronises", r->syncs);
    print_fraction("reads", r->elements_in, r->units, "elements by the busiest rank");
    print_fraction("writes", r->elements_out, r->units, "elements by the busiest rank");
    printf("  %-13s %s\n", "sums", tutti_determinism_name(r->determinism));
}

/* True for a program of MSCCL, which is proved as its own interpreter would run it. */
static bool is_program(const tutti_coll_schedule *s)
{
    return s->program && s->schedule == s->source;
}

/* Also runs the schedule in the interpreter in `ntries` random interleavings, with a length that the rank count does
 * not divide; fails if a result is wrong. */
static tutti_status interpret(const tutti_schedule *s, long ntries, tutti_failure *err)
{
    tutti_verdict v;
    if (ntries == 0) return TUTTI_OK;
    tutti_schedule_interpret(s, 2 * tutti_schedule_head(s)->nranks + 1, 1, ntries, &v);
    if (v.wrong) return tutti_fail(err, TUTTI_ERR_FAILED, "interleaving %" PRIu64 ": %s", v.seed, v.text);
    printf("  %-13s %" PRId64 " random interleavings, all right\n", "interpreted", v.ntries);
    return TUTTI_OK;
}

static tutti_status prove(const tutti_coll_schedule *s, int32_t capacity, tutti_check_report *report,
                          tutti_failure *err)
{
    if (is_program(s)) return tutti_msccl_check(s->program, capacity, report, err);
    tutti_part_source source = tutti_part_source_of(s->schedule);
    source.capacity = capacity;
    return tutti_check_source(&source, report, err);
}

static void add_room(const tutti_coll_schedule *s, int32_t room, const char *stops, tutti_strbuf *notes)
{
    if (!is_program(s) && room == 0)
        tutti_strbuf_printf(notes, "channels: it never waits for room, so it is right at any capacity\n");
    else if (!is_program(s))
        tutti_strbuf_printf(notes, "channels: right where they hold %d messages, as it says; with none: %s\n", room,
                            stops);
    else if (room == 0)
        tutti_strbuf_printf(
            notes, "connections: it never waits for room, so it is right at any capacity: 0, 2 (Simple), 8 (LL)\n");
    else
        tutti_strbuf_printf(notes, "connections: right where they hold %d messages%s; with less: %s\n", room,
                            room == 2 ? " (Simple) or 8 (LL)" : " (LL), not where they hold 2 (Simple)", stops);
}

/* Checks a schedule whose channels can hold messages that are not received yet: a program of MSCCL, whose connections
 * hold 2 (protocol Simple) or 8 (LL), or a text that gives the number. A schedule that has no deadlock if channels hold
 * n messages has none if they hold more. *room: the smallest such n. notes: text to print after the verdict. */
static tutti_status check_with_room(const tutti_coll_schedule *s, int32_t *room, tutti_check_report *report,
                                    tutti_strbuf *notes, tutti_failure *err)
{
    const bool program = is_program(s);
    const int32_t has = program ? tutti_msccl_room(s->program) : tutti_schedule_head(s->schedule)->room;
    const int32_t capacities[] = {0, program ? tutti_msccl_holds(false) : has, tutti_msccl_holds(true)};
    const int n = program ? 3 : 2;
    tutti_failure stops = {0};
    tutti_status st = TUTTI_ERR_FAILED;
    int i = -1;
    while (st != TUTTI_OK && ++i < n) {
        tutti_failure now = {0};
        st = prove(s, capacities[i], report, &now);
        if (st != TUTTI_OK && !strstr(now.text, "deadlock")) return tutti_fail(err, st, "%s", now.text);
        if (st != TUTTI_OK && (i == 0 || capacities[i] <= has)) stops = now;
    }
    if (st != TUTTI_OK)
        return tutti_fail(err, st, "even where %s hold %d messages: %s", program ? "connections" : "channels",
                          capacities[n - 1], stops.text);
    *room = capacities[i];
    if (*room > has)
        return tutti_fail(err, TUTTI_ERR_FAILED, "connections must hold %d messages, those of its protocol hold %d: %s",
                          *room, has, stops.text);
    add_room(s, *room, stops.text, notes);
    return TUTTI_OK;
}

static tutti_status allow(const tutti_flags *f, const tutti_coll_schedule *s, tutti_failure *err)
{
    const char *what = tutti_cli_value(f, "allow", NULL);
    if (!what) return TUTTI_OK;
    if (!is_program(s))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--allow is for programs of MSCCL, proved as their reader runs them");
    return tutti_msccl_allow(s->program, what, err);
}

static tutti_status check(const tutti_flags *f, tutti_failure *err)
{
    long ntries = 0;
    int32_t room = 0;
    tutti_coll_schedule s;
    tutti_status st = tutti_cli_int(f, "interpret", (tutti_cli_range){0, 1000000000}, 0, &ntries, err);
    if (st == TUTTI_OK) st = tutti_coll_open(f->rest[0], f, &s, err);
    if (st != TUTTI_OK) return st;
    st = allow(f, &s, err);
    if (st != TUTTI_OK) {
        tutti_coll_close(&s);
        return st;
    }
    tutti_check_report report;
    tutti_strbuf notes = {0};
    tutti_strbuf_puts(&notes, "");
    const double begin = tutti_clock_s();
    if (is_program(&s)) tutti_msccl_remarks(s.program, &notes);
    st = tutti_schedule_head(s.schedule)->room ? check_with_room(&s, &room, &report, &notes, err)
                                               : tutti_schedule_check(s.schedule, &report, err);
    if (st == TUTTI_OK) {
        print_report(s.schedule, &report, tutti_clock_s() - begin);
        if (room && ntries)
            printf("  %-13s not: the interpreter knows no room between send and receive\n", "interpreted");
        else
            st = interpret(s.schedule, ntries, err);
    }
    fputs(notes.text, stdout);
    tutti_strbuf_release(&notes);
    tutti_coll_close(&s);
    return st;
}

int tutti_coll_check(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll check",
        .usage = "tutti coll check FILE|ALGORITHM [options]",
        .about =
            "Proves that a schedule is right for every vector length and for invocations back to back: no\n"
            "deadlock, no race, every contribution exactly once, sums as deterministic as it claims. If it is\n"
            "not, says where, as an execution that a person can follow. An algorithm needs --ranks. A file is our\n"
            "text form or an XML program of MSCCL (docs/interchange.md).",
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one file or algorithm is wanted: tutti coll check FILE|ALGORITHM",
        .run = check,
    };
    return tutti_cli_run(&form, argc, argv);
}
