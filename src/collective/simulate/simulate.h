/* SPDX-License-Identifier: Apache-2.0 */
/* simulate.h: predicts how long a schedule takes on a topology: closed forms, the round evaluator, and lower bounds.
 *
 * Three answers that check each other: bound <= lower <= seconds; and on networks without collisions the closed form of
 * an algorithm equals `seconds` of its compiled schedule (tests/collective/test_simulate.c). Model. Steps of a stage
 * (tutti_step.stage) run together, stages one after the other. On a network a stage costs latency, then transfer, then
 * the longest local work of any rank. Latency counts if the stage has messages or signals: it is that of the longest
 * way among them, plus soft for each message that the busiest rank handles. In the transfer messages have max-min
 * shares of their links (those of one channel go one behind the other). On a host a stage costs a latency (when it
 * waits) and then the work of its busiest core or of the memory. If the topology has an `incast`, a port into a host to
 * which k ranks send in a stage has a rate of 1 / (1 + incast (k - 1)) of its own. The model leaves out other packet
 * effects, congestion control and noise.
 *
 * Threads: any (pure functions). */
#ifndef TUTTI_SIMULATE_H
#define TUTTI_SIMULATE_H

#include "tutti/schedule.h"
#include "tutti/topology.h"

enum { TUTTI_ELEMENT_BYTES = 4 }; /* bytes of an f32 */

/* The question: a schedule of n elements on a topology. */
typedef struct {
    const tutti_schedule *schedule;
    const tutti_topology *topology;
    int64_t n;
} tutti_playing;

typedef struct {
    double seconds;                        /* expected time: rounds with a barrier after each */
    double latency_s, transfer_s, local_s; /* `seconds` is the sum of these three; transfer_s is 0 on a host */
    double lower_s;                        /* no execution of this schedule on this topology is shorter */
    double busy_s;                         /* lower_s without the waiting: time of the busiest link or core */
    int32_t fan_in;                        /* the largest number of ranks that send to one rank of another host in one
                                            * stage */
    int32_t nrounds;                       /* number of stages that have messages or waits */
    int64_t nmessages;                     /* number of sends, puts or signals of all ranks */
    int64_t bytes_most;                    /* largest number of bytes on one link (network), or of one rank (host) */
    int64_t bytes_sent;                    /* bytes that the busiest rank sends; on a host equal to bytes_most */
    int32_t bottleneck;                    /* link with the largest load, -1 = nothing moves */
    char bottleneck_name[32];
    double bottleneck_busy; /* fraction of `seconds` in which that link is busy: load / capacity / seconds */
} tutti_simulation;

/* Simulates. A host wants the schedule lowered for mapped memory. A network takes it as compiled, one-sided, or lowered
 * for mapped memory or hosts if the ranks that map each other's memory are of one host of the topology (a `cluster` has
 * such hosts). Anything else, or more ranks than there is room for, is TUTTI_ERR_USAGE. Cost: every part is read once;
 * 32 bytes of memory for each message. */
tutti_status tutti_simulate_schedule(const tutti_schedule *s, const tutti_topology *t, int64_t n, tutti_simulation *out,
                                     tutti_failure *err);

/* Closed form of an algorithm on a star, from its paper, independent of compiled schedules. */
typedef struct {
    int64_t nsteps;        /* number of messages that follow one another: the factor of the latency in `seconds` */
    double bytes_per_link; /* bytes that the busiest link carries: the factor of 1 / bandwidth in `seconds` */
    double bytes_added;    /* bytes that the busiest rank adds: the factor of 1 / add in `seconds` */
    double seconds;        /* time of the algorithm on the topology */
} tutti_closed_form;
/* Computes the closed form. algorithm: as for tutti_schedule_compile. False: there is none for that algorithm,
 * collective or rank count (halving-doubling off powers of two). */
bool tutti_simulate_closed_form(const char *algorithm, tutti_collective collective, int32_t nranks, int64_t n,
                                const tutti_topology *t, tutti_closed_form *out);

/* Bounds that no algorithm can beat (endpoints reduce, nothing is compressed). */
typedef struct {
    double latency_s;    /* network: the larger of the farthest pair's latency and the rounds until one rank has heard
                          * from all (L1); host: one signal */
    double bandwidth_s;  /* network: time in which bytes leave the parts of a partition (L3); host: time of the bytes
                          * through the memory */
    double compute_s;    /* network: time of the additions (L7); host: time to read every input and write every output
                          * once */
    double in_network_s; /* network: time in which bytes cross a cut even if switches add (L2); else 0 */
    double best_s;       /* largest of the times above, without in_network_s */
    const char *best;    /* name of the largest: "latency", "bandwidth", "compute", "memory" */
} tutti_bounds;
void tutti_simulate_bounds(tutti_collective collective, int32_t nranks, int64_t n, const tutti_topology *t,
                           tutti_bounds *out);

/* Returns the time of a signal to a waiting rank of a host; with more ranks than cores, including the switches until
 * that rank runs. */
double tutti_simulate_host_latency(const tutti_topology *t, int32_t nranks);

/* Mapping: places ranks on seats so that the fullest link of each stage of a schedule carries as little as possible. It
 * takes any network, schedule and rank count up to TUTTI_MAX_SEATS_LISTED. The same seed gives the same seats. Threads:
 * shared. */

/* The load of the links under one seating. */
typedef struct {
    double seconds;   /* sum over stages of the time of the fullest link (its bytes / its rate) */
    int32_t messages; /* largest number of messages of one stage on one link between switches (on any link, if there are
                       * no switches) */
} tutti_map_load;

typedef struct {
    uint64_t seed;
    int64_t nswaps;
    bool any_start;
} tutti_map_options;

typedef struct {
    tutti_map_load before, after;
    double lower_s;    /* lower bound of seconds: in each stage, the larger of the busiest rank's bytes over the fastest
                        * seat's links, and the largest message over one of them */
    int32_t *seat;     /* seats after the search; nranks entries, released by tutti_mapping_release */
    int64_t naccepted; /* number of swaps that the search kept */
} tutti_mapping;

/* Maps the ranks for n elements. nswaps: number of swaps that are tried. The search begins with the topology's own
 * placement or, with any_start, with the best of all placements of its kind; `before` describes its own placement.
 * TUTTI_ERR_USAGE on a host, for a schedule that is not two-sided, or if the ranks do not fit. */
tutti_status tutti_map_ranks(const tutti_schedule *s, const tutti_topology *t, int64_t n,
                             const tutti_map_options *options, tutti_mapping *out, tutti_failure *err);
void tutti_mapping_release(tutti_mapping *mapping);

#endif
