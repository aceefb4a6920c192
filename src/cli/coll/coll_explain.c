/* SPDX-License-Identifier: Apache-2.0 */
/* coll_explain.c: `tutti coll explain`: predicted times of all algorithms for one question, the choice and why, and how far
 * it is from what no algorithm can beat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/clock.h"
#include "../../base/text/json.h"
#include "../../collective/simulate/choose/choose.h"
#include "../cli.h"
#include "../topo/topo.h"
#include "coll.h"
#include "coll_engines.h"
#include "coll_explain.h"
#include "coll_ranges.h"
#include "tutti/compile.h"

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
     "with --engine: that rank begins so many milliseconds after the others; events and simgrid can that",
     TUTTI_FLAG_MANY},
    {"limit", "S", "with --engine: seconds that a run of a helper program may take (default 60)", 0},
    {"json", NULL, "one JSON object a candidate (range, engine) and line", 0},
};
enum { NFLAGS = sizeof flags / sizeof flags[0], MOST_STEPS_OF_RANGES = 1 << 19 };

static int name_width(const tutti_choice *choice)
{
    int width = 18;
    for (int i = 0; i < choice->ncandidates; i++) {
        int length = (int)strlen(choice->candidates[i].algorithm);
        width = length > width ? length : width;
    }
    return width;
}

static void print_candidates(const tutti_choice *choice)
{
    int width = name_width(choice);
    printf("%-*s %11s %11s %11s %11s %11s %7s %9s  %s\n", width, "algorithm", "predicted", "latency", "transfer",
           "local", "at least", "rounds", "messages", "busiest");
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *c = &choice->candidates[i];
        const tutti_simulation *s = &c->sim;
        if (!c->can) {
            printf("%-*s %s: %s%s\n", width, c->algorithm, c->skipped ? "skipped" : "cannot", c->refusal,
                   c->skipped ? " (--all does it)" : "");
            continue;
        }
        tutti_coll_print_times(c->algorithm, width, s);
        printf("%s\n", i == choice->best ? "  <-" : tutti_choice_ties(choice, i) ? "  tie" : "");
    }
}

static void print_reason(const tutti_choice *choice)
{
    if (choice->best < 0) {
        printf("\nno algorithm can do this\n");
        return;
    }
    const tutti_candidate *best = &choice->candidates[choice->best], *second = NULL;
    int nties = 0;
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *c = &choice->candidates[i];
        if (i != choice->best && tutti_choice_ties(choice, i))
            nties++;
        else if (c->can && c != best && (!second || c->sim.seconds < second->sim.seconds))
            second = c;
    }
    const tutti_simulation *s = &best->sim;
    const char *most = s->latency_s >= s->transfer_s && s->latency_s >= s->local_s ? "waiting (latency)"
                       : s->transfer_s >= s->local_s                               ? "its busiest link"
                                                                                   : "reading, adding and writing";
    printf("\nchoice: %s, %s", best->algorithm, tutti_time_words(s->seconds).text);
    if (nties) printf("; %d tie%s with it: within a thousandth the earlier row is taken", nties, nties == 1 ? "s" : "");
    if (second && s->seconds > 0)
        printf("; the next, %s, takes %.2f times as long", second->algorithm, second->sim.seconds / s->seconds);
    printf(".\nMost of its time is %s.\n", most);
    const tutti_bounds *b = &choice->bounds;
    printf("bounds: latency %s, bandwidth %s, compute %s; the choice takes %.2f times the best bound "
           "(%s).\n",
           tutti_time_words(b->latency_s).text, tutti_time_words(b->bandwidth_s).text,
           tutti_time_words(b->compute_s).text, b->best_s > 0 ? s->seconds / b->best_s : 1.0, b->best);
    if (b->in_network_s > 0)
        printf("If switches added, too: no less than %s.\n", tutti_time_words(b->in_network_s).text);
    printf("Not in the model: packets, congestion control, other users of the machine.\n");
}

static void print_json(const tutti_choice *choice)
{
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *c = &choice->candidates[i];
        tutti_strbuf out = {0};
        tutti_json j = {.out = &out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "algorithm", c->algorithm);
        tutti_json_bool(&j, "can", c->can);
        tutti_json_bool(&j, "chosen", i == choice->best);
        tutti_json_bool(&j, "tie", i != choice->best && tutti_choice_ties(choice, i));
        if (c->can) {
            tutti_json_real(&j, "seconds", c->sim.seconds);
            tutti_json_real(&j, "lower_s", c->sim.lower_s);
            tutti_json_real(&j, "latency_s", c->sim.latency_s);
            tutti_json_real(&j, "transfer_s", c->sim.transfer_s);
            tutti_json_real(&j, "local_s", c->sim.local_s);
            tutti_json_int(&j, "fan_in", c->sim.fan_in);
            tutti_json_int(&j, "rounds", c->sim.nrounds);
            tutti_json_int(&j, "messages", c->sim.nmessages);
            tutti_json_text(&j, "bottleneck", c->sim.bottleneck < 0 ? NULL : c->sim.bottleneck_name);
        } else {
            tutti_json_text(&j, "refusal", c->refusal);
        }
        tutti_json_real(&j, "bound_s", choice->bounds.best_s);
        tutti_json_real(&j, "in_network_bound_s", choice->bounds.in_network_s);
        tutti_json_close(&j, '}');
        puts(out.text);
        tutti_strbuf_release(&out);
    }
}

/* How many of the figures that the times rest on are measured. */
static void print_provenance(const tutti_topology *t)
{
    int count[TUTTI_FROM_RECALLED + 1] = {0};
    for (int f = 0; f < TUTTI_NFIGURES; f++)
        if (t->figure[f] > 0) count[t->from[f]]++;
    printf("figures:");
    for (int p = 0; p <= TUTTI_FROM_RECALLED; p++)
        if (count[p]) printf(" %d %s", count[p], tutti_provenance_name((tutti_provenance)p));
    bool host = t->kind == TUTTI_TOPOLOGY_HOST;
    printf("%s\n\n", host && !count[TUTTI_FROM_FITTED] ? "; none is fitted: 'tutti coll tune' measures this host" : "");
}

static tutti_status find_policy(const char *name, const tutti_policy **out, tutti_failure *err)
{
    for (int i = 0; i < tutti_policy_count(); i++) {
        *out = tutti_policy_at(i);
        if (!strcmp((*out)->name, name)) return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_ERR_USAGE, "--policy %s: there are fastest, hybrid", name);
}

static void print_question(const tutti_compile_request *q, const tutti_policy *policy, const tutti_topology *t,
                           const char *sizes)
{
    char *described = tutti_topology_describe(t);
    printf("%s of %s over %d ranks, %s: %s\n%s", tutti_collective_name(q->collective), sizes, q->nranks, policy->name,
           policy->summary, described);
    print_provenance(t);
    free(described);
}

/* --bytes is what one rank has: all of the vector, or a row of an all-to-all's matrix. */
static int64_t rows_of(const tutti_compile_request *q)
{
    return q->collective == TUTTI_ALL_TO_ALL ? q->nranks : 1;
}

static void explain_one(const tutti_flags *f, const tutti_policy *policy, const tutti_compile_request *q, int64_t bytes,
                        const tutti_topology *t)
{
    tutti_choice *choice = tutti_alloc(sizeof *choice);
    tutti_choose_by(policy, tutti_cli_has(f, "all") ? 0 : TUTTI_CHOOSE_STEPS, q,
                    bytes * rows_of(q) / TUTTI_ELEMENT_BYTES, t, choice);
    if (tutti_cli_has(f, "json")) {
        print_json(choice);
    } else {
        char size[40];
        snprintf(size, sizeof size, "%lld bytes", (long long)bytes);
        print_question(q, policy, t, size);
        print_candidates(choice);
        print_reason(choice);
    }
    free(choice);
}

static tutti_status explain_engines(const tutti_flags *f, const tutti_policy *policy, const tutti_compile_request *q,
                                    int64_t bytes, const tutti_topology *t, tutti_failure *err)
{
    unsigned engines = 0;
    long limit_s = 60;
    const bool json = tutti_cli_has(f, "json");
    tutti_status st = tutti_coll_read_engines(tutti_cli_value(f, "engine", "all"), &engines, err);
    if (!st) st = tutti_cli_int(f, "limit", 1, 86400, 60, &limit_s, err);
    double *late_s = NULL;
    if (!st) st = tutti_coll_read_late(f, q->nranks, &late_s, err);
    if (st) return st;
    tutti_engine_row *rows = tutti_alloc(TUTTI_MAX_CANDIDATES * sizeof *rows);
    char size[40];
    snprintf(size, sizeof size, "%lld bytes", (long long)bytes);
    if (!json) print_question(q, policy, t, size);
    fflush(stdout); /* engines may take a while */
    const int nrows =
        tutti_engines_compare(policy, tutti_cli_has(f, "all") ? 0 : TUTTI_CHOOSE_STEPS, q,
                              bytes * rows_of(q) / TUTTI_ELEMENT_BYTES, t, engines, (double)limit_s, late_s, rows);
    tutti_coll_print_engines(rows, nrows, engines, json);
    free(rows), free(late_s);
    return TUTTI_OK;
}

static tutti_status explain_ranges(const tutti_flags *f, const tutti_policy *policy, const tutti_compile_request *q,
                                   int64_t bytes, const tutti_topology *t, tutti_failure *err)
{
    tutti_ranges *ranges = tutti_alloc(sizeof *ranges);
    int64_t most = bytes * rows_of(q) / TUTTI_ELEMENT_BYTES, limit = tutti_cli_has(f, "all") ? 0 : MOST_STEPS_OF_RANGES;
    tutti_status st = tutti_choose_ranges(policy, limit, q, most ? most : 1, t, ranges, err);
    bool json = tutti_cli_has(f, "json");
    if (!st && !json) print_question(q, policy, t, "all sizes");
    if (!st) tutti_coll_print_ranges(ranges, rows_of(q), json);
    free(ranges);
    return st;
}

/* With --ranges up to --bytes; else --bytes is marked, and there are larger ones. */
static tutti_status draw_times(const tutti_flags *f, const tutti_policy *policy, const tutti_compile_request *q,
                               int64_t bytes, const tutti_topology *t, tutti_failure *err)
{
    enum { LARGEST = 1 << 30 };
    const bool ranges = tutti_cli_has(f, "ranges");
    const int64_t least = 4 * TUTTI_ELEMENT_BYTES, most = ranges || bytes > LARGEST ? bytes : LARGEST;
    const tutti_coll_times times = {.policy = policy,
                                    .most_steps = tutti_cli_has(f, "all") ? 0 : MOST_STEPS_OF_RANGES,
                                    .q = q,
                                    .most = most > least ? most : least,
                                    .at = ranges || bytes < TUTTI_ELEMENT_BYTES ? 0 : bytes,
                                    .t = t,
                                    .topology = tutti_cli_value(f, "topology", "host")};
    return tutti_coll_draw_times(&times, tutti_cli_value(f, "svg", ""), err);
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
    if (!st) st = tutti_cli_int(f, "ranks", 1, 65536, 2, &ranks, err);
    if (!st) st = tutti_coll_collective(f, &request.collective, err);
    if (!st) st = find_policy(tutti_cli_value(f, "policy", "fastest"), &found, err);
    if (!st) st = tutti_cli_int(f, "max-fan-in", 1, 65536, 0, &fan_in, err);
    if (!st) st = tutti_topo_open(f, topology, &t, err);
    if (!st && f->nrest && (tutti_cli_has(f, "engine") || tutti_cli_has(f, "limit")))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "a file is timed by the round evaluator alone: without --engine");
    if (!st && f->nrest) return tutti_coll_explain_file(f, bytes, &t, err);
    if (!st) tutti_topology_grow(&t, (int32_t)ranks);
    if (!st) st = tutti_topology_fits(&t, (int32_t)ranks, err);
    if (st) return st;
    tutti_policy policy = *found;
    policy.most_fan_in = (int32_t)fan_in;
    request.nranks = (int32_t)ranks;
    if (request.collective == TUTTI_ALL_TO_ALL) request.in_place = false;
    if (tutti_cli_has(f, "svg") && tutti_cli_has(f, "engine"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--svg goes by the round evaluator alone: without --engine");
    if (ranges && tutti_cli_has(f, "engine"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--ranges goes by the round evaluator alone: without --engine");
    if (tutti_cli_has(f, "svg")) st = draw_times(f, &policy, &request, bytes, &t, err);
    if (st) return st;
    if (ranges) return explain_ranges(f, &policy, &request, bytes, &t, err);
    if (tutti_cli_has(f, "engine")) return explain_engines(f, &policy, &request, bytes, &t, err);
    if (tutti_cli_has(f, "limit") || tutti_cli_has(f, "late"))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--limit and --late are for engines: with --engine");
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
        .flags = flags,
        .nflags = NFLAGS,
        .any_arguments = true,
        .run = explain,
    };
    return tutti_cli_run(&form, argc, argv);
}
