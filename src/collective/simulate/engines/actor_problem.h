/* SPDX-License-Identifier: Apache-2.0 */
/* actor_problem.h: a schedule for one element count with the routes of its messages, as processes play it. The event
 * player plays it in memory; as a file it is the question of tutti to tutti-simgrid. Private to
 * src/collective/simulate.
 *
 * The file: a head, then the arrays that the head counts, in the order of tutti_actor_problem, in this machine's byte
 * order, each beginning at a multiple of 8 bytes. Both programs come from one build; the magic number names the layout.
 *
 * A rank plays its steps as one process. Steps of a sequence stand one behind the other, with `begins` set at the first
 * of each. A line stands for a channel (src, dst, number) of the schedule: the i-th message on it meets the i-th
 * receive or wait. A message travels as `nparts` flows at once, each over one alias of (src, dst): an alias is one of
 * several routes of a pair (hashed paths, channels). Units: seconds, bytes, bytes per second. Threads: any (plain
 * values). */
#ifndef TUTTI_ACTOR_PROBLEM_H
#define TUTTI_ACTOR_PROBLEM_H

#include <stdint.h>

#define TUTTI_ACTOR_MAGIC "tuttisg1"

enum tutti_actor_kind {
    TUTTI_ACTOR_NOP,
    TUTTI_ACTOR_SEND,   /* a send completes when its message is received */
    TUTTI_ACTOR_RECV,   /* the message of a receive travels once both ends are there */
    TUTTI_ACTOR_SIGNAL, /* a signal travels at once, with the bytes that were put before it, and completes at once */
    TUTTI_ACTOR_WAIT,   /* waits for the signal of the same ordinal */
    TUTTI_ACTOR_WORK,   /* work of the rank's one core */
    TUTTI_ACTOR_LOAD,   /* reads or writes other ranks' memory, all loads at once, and then works */
};

typedef struct {
    double bytes_per_s, latency_s;
} tutti_actor_link;

typedef struct {
    int32_t src, alias, dst; /* pairs are sorted by these fields, in this order */
    int32_t nhops;
    int64_t first_hop;
} tutti_actor_pair;

typedef struct {
    int32_t src, dst, channel;
    int32_t eager;       /* number of signals on the line */
    int32_t first_alias; /* first of the line's nparts aliases */
    int32_t unused;
    double latency_s; /* latency of the line's longest route */
} tutti_actor_line;

typedef struct {
    int32_t src, dst;
    double bytes, latency_s;
} tutti_actor_load;

typedef struct {
    uint8_t kind, begins;
    uint16_t nloads;
    int32_t at;        /* message: the step's line; load: the step's first load */
    int32_t first_dep; /* first of the step's deps among the rank's deps */
    int32_t ndeps;
    double amount; /* bytes of the message, or seconds of work */
    int32_t stage; /* steps that could be posted together are posted in this order */
    int32_t unused;
} tutti_actor_step;

typedef struct {
    int64_t first_step, first_dep;
    double late_s; /* time before which the rank begins nothing, in seconds */
} tutti_actor_rank;

typedef struct {
    char magic[8];
    int32_t nranks, naliases, nparts;
    int32_t tcp;   /* 0: messages share links max-min fairly, and the player waits for latencies; 1: SimGrid's model of
                    * TCP, which includes latencies */
    double soft_s; /* seconds that a rank works for each message that it sends, and for each that it takes */
    double precision_s; /* two ends less than this many seconds apart count as one */
    int64_t nlinks, npairs, nhops, nlines, nloads, ndeps, nsteps;
} tutti_actor_head;

typedef struct {
    const tutti_actor_head *head;
    const tutti_actor_step *steps;
    const tutti_actor_rank *ranks; /* for each rank: index of its first step, and of its first dep; nranks + 1
                                    * entries */
    const tutti_actor_link *links;
    const tutti_actor_pair *pairs;
    const tutti_actor_line *lines;
    const tutti_actor_load *loads;
    const int32_t *hops, *aliases, *deps; /* hops: links of all routes; aliases: nparts of each line; deps: steps of the
                                           * same rank, numbered from its first */
} tutti_actor_problem;

/* The answer of tutti-simgrid: "ok SECONDS", then a line of seconds for each rank; or "error WORDS". */

#endif
