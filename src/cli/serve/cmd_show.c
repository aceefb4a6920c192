/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_show.c: `tutti show ID`: prints all that the job server knows about one job, with the hash of its weights. */
#include "../../base/text/json.h"
#include "serve_cmd.h"

static const tutti_flag flags[] = {
    {"json", NULL, "the server's answer, as JSON", 0},
    {"job", NULL, "only the resolved job file that was submitted", 0},
    TUTTI_CLIENT_FLAGS,
};

static const char about[] =
    "Prints a job: state, progress, checkpoints, restarts, attempts, where its time went, its folder and the hash\n"
    "of its weights. A job that trains has no hash before its end.";

static void print(const tutti_flags *f, const tutti_server_answer *json)
{
    tutti_strbuf text = {0};
    const char *job = tutti_json_text_of(json, "job");
    if (tutti_cli_has(f, "json")) {
        tutti_server_answer_print(json, &text);
        tutti_strbuf_puts(&text, "\n");
    } else if (!tutti_cli_has(f, "job")) {
        tutti_job_view_all(json, &text);
    }
    fputs(text.text ? text.text : job ? job : "", stdout);
    tutti_strbuf_release(&text);
}

static tutti_status run(const tutti_flags *f, tutti_failure *err)
{
    tutti_client client;
    tutti_job_view view;
    tutti_server_answer *json;
    int64_t id;
    tutti_status st = tutti_serve_read_id(f->rest[0], &id, err);
    if (!st) st = tutti_serve_client(f, &client, err);
    if (st) return st;
    st = tutti_serve_get_job(&client, id, &json, &view, err);
    if (!st) {
        print(f, json);
        tutti_server_answer_free(json);
    }
    tutti_client_close(&client);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "show",
        .usage = "tutti show ID [options]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .wanted = "the number of one job is wanted; `tutti ps` lists them",
        .run = run,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_show = {"show", "print one job of the job server, with the hash of its weights",
                                          run_command};
