/* SPDX-License-Identifier: Apache-2.0 */
/* api_base.c: the table of routes, and those about the server itself: health, version, sessions, the page's files. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "../../base/clock.h"
#include "../job_server.h"
#include "../page_files.h"

#define API "/api/v1"

const tutti_http_route tutti_api_routes[] = {
    {"GET", "/healthz", TUTTI_ROLE_NONE, TUTTI_HTTP_CONTROL, tutti_api_health},
    {"GET", "/readyz", TUTTI_ROLE_NONE, TUTTI_HTTP_CONTROL, tutti_api_ready},
    {"GET", "/metrics", TUTTI_ROLE_READ, TUTTI_HTTP_CONTROL, tutti_api_metrics},
    {"GET", API "/version", TUTTI_ROLE_READ, TUTTI_HTTP_CONTROL, tutti_api_version},
    {"POST", API "/session", TUTTI_ROLE_NONE, TUTTI_HTTP_CONTROL, tutti_api_begin_session},
    {"DELETE", API "/session", TUTTI_ROLE_NONE, TUTTI_HTTP_CONTROL, tutti_api_end_session},
    {"GET", API "/events", TUTTI_ROLE_READ, TUTTI_HTTP_CONTROL, tutti_api_events},
    {"GET", API "/jobs", TUTTI_ROLE_READ, TUTTI_HTTP_CONTROL, tutti_api_list},
    {"POST", API "/jobs", TUTTI_ROLE_OPERATE, TUTTI_HTTP_CONTROL, tutti_api_submit},
    {"GET", API "/jobs/{id}", TUTTI_ROLE_READ, TUTTI_HTTP_CONTROL, tutti_api_show},
    {"DELETE", API "/jobs/{id}", TUTTI_ROLE_OPERATE, TUTTI_HTTP_CONTROL, tutti_api_remove},
    {"POST", API "/jobs/{id}/stop", TUTTI_ROLE_OPERATE, TUTTI_HTTP_CONTROL, tutti_api_stop},
    {"POST", API "/jobs/{id}/resume", TUTTI_ROLE_OPERATE, TUTTI_HTTP_CONTROL, tutti_api_resume},
    {"POST", API "/jobs/{id}/report", TUTTI_ROLE_OPERATE, TUTTI_HTTP_CONTROL, tutti_api_report},
    {"GET", API "/jobs/{id}/logs", TUTTI_ROLE_READ, TUTTI_HTTP_LOG, tutti_api_logs},
    {"GET", API "/jobs/{id}/series", TUTTI_ROLE_READ, TUTTI_HTTP_METRICS, tutti_api_series},
    {"GET", API "/jobs/{id}/tags", TUTTI_ROLE_READ, TUTTI_HTTP_METRICS, tutti_api_tags},
    {"GET", "/{file}", TUTTI_ROLE_NONE, TUTTI_HTTP_PAGE, tutti_api_page}, /* the last: it takes any name */
};
const int tutti_api_nroutes = sizeof tutti_api_routes / sizeof *tutti_api_routes;

static void say_status(tutti_http_answer *a, const char *status)
{
    tutti_json j = {.out = &a->body};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "status", status);
    tutti_json_close(&j, '}');
}

void tutti_api_health(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    (void)arg, (void)r;
    say_status(a, "ok");
}

void tutti_api_ready(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    const tutti_job_server *s = arg;
    (void)r;
    if (s->has_trouble)
        tutti_http_refuse(a, 503, "trouble", "the server's messages say which", "the store or a job's files fail");
    else
        say_status(a, "ok");
}

void tutti_api_version(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    const tutti_job_server *s = arg;
    tutti_json j = {.out = &a->body};
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "version", TUTTI_VERSION);
    tutti_json_int(&j, "api", 1);
    tutti_json_text(&j, "engine", s->engine);
    tutti_json_int(&j, "cores", s->cores);
    tutti_json_real(&j, "started", s->started);
    tutti_json_real(&j, "now", tutti_clock_wall_s());
    tutti_json_text(&j, "role", r->role == TUTTI_ROLE_OPERATE ? "operate" : "read");
    tutti_json_close(&j, '}');
}

/* ---- sessions ---- */

void tutti_api_begin_session(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    char id[TUTTI_GUARD_SESSION];
    cJSON *root = tutti_json_parse(r->body, r->nbytes);
    const cJSON *token = cJSON_GetObjectItemCaseSensitive(root, "token");
    if (!cJSON_IsString(token)) {
        tutti_http_refuse(a, 400, "wrong_body", NULL, "{\"token\":\"..\"} is wanted");
    } else if (!tutti_guard_begin(&s->guard, token->valuestring, id)) {
        tutti_http_refuse(a, 401, "wrong_token", "the file `token` in the server's folder has it",
                          "the token is wrong");
    } else {
        a->code = 204;
        snprintf(a->header[0], sizeof a->header[0], "Set-Cookie: %s=%s; HttpOnly; SameSite=Strict; Path=/",
                 TUTTI_GUARD_COOKIE, id);
    }
    cJSON_Delete(root);
}

void tutti_api_end_session(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    tutti_job_server *s = arg;
    tutti_guard_end(&s->guard, tutti_http_header(r, "Cookie"));
    a->code = 204;
    snprintf(a->header[0], sizeof a->header[0], "Set-Cookie: %s=; Max-Age=0; HttpOnly; SameSite=Strict; Path=/",
             TUTTI_GUARD_COOKIE);
}

/* ---- the page ---- */

static const char *type_of(const char *name)
{
    static const char *const types[][2] = {
        {".html", "text/html"},    {".js", "text/javascript"},    {".css", "text/css"},
        {".svg", "image/svg+xml"}, {".json", "application/json"}, {".txt", "text/plain"},
    };
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof types / sizeof *types; i++)
        if (!strcmp(ending, types[i][0])) return types[i][1];
    return "application/octet-stream";
}

void tutti_api_page(void *arg, const tutti_http_request *r, tutti_http_answer *a)
{
    const char *name = r->path[1] ? r->path + 1 : "index.html";
    const tutti_page_file *f = tutti_page_files;
    (void)arg;
    while (f->name && strcmp(f->name, name)) f++;
    if (!f->name) {
        tutti_http_refuse(a, 404, "no_such_path", NULL, "nothing is served at %s", r->path);
        return;
    }
    a->shared = (const char *)f->bytes;
    a->nshared = f->nbytes;
    snprintf(a->type, sizeof a->type, "%s; charset=utf-8", type_of(name));
}
