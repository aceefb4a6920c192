/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: a session, all that one rank needs to train a job: resolved parts, data, and the trainer's configuration.
 * Threads: one at a time; the data may be shared by sessions of one process. */
#ifndef TUTTI_SESSION_H
#define TUTTI_SESSION_H

#include "../training/run/train.h"
#include "resolve.h"
#include "tutti/topology.h"

typedef struct {
    tutti_dataset *train, *test;
    /* memory for the samples of both sets, which all ranks of the host share; NULL: each rank has its own */
    struct tutti_shared_bytes *shared;
    void *kept; /* mapping of a memory file with these samples; NULL = none */
    size_t kept_bytes;
} tutti_session_data;
/* Opens the data sets; collective with a group (may be NULL). Sets that hold their samples in memory are made once on
 * each host, or once for all ranks of a host that have the same number in memory_of (one number for each rank; NULL =
 * one memory for each host). If only one rank knows a failure, it has the message and the others fail with empty
 * ones. */
tutti_status tutti_session_data_open(const tutti_job *job, tutti_group *group, const int32_t *memory_of,
                                     tutti_session_data *out, tutti_failure *err);
/* Opens the data sets through `fd`, a memory file that outlives this process and is the same for all ranks. The ranks
 * are of one host. Rank 0 makes the samples if the file does not hold them yet. Collective; a rank that has the sets
 * already passes them in *out, and they stay. Failures are those of tutti_session_data_open. */
tutti_status tutti_session_data_open_kept(const tutti_job *job, tutti_group *group, int fd, tutti_session_data *out,
                                          tutti_failure *err);
/* Returns the bytes of samples on each host; 0 if no set holds its samples in memory. */
int64_t tutti_session_data_bytes(const tutti_session_data *d);
void tutti_session_data_release(tutti_session_data *d);

typedef struct {
    tutti_resolved parts;
    tutti_job *chosen; /* the job with its auto keys fixed; NULL: no key was auto */
    /* texts: job_text: of `chosen`, or of the job if `chosen` is NULL; data_text: identity of the data; if_diverged:
     * advice for a run that has diverged */
    char *job_text, *data_text, *if_diverged;
    const char **free_keys; /* the array of config.free_keys */
    /* the chosen exchanges in words, on rank 0; "" = nothing was chosen, or this is another rank */
    char exchange[240];
    bool again;   /* ranks have joined again after one was lost */
    bool is_kept; /* true: the choice was not made now, because the run in this folder began with it */
    /* seconds that the choice took; predicted seconds of a step (on one host without kernels) */
    double choice_s, predicted_s;
    tutti_train_config config;        /* the caller sets dir, fresh and listeners */
    tutti_pretended_layer *pretended; /* for each layer: how long its kernels wait instead of computing; NULL = kernels
                                       * compute */
} tutti_session;

/* Opens a session as a rank of the group; tutti_session_settle then completes its plan. group NULL: as rank 0 of the
 * job's ranks on one host, only to look at it. times: from tutti_job_share_times, NULL = read here. job, data and group
 * are borrowed until release. TUTTI_ERR_USAGE: a set does not fit the model or the batch. */
tutti_status tutti_session_open(const tutti_job *job, const tutti_session_data *data, tutti_group *group,
                                const char *times, tutti_session *out, tutti_failure *err);
/* Fixes the keys of `exchange` that are auto: to the values of the newest checkpoint under dir, if it is of the same
 * number of ranks. Keys that are still auto are chosen by predicted times on t. dir NULL: there is no checkpoint; t
 * NULL: nothing is chosen. *overrides: the values that were set, "" or NULL = none; the caller frees it. */
tutti_status tutti_session_choose(const tutti_job *job, const tutti_topology *t, const char *dir, tutti_session *s,
                                  char **overrides, tutti_failure *err);
/* Collective, before training: rank 0 chooses what is auto, for all ranks; schedules are proved, once for all ranks;
 * with `exchange.buckets: auto` the plan is made by costs measured in this group. dir: see job_costs.h. */
tutti_status tutti_session_settle(const tutti_job *job, tutti_group *group, const char *dir, tutti_session *s,
                                  tutti_failure *err);
/* Makes kernels wait for the times of this layer trace (metrics/trace.h), which are for a rank's samples of a step;
 * nothing is tested. Refused if the trace does not fit the job. */
tutti_status tutti_session_pretend(const char *path, tutti_session *s, tutti_failure *err);
void tutti_session_release(tutti_session *s);

#endif
