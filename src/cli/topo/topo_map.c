/* SPDX-License-Identifier: Apache-2.0 */
/* topo_map.c: `tutti topo map TOPOLOGY --algorithm A --ranks P`: a seating that lowers the load of the busiest links, what it
 * was, and how far from the lower bound. --table: parity mapping on BiGraph against naive placement. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/clock.h"
#include "../../collective/simulate/events/map.h"
#include "../coll/coll.h"
#include "topo.h"
#include "tutti/compile.h"

static const tutti_flag flags[] = {
    {"algorithm", "A", "whose messages count (default halving-doubling)", 0},
    {"collective", "C", "of that algorithm (default allreduce)", 0},
    {"ranks", "P", "rank count (default: as many as there is room for)", 0},
    {"bytes", "B", "size of the vector on each rank (default 100MB)", 0},
    {"seed", "S", "of the search; the same seed gives the same seats (default 1)", 0},
    {"swaps", "N", "how many are tried (default 200000)", 0},
    {"own-start", NULL, "begin with the topology's own placement, not with the best that its kind has", 0},
    {"table", NULL, "halving and doubling on bigraphs of N switches and M hosts a switch, parity mapping and naive", 0},
};
enum { NFLAGS = sizeof flags / sizeof flags[0] };

typedef struct {
    tutti_topology topology;
    tutti_compile_request request;
    const char *algorithm;
    long long bytes;
    long seed, nswaps;
    bool own_start;
} question;

static tutti_status question_read(const tutti_flags *f, question *q, tutti_failure *err)
{
    long ranks = 0;
    q->algorithm = tutti_cli_value(f, "algorithm", "halving-doubling");
    tutti_status st = tutti_topo_open(f, f->rest[0], &q->topology, err);
    if (!st) st = tutti_cli_bytes("--bytes", tutti_cli_value(f, "bytes", "100MB"), &q->bytes, err);
    if (!st) st = tutti_cli_int(f, "ranks", 2, 65536, tutti_topology_nseats(&q->topology, 8), &ranks, err);
    if (!st) st = tutti_cli_int(f, "seed", 0, 2147483647, 1, &q->seed, err);
    if (!st) st = tutti_cli_int(f, "swaps", 1, 1000000000, 200000, &q->nswaps, err);
    q->own_start = tutti_cli_has(f, "own-start");
    q->request = (tutti_compile_request){.nranks = (int32_t)ranks, .in_place = true, .topology = &q->topology};
    return st ? st : tutti_coll_collective(f, &q->request.collective, err);
}

static void print_load(const char *what, const tutti_map_load *l, double lower_s, double simulated_s)
{
    printf("%-7s %17s %8.3f %10d %17s\n", what, tutti_time_words(l->seconds).text, l->seconds / lower_s,
           (int)l->messages, tutti_time_words(simulated_s).text);
}

static tutti_status map(const question *q, tutti_failure *err)
{
    tutti_schedule *s = NULL;
    tutti_mapping m = {0};
    tutti_simulation before, after;
    tutti_topology seated = q->topology;
    int64_t n = q->bytes / TUTTI_ELEMENT_BYTES;
    tutti_status st = tutti_schedule_compile(q->algorithm, &q->request, &s, err);
    const tutti_map_options options = {(uint64_t)q->seed, q->nswaps, !q->own_start};
    if (!st) st = tutti_map_ranks(s, &q->topology, n, &options, &m, err);
    if (!st) tutti_topology_place(&seated, q->request.nranks, m.seat);
    if (!st) st = tutti_simulate_schedule(s, &q->topology, n, &before, err);
    if (!st) st = tutti_simulate_schedule(s, &seated, n, &after, err);
    if (!st) {
        char *text = tutti_topology_print(&seated);
        printf("%s of %lld bytes over %d ranks, %lld of %ld swaps taken, seed %ld\n\n", q->algorithm, q->bytes,
               (int)q->request.nranks, (long long)m.naccepted, q->nswaps, q->seed);
        printf("%-7s %17s %8s %10s %17s\n", "", "fullest links", "x bound", "messages", "simulated");
        print_load("before", &m.before, m.lower_s, before.seconds);
        print_load("after", &m.after, m.lower_s, after.seconds);
        printf("%-7s %17s   what the busiest rank sends, stage by stage\n\n%s\n", "bound",
               tutti_time_words(m.lower_s).text, text);
        printf("\nfullest links: sum over stages of the most seconds on a link. messages: most on one link between\n"
               "switches in a stage.\n");
        free(text);
    }
    tutti_mapping_release(&m);
    tutti_schedule_destroy(s);
    return st;
}

enum { NPLACEMENTS = 4, TABLE_ELEMENTS = 25000000 };

/* The placements of the table: parity mapping, block, round-robin, and block with ranks in bit-reversed order, which is halving and
 * doubling with the farthest partner first. */
static tutti_status table_topology(int nswitches, int nhosts, int placement, tutti_topology *t, tutti_failure *err)
{
    static const char *const words[NPLACEMENTS] = {"parity", "block", "round-robin", "block"};
    char text[96];
    int32_t seat[TUTTI_MAX_SEATS_LISTED], p = nswitches * nhosts;
    snprintf(text, sizeof text, "bigraph,switches=%d,hosts=%d,add=1TB,place=%s", nswitches, nhosts, words[placement]);
    tutti_status st = tutti_topology_parse(text, t, err);
    if (st || placement < 3) return st;
    for (int32_t r = 0; r < p; r++) {
        seat[r] = 0;
        for (int32_t bit = 1; bit < p; bit *= 2) seat[r] = 2 * seat[r] + ((r & bit) != 0);
    }
    tutti_topology_place(t, p, seat);
    return TUTTI_OK;
}

/* The closed form on hosts behind one switch that never blocks, with the same figures. */
static double closed_form_s(int32_t p, const tutti_topology *bigraph)
{
    tutti_topology star;
    tutti_closed_form form = {0};
    if (tutti_topology_parse("star", &star, NULL)) return 0;
    star.figure[TUTTI_FIGURE_BANDWIDTH] = bigraph->figure[TUTTI_FIGURE_BANDWIDTH];
    star.figure[TUTTI_FIGURE_LATENCY] = bigraph->figure[TUTTI_FIGURE_LATENCY] + bigraph->figure[TUTTI_FIGURE_HOP];
    star.figure[TUTTI_FIGURE_SOFTWARE] = bigraph->figure[TUTTI_FIGURE_SOFTWARE];
    star.figure[TUTTI_FIGURE_ADD] = bigraph->figure[TUTTI_FIGURE_ADD];
    tutti_simulate_closed_form("halving-doubling", TUTTI_ALLREDUCE, p, TABLE_ELEMENTS, &star, &form);
    return form.seconds;
}

/* One line: what each placement makes of it. */
static tutti_status print_line(int nswitches, int nhosts, tutti_failure *err)
{
    const tutti_compile_request request = {
        .collective = TUTTI_ALLREDUCE, .nranks = nswitches * nhosts, .in_place = true};
    tutti_schedule *s = NULL;
    tutti_status st = tutti_schedule_compile("halving-doubling", &request, &s, err);
    if (!st) printf("%4d %4d %5d %10d", nswitches, nhosts, request.nranks, (2 * nhosts + nswitches - 1) / nswitches);
    for (int i = 0; i < NPLACEMENTS && !st; i++) {
        tutti_topology t;
        tutti_map_load load;
        tutti_simulation sim;
        st = table_topology(nswitches, nhosts, i, &t, err);
        if (!st) st = tutti_map_measure(s, &t, TABLE_ELEMENTS, &load, err);
        if (!st) st = tutti_simulate_schedule(s, &t, TABLE_ELEMENTS, &sim, err);
        if (!st) printf(" %6d %9.4f", (int)load.messages, sim.seconds / closed_form_s(request.nranks, &t));
    }
    printf("\n");
    tutti_schedule_destroy(s);
    return st;
}

static tutti_status print_table(tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    printf("Halving and doubling of 100 MB over all hosts of a bigraph of N switches with M hosts each: most messages "
           "on a\n"
           "link between switches in a stage, and simulated time / closed form of one switch that never blocks.\n"
           "far first: block, the farthest partner first.\n\n%4s %4s %5s %10s %16s %16s %16s %16s\n",
           "N", "M", "ranks", "ceil(2M/N)", "parity mapping", "block", "round-robin", "far first");
    for (int switches = 4; switches <= 32; switches *= 2)
        for (int hosts = 1; hosts <= 16 && !st; hosts *= 2) st = print_line(switches, hosts, err);
    return st;
}

static tutti_status answer(const tutti_flags *f, tutti_failure *err)
{
    const bool table = tutti_cli_has(f, "table");
    for (int i = 0; i < f->nflags && table; i++)
        if (f->count[i] && strcmp(flags[i].name, "table") != 0)
            return tutti_fail(err, TUTTI_ERR_USAGE, "--table has no use for --%s", flags[i].name);
    if (f->nrest != !table)
        return tutti_fail(err, TUTTI_ERR_USAGE, "one topology is wanted, or --table: tutti topo map TOPOLOGY");
    if (table) return print_table(err);
    question q = {0};
    tutti_status st = question_read(f, &q, err);
    return st ? st : map(&q, err);
}

int tutti_topo_map(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "topo map",
        .usage = "tutti topo map TOPOLOGY [options], tutti topo map --table",
        .about = "Seats ranks so that the busiest link of each stage carries less: swaps, tried at random from a seed.",
        .flags = flags,
        .nflags = NFLAGS,
        .any_arguments = true,
        .run = answer,
    };
    return tutti_cli_run(&form, argc, argv);
}
