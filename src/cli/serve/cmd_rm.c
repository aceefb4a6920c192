/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_rm.c: `tutti rm ID..`: asks the job server to forget jobs that ended. */
#include "serve_cmd.h"

static const tutti_flag flags[] = {TUTTI_CLIENT_FLAGS};

static const char about[] =
    "Removes jobs that have ended, with their folders: checkpoints, logs and metrics. A job that has not ended is\n"
    "refused; stop it first.";

static tutti_status run(const tutti_flags *f, tutti_failure *err)
{
    return tutti_serve_each(f, &(tutti_job_action){"DELETE", "", NULL}, err);
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "rm",
        .usage = "tutti rm ID.. [options]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .any_arguments = true,
        .run = run,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_rm = {"rm", "remove a job that has ended, with its folder", run_command};
