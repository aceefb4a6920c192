/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: a session, all that one rank needs to train a job: resolved parts, data, and the trainer's configuration.
 * Threads: owner; the data may be shared by sessions of one process. */
#ifndef TUTTI_SESSION_H
#define TUTTI_SESSION_H

#include "../training/run/train.h"
#include "resolve.h"
#include "tutti/topology.h"

typedef struct {
    tutti_dataset *train, *test;
    struct tutti_shared_bytes
        *shared; /* where their bytes lie, for all ranks of the host; NULL: each rank has its own */
} tutti_session_data;
/* In a group (else NULL) collective: sets that hold bytes are made once a host, or once for those of its ranks that
 * have the same number in memory_of (a number a rank; NULL = one memory a host). What only one rank knows it says; the
 * others fail with empty words. */
tutti_status tutti_session_data_open(const tutti_job *job, tutti_group *group, const int32_t *memory_of,
                                     tutti_session_data *out, tutti_failure *err);
/* Memory of the samples, once a host; 0: a set holds none. */
int64_t tutti_session_data_bytes(const tutti_session_data *d);
void tutti_session_data_release(tutti_session_data *d);

typedef struct {
    tutti_resolved parts;
    tutti_job *chosen;                        /* the job with what was auto; NULL: nothing was */
    char *job_text, *data_text, *if_diverged; /* job_text: of that one */
    const char **free_keys;                   /* of config */
    char exchange[240];                       /* what was chosen, for people; "" = nothing, or this rank was told */
    bool is_kept;                             /* ... it is that of the run so far */
    double choice_s, predicted_s;     /* how long it took; what a step takes by it, of one host without kernels */
    tutti_train_config config;        /* dir, fresh, listeners are the caller's to set */
    tutti_pretended_layer *pretended; /* NULL: kernels compute */
} tutti_session;

/* times: of tutti_job_share_times, NULL = read here. As a rank of the group, whose plan tutti_session_settle completes;
 * group NULL: as rank 0 of the job's ranks on one host, to be looked at. job, data and group are borrowed until
 * release. A set that does not fit the model or the batch is TUTTI_ERR_USAGE. */
tutti_status tutti_session_open(const tutti_job *job, const tutti_session_data *data, tutti_group *group,
                                const char *times, tutti_session *out, tutti_failure *err);
/* What of `exchange` is auto becomes what the newest checkpoint under dir was made by, if that is of as many ranks;
 * what is left is chosen by predicted times on t. dir NULL: there is none; t NULL: then it stays what it is.
 * *overrides: what was set so, "" or NULL = nothing; the caller's (free()). */
tutti_status tutti_session_choose(const tutti_job *job, const tutti_topology *t, const char *dir, tutti_session *s,
                                  char **overrides, tutti_failure *err);
/* Collective, before training: what is auto is chosen by rank 0, the same for all; schedules are proved, once for all
 * ranks; with `exchange.buckets: auto` the plan is made by costs measured in this group. dir: see job_costs.h. */
tutti_status tutti_session_settle(const tutti_job *job, tutti_group *group, const char *dir, tutti_session *s,
                                  tutti_failure *err);
/* Kernels are to wait for the times of this layer trace (metrics/trace.h), of a rank's samples of a step, and nothing
 * is tested. Refused where those do not say what the job does. */
tutti_status tutti_session_pretend(const char *path, tutti_session *s, tutti_failure *err);
void tutti_session_release(tutti_session *s);

#endif
