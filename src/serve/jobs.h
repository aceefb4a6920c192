/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h: the state machine of jobs: starts attempts, follows them, stops them, and says what is known of them.
 *
 * A state follows from three things that outlive the server: the wish in the store, the attempt's lease, and the run's
 * folder. What is kept in memory only saves work: a server that was killed loses nothing that its successor needs.
 * Threads: one at a time. */
#ifndef TUTTI_SERVE_JOBS_H
#define TUTTI_SERVE_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "../store/store.h"
#include "attempt/engine.h"
#include "job_spec.h"
#include "monitor.h"
#include "series.h"

typedef struct tutti_jobs tutti_jobs;

typedef struct {
    tutti_store *store;
    const tutti_job_engine *engine;
    tutti_engine_options engine_options;
    const char *folder; /* absolute path of the folder of all jobs */
} tutti_jobs_options;

tutti_status tutti_jobs_open(const tutti_jobs_options *options, tutti_jobs **out, tutti_failure *err);
void tutti_jobs_close(tutti_jobs *j); /* attempts go on; NULL is accepted */

/* Does what is due: looks at all live jobs, moves their states, sends signals, starts what fits, removes what is gone.
 * An attempt that cannot be started has failed, with the cause. A failure is of the store or of a job's files; the
 * other jobs were looked at all the same, and the next tick tries again. */
tutti_status tutti_jobs_tick(tutti_jobs *j, tutti_failure *err);

/* Stores a submission. key: of the client, or NULL; *is_new: false if a job has that key. */
tutti_status tutti_jobs_submit(tutti_jobs *j, const tutti_job_spec *spec, const char *key, int64_t *id, bool *is_new,
                               tutti_failure *err);
/* Wishes of clients about a job that was read just before. TUTTI_ERR_USAGE with words: its state does not allow it.
 * is_now: it shall not take the time to save; only then a second SIGTERM follows the first one. */
tutti_status tutti_jobs_stop(tutti_jobs *j, const tutti_stored_job *job, bool is_now, tutti_failure *err);
tutti_status tutti_jobs_resume(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err);
tutti_status tutti_jobs_report(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err);
tutti_status tutti_jobs_remove(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err);

/* Returns the path of a job's folder, of its run, or of an attempt; the caller frees it. */
char *tutti_jobs_folder(const tutti_jobs *j, int64_t job);
char *tutti_jobs_run_folder(const tutti_jobs *j, int64_t job);
char *tutti_jobs_attempt_folder(const tutti_jobs *j, int64_t job, int number);

/* The last numbers of a job's run: of a live one from its file, of another from the store. */
void tutti_jobs_numbers(tutti_jobs *j, const tutti_stored_job *job, tutti_series_summary *out);
tutti_liveness tutti_jobs_liveness(tutti_jobs *j, const tutti_stored_job *job);
/* The series of a job's run, with what the file has gained, as far as the time of one answer allows. */
tutti_series *tutti_jobs_series(tutti_jobs *j, int64_t job);

/* News of runs, which are never kept: numbered from 1. Returns the text of news number n, JSON; NULL: it has not
 * happened, or is forgotten. */
const char *tutti_jobs_news(const tutti_jobs *j, int64_t n);
int64_t tutti_jobs_last_news(const tutti_jobs *j);
/* Bytes of runs' files that were read, for the counters. */
uint64_t tutti_jobs_bytes_read(const tutti_jobs *j);

#endif
