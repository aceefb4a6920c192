/* SPDX-License-Identifier: Apache-2.0 */
/* topo_map.c: `tutti topo map TOPOLOGY --algorithm A --ranks P`: places ranks so that the fullest links carry less.
 * Prints the load of these links, and its ratio to a lower bound. */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/clock.h"
#include "../../collective/simulate/simulate.h"
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
};

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
    if (!st)
        st =
            tutti_cli_int(f, "ranks", (tutti_cli_range){2, 65536}, tutti_topology_nseats(&q->topology, 8), &ranks, err);
    if (!st) st = tutti_cli_int(f, "seed", (tutti_cli_range){0, 2147483647}, 1, &q->seed, err);
    if (!st) st = tutti_cli_int(f, "swaps", (tutti_cli_range){1, 1000000000}, 200000, &q->nswaps, err);
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

static tutti_status answer(const tutti_flags *f, tutti_failure *err)
{
    question q = {0};
    tutti_status st = question_read(f, &q, err);
    return st ? st : map(&q, err);
}

int tutti_topo_map(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "topo map",
        .usage = "tutti topo map TOPOLOGY [options]",
        .about = "Seats ranks so that the busiest link of each stage carries less: swaps, tried at random from a seed.",
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one topology is wanted: tutti topo map TOPOLOGY",
        .run = answer,
    };
    return tutti_cli_run(&form, argc, argv);
}
