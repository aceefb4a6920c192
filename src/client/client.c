/* SPDX-License-Identifier: Apache-2.0 */
/* client.c: asks the job server: repeats requests while no server answers, and turns refusals into failures. */
#include "client.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/clock.h"
#include "../base/text/json.h"
#include "http_call.h"

enum { MOST_REPLY = 16 << 20 };
static const double AGAIN_S = 0.1; /* between two tries to reach a server that is being started again */
static const double SILENT_S = 1;

/* How far one try to send a request has come. */
typedef struct {
    char *address; /* where it was sent; NULL: nowhere */
    bool was_sent; /* the server may have got the request */
} try_result;

static tutti_status try_once(const tutti_client *c, const tutti_request *q, tutti_reply *out, try_result *result,
                             tutti_failure *err)
{
    char *token = NULL;
    tutti_status st = tutti_client_find(c, &result->address, &token, err);
    if (st) return st;
    const tutti_http_call call = {.url = result->address,
                                  .token = token,
                                  .method = q->method,
                                  .path = q->path,
                                  .body = q->body,
                                  .key = q->key,
                                  .max_reply = q->max_reply ? q->max_reply : MOST_REPLY,
                                  .deadline_s = c->deadline_s,
                                  .is_own = c->home != NULL};
    st = tutti_http_call_make(&call, out, &result->was_sent, err);
    free(token);
    return st;
}

/* Makes a failure of an answer that refuses the request. */
static tutti_status refusal(const tutti_client *c, const tutti_reply *r, tutti_failure *err)
{
    cJSON *root = tutti_json_parse(r->body.text ? r->body.text : "", r->body.length);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const char *message = tutti_json_text_of(error, "message"), *hint = tutti_json_text_of(error, "hint");
    char token[300] = "";
    if (r->status == 401) snprintf(token, sizeof token, " (the token is from %.250s)", c->token_file);
    if (message)
        tutti_fail(err, TUTTI_ERR_FAILED, "%s%s%s%s", message, hint && *hint ? "; " : "", hint ? hint : "", token);
    else
        tutti_fail(err, TUTTI_ERR_FAILED, "the server answers with status %d%s", r->status, token);
    cJSON_Delete(root);
    return TUTTI_ERR_FAILED;
}

/* Says where no server answered, and what to do. */
static tutti_status say_unreached(const tutti_client *c, const char *address, tutti_failure *err)
{
    const tutti_failure why = *err;
    if (!address) return why.status;
    return tutti_fail(err, why.status, "no job server answers at %s%s%s%s: %s; `tutti serve` starts one", address,
                      c->home ? " (as " : "", c->home ? c->home : "", c->home ? "/address says)" : "", why.text);
}

tutti_status tutti_client_call(tutti_client *c, const tutti_request *request, tutti_reply *out, tutti_failure *err)
{
    const double began = tutti_clock_s();
    bool has_told = false;
    try_result result;
    tutti_failure why;
    tutti_status st;
    *out = (tutti_reply){.next = -1};
    for (;;) {
        result = (try_result){0};
        why = (tutti_failure){0};
        st = try_once(c, request, out, &result, &why);
        const bool is_absent = !result.address && !c->has_answered;
        if (st != TUTTI_ERR_PEER || is_absent || (result.was_sent && !request->may_repeat)) break;
        const double waited = tutti_clock_s() - began;
        if (waited >= c->patience_s) break;
        if (waited >= SILENT_S && !has_told && c->waits) c->waits(result.address, why.text);
        has_told = has_told || waited >= SILENT_S;
        free(result.address);
        tutti_clock_sleep_s(AGAIN_S);
    }
    if (st == TUTTI_ERR_PEER) st = say_unreached(c, result.address, &why);
    free(result.address);
    if (!st) c->has_answered = true;
    if (!st && out->status >= 300) {
        const int status = out->status;
        st = refusal(c, out, &why);
        tutti_reply_release(out);
        *out = (tutti_reply){.status = status, .next = -1};
    }
    return st ? tutti_fail(err, st, "%s", why.text) : TUTTI_OK;
}

tutti_status tutti_client_ask(tutti_client *c, const tutti_request *request, tutti_server_answer **out,
                              tutti_failure *err)
{
    tutti_reply reply;
    tutti_status st = tutti_client_call(c, request, &reply, err);
    if (st) return st;
    *out = tutti_json_parse(reply.body.text ? reply.body.text : "", reply.body.length);
    if (!*out) st = tutti_fail(err, TUTTI_ERR_FAILED, "the server's answer to %s is no JSON", request->path);
    tutti_reply_release(&reply);
    return st;
}

tutti_status tutti_client_get(tutti_client *c, const char *path, tutti_server_answer **out, tutti_failure *err)
{
    return tutti_client_ask(c, &(tutti_request){.method = "GET", .path = path, .may_repeat = true}, out, err);
}
