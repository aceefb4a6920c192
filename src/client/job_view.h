/* SPDX-License-Identifier: Apache-2.0 */
/* job_view.h: a job of the job server as its JSON has it, and how people read it: in a line, in a table, in full.
 * Threads: one at a time. */
#ifndef TUTTI_CLIENT_JOB_VIEW_H
#define TUTTI_CLIENT_JOB_VIEW_H

#include "../base/text/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* An answer of the server, or a part of one. */
typedef struct cJSON tutti_server_answer;
void tutti_server_answer_free(tutti_server_answer *answer); /* NULL is accepted */
/* Appends the answer as JSON for people. */
void tutti_server_answer_print(const tutti_server_answer *answer, tutti_strbuf *out);

/* Members that the server does not know are NaN, -1 or NULL. Texts belong to the JSON. */
typedef struct {
    int64_t id, ranks_min, ranks_max, threads, priority, attempt;
    const char *name, *kind, *state, *cause, *weights, *folder, *liveness;
    int64_t step, steps;            /* done, and of the whole job */
    int64_t code;                   /* exit code of the newest attempt; -1: it has none yet */
    double created, started, ended; /* seconds since 1970 */
    double epoch, loss, accuracy, ips;
} tutti_job_view;

/* Reads the JSON of a job. False: it has no id or no state. */
bool tutti_job_view_read(const tutti_server_answer *json, tutti_job_view *out);
/* True if the job will not go on by itself: done, failed, stopped or lost. */
bool tutti_job_view_has_ended(const tutti_job_view *v);
/* The code with which `wait` ends for a job that has ended: the job's code; 1 if it ended badly without one. */
int tutti_job_view_code(const tutti_job_view *v);
/* Appends "job 7 (lenet) running, step 120 of 500, loss 0.3120", without a line end. */
void tutti_job_view_line(const tutti_job_view *v, tutti_strbuf *out);
/* Appends a table of the jobs of an answer {"jobs": [..], "as_of": seconds}. */
void tutti_job_view_table(const tutti_server_answer *answer, tutti_strbuf *out);
/* Appends all that the server says about one job, in lines. */
void tutti_job_view_all(const tutti_server_answer *json, tutti_strbuf *out);

/* Appends a text without the characters that would change a terminal. */
void tutti_view_add(tutti_strbuf *out, const char *text);

#endif
