/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_stop.c: `tutti stop ID..`: asks the job server to stop jobs. */
#include "serve_cmd.h"

static const tutti_flag flags[] = {
    {"now", NULL, "a job that is saving gives that up; a command that does not end is killed", 0},
    TUTTI_CLIENT_FLAGS,
};

static const char about[] =
    "Stops jobs. A job that trains saves a checkpoint at its next step and ends; `tutti resume ID` goes on from\n"
    "there. A job that waits in the queue leaves it. The command returns at once: `tutti wait ID` waits for the\n"
    "end.";

static tutti_status run(const tutti_flags *f, tutti_failure *err)
{
    const char *body = tutti_cli_has(f, "now") ? "{\"now\":true}" : NULL;
    return tutti_serve_each(f, &(tutti_job_action){"POST", "/stop", body}, err);
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "stop",
        .usage = "tutti stop ID.. [options]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .any_arguments = true,
        .run = run,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_stop = {"stop", "stop a job; it saves a checkpoint", run_command};
