/* SPDX-License-Identifier: Apache-2.0 */
/* api_run.c: the routes that show what a run has written: parts of its log, its curves, the names of these. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/file.h"
#include "../job_server.h"

enum { LOG_BYTES = 64 << 10, MOST_LOG_BYTES = 4 << 20, POINTS = 500, MOST_POINTS = 10000 };

/* ---- logs ---- */

typedef struct {
    int64_t attempt, from, limit;
} log_part;

/* Reads a part of an open log into the answer. from < 0 counts from its end. */
static void read_part(int fd, const log_part *part, tutti_http_answer *a)
{
    struct stat of;
    if (fstat(fd, &of)) of.st_size = 0;
    int64_t from = part->from < 0 ? of.st_size + part->from : part->from;
    if (from < 0) from = 0;
    char *bytes = malloc((size_t)part->limit);
    const ssize_t n = bytes ? pread(fd, bytes, (size_t)part->limit, (off_t)from) : -1;
    if (n > 0) tutti_strbuf_add(&a->body, bytes, (size_t)n);
    free(bytes);
    snprintf(a->type, sizeof a->type, "text/plain; charset=utf-8");
    snprintf(a->header[0], sizeof a->header[0], "X-Tutti-Next: %lld", (long long)(from + (n > 0 ? n : 0)));
}

static void answer_log(const tutti_job_server *s, int64_t job, const log_part *part, tutti_http_answer *a)
{
    char *folder = tutti_jobs_attempt_folder(s->jobs, job, (int)part->attempt), *path = tutti_file_in(folder, "log");
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    read_part(fd, part, a); /* an attempt that has not begun has said nothing */
    if (fd >= 0) close(fd);
    free(path);
    free(folder);
}

void tutti_api_logs(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    tutti_arena arena = {0};
    tutti_stored_job job;
    log_part part = {.limit = LOG_BYTES};
    if (tutti_api_find(s, r, &arena, &job, a)) {
        part.attempt = job.attempt;
        if (!tutti_http_query_int(r, "attempt", 1, INT32_MAX, &part.attempt) ||
            !tutti_http_query_int(r, "from", INT64_MIN / 2, INT64_MAX / 2, &part.from) ||
            !tutti_http_query_int(r, "limit", 1, MOST_LOG_BYTES, &part.limit))
            tutti_http_refuse(a, 400, "wrong_query", NULL, "attempt, from and limit (1 to %d) are whole numbers",
                              MOST_LOG_BYTES);
        else if (part.attempt > job.attempt)
            tutti_http_refuse(a, 404, "no_such_attempt", NULL, "job %lld has %d attempts", (long long)job.id,
                              job.attempt);
        else
            answer_log(s, job.id, &part, a);
    }
    tutti_arena_release(&arena);
}

/* ---- curves ---- */

static void answer_points(tutti_job_server *s, int64_t job, const tutti_series_ask *ask, tutti_http_answer *a)
{
    tutti_json j = {.out = &a->body};
    tutti_json_open(&j, NULL, '{');
    if (tutti_series_write_points(tutti_jobs_series(s->jobs, job), ask, &j))
        tutti_json_close(&j, '}');
    else
        tutti_http_refuse(a, 404, "no_such_tag", NULL, "job %lld has no numbers '%.60s'", (long long)job, ask->tag);
}

void tutti_api_series(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    tutti_arena arena = {0};
    tutti_stored_job job;
    const char *tag = tutti_http_query(r, "tag");
    int64_t from = 0, to = INT64_MAX, points = POINTS;
    if (tutti_api_find(s, r, &arena, &job, a)) {
        const bool fits = tutti_http_query_int(r, "from", 0, INT64_MAX, &from) &&
                          tutti_http_query_int(r, "to", 0, INT64_MAX, &to) &&
                          tutti_http_query_int(r, "points", 1, MOST_POINTS, &points);
        if (!tag || !fits)
            tutti_http_refuse(a, 400, "wrong_query", NULL, "tag, from, to and points (1 to %d) are wanted",
                              MOST_POINTS);
        else
            answer_points(s, job.id, &(tutti_series_ask){.tag = tag, .from = from, .to = to, .npoints = (int)points},
                          a);
    }
    tutti_arena_release(&arena);
}

void tutti_api_tags(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    tutti_arena arena = {0};
    tutti_stored_job job;
    if (tutti_api_find(s, r, &arena, &job, a)) {
        tutti_json j = {.out = &a->body};
        tutti_json_open(&j, NULL, '{');
        tutti_series_write_tags(tutti_jobs_series(s->jobs, job.id), &j);
        tutti_json_close(&j, '}');
    }
    tutti_arena_release(&arena);
}
