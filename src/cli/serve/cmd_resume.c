/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_resume.c: `tutti resume ID..`: asks the job server to go on with jobs that ended. */
#include "serve_cmd.h"

static const tutti_flag flags[] = {TUTTI_CLIENT_FLAGS};

static const char about[] =
    "Queues a job again that was stopped, has failed or was lost. It goes on from its newest whole checkpoint and\n"
    "ends with the weights of an undisturbed run.";

static tutti_status run(const tutti_flags *f, tutti_failure *err)
{
    return tutti_serve_each(f, &(tutti_job_action){"POST", "/resume", NULL}, err);
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "resume",
        .usage = "tutti resume ID.. [options]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .any_arguments = true,
        .run = run,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_resume = {"resume", "queue a stopped or failed job again", run_command};
