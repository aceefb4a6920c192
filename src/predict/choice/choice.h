/* SPDX-License-Identifier: Apache-2.0 */
/* choice.h: chooses how a step's exchanges travel by predicted step time: algorithm, buckets, who updates and when, and
 * the order.
 *
 * Every algorithm is simulated once for each collective that the method needs, and what it would take at all sizes lies
 * on lines (collective/simulate/events/flows.h). The few that may be the fastest are put into plans with buckets of
 * several kinds, and each plan is played (timeline.h). The fixed rule of tutti_plan_algorithms with buckets of 1 MiB is
 * always among them, and stays unless another is faster by more than the margin.
 *
 * Nothing is measured and nothing is random: equal questions have equal answers. On a host, where nothing is hidden,
 * times of kernels do not matter and are left out, so that it makes no difference who measured them. Threads: shared
 * (pure). */
#ifndef TUTTI_CHOICE_H
#define TUTTI_CHOICE_H

#include "../../training/method/method.h"
#include "../../training/plan/plan.h"
#include "../exchange_times.h"
#include "../profile/profile.h"
#include "tutti/topology.h"

/* What nobody has fixed. */
typedef struct {
    bool algorithm, buckets, order, update, update_when;
} tutti_open_keys;

/* What choices share that follow each other: schedules, and how long they take. Zero-initialise; release. A
 * question of another machine or number of ranks, or of sums of another kind, makes it forget. */
typedef struct {
    tutti_topology topology; /* of the last question, as is what follows: what times go by */
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
    tutti_plan_config config; /* of the job; what is open has the values of the fixed rule */
    const tutti_profile *profile;
    const tutti_topology *topology;
    tutti_open_keys open;
    double margin;               /* a share of the step: by less nothing is better than the fixed rule */
    int most_fan_in;             /* no algorithm by which more ranks send to one of another host at a time; 0: any */
    tutti_choice_memory *memory; /* NULL: nothing is kept */
} tutti_choice_question;

typedef struct {
    bool is_chosen; /* else the question's configuration stands: nothing was open, or nothing is to choose from */
    char algorithm[TUTTI_ALGORITHM_TEXT]; /* "rule": the fixed one */
    int64_t bucket_bytes;                 /* as tutti_plan_config has it; TUTTI_BUCKET_CUT: as cut says */
    tutti_reals cut;                      /* free(cut.values) */
    bool by_need, replicated, early;
    int nbuckets;
    int64_t largest;         /* bytes of its largest bucket */
    double step_s;           /* that is predicted; of a host without kernels */
    int nplayed, nsimulated; /* plans, schedules: what it took */
} tutti_exchange_choice;

/* TUTTI_ERR_USAGE: the ranks have no room on the topology, or no plan can be made. */
tutti_status tutti_choose_exchange(const tutti_choice_question *q, tutti_exchange_choice *out, tutti_failure *err);
void tutti_exchange_choice_release(tutti_exchange_choice *c);
void tutti_choice_memory_release(tutti_choice_memory *m);

#endif
