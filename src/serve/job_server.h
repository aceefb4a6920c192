/* SPDX-License-Identifier: Apache-2.0 */
/* job_server.h: the job server as one value, which the routes of the API get, and the table of these routes. */
#ifndef TUTTI_SERVE_JOB_SERVER_H
#define TUTTI_SERVE_JOB_SERVER_H

#include "../http/http.h"
#include "home.h"
#include "jobs.h"

typedef struct {
    tutti_serve_home home;
    tutti_store *store;
    tutti_jobs *jobs;
    tutti_guard guard;
    tutti_http *http;
    const char *engine;
    int cores;
    double started;   /* seconds since 1970 */
    bool is_due;      /* a wish has come: the next tick is due at once */
    bool has_trouble; /* the last tick has failed */
} tutti_job_server;

extern const tutti_http_route tutti_api_routes[];
extern const int tutti_api_nroutes;

/* Routes, by file. arg: the tutti_job_server. */
/* api_base.c */
void tutti_api_health(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_ready(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_version(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_begin_session(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_end_session(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_page(void *arg, const tutti_http_request *r, tutti_http_answer *a);
/* api_jobs.c */
void tutti_api_submit(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_list(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_show(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_stop(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_resume(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_report(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_remove(void *arg, const tutti_http_request *r, tutti_http_answer *a);
/* api_run.c */
void tutti_api_logs(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_series(void *arg, const tutti_http_request *r, tutti_http_answer *a);
void tutti_api_tags(void *arg, const tutti_http_request *r, tutti_http_answer *a);
/* api_events.c */
void tutti_api_events(void *arg, const tutti_http_request *r, tutti_http_answer *a);
/* prometheus.c */
void tutti_api_metrics(void *arg, const tutti_http_request *r, tutti_http_answer *a);

/* Reads the job that a request names. False: the answer refuses. */
bool tutti_api_find(tutti_job_server *s, const tutti_http_request *r, tutti_arena *arena, tutti_stored_job *job,
                    tutti_http_answer *a);
/* Answers a failure: 500, or 409 for a wish that the state does not allow. */
void tutti_api_fail(tutti_http_answer *a, const tutti_failure *err);

/* job_json.c: write a job as an object, short or with all that is known of it. */
void tutti_job_write(tutti_job_server *s, const tutti_stored_job *job, const char *key, tutti_json *j);
tutti_status tutti_job_write_whole(tutti_job_server *s, const tutti_stored_job *job, tutti_json *j, tutti_failure *err);

#endif
