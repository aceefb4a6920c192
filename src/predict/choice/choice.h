/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h: chooses how a step's exchanges travel by predicted step time: algorithm, buckets, who updates and when, the
 * order, and shared layers.
 *
 * Every algorithm is simulated once for each collective that the method needs. Its times at other sizes are read from
 * lines (collective/simulate/events/flows.h). The few algorithms that may be the fastest are put into plans with
 * buckets of several kinds, and each plan is played (timeline.h). The fixed rule of tutti_plan_algorithms with buckets
 * of 1 MiB is always among these plans. It stays unless another plan is faster by more than the margin.
 *
 * Between hosts, up to TUTTI_EXACT_RANKS ranks, plans in which groups of ranks share the largest dense layers are
 * searched in the same way (choice_shared.c). Such a plan is taken if it is faster by more than the margin.
 *
 * Nothing is measured and nothing is random: equal questions have equal answers. On a host, exchanges hide behind
 * nothing, so times of kernels do not matter. They are left out, and the answer is the same whoever measured them.
 * Threads: any (pure functions). */
#ifndef TUTTI_CHOICE_H
#define TUTTI_CHOICE_H

#include "../../training/method/method.h"
#include "../../training/plan/plan.h"
#include "../exchange_times.h"
#include "../profile/profile.h"
#include "tutti/topology.h"

/* The keys that the job leaves open. */
typedef struct {
    bool algorithm, buckets, order, update, update_when;
    bool layers; /* true if the choice may let groups of ranks share layers: which layers, and how many groups */
} tutti_open_keys;

/* Returns the times of the nodes of another graph of the same model, whose layers are shared. The caller releases
 * *out. */
typedef tutti_status tutti_choice_profile_of(const void *arg, const tutti_graph *graph, tutti_profile *out,
                                             tutti_failure *err);

/* Data that consecutive choices share: schedules and their times. Zero-initialise; release. A question about another
 * machine, another number of ranks, or sums of another kind empties it. */
typedef struct {
    tutti_topology topology; /* the machine of the last question; the kept times depend on this field and the next
                              * ones */
    tutti_plan_config config;
    int most_fan_in;
    tutti_plan_shelf shelf;
    tutti_exchange_times times;
    struct tutti_asked *asked; /* simulations of all algorithms (contestants.c) */
    int nasked, room;
} tutti_choice_memory;

typedef struct {
    const tutti_graph *graph;
    const tutti_method_row *method;
    tutti_plan_config config; /* the job's configuration; keys that the choice may set (`open`) have the values of the
                               * fixed rule */
    const tutti_profile *profile;
    const tutti_topology *topology;
    tutti_choice_profile_of *profile_of; /* function for the node times of a graph with shared layers; needed if
                                          * `open.layers` is set */
    const void *profile_arg;
    tutti_open_keys open;
    double margin;               /* a part of the step (0.01 = 1 %): a smaller gain does not replace the fixed rule */
    int most_fan_in;             /* excludes algorithms by which more than this number of ranks send to one rank of
                                  * another host at a time; 0: no limit */
    tutti_choice_memory *memory; /* schedules and times that are kept for the next question; NULL: nothing is kept */
} tutti_choice_question;

typedef struct {
    bool is_chosen; /* false if the question's configuration is kept: no key was open, or there was nothing to choose
                     * from */
    char algorithm[TUTTI_ALGORITHM_TEXT]; /* the chosen algorithm; "rule" for the fixed rule */
    int64_t bucket_bytes;                 /* largest size of a bucket in bytes, or a TUTTI_BUCKET_.. as in
                                           * tutti_plan_config; TUTTI_BUCKET_CUT: `cut` has the sizes */
    tutti_reals cut;                      /* number of exchanged parameters of each bucket; to be released by
                                           * free(cut.values) */
    bool by_need, replicated, early;
    const char **shared;  /* names of the layers that groups share; to be released by free; the names belong to the
                          * question's model */
    int nshared, ngroups; /* number of shared layers, and number of groups that share them; 0: no layer is shared */
    int nbuckets;
    int64_t largest;         /* bytes of the largest bucket */
    double step_s;           /* predicted seconds of the step; on a host without the time of kernels */
    int nplayed, nsimulated; /* the effort of the choice: number of plans that were played, and of schedules that were
                              * simulated */
} tutti_exchange_choice;

/* Chooses. TUTTI_ERR_USAGE if the ranks have no room on the topology, or if no plan can be made. */
tutti_status tutti_choose_exchange(const tutti_choice_question *q, tutti_exchange_choice *out, tutti_failure *err);
void tutti_exchange_choice_release(tutti_exchange_choice *c);
void tutti_choice_memory_release(tutti_choice_memory *m);

#endif
