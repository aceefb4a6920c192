/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_wait.c: `tutti wait ID`: waits for the end of a job and ends with its exit code. A terminal gets one line that
 * moves, a file a line for each state. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "../progress.h"
#include "serve_cmd.h"

static const tutti_flag flags[] = {
    {"deadline", "S", "give up after S seconds, with exit code 4 (default: never)", 0},
    {"quiet", NULL, "print nothing but failures", 0},
    TUTTI_CLIENT_FLAGS,
};
static const double SHORT_S = 0.1, LONG_S = 1;

static const char about[] =
    "Waits until a job is done, failed, stopped or lost. The exit code is the job's; it is 1 for a job that ended\n"
    "badly without one, and 4 if no server answers for a minute.";

typedef struct {
    bool quiet, tty, open; /* open: the line on the terminal is unfinished */
    char state[32];        /* the state of the last line */
} teller;

static void end_line(teller *t)
{
    if (t->open) printf("\n");
    t->open = false;
    fflush(stdout);
}

static void draw(teller *t, const tutti_job_view *v)
{
    char bar[TUTTI_PROGRESS_BAR + 3] = "";
    tutti_strbuf line = {0};
    tutti_job_view_line(v, &line);
    if (v->steps > 0 && v->step >= 0 && v->step <= v->steps) tutti_progress_bar(v->step, v->steps, bar);
    printf("\r%s %s \x1b[K", line.text, bar);
    fflush(stdout);
    t->open = true;
    tutti_strbuf_release(&line);
}

static void tell(teller *t, const tutti_job_view *v)
{
    const bool is_new = strncmp(t->state, v->state, sizeof t->state - 1) != 0;
    snprintf(t->state, sizeof t->state, "%s", v->state);
    if (t->quiet) return;
    if (t->tty && !tutti_job_view_has_ended(v)) {
        draw(t, v);
    } else if (is_new) {
        tutti_strbuf line = {0};
        tutti_job_view_line(v, &line);
        printf("%s%s%s\n", t->open ? "\r" : "", line.text, t->open ? "\x1b[K" : "");
        t->open = false;
        tutti_strbuf_release(&line);
        fflush(stdout);
    }
}

/* Waits; *code is the job's exit code. deadline_s 0: without a deadline. */
static tutti_status wait_for(tutti_client *c, int64_t id, long deadline_s, teller *t, int *code, tutti_failure *err)
{
    const double until = deadline_s ? tutti_clock_s() + (double)deadline_s : INFINITY;
    double pause = SHORT_S;
    for (;;) {
        tutti_server_answer *json;
        tutti_job_view view;
        const tutti_status st = tutti_serve_get_job(c, id, &json, &view, err);
        if (st) return st;
        tell(t, &view);
        const bool has_ended = tutti_job_view_has_ended(&view);
        *code = has_ended ? tutti_job_view_code(&view) : 0;
        tutti_server_answer_free(json);
        if (has_ended) return TUTTI_OK;
        const double left = until - tutti_clock_s();
        if (left <= 0)
            return tutti_fail(err, TUTTI_ERR_PEER, "job %lld has not ended within %ld s: it is %s", (long long)id,
                              deadline_s, t->state);
        tutti_clock_sleep_s(fmin(pause, left));
        pause = fmin(1.5 * pause, LONG_S);
    }
}

static tutti_status run(const tutti_flags *f, int *code, tutti_failure *err)
{
    tutti_client client;
    teller t = {.quiet = tutti_cli_has(f, "quiet"), .tty = isatty(STDOUT_FILENO)};
    long deadline;
    int64_t id;
    if (f->nrest != 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "the number of one job is wanted; `tutti ps` lists them");
    tutti_status st = tutti_serve_read_id(f->rest[0], &id, err);
    if (!st) st = tutti_cli_int(f, "deadline", (tutti_cli_range){1, 1000000000}, 0, &deadline, err);
    if (!st) st = tutti_serve_client(f, &client, err);
    if (st) return st;
    client.patience_s = TUTTI_CLIENT_LONG_PATIENCE_S;
    st = wait_for(&client, id, deadline, &t, code, err);
    end_line(&t);
    tutti_client_close(&client);
    return st;
}

static int run_command(int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    int code = 0;
    tutti_status st = tutti_cli_parse(argc, argv, flags, sizeof flags / sizeof *flags, &f, &err);
    if (!st && f.help) {
        tutti_cli_help(stdout, "tutti wait ID [options]", about, flags, sizeof flags / sizeof *flags);
        return 0;
    }
    if (!st) st = run(&f, &code, &err);
    return st ? tutti_cli_fail("wait", &err) : code;
}

const tutti_command tutti_command_wait = {"wait", "wait for the end of a job; ends with its exit code", run_command};
