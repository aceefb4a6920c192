/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.h: how long a schedule takes on a topology: closed forms, the round evaluator, and lower bounds.
 *
 * Three answers that check each other: bound <= lower <= seconds, and on networks without collisions the closed form of
 * an algorithm equals `seconds` of its compiled schedule (tests/collective/test_simulate.c).
 * Model. Steps of a stage (tutti_step.stage) run together, stages one after the other. On a network a stage costs
 * latency (when it has messages or signals: that of the longest way among them, and soft for each message that the
 * busiest rank handles), then its messages with max-min shares of their links (those of one channel go one behind the
 * other), then the longest local work of any rank. On a host a stage costs a latency (when it waits) and then the work
 * of its busiest core or of the memory. Where the topology has an `incast` a port into a host to which k ranks send in
 * a stage has a rate of 1 / (1 + incast (k - 1)) of its own. Other packet effects, congestion control and noise are not
 * in it.
 *
 * Threads: shared (pure functions). */
#ifndef TUTTI_SIMULATE_H
#define TUTTI_SIMULATE_H

#include "tutti/schedule.h"
#include "tutti/topology.h"

enum { TUTTI_ELEMENT_BYTES = 4 }; /* f32 */

/* A schedule of n elements on a topology, to be played. */
typedef struct {
    const tutti_schedule *schedule;
    const tutti_topology *topology;
    int64_t n;
} tutti_playing;

typedef struct {
    double seconds;                        /* expected: rounds with a barrier after each */
    double latency_s, transfer_s, local_s; /* its parts; host: transfer 0 */
    double lower_s;                        /* no execution of this schedule on this topology is shorter */
    double busy_s;                         /* of that, without the waiting: the busiest link or core */
    int32_t fan_in;                        /* ranks that send to one of another host in one stage, the most */
    int32_t nrounds;                       /* stages that have messages or waits */
    int64_t nmessages;                     /* sends, puts or signals, all ranks */
    int64_t bytes_most;                    /* on one link (network), by one rank (host) */
    int64_t bytes_sent;                    /* by the rank that sends most; host: as above */
    int32_t bottleneck;                    /* link with the largest load, -1 = nothing moves */
    char bottleneck_name[32];
    double bottleneck_busy; /* its load / capacity / seconds */
} tutti_simulation;

/* n elements. A host wants the schedule lowered for mapped memory; a network takes it as compiled or one-sided, and
 * lowered for mapped memory or hosts where the ranks that then map each other's memory are of one host of the topology
 * (a `cluster` has some); anything else, or more ranks than there is room for, is TUTTI_ERR_USAGE. Cost: every part
 * once, 32 bytes a message. */
tutti_status tutti_simulate_schedule(const tutti_schedule *s, const tutti_topology *t, int64_t n, tutti_simulation *out,
                                     tutti_failure *err);

/* Closed form of an algorithm on a star, from its paper, independent of compiled schedules. */
typedef struct {
    int64_t nsteps;        /* messages one after the other: factor of latency */
    double bytes_per_link; /* factor of 1 / bandwidth */
    double bytes_added;    /* factor of 1 / add */
    double seconds;        /* on the topology */
} tutti_closed_form;
/* algorithm: as for tutti_schedule_compile. False: no closed form for that algorithm, collective or rank count
 * (halving-doubling off powers of two). */
bool tutti_simulate_closed_form(const char *algorithm, tutti_collective collective, int32_t nranks, int64_t n,
                                const tutti_topology *t, tutti_closed_form *out);

/* What no algorithm can beat (endpoints reduce, nothing is compressed). */
typedef struct {
    double latency_s; /* network: the farthest pair, and rounds in which one rank hears of all (L1); host: one signal */
    double bandwidth_s;  /* network: bytes that must leave parts of a partition (L3); host: through the memory */
    double compute_s;    /* network: additions (L7); host: every input read and every output written once */
    double in_network_s; /* network: what must cross a cut even if switches add (L2); else 0 */
    double best_s;       /* the largest but in_network_s */
    const char *best;    /* "latency", "bandwidth", "compute", "memory" */
} tutti_bounds;
void tutti_simulate_bounds(tutti_collective collective, int32_t nranks, int64_t n, const tutti_topology *t,
                           tutti_bounds *out);

/* Host only: a signal to a waiter, with more ranks than cores also the switches until it runs. */
double tutti_simulate_host_latency(const tutti_topology *t, int32_t nranks);

/* Which rank sits where, so that the fullest link of each stage of a schedule carries as little as possible. Any
 * network, schedule and rank count up to TUTTI_MAX_SEATS_LISTED; reproducible: the same seed gives the same seats.
 * Threads: shared. */

/* What the links carry under one seating. */
typedef struct {
    double seconds;   /* sum over stages of the fullest link's bytes / its rate */
    int32_t messages; /* of one stage on one link between switches (or any, where there are none), the most */
} tutti_map_load;

typedef struct {
    uint64_t seed;
    int64_t nswaps;
    bool any_start;
} tutti_map_options;

typedef struct {
    tutti_map_load before, after;
    double
        lower_s; /* of seconds: what the busiest rank sends over the fastest seat's links, and the largest message over
                          one of them, stage by stage */
    int32_t *seat;     /* after; nranks entries, released by tutti_mapping_release */
    int64_t naccepted; /* swaps */
} tutti_mapping;

/* n elements; nswaps: how many are tried. The search begins with the topology's own placement or, with any_start, with
 * the best of all placements that its kind has; `before` is its own. TUTTI_ERR_USAGE on a host, for a schedule
 * that is not two-sided, or if the ranks do not fit. */
tutti_status tutti_map_ranks(const tutti_schedule *s, const tutti_topology *t, int64_t n,
                             const tutti_map_options *options, tutti_mapping *out, tutti_failure *err);
void tutti_mapping_release(tutti_mapping *mapping);

#endif
