/* SPDX-License-Identifier: Apache-2.0 */
/* job_choice.h: chooses the values of keys that are auto, by predicted step times, and fixes them in the job. The fixed
 * values are written to the run's folder and are part of the plan's hash. Threads: one at a time. */
#ifndef TUTTI_JOB_CHOICE_H
#define TUTTI_JOB_CHOICE_H

#include "../predict/choice/choice.h"
#include "../predict/profile/profile.h"
#include "resolve.h"
#include "tutti/predict.h"
#include "tutti/topology.h"

/* Writes in words how a plan exchanges gradients: "halving-doubling, 9 buckets of up to 12.0 MiB, sharded". */
enum { TUTTI_EXCHANGE_WORDS = 240 };
void tutti_job_exchange_words(const tutti_plan *plan, char out[TUTTI_EXCHANGE_WORDS]);

typedef struct {
    char *text; /* overrides, "exchange.order=ready\n" and so on; NULL = nothing was chosen. The caller frees it */
    char words[TUTTI_EXCHANGE_WORDS]; /* the choice in words; "" = nothing was chosen */
    double seconds;                   /* seconds that the choice took */
    double step_s;                    /* predicted time of a step; on one host, only of the step's exchanges and
                                       * updates */
    int nplayed, nsimulated;
} tutti_job_choice;

/* The figures that a choice is made by. */
typedef struct {
    const tutti_topology *topology;
    const tutti_profile *profile; /* NULL: kernel times are assumed, for a run that has measured nothing */
    /* Function for the times of graphs with shared layers. NULL, if `profile` is given: no layer is shared. NULL, if
     * `profile` is NULL: these times are assumed, too. */
    tutti_choice_profile_of *profile_of;
    const void *profile_arg;
    bool keeps_layers;            /* true: no layer is shared, even if parallel.layers is auto */
    int most_fan_in;              /* most ranks that may send to one rank of another host at a time; see
                                   * tutti_predict_options */
    tutti_predict_memory *memory; /* what a prediction keeps for the next prediction; NULL = nothing */
} tutti_job_choice_by;

/* Chooses the auto keys of r's plan, and makes r's plan again with them. If the same was asked before, the stored
 * answer is used. */
tutti_status tutti_job_choose(const tutti_job *job, const tutti_job_choice_by *by, tutti_resolved *r,
                              tutti_job_choice *out, tutti_failure *err);
/* Fills in kernel times without a measurement: those of a processor, or card, whose figures come with the program. */
void tutti_job_assume(const tutti_graph *g, bool card, tutti_profile *out);
/* Describes the machine of a run as far as it is known: this host with `ncores` cores (0 = all), or several equal hosts
 * with the same number of ranks, on a network with assumed figures. Returns false if hosts differ; then there are no
 * figures to choose by. host_of NULL = one host. */
bool tutti_job_machine(const int32_t *host_of, int nranks, int ncores, tutti_topology *out);

/* Returns the job with the overrides of a choice; NULL if an override is not valid. Release it by tutti_job_forget;
 * `job` must outlive it, because both share texts. */
tutti_job *tutti_job_with(const tutti_job *job, const char *text);
void tutti_job_forget(tutti_job *copy);
/* Makes r's plan again for the job as it is now, and before that r's graph if other layers are shared now. */
tutti_status tutti_job_replan(const tutti_job *job, tutti_resolved *r, tutti_failure *err);
/* Returns overrides for the keys that are auto in `job` and fixed in `kept`, a job with the same number of ranks; NULL
 * = none. The caller frees the text. */
char *tutti_job_keep(const tutti_job *job, const tutti_job *kept);
/* True if a run of the printed job `kept` may continue for `asked`: they differ only in keys that are auto in
 * `asked`. */
bool tutti_job_was(const char *asked, const char *kept);
/* True if any key of the job is auto. */
bool tutti_job_is_open(const tutti_job *job);

#endif
