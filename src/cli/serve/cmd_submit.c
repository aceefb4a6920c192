/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_submit.c: `tutti submit JOB.yaml` and `tutti submit -- COMMAND`: hands a job or a command to the job server. */
#include <inttypes.h>
#include <string.h>

#include "../../base/host/unique.h"
#include "serve_cmd.h"

static const tutti_flag flags[] = {
    {"ranks", "N|MIN:MAX", "processes (default: the job's); a range: the run goes on with fewer (docs/elastic.md)", 0},
    {"set", "KEY=VALUE", "override a key of the job", TUTTI_FLAG_MANY},
    {"priority", "N", "higher ones start first, equal ones in order (-1000 to 1000, default 0)", 0},
    {"name", "S", "what lists call it (default: the file's or the program's name)", 0},
    {"max-restarts", "N", "replace ranks that are lost, at most N times (default 0)", 0},
    {"threads", "N", "of a command: cores that each of its ranks keeps busy (default 1)", 0},
    {"idempotency-key", "K", "the server takes only the first submission with this key (default: a random one)", 0},
    {"quiet", NULL, "print the number alone", 0},
    TUTTI_CLIENT_FLAGS,
};
enum { NFLAGS = sizeof flags / sizeof *flags, KEY_BYTES = 129 };

static const char about[] =
    "Hands a job to the job server, which runs it when the cores are free. The last line is the job's number. The\n"
    "job is resolved and checked here, paths are made absolute, and a model file goes along: later edits change\n"
    "nothing. Data, initial weights and tune files are read where they lie, when the job runs. A command runs in\n"
    "the folder where it was submitted, in the server's environment.";

/* The key of the submission: the user's, or a random one, so that a repeated request submits nothing twice. */
static tutti_status make_key(const tutti_flags *f, char out[KEY_BYTES], tutti_failure *err)
{
    const char *given = tutti_cli_value(f, "idempotency-key", NULL);
    if (!given) {
        snprintf(out, KEY_BYTES, "%016" PRIx64 "%016" PRIx64, tutti_unique_number(), tutti_unique_number());
        return TUTTI_OK;
    }
    const size_t n = strlen(given);
    if (!n || n >= KEY_BYTES ||
        n != strspn(given, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-"))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--idempotency-key: 1 to %d letters, digits and characters of '._:-' are wanted",
                          KEY_BYTES - 1);
    snprintf(out, KEY_BYTES, "%s", given);
    return TUTTI_OK;
}

static tutti_status submit(const tutti_flags *f, const char *body, tutti_failure *err)
{
    char key[KEY_BYTES];
    tutti_client client;
    tutti_job_view view;
    tutti_server_answer *json = NULL;
    tutti_strbuf line = {0};
    tutti_status st = make_key(f, key, err);
    if (!st) st = tutti_serve_client(f, &client, err);
    if (st) return st;
    client.patience_s = TUTTI_CLIENT_LONG_PATIENCE_S;
    const tutti_request request = {
        .method = "POST", .path = "/api/v1/jobs", .body = body, .key = key, .may_repeat = true};
    st = tutti_client_ask(&client, &request, &json, err);
    if (!st && !tutti_job_view_read(json, &view))
        st = tutti_fail(err, TUTTI_ERR_FAILED, "the server's answer to the submission names no job");
    if (!st) {
        tutti_job_view_line(&view, &line);
        if (!tutti_cli_has(f, "quiet")) printf("%s; `tutti logs %" PRId64 " -f` follows it\n", line.text, view.id);
        printf("%" PRId64 "\n", view.id);
    }
    tutti_strbuf_release(&line);
    tutti_server_answer_free(json);
    tutti_client_close(&client);
    return st;
}

/* argv: the command behind "--", which ends with NULL; NULL: a job is wanted. */
static tutti_status run(const tutti_flags *f, char *const *command, tutti_failure *err)
{
    tutti_strbuf body = {0};
    tutti_status st;
    if (command && (f->nrest || !command[0]))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "a command is wanted behind '--', and no job before it");
    else if (!command && f->nrest != 1)
        st =
            tutti_fail(err, TUTTI_ERR_USAGE, "one job file is wanted: tutti submit JOB.yaml, or a command behind '--'");
    else
        st = command ? tutti_submission_of_command(f, command, &body, err)
                     : tutti_submission_of_job(f, f->rest[0], &body, err);
    if (!st) st = submit(f, body.text, err);
    tutti_strbuf_release(&body);
    return st;
}

static int run_command(int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    int nown = 1; /* the arguments before "--" */
    while (nown < argc && strcmp(argv[nown], "--") != 0) nown++;
    tutti_status st = tutti_cli_parse(nown, argv, flags, NFLAGS, &f, &err);
    if (!st && f.help) {
        tutti_cli_help(stdout, "tutti submit JOB.yaml [options] | [options] -- COMMAND [arguments]", about, flags,
                       NFLAGS);
        return 0;
    }
    if (!st) st = tutti_cli_check_flags(&f, &err);
    if (!st) st = run(&f, nown < argc ? argv + nown + 1 : NULL, &err);
    return st ? tutti_cli_fail("submit", &err) : 0;
}

const tutti_command tutti_command_submit = {"submit", "hand a job or a command to the job server", run_command};
