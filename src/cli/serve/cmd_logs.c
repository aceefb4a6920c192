/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_logs.c: `tutti logs ID`: prints what a job has printed, and follows it with -f. */

#include "../../base/clock.h"
#include "serve_cmd.h"

static const tutti_flag flags[] = {
    {"follow", NULL, "go on until the job has ended", 0},
    {"attempt", "N", "of this attempt (default: the newest)", 0},
    TUTTI_CLIENT_FLAGS,
};
enum { PIECE = 256 << 10 };
static const double PAUSE_S = 0.3;

static const char about[] =
    "Prints what a job's processes have printed on both streams. Each attempt has a log of its own.";

typedef struct {
    tutti_client *client;
    int64_t id, attempt, at; /* at: byte of the log that comes next */
} reader;

/* Prints what has come since. *more: the log may have more already. */
static tutti_status print_piece(reader *r, bool *more, tutti_failure *err)
{
    char path[160];
    tutti_reply reply;
    snprintf(path, sizeof path, "/api/v1/jobs/%lld/logs?attempt=%lld&from=%lld&limit=%d", (long long)r->id,
             (long long)r->attempt, (long long)r->at, PIECE);
    const tutti_request request = {.method = "GET", .path = path, .may_repeat = true, .max_reply = 2 * PIECE};
    tutti_status st = tutti_client_call(r->client, &request, &reply, err);
    if (st) return st;
    if (reply.body.length) fwrite(reply.body.text, 1, reply.body.length, stdout);
    *more = reply.body.length > 0;
    r->at = reply.next >= 0 ? reply.next : r->at + (int64_t)reply.body.length;
    tutti_reply_release(&reply);
    return fflush(stdout) ? tutti_fail(err, TUTTI_ERR_FAILED, "standard output cannot be written") : TUTTI_OK;
}

/* Asks for the job: *attempt: its newest; *is_over: the attempt that is read has no more to say. */
static tutti_status look(reader *r, int64_t *attempt, bool *is_over, tutti_failure *err)
{
    tutti_server_answer *json;
    tutti_job_view view;
    const tutti_status st = tutti_serve_get_job(r->client, r->id, &json, &view, err);
    if (st) return st;
    *attempt = view.attempt;
    *is_over = tutti_job_view_has_ended(&view) || (r->attempt && view.attempt > r->attempt);
    tutti_server_answer_free(json);
    return TUTTI_OK;
}

static tutti_status follow(reader *r, bool follows, tutti_failure *err)
{
    bool more = false, is_over = false;
    int64_t newest;
    for (;;) {
        tutti_status st = look(r, &newest, &is_over, err); /* before the log is read: so its end is not missed */
        if (st) return st;
        if (!r->attempt) r->attempt = newest;
        do {
            st = r->attempt ? print_piece(r, &more, err) : TUTTI_OK;
        } while (!st && more);
        if (st || !follows || is_over) return st;
        tutti_clock_sleep_s(PAUSE_S);
    }
}

static tutti_status run(const tutti_flags *f, tutti_failure *err)
{
    tutti_client client;
    reader r = {.client = &client};
    long attempt;
    const bool follows = tutti_cli_has(f, "follow");
    tutti_status st = tutti_serve_read_id(f->rest[0], &r.id, err);
    if (!st) st = tutti_cli_int(f, "attempt", (tutti_cli_range){1, 1000000}, 0, &attempt, err);
    if (!st) st = tutti_serve_client(f, &client, err);
    if (st) return st;
    r.attempt = attempt;
    if (follows) client.patience_s = TUTTI_CLIENT_LONG_PATIENCE_S;
    st = follow(&r, follows, err);
    if (!st && !r.attempt) fprintf(stderr, "tutti logs: job %lld has not been started yet\n", (long long)r.id);
    tutti_client_close(&client);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "logs",
        .usage = "tutti logs ID [options]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .wanted = "the number of one job is wanted; `tutti ps` lists them",
        .run = run,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_logs = {"logs", "print what a job of the job server has printed", run_command};
