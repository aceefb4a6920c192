/* SPDX-License-Identifier: Apache-2.0 */
/* job_choice.h: chooses the keys of `exchange` that are auto, by predicted step time (predict/choice/), and puts them
 * into the job as fixed values, which are part of the run's folder and of the plan's hash. Threads: owner. */
#ifndef TUTTI_JOB_CHOICE_H
#define TUTTI_JOB_CHOICE_H

#include "../predict/profile/profile.h"
#include "resolve.h"
#include "tutti/predict.h"
#include "tutti/topology.h"

/* How gradients travel by a plan, in words: "halving-doubling, 9 buckets of up to 12.0 MiB, sharded". */
enum { TUTTI_EXCHANGE_WORDS = 240 };
void tutti_job_exchange_words(const tutti_plan *plan, char out[TUTTI_EXCHANGE_WORDS]);

typedef struct {
    char *text; /* overrides, "exchange.order=ready\n" and so on; NULL: nothing was chosen. The caller's (free()) */
    char words[TUTTI_EXCHANGE_WORDS]; /* "" = nothing was chosen */
    double seconds;                   /* that the choice took */
    double step_s;                    /* predicted; of a host the exchanges and updates alone */
    int nplayed, nsimulated;
} tutti_job_choice;

/* By what is chosen. */
typedef struct {
    const tutti_topology *topology;
    const tutti_profile *profile; /* NULL: kernel times are assumed, as a run that has measured nothing wants them */
    int most_fan_in;              /* as in tutti_predict_options */
    tutti_predict_memory *memory; /* NULL: nothing is kept */
} tutti_job_choice_by;

/* Chooses what is auto for the plan of r, and makes r's plan anew by it. The question that was asked last before has
 * the same answer. */
tutti_status tutti_job_choose(const tutti_job *job, const tutti_job_choice_by *by, tutti_resolved *r,
                              tutti_job_choice *out, tutti_failure *err);
/* Kernel times that nobody has measured: those of a processor, or card, that comes with the program. */
void tutti_job_assume(const tutti_resolved *r, bool card, tutti_profile *out);
/* The machine that a run is on, as far as it is known: this host with so many cores (0: all), or as many hosts of as
 * many ranks each, on a network of assumed figures. false: hosts differ, and nothing is known to choose by. host_of
 * NULL: one host. */
bool tutti_job_machine(const int32_t *host_of, int nranks, int ncores, tutti_topology *out);

/* The job with the overrides of a choice; NULL where one does not go. Released by tutti_job_forget; what the first job
 * holds must outlive it. */
tutti_job *tutti_job_with(const tutti_job *job, const char *text);
void tutti_job_forget(tutti_job *copy);
/* Makes r's plan anew as the job says now. */
tutti_status tutti_job_replan(const tutti_job *job, tutti_resolved *r, tutti_failure *err);
/* Overrides of what is auto in `job` and fixed in `kept`, a job of as many ranks; NULL: none. The caller's (free()). */
char *tutti_job_keep(const tutti_job *job, const tutti_job *kept);
/* Whether a run of the one printed job keeps the other: they differ in nothing but what was auto. */
bool tutti_job_was(const char *asked, const char *kept);
/* Whether anything of it is auto. */
bool tutti_job_is_open(const tutti_job *job);

#endif
