/* SPDX-License-Identifier: Apache-2.0 */
/* topo_bounds.c: `tutti topo bounds TOPOLOGY --ranks P --bytes B`: prints the lower bounds of a collective's time,
 * which are named L1 to L7 (limits.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/clock.h"
#include "../../base/text/json.h"
#include "../../collective/simulate/choose/choose.h"
#include "../coll/coll.h"
#include "topo.h"

static const tutti_flag flags[] = {
    {"ranks", "P", "rank count (default: as many as there is room for)", 0},
    {"bytes", "B", "size of the vector on each rank: 4096, 64KiB, 102MB (default 100MB)", 0},
    {"collective", "C", TUTTI_COLL_COLLECTIVES, 0},
    {"json", NULL, "one JSON object a bound and line", 0},
};

typedef struct {
    tutti_topology topology;
    tutti_collective collective;
    int32_t nranks;
    long long bytes;
} question;

static void print_table(const question *q, const tutti_limit *limits)
{
    char *described = tutti_topology_describe(&q->topology);
    printf("%s\n%s of %lld bytes over %d ranks\n\n", described, tutti_collective_name(q->collective), q->bytes,
           (int)q->nranks);
    printf("%-13s %-8s %14s  %s\n", "", "", "at least", "");
    double endpoint = 0;
    for (int i = 0; i < TUTTI_NLIMITS; i++) {
        const tutti_limit *l = &limits[i];
        if (l->kind == TUTTI_LIMIT_NONE)
            printf("%-13s %-8s %14s  %s: %s\n", l->name, "-", "-", l->meaning, l->where);
        else
            printf("%-13s %-8s %14s  %s: %s\n", l->name, tutti_limit_kind_name(l->kind),
                   tutti_time_words(l->seconds).text, l->meaning, l->where);
        if (i < 3 || i == 6) endpoint = fmax(endpoint, l->seconds);
    }
    printf("\nNo schedule whose sums are made by the ranks is faster than %s (L1, L2, L3, L7)",
           tutti_time_words(endpoint).text);
    if (limits[1].kind != TUTTI_LIMIT_NONE)
        printf("; with switches that add, than %s (L2)", tutti_time_words(limits[1].seconds).text);
    printf(".\n");
    printf("bound: nothing is faster. exact: and schedules come as close as one likes. reached: what a plain way "
           "takes.\n");
    free(described);
}

static void print_json(const question *q, const tutti_limit *limits)
{
    char *text = tutti_topology_print(&q->topology);
    for (int i = 0; i < TUTTI_NLIMITS; i++) {
        tutti_strbuf out = {0};
        tutti_json j = {.out = &out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "topology", text);
        tutti_json_text(&j, "collective", tutti_collective_name(q->collective));
        tutti_json_int(&j, "ranks", q->nranks);
        tutti_json_int(&j, "bytes", q->bytes);
        tutti_json_text(&j, "bound", limits[i].name);
        tutti_json_text(&j, "kind", tutti_limit_kind_name(limits[i].kind));
        if (limits[i].kind != TUTTI_LIMIT_NONE) tutti_json_real(&j, "seconds", limits[i].seconds);
        tutti_json_text(&j, "where", limits[i].where);
        tutti_json_close(&j, '}');
        puts(out.text);
        tutti_strbuf_release(&out);
    }
    free(text);
}

static tutti_status question_read(const tutti_flags *f, question *q, tutti_failure *err)
{
    long ranks = 0;
    const char *bytes = tutti_cli_value(f, "bytes", "100MB");
    tutti_status st = tutti_topo_open(f, f->rest[0], &q->topology, err);
    if (!st) st = tutti_cli_bytes("--bytes", bytes, &q->bytes, err);
    if (!st)
        st =
            tutti_cli_int(f, "ranks", (tutti_cli_range){1, 65536}, tutti_topology_nseats(&q->topology, 8), &ranks, err);
    if (!st) tutti_topology_grow(&q->topology, (int32_t)ranks);
    if (!st) st = tutti_topology_fits(&q->topology, (int32_t)ranks, err);
    q->nranks = (int32_t)ranks;
    return st ? st : tutti_coll_collective(f, &q->collective, err);
}

static tutti_status bounds(const tutti_flags *f, tutti_failure *err)
{
    question q = {0};
    tutti_limit limits[TUTTI_NLIMITS];
    tutti_status st = question_read(f, &q, err);
    if (st) return st;
    tutti_simulate_limits(q.collective, q.nranks, q.bytes / TUTTI_ELEMENT_BYTES, &q.topology, limits);
    if (tutti_cli_has(f, "json"))
        print_json(&q, limits);
    else
        print_table(&q, limits);
    return TUTTI_OK;
}

int tutti_topo_bounds(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "topo bounds",
        .usage = "tutti topo bounds TOPOLOGY [options]",
        .about = "What no schedule can beat on a machine, and which cut or partition stands in the way.",
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one topology is wanted: tutti topo bounds TOPOLOGY",
        .run = bounds,
    };
    return tutti_cli_run(&form, argc, argv);
}
