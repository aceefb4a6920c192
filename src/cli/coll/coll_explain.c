/* SPDX-License-Identifier: Apache-2.0 */
/* coll_explain.c: `tutti coll explain`: predicted times of all algorithms for one question, the choice and its reason,
 * and the distance to the lower bound that no algorithm can beat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/text/options.h"
#include "../../collective/compile/algorithms.h"
#include "../../collective/simulate/tell/tell_choice.h"
#include "../cli.h"
#include "../topo/topo.h"
#include "coll.h"

static const tutti_flag flags[] = {
    {"bytes", "B", "size of the vector on each rank: 4096, 64KiB, 102MB", 0},
    {"ranks", "P", "rank count (default 2)", 0},
    {"topology", "T", "host (default), " TUTTI_TOPO_KINDS, 0},
    TUTTI_TOPO_CORES_FLAG,
    {"collective", "C", TUTTI_COLL_COLLECTIVES, 0},
    {"ranges", NULL, "instead: for which sizes up to --bytes (default 1GiB) which algorithm is best", 0},
    {"svg", "FILE", "draw the times of all algorithms over sizes, the choice marked", TUTTI_FLAG_WRITES},
    {"policy", "NAME", "fastest (of all), or hybrid: hierarchical below a size, ring above (default fastest)", 0},
    {"max-fan-in", "N", "no algorithm by which more than N ranks send to one of another host at a time (default: any)",
     0},
    {"all", NULL, "simulate schedules of millions of steps, too", 0},
    {"engine", "E,E",
     "instead: each algorithm's time by these engines, side by side: closed-form, rounds, events, simgrid, "
     "simgrid-tcp, or all",
     0},
    {"late", "RANK=MS",
     "with --engine events or simgrid: that rank begins this number of milliseconds after the others", TUTTI_FLAG_MANY},
    {"limit", "S", "with --engine: seconds that a run of a helper program may take (default 60)", 0},
    {"json", NULL, "one JSON object a candidate (range, engine) and line", 0},
};
enum { MOST_STEPS_OF_RANGES = 1 << 19 };

static tutti_status find_policy(const char *name, const tutti_policy **out, tutti_failure *err)
{
    for (int i = 0; i < tutti_policy_count(); i++) {
        *out = tutti_policy_at(i);
        if (!strcmp((*out)->name, name)) return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_ERR_USAGE, "--policy %s: there are fastest, hybrid", name);
}

/* Returns how many times --bytes the vector is long: once. For an all-to-all, --bytes is what one rank sends, and the
 * vector is the matrix with one such row for each rank. */
static int64_t rows_of(const tutti_compile_request *q)
{
    return q->collective == TUTTI_ALL_TO_ALL ? q->nranks : 1;
}

/* Reads each --late RANK=MS. *late_s: seconds of each rank, which the caller frees, or NULL if nobody is late. */
static tutti_status read_late(const tutti_flags *f, int32_t nranks, double **late_s, tutti_failure *err)
{
    *late_s = NULL;
    const int flag = tutti_cli_row(f, "late");
    for (int i = 0; i < f->count[flag]; i++) {
        const char *text = f->value[flag][i];
        char *at, *end = NULL;
        const long rank = strtol(text, &at, 10);
        const double ms = at != text && *at == '=' ? strtod(at + 1, &end) : -1;
        if (!tutti_options_is_number(text) || !end || !tutti_options_is_number(at + 1) || end == at + 1 || *end ||
            rank < 0 || rank >= nranks || !(ms >= 0) || ms > 1e9) {
            free(*late_s);
            return tutti_fail(err, TUTTI_ERR_USAGE,
                              "--late %s: RANK=MILLISECONDS is wanted, of a rank from 0 to %d, such as 1=2.5", text,
                              (int)nranks - 1);
        }
        if (!*late_s) *late_s = tutti_alloc((size_t)nranks * sizeof **late_s);
        (*late_s)[rank] = ms * 1e-3;
    }
    return TUTTI_OK;
}

static void print(tutti_strbuf *text)
{
    if (text->text) fputs(text->text, stdout);
    tutti_strbuf_release(text);
}

/* Prints the question first, because the prediction takes a while. */
static void print_question(const tutti_compile_request *q, const tutti_policy *policy, const tutti_topology *t,
                           int64_t bytes)
{
    tutti_strbuf text = {0};
    char size[40] = "all sizes";
    if (bytes) snprintf(size, sizeof size, "%lld bytes", (long long)bytes);
    tutti_tell_question(q, policy, t, size, &text);
    print(&text);
    fflush(stdout);
}

static int64_t most_steps(const tutti_flags *f, int64_t otherwise)
{
    return tutti_cli_has(f, "all") ? 0 : otherwise;
}

static void explain_one(const tutti_flags *f, const tutti_policy *policy, const tutti_compile_request *q, int64_t bytes,
                        const tutti_topology *t)
{
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    tutti_strbuf text = {0};
    const bool json = tutti_cli_has(f, "json");
    if (!json) print_question(q, policy, t, bytes);
    tutti_choose_by(policy, most_steps(f, TUTTI_CHOOSE_STEPS), q, bytes * rows_of(q) / TUTTI_ELEMENT_BYTES, t, choice);
    tutti_tell_choice(choice, json, &text);
    print(&text);
    free(choice);
}

static tutti_status explain_engines(const tutti_flags *f, const tutti_policy *policy, const tutti_compile_request *q,
                                    int64_t bytes, const tutti_topology *t, tutti_failure *err)
{
    unsigned engines = 0;
    long limit_s = 60;
    const bool json = tutti_cli_has(f, "json");
    tutti_status st = tutti_tell_read_engines(tutti_cli_value(f, "engine", "all"), &engines, err);
    if (!st) st = tutti_cli_int(f, "limit", (tutti_cli_range){1, 86400}, 60, &limit_s, err);
    double *late_s = NULL;
    if (!st) st = read_late(f, q->nranks, &late_s, err);
    if (st) return st;
    tutti_engine_row *rows = tutti_alloc(TUTTI_MAX_CANDIDATES * sizeof *rows);
    tutti_strbuf text = {0};
    if (!json) print_question(q, policy, t, bytes);
    const int nrows =
        tutti_engines_compare(policy, most_steps(f, TUTTI_CHOOSE_STEPS), q, bytes * rows_of(q) / TUTTI_ELEMENT_BYTES, t,
                              engines, (double)limit_s, late_s, rows);
    tutti_tell_engines(rows, nrows, engines, json, &text);
    print(&text);
    free(rows), free(late_s);
    return TUTTI_OK;
}

static tutti_status explain_ranges(const tutti_flags *f, const tutti_policy *policy, const tutti_compile_request *q,
                                   int64_t bytes, const tutti_topology *t, tutti_failure *err)
{
    tutti_ranges *ranges = tutti_alloc(sizeof *ranges);
    tutti_strbuf text = {0};
    int64_t most = bytes * rows_of(q) / TUTTI_ELEMENT_BYTES;
    tutti_status st =
        tutti_choose_ranges(policy, most_steps(f, MOST_STEPS_OF_RANGES), q, most ? most : 1, t, ranges, err);
    const bool json = tutti_cli_has(f, "json");
    if (!st && !json) print_question(q, policy, t, 0);
    if (!st) tutti_tell_ranges(ranges, rows_of(q), json, &text);
    print(&text);
    free(ranges);
    return st;
}

/* Refuses flags for all algorithms beside a file of one schedule, and the name of an algorithm in place of the file. */
static tutti_status refuse(const tutti_flags *f, const char *path, tutti_failure *err)
{
    static const char *const others[] = {"ranks", "collective", "ranges", "policy", "max-fan-in", "svg", NULL};
    const char *other = tutti_cli_first(f, others);
    if (other) return tutti_fail(err, TUTTI_ERR_USAGE, "--%s is for all algorithms; %s is one", other, path);
    if (tutti_algorithm_find(path))
        return tutti_fail(err, TUTTI_ERR_USAGE, "all algorithms are timed without a name; '%s' is one of them", path);
    return TUTTI_OK;
}

static tutti_status explain_file(const tutti_flags *f, int64_t bytes, const tutti_topology *t, tutti_failure *err)
{
    const tutti_flags nothing = {.flags = f->flags, .nflags = f->nflags};
    tutti_coll_schedule s = {0};
    tutti_strbuf text = {0};
    tutti_status st = refuse(f, f->rest[0], err);
    if (!st) st = tutti_coll_open(f->rest[0], &nothing, &s, err);
    if (st) return st;
    const tutti_tell_program program = {
        f->rest[0], s.schedule, bytes, t, most_steps(f, TUTTI_CHOOSE_STEPS), tutti_cli_has(f, "json")};
    st = tutti_tell_file(&program, &text, err);
    print(&text);
    tutti_coll_close(&s);
    return st;
}

/* Draws times over sizes. With --ranges the sizes end at --bytes; otherwise --bytes is marked and larger sizes
 * follow. */
static tutti_status draw_times(const tutti_flags *f, const tutti_policy *policy, const tutti_compile_request *q,
                               int64_t bytes, const tutti_topology *t, tutti_failure *err)
{
    enum { LARGEST = 1 << 30 };
    const bool ranges = tutti_cli_has(f, "ranges");
    const int64_t least = 4 * TUTTI_ELEMENT_BYTES, most = ranges || bytes > LARGEST ? bytes : LARGEST;
    const tutti_tell_times times = {.policy = policy,
                                    .most_steps = most_steps(f, MOST_STEPS_OF_RANGES),
                                    .q = q,
                                    .most = most > least ? most : least,
                                    .at = ranges || bytes < TUTTI_ELEMENT_BYTES ? 0 : bytes,
                                    .t = t,
                                    .topology = tutti_cli_value(f, "topology", "host")};
    tutti_strbuf svg = {0};
    tutti_status st = tutti_tell_times_svg(&times, &svg, err);
    if (!st) st = tutti_cli_write(tutti_cli_value(f, "svg", ""), svg.text, err);
    tutti_strbuf_release(&svg);
    return st;
}

static tutti_status explain(const tutti_flags *f, tutti_failure *err)
{
    tutti_compile_request request = {.in_place = true};
    tutti_topology t;
    long ranks;
    long long bytes = 0;
    const tutti_policy *found = NULL;
    long fan_in = 0;
    bool ranges = tutti_cli_has(f, "ranges");
    const char *text = tutti_cli_value(f, "bytes", ranges ? "1GiB" : NULL);
    const char *topology = tutti_cli_value(f, "topology", "host");
    if (f->nrest > 1) return tutti_fail(err, TUTTI_ERR_USAGE, "unexpected argument '%s'", f->rest[1]);
    if (!text) return tutti_fail(err, TUTTI_ERR_USAGE, "--bytes is missing (try --bytes 1MB)");
    tutti_status st = tutti_cli_bytes("--bytes", text, &bytes, err);
    if (!st && bytes < 1) st = tutti_fail(err, TUTTI_ERR_USAGE, "--bytes %s: nothing to exchange; 1 or more", text);
    if (!st) st = tutti_cli_int(f, "ranks", (tutti_cli_range){1, 65536}, 2, &ranks, err);
    if (!st) st = tutti_coll_collective(f, &request.collective, err);
    if (!st) st = find_policy(tutti_cli_value(f, "policy", "fastest"), &found, err);
    if (!st) st = tutti_cli_int(f, "max-fan-in", (tutti_cli_range){1, 65536}, 0, &fan_in, err);
    if (!st) st = tutti_topo_open(f, topology, &t, err);
    if (!st && f->nrest && (tutti_cli_has(f, "engine") || tutti_cli_has(f, "limit")))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "a file is timed by the round evaluator alone: leave --engine out");
    if (!st && f->nrest) return explain_file(f, bytes, &t, err);
    if (!st) tutti_topology_grow(&t, (int32_t)ranks);
    if (!st) st = tutti_topology_fits(&t, (int32_t)ranks, err);
    if (st) return st;
    tutti_policy policy = *found;
    policy.most_fan_in = (int32_t)fan_in;
    request.nranks = (int32_t)ranks;
    if (request.collective == TUTTI_ALL_TO_ALL) request.in_place = false;
    if (tutti_cli_has(f, "svg") && tutti_cli_has(f, "engine"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--svg needs the round evaluator: leave --engine out");
    if (ranges && tutti_cli_has(f, "engine"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--ranges needs the round evaluator: leave --engine out");
    if (tutti_cli_has(f, "svg")) st = draw_times(f, &policy, &request, bytes, &t, err);
    if (st) return st;
    if (ranges) return explain_ranges(f, &policy, &request, bytes, &t, err);
    if (tutti_cli_has(f, "engine")) return explain_engines(f, &policy, &request, bytes, &t, err);
    if (tutti_cli_has(f, "limit") || tutti_cli_has(f, "late"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--limit and --late need --engine");
    explain_one(f, &policy, &request, bytes, &t);
    return TUTTI_OK;
}

int tutti_coll_explain(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "coll explain",
        .usage = "tutti coll explain [FILE] --bytes B [options]",
        .about =
            "Predicted time of every algorithm, the choice and why, and its distance to the best bound; or, with\n"
            "--ranges, which algorithm is best from which size on; or, with --engine, what other engines say. Of a\n"
            "FILE, an XML program of MSCCL or our text form: how long that takes there, beside the fastest of the "
            "table.",
        TUTTI_CLI_FLAGS(flags),
        .any_arguments = true,
        .run = explain,
    };
    return tutti_cli_run(&form, argc, argv);
}
