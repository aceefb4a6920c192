/* SPDX-License-Identifier: Apache-2.0 */
/* jobs_impl.h: what the files of the state machine share: notes in memory about jobs, and the ring of news. */
#ifndef TUTTI_SERVE_JOBS_IMPL_H
#define TUTTI_SERVE_JOBS_IMPL_H

#include "jobs.h"

enum { TUTTI_NEWS = 512, TUTTI_NEWS_BYTES = 256 };

/* A note by which the server saves work for a job. If the server loses it, it looks into the job's files again. */
typedef struct {
    int64_t job;
    double used; /* when it was last wanted (monotonic) */
    tutti_series *series;
    uint64_t nbytes; /* of the series, counted so far */
    bool has_more;   /* the file has lines that are not read yet */
    int need;        /* cores that the job needs: ranks times threads; 0 = not read yet */
    /* of the attempt at hand */
    int attempt, nstarts;
    double started, signalled; /* monotonic: the last start, the last SIGTERM; 0 = none */
    bool has_reported;         /* it stood still and was asked to report */
    tutti_liveness liveness;
    int64_t nlines_told; /* lines of the series when news was made last */
    double told;
} tutti_job_note;

struct tutti_jobs {
    tutti_jobs_options options;
    void *engine;
    tutti_job_note *notes;
    int nnotes, capacity;
    char (*news)[TUTTI_NEWS_BYTES];
    int64_t last_news;
    uint64_t bytes_read;
};

/* Returns the note of a job; makes it if there is none. It may move when another one is made. */
tutti_job_note *tutti_jobs_note(tutti_jobs *j, int64_t job);
void tutti_jobs_forget(tutti_jobs *j, int64_t job);
/* Reads at most max_bytes of what the run's file has gained. */
void tutti_jobs_refresh(tutti_jobs *j, tutti_job_note *note, size_t max_bytes);
/* Makes news of a run that has written something. s: the summary of its series. */
void tutti_jobs_tell_progress(tutti_jobs *j, tutti_job_note *note, const tutti_stored_job *job,
                              const tutti_series_summary *s);
/* Fills in what an engine is told of an attempt, except for argv and working. The caller frees a->folder. */
void tutti_jobs_attempt(const tutti_jobs *j, const tutti_stored_job *job, tutti_attempt *a);

#endif
