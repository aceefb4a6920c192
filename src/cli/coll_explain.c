/* SPDX-License-Identifier: Apache-2.0 */
/* coll_explain.c: `tutti coll explain`: predicted times of all algorithms for one question, the choice and why, and how far
 * it is from what no algorithm can beat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/json.h"
#include "../collective/simulate/choose.h"
#include "cli.h"
#include "coll.h"

static const tutti_flag flags[] = {
    {"bytes", "B", "size of the vector on each rank: 4096, 64KiB, 102MB", false},
    {"ranks", "P", "rank count (default 2)", false},
    {"topology", "T", "host, or star,bw=10Gb,lat=5us (default: host)", false},
    {"collective", "C", TUTTI_COLL_COLLECTIVES, false},
    {"json", NULL, "one JSON object a candidate and line", false},
};
enum { NFLAGS = sizeof flags / sizeof flags[0] };

static void print_candidates(const tutti_choice *choice)
{
    printf("%-18s %11s %11s %11s %11s %11s %7s %9s  %s\n", "algorithm", "predicted", "latency", "transfer", "local",
           "at least", "rounds", "messages", "busiest");
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *c = &choice->candidates[i];
        const tutti_simulation *s = &c->sim;
        if (!c->can) {
            printf("%-18s cannot: %s\n", c->algorithm, c->refusal);
            continue;
        }
        printf("%-18s %9.2fus %9.2fus %9.2fus %9.2fus %9.2fus %7d %9lld  %s %.0f%%%s\n", c->algorithm, s->seconds * 1e6,
               s->latency_s * 1e6, s->transfer_s * 1e6, s->local_s * 1e6, s->lower_s * 1e6, s->nrounds,
               (long long)s->nmessages, s->bottleneck < 0 ? "-" : s->bottleneck_name, 100 * s->bottleneck_busy,
               i == choice->best ? "  <-" : "");
    }
}

static void print_reason(const tutti_choice *choice)
{
    if (choice->best < 0) {
        printf("\nno algorithm can do this\n");
        return;
    }
    const tutti_candidate *best = &choice->candidates[choice->best], *second = NULL;
    for (int i = 0; i < choice->ncandidates; i++) {
        const tutti_candidate *c = &choice->candidates[i];
        if (c->can && c != best && (!second || c->sim.seconds < second->sim.seconds)) second = c;
    }
    const tutti_simulation *s = &best->sim;
    const char *most = s->latency_s >= s->transfer_s && s->latency_s >= s->local_s ? "waiting (latency)"
                       : s->transfer_s >= s->local_s                               ? "its busiest link"
                                                                                   : "reading, adding and writing";
    printf("\nchoice: %s, %.2f us", best->algorithm, s->seconds * 1e6);
    if (second) printf("; the next, %s, takes %.2f times as long", second->algorithm, second->sim.seconds / s->seconds);
    printf(".\nMost of its time is %s.\n", most);
    const tutti_bounds *b = &choice->bounds;
    printf("bounds: latency %.2f us, bandwidth %.2f us, compute %.2f us; the choice takes %.2f times the best bound "
           "(%s).\n",
           b->latency_s * 1e6, b->bandwidth_s * 1e6, b->compute_s * 1e6, b->best_s > 0 ? s->seconds / b->best_s : 1.0,
           b->best);
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
        if (c->can) {
            tutti_json_real(&j, "seconds", c->sim.seconds);
            tutti_json_real(&j, "lower_s", c->sim.lower_s);
            tutti_json_real(&j, "latency_s", c->sim.latency_s);
            tutti_json_real(&j, "transfer_s", c->sim.transfer_s);
            tutti_json_real(&j, "local_s", c->sim.local_s);
            tutti_json_int(&j, "rounds", c->sim.nrounds);
            tutti_json_int(&j, "messages", c->sim.nmessages);
            tutti_json_text(&j, "bottleneck", c->sim.bottleneck < 0 ? NULL : c->sim.bottleneck_name);
        } else {
            tutti_json_text(&j, "refusal", c->refusal);
        }
        tutti_json_real(&j, "bound_s", choice->bounds.best_s);
        tutti_json_close(&j, '}');
        puts(out.text);
        tutti_strbuf_release(&out);
    }
}

static tutti_status explain(const tutti_flags *f, tutti_failure *err)
{
    tutti_compile_request request = {.in_place = true};
    tutti_topology t;
    long ranks;
    long long bytes = 0;
    const char *text = tutti_cli_value(f, "bytes", NULL), *topology = tutti_cli_value(f, "topology", "host");
    if (!text) return tutti_fail(err, TUTTI_ERR_USAGE, "--bytes is missing (try --bytes 1MB)");
    tutti_status status = tutti_cli_bytes("--bytes", text, &bytes, err);
    if (!status) status = tutti_cli_int(f, "ranks", 1, 65536, 2, &ranks, err);
    if (!status) status = tutti_coll_collective(f, &request.collective, err);
    if (!status)
        status =
            strcmp(topology, "host") ? tutti_topology_parse(topology, &t, err) : tutti_topology_of_this_host(&t, err);
    if (status) return status;
    request.nranks = (int32_t)ranks;
    tutti_choice *choice = malloc(sizeof *choice);
    if (!choice) return tutti_fail(err, TUTTI_ERR_FAILED, "no memory");
    tutti_choose_algorithm(&request, bytes / TUTTI_ELEMENT_BYTES, &t, choice);
    if (tutti_cli_has(f, "json")) {
        print_json(choice);
    } else {
        char *described = tutti_topology_describe(&t);
        printf("%s of %lld bytes over %ld ranks\n%s\n", tutti_collective_name(request.collective), bytes, ranks,
               described);
        print_candidates(choice);
        print_reason(choice);
        free(described);
    }
    free(choice);
    return TUTTI_OK;
}

int tutti_coll_explain(int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    if (tutti_cli_parse(argc, argv, flags, NFLAGS, &f, &err)) return tutti_cli_fail("coll explain", &err);
    if (f.help) {
        tutti_cli_help(stdout, "tutti coll explain --bytes B --ranks P [options]",
                       "Predicted time of every algorithm, the choice and why, and its distance to the best bound.",
                       flags, NFLAGS);
        return 0;
    }
    return explain(&f, &err) ? tutti_cli_fail("coll explain", &err) : 0;
}
