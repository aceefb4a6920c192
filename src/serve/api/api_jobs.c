/* SPDX-License-Identifier: Apache-2.0 */
/* api_jobs.c: the routes that submit, list, show, stop, resume and remove jobs. */
#include <cjson/cJSON.h>
#include <string.h>

#include "../../base/clock.h"
#include "../job_server.h"

enum { MOST_LISTED = 1000, LISTED = 100, MOST_KEY = 200 };

void tutti_api_fail(tutti_http_answer *a, const tutti_failure *err)
{
    if (err->status == TUTTI_ERR_USAGE)
        tutti_http_refuse(a, 409, "wrong_state", NULL, "%s", err->text);
    else
        tutti_http_refuse(a, 500, "failed", NULL, "%s", err->text);
}

static bool find(tutti_job_server *s, int64_t id, tutti_arena *arena, tutti_stored_job *job, tutti_http_answer *a)
{
    tutti_failure err = {0};
    bool found;
    if (tutti_store_get(s->store, id, arena, job, &found, &err)) {
        tutti_api_fail(a, &err);
        return false;
    }
    if (found && !job->is_gone) return true;
    tutti_http_refuse(a, 404, "no_such_job", NULL, "there is no job %lld", (long long)id);
    return false;
}

bool tutti_api_find(tutti_job_server *s, const tutti_http_request *r, tutti_arena *arena, tutti_stored_job *job,
                    tutti_http_answer *a)
{
    return find(s, r->id, arena, job, a);
}

/* Answers with a job as it is now. */
static void answer_job(tutti_job_server *s, int64_t id, int code, tutti_http_answer *a)
{
    tutti_arena arena = {0};
    tutti_stored_job job;
    if (find(s, id, &arena, &job, a)) {
        tutti_json j = {.out = &a->body};
        tutti_job_write(s, &job, NULL, &j);
        a->code = code;
    }
    tutti_arena_release(&arena);
}

void tutti_api_submit(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    tutti_arena arena = {0};
    tutti_job_spec spec;
    tutti_failure err = {0};
    int64_t id;
    bool is_new;
    const char *key = tutti_http_header(r, "Idempotency-Key");
    if (key && (!*key || strlen(key) > MOST_KEY)) {
        tutti_http_refuse(a, 400, "wrong_key", NULL, "an Idempotency-Key has 1 to %d characters", MOST_KEY);
    } else if (tutti_job_spec_read(r->body, r->nbytes, &arena, &spec, &err)) {
        tutti_http_refuse(a, 400, "wrong_job", NULL, "%s", err.text);
    } else if (tutti_jobs_submit(s->jobs, &spec, key, &id, &is_new, &err)) {
        tutti_api_fail(a, &err);
    } else {
        s->is_due = true;
        answer_job(s, id, is_new ? 201 : 200, a);
    }
    tutti_arena_release(&arena);
}

void tutti_api_list(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    tutti_arena arena = {0};
    tutti_failure err = {0};
    tutti_stored_job *jobs;
    int64_t limit = LISTED, after = 0;
    int n;
    if (!tutti_http_query_int(r, "limit", 1, MOST_LISTED, &limit) ||
        !tutti_http_query_int(r, "after", 0, INT64_MAX, &after)) {
        tutti_http_refuse(a, 400, "wrong_query", NULL, "limit is 1 to %d, after is the id of a job", MOST_LISTED);
        return;
    }
    const tutti_store_filter filter = {.limit = (int)limit, .after = after, .state = tutti_http_query(r, "state")};
    if (tutti_store_list(s->store, &filter, &arena, &jobs, &n, &err)) {
        tutti_api_fail(a, &err);
    } else {
        tutti_json j = {.out = &a->body};
        tutti_json_open(&j, NULL, '{');
        tutti_json_open(&j, "jobs", '[');
        for (int i = 0; i < n; i++) tutti_job_write(s, &jobs[i], NULL, &j);
        tutti_json_close(&j, ']');
        tutti_json_real(&j, "as_of", tutti_clock_wall_s());
        tutti_json_close(&j, '}');
    }
    tutti_arena_release(&arena);
}

void tutti_api_show(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    tutti_arena arena = {0};
    tutti_failure err = {0};
    tutti_stored_job job;
    if (tutti_api_find(s, r, &arena, &job, a)) {
        tutti_json j = {.out = &a->body};
        if (tutti_job_write_whole(s, &job, &j, &err)) tutti_api_fail(a, &err);
    }
    tutti_arena_release(&arena);
}

/* ---- wishes ---- */

typedef tutti_status (*wish)(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err);

/* Does what a client wishes and answers with the job, or with nothing if code is 204. */
static void grant(tutti_job_server *s, const tutti_http_request *r, wish wanted, int code, tutti_http_answer *a)
{
    tutti_arena arena = {0};
    tutti_failure err = {0};
    tutti_stored_job job;
    if (tutti_api_find(s, r, &arena, &job, a)) {
        if (wanted(s->jobs, &job, &err))
            tutti_api_fail(a, &err);
        else if (code == 204)
            a->code = code;
        else
            answer_job(s, r->id, code, a);
        s->is_due = true;
    }
    tutti_arena_release(&arena);
}

static tutti_status stop_gently(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err)
{
    return tutti_jobs_stop(j, job, false, err);
}

static tutti_status stop_now(tutti_jobs *j, const tutti_stored_job *job, tutti_failure *err)
{
    return tutti_jobs_stop(j, job, true, err);
}

void tutti_api_stop(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    cJSON *root = r->nbytes ? tutti_json_parse(r->body, r->nbytes) : NULL;
    const bool is_wrong = r->nbytes && !cJSON_IsObject(root);
    const bool is_now = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "now"));
    cJSON_Delete(root);
    if (is_wrong)
        tutti_http_refuse(a, 400, "wrong_body", NULL, "no body, or {\"now\":true}, is wanted");
    else
        grant(arg, r, is_now ? stop_now : stop_gently, 202, a);
}

void tutti_api_resume(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    grant(arg, r, tutti_jobs_resume, 202, a);
}

void tutti_api_report(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    grant(arg, r, tutti_jobs_report, 202, a);
}

void tutti_api_remove(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    grant(arg, r, tutti_jobs_remove, 204, a);
}
