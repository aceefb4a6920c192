/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ps.c: `tutti ps`: lists the jobs of the job server as a table, the newest first. */
#include <string.h>

#include "serve_cmd.h"

static const tutti_flag flags[] = {
    {"limit", "N", "the N newest (default 20)", 0},
    {"state", "WORD", "only jobs in this state, such as running", 0},
    {"json", NULL, "the server's answer, as JSON", 0},
    TUTTI_CLIENT_FLAGS,
};

static const char about[] =
    "Lists jobs, the newest first. States: queued, placing (its process is being started), rendezvous (its ranks\n"
    "meet), running, checkpointing, recovering (a rank was lost and is replaced), done, failed, stopped, lost\n"
    "(its process is gone without an exit code), unknown (the server cannot ask).";

static bool is_word(const char *text)
{
    return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz")] == 0;
}

static tutti_status print(const tutti_flags *f, tutti_client *c, const char *path, tutti_failure *err)
{
    tutti_strbuf table = {0};
    tutti_server_answer *json = NULL;
    tutti_reply reply = {0};
    tutti_status st = TUTTI_OK;
    if (tutti_cli_has(f, "json")) {
        st = tutti_client_call(c, &(tutti_request){.method = "GET", .path = path, .may_repeat = true}, &reply, err);
        if (!st) printf("%s\n", reply.body.text ? reply.body.text : "");
    } else {
        st = tutti_client_get(c, path, &json, err);
        if (!st) tutti_job_view_table(json, &table);
        if (!st) fputs(table.text, stdout);
    }
    if (!st) tutti_reply_release(&reply);
    tutti_strbuf_release(&table);
    tutti_server_answer_free(json);
    return st;
}

static tutti_status run(const tutti_flags *f, tutti_failure *err)
{
    const char *state = tutti_cli_value(f, "state", NULL);
    char path[160];
    long limit;
    tutti_client client;
    tutti_status st = tutti_cli_int(f, "limit", (tutti_cli_range){1, 1000}, 20, &limit, err);
    if (!st && state && (!is_word(state) || strlen(state) > 40))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--state: '%s' is not a state; --help lists them", state);
    if (!st) st = tutti_serve_client(f, &client, err);
    if (st) return st;
    snprintf(path, sizeof path, "/api/v1/jobs?limit=%ld%s%s", limit, state ? "&state=" : "", state ? state : "");
    st = print(f, &client, path, err);
    tutti_client_close(&client);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "ps", .usage = "tutti ps [options]", .about = about, TUTTI_CLI_FLAGS(flags), .run = run};
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_ps = {"ps", "list the jobs of the job server", run_command};
