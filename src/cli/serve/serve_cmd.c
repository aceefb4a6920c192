/* SPDX-License-Identifier: Apache-2.0 */
/* serve_cmd.c: asks the job server about jobs by number: one job, or an action for each of several. */
#include "serve_cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/text/json.h"

tutti_status tutti_serve_read_id(const char *text, int64_t *out, tutti_failure *err)
{
    char *end;
    errno = 0;
    const long long id = strtoll(text, &end, 10);
    if (errno || end == text || *end || id < 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "'%s' is not the number of a job; `tutti ps` lists them", text);
    *out = id;
    return TUTTI_OK;
}

static void tell_wait(const char *address, const char *why)
{
    fprintf(stderr, "tutti: waiting for the job server%s%s: %s\n", address ? " at " : "", address ? address : "", why);
}

tutti_status tutti_serve_client(const tutti_flags *f, tutti_client *out, tutti_failure *err)
{
    const tutti_client_place place = {.home = tutti_cli_value(f, "home", NULL),
                                      .server = tutti_cli_value(f, "server", NULL),
                                      .token_file = tutti_cli_value(f, "token-file", NULL)};
    const tutti_status st = tutti_client_open(&place, out, err);
    out->waits = tell_wait;
    return st;
}

tutti_status tutti_serve_get_job(tutti_client *c, int64_t id, tutti_server_answer **json, tutti_job_view *view,
                                 tutti_failure *err)
{
    char path[64];
    snprintf(path, sizeof path, "/api/v1/jobs/%lld", (long long)id);
    const tutti_status st = tutti_client_get(c, path, json, err);
    if (st || tutti_job_view_read(*json, view)) return st;
    tutti_server_answer_free(*json);
    return tutti_fail(err, TUTTI_ERR_FAILED, "the server's answer about job %lld has no id or state", (long long)id);
}

static tutti_status ask_for(tutti_client *c, const tutti_job_action *action, const char *text, tutti_failure *err)
{
    char path[96];
    int64_t id;
    tutti_reply reply;
    tutti_status st = tutti_serve_read_id(text, &id, err);
    if (st) return st;
    snprintf(path, sizeof path, "/api/v1/jobs/%lld%s", (long long)id, action->verb);
    const tutti_request request = {.method = action->method, .path = path, .body = action->body};
    st = tutti_client_call(c, &request, &reply, err);
    if (st) return st;
    tutti_server_answer *json = tutti_json_parse(reply.body.text ? reply.body.text : "", reply.body.length);
    tutti_strbuf line = {0};
    tutti_job_view view;
    if (tutti_job_view_read(json, &view))
        tutti_job_view_line(&view, &line);
    else
        tutti_strbuf_printf(&line, "job %lld removed", (long long)id);
    printf("%s\n", line.text);
    tutti_strbuf_release(&line);
    tutti_server_answer_free(json);
    tutti_reply_release(&reply);
    return TUTTI_OK;
}

tutti_status tutti_serve_each(const tutti_flags *f, const tutti_job_action *action, tutti_failure *err)
{
    tutti_client client;
    if (!f->nrest) return tutti_fail(err, TUTTI_ERR_USAGE, "the number of a job is wanted; `tutti ps` lists them");
    tutti_status st = tutti_serve_client(f, &client, err);
    if (st) return st;
    for (int i = 0; i < f->nrest && !st; i++) st = ask_for(&client, action, f->rest[i], err);
    tutti_client_close(&client);
    return st;
}
