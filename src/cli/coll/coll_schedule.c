/* SPDX-License-Identifier: Apache-2.0 */
/* coll_schedule.c: makes a schedule from flags or a file, for compile, check and bench. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/text/options.h"
#include "../../collective/compile/algorithms.h"
#include "coll.h"
#include "tutti/compile.h"
#include "tutti/lower.h"

enum { MAX_FILE = 1 << 30, MAX_TEXT_RANKS = 4096 };

static tutti_status choose(const tutti_flags *f, const char *flag, const char *const *words, int n, int *out,
                           tutti_failure *err)
{
    const char *text = tutti_cli_value(f, flag, words[0]);
    for (int i = 0; i < n; i++)
        if (!strcmp(text, words[i])) {
            *out = i;
            return TUTTI_OK;
        }
    const char *nearest = tutti_options_nearest(text, words, n);
    return tutti_fail(err, TUTTI_ERR_USAGE, "--%s '%s' is unknown;%s%s%s --help lists them", flag, text,
                      nearest ? " did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

tutti_status tutti_coll_collective(const tutti_flags *f, tutti_collective *out, tutti_failure *err)
{
    const char *names[TUTTI_NCOLLECTIVES];
    int i = 0;
    for (int c = 0; c < TUTTI_NCOLLECTIVES; c++) names[c] = tutti_collective_name((tutti_collective)c);
    tutti_status st = choose(f, "collective", names, TUTTI_NCOLLECTIVES, &i, err);
    *out = (tutti_collective)i;
    return st;
}

static tutti_status read_request(const tutti_flags *f, tutti_compile_request *q, tutti_failure *err)
{
    long ranks = 0, slots = 0, root = 0;
    tutti_collective collective = TUTTI_ALLREDUCE;
    if (!tutti_cli_has(f, "ranks")) return tutti_fail(err, TUTTI_ERR_USAGE, "--ranks P is missing");
    tutti_status st = tutti_cli_int(f, "ranks", (tutti_cli_range){1, 1 << 20}, 0, &ranks, err);
    if (st == TUTTI_OK) st = tutti_cli_int(f, "slots", (tutti_cli_range){0, 1 << 20}, 0, &slots, err);
    if (st == TUTTI_OK) st = tutti_cli_int(f, "root", (tutti_cli_range){0, 1 << 20}, 0, &root, err);
    if (st == TUTTI_OK) st = tutti_coll_collective(f, &collective, err);
    *q = (tutti_compile_request){.collective = collective,
                                 .nranks = (int32_t)ranks,
                                 .root = (int32_t)root,
                                 .slots = (int32_t)slots,
                                 .in_place = tutti_cli_has(f, "in-place")};
    return st;
}

static tutti_status lower_hosts(const tutti_flags *f, tutti_coll_schedule *s, tutti_failure *err)
{
    const int32_t nranks = tutti_schedule_head(s->source)->nranks;
    int32_t *host_of = tutti_alloc(sizeof *host_of * (size_t)nranks);
    tutti_status st = tutti_cli_hosts(f, nranks, host_of, err);
    if (st == TUTTI_OK) st = tutti_schedule_lower_hosts(s->source, host_of, &s->schedule, err);
    free(host_of);
    return st;
}

static tutti_status lower(const tutti_flags *f, tutti_coll_schedule *s, tutti_failure *err)
{
    if (tutti_cli_has(f, "hosts")) {
        s->schedule = s->source;
        if (!tutti_cli_has(f, "wire")) return lower_hosts(f, s, err);
        return tutti_fail(err, TUTTI_ERR_USAGE, "--wire and --hosts both say what to lower for: give one");
    }
    const char *const wires[] = {"two-sided", "mapped", "one-sided"};
    enum { NWIRES = sizeof wires / sizeof *wires };
    static_assert(NWIRES == (int)TUTTI_WIRE_MIXED,
                  "a word for each, in their order, but for that which --hosts asks for");
    int wire = TUTTI_WIRE_TWO_SIDED;
    tutti_status st = choose(f, "wire", wires, NWIRES, &wire, err);
    s->schedule = s->source;
    if (st != TUTTI_OK || wire == TUTTI_WIRE_TWO_SIDED) return st;
    return tutti_schedule_lower(s->source, (tutti_wire_class)wire, &s->schedule, err);
}

static tutti_status finish(const tutti_flags *f, tutti_coll_schedule *s, tutti_coll_schedule *out, tutti_failure *err)
{
    tutti_status st = lower(f, s, err);
    if (st == TUTTI_OK)
        *out = *s;
    else
        tutti_coll_close(s);
    return st;
}

/* Reads --topology; the topology must outlive schedules compiled for it. */
static tutti_status read_topology(const tutti_flags *f, tutti_coll_schedule *s, tutti_failure *err)
{
    if (!tutti_cli_has(f, "topology")) return TUTTI_OK;
    s->topology = tutti_alloc(sizeof *s->topology);
    return tutti_topology_parse(tutti_cli_value(f, "topology", ""), s->topology, err);
}

tutti_status tutti_coll_compile_flags(const char *name, const tutti_flags *f, tutti_coll_schedule *out,
                                      tutti_failure *err)
{
    tutti_compile_request q;
    tutti_coll_schedule s = {0};
    tutti_status st = read_request(f, &q, err);
    if (st == TUTTI_OK) st = read_topology(f, &s, err);
    q.topology = s.topology;
    if (st == TUTTI_OK) st = tutti_schedule_compile(name, &q, &s.source, err);
    if (st == TUTTI_OK) return finish(f, &s, out, err);
    free(s.topology);
    return st;
}

static tutti_status read_program(const char *path, const char *bytes, size_t nbytes, const tutti_flags *f,
                                 tutti_coll_schedule *s, tutti_failure *err)
{
    long root = 0;
    tutti_status st = tutti_cli_int(f, "root", (tutti_cli_range){0, 1 << 20}, 0, &root, err);
    if (st == TUTTI_OK) st = tutti_msccl_read(path, bytes, nbytes, (int32_t)root, &s->program, err);
    if (st == TUTTI_OK) s->source = tutti_msccl_schedule(s->program);
    return st;
}

/* Refuses flags for properties that the schedule's file states itself. A program of MSCCL does not name its root, so
 * --root is allowed for it. */
static tutti_status file_says_all(const char *what, const tutti_flags *f, bool program, tutti_failure *err)
{
    const char *const flags[] = {"ranks", "collective", "slots", "topology", "in-place", program ? NULL : "root", NULL};
    const char *other = tutti_cli_first(f, flags);
    return other ? tutti_fail(err, TUTTI_ERR_USAGE, "--%s is for algorithms; the file %s says that itself", other, what)
                 : TUTTI_OK;
}

tutti_status tutti_coll_open(const char *what, const tutti_flags *f, tutti_coll_schedule *out, tutti_failure *err)
{
    if (tutti_algorithm_find(what)) return tutti_coll_compile_flags(what, f, out, err);
    char *bytes = NULL;
    size_t nbytes = 0;
    tutti_coll_schedule s = {0};
    tutti_failure no_file = {0}, no_algorithm = {0};
    tutti_status st = tutti_file_read(what, MAX_FILE, TUTTI_ERR_USAGE, &bytes, &nbytes, &no_file);
    if (st == TUTTI_ERR_USAGE && access(what, F_OK) != 0) {
        tutti_compile_request q = {.nranks = 1};
        tutti_schedule_compile(what, &q, &s.source, &no_algorithm);
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s, and no file: %s", no_algorithm.text, no_file.text);
    }
    if (st != TUTTI_OK) return tutti_fail(err, st, "%s", no_file.text);
    const bool program = tutti_msccl_is(bytes, nbytes);
    st = file_says_all(what, f, program, err);
    if (st == TUTTI_OK && program) st = read_program(what, bytes, nbytes, f, &s, err);
    if (st == TUTTI_OK && !program) st = tutti_schedule_parse(what, bytes, nbytes, &s.source, err);
    free(bytes);
    return st == TUTTI_OK ? finish(f, &s, out, err) : st;
}

void tutti_coll_close(tutti_coll_schedule *s)
{
    if (s->schedule != s->source) tutti_schedule_destroy(s->schedule);
    if (s->program)
        tutti_msccl_destroy(s->program);
    else
        tutti_schedule_destroy(s->source);
    free(s->topology);
    *s = (tutti_coll_schedule){0};
}

tutti_status tutti_coll_text(const tutti_schedule *s, char **out, tutti_failure *err)
{
    const int32_t nranks = tutti_schedule_head(s)->nranks;
    if (nranks > MAX_TEXT_RANKS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks: the text form holds at most %d", nranks, MAX_TEXT_RANKS);
    *out = tutti_schedule_print(s);
    return TUTTI_OK;
}
