/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: all that one rank needs to train a job: its resolved parts, its data, and the trainer's configuration.
 * Threads: owner; the data may be shared by sessions of one process. */
#ifndef TUTTI_SESSION_H
#define TUTTI_SESSION_H

#include "../training/run/train.h"
#include "resolve.h"

typedef struct {
    tutti_dataset *train, *test;
} tutti_session_data;
tutti_status tutti_session_data_open(const tutti_job *job, tutti_session_data *out, tutti_failure *err);
void tutti_session_data_release(tutti_session_data *d);

typedef struct {
    tutti_resolved parts;
    char *job_text;
    tutti_train_config config; /* dir, fresh, listeners are the caller's to set */
} tutti_session;

/* job, data and host_of (the host of each rank, NULL = one) are borrowed until release. A set that does not fit the model or the batch is TUTTI_ERR_USAGE. */
tutti_status tutti_session_open(const tutti_job *job, const tutti_session_data *data, int rank, int nranks,
                                const int32_t *host_of, tutti_session *out, tutti_failure *err);
/* The plan of `exchange.buckets: auto`, by costs measured in this group: collective, before training. dir: see job_costs.h. */
tutti_status tutti_session_merge(const tutti_job *job, tutti_group *group, const char *dir, tutti_session *s,
                                 tutti_failure *err);
void tutti_session_release(tutti_session *s);

#endif
