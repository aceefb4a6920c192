/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plan.c: `tutti plan JOB.yaml`: how the job's steps are done by each rank, as text or for Graphviz. It is the plan that
 * `train` plays: both come from tutti_job_resolve. */
#include <stdlib.h>

#include "../job/resolve.h"
#include "cli.h"

static const tutti_flag flags[] = {
    {"ranks", "N", "ranks to share the batch (default: the job's)", false},
    {"set", "KEY=VALUE", "override a key of the job", true},
    {"dot", NULL, "a drawing: pipe it into `dot -Tsvg`", false},
    {"rank", "R", "whose loop to show (default: 0)", false},
};
enum { NFLAGS = sizeof flags / sizeof *flags };

static const char about[] =
    "Prints the plan of a rank: its samples, what travels together and by which schedule, where everything lies in\n"
    "memory, and the loop of one step.";

static void show(const tutti_flags *f, const tutti_plan *p)
{
    char *text = tutti_cli_has(f, "dot") ? tutti_plan_dot(p) : tutti_plan_print(p);
    fputs(text, stdout);
    free(text);
}

static tutti_status with_plan(const tutti_flags *f, const char *path, tutti_failure *err)
{
    long rank;
    tutti_job *job = NULL;
    tutti_resolved r = {0};
    tutti_status st = tutti_cli_int(f, "rank", 0, 65535, 0, &rank, err);
    if (!st) st = tutti_cli_load_job(f, path, &job, err);
    if (!st) st = tutti_job_resolve(job, (int)rank, 0, &r, err);
    if (!st) show(f, r.plan);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return st;
}

int tutti_cmd_plan(int argc, char **argv)
{
    tutti_flags f;
    tutti_failure err = {0};
    tutti_status st = tutti_cli_parse(argc, argv, flags, NFLAGS, &f, &err);
    if (!st && f.help) {
        tutti_cli_help(stdout, "tutti plan JOB.yaml [options]", about, flags, NFLAGS);
        return TUTTI_OK;
    }
    if (!st && f.nrest != 1)
        st = tutti_fail(&err, TUTTI_ERR_USAGE, "wants one job file: tutti plan JOB.yaml [options]");
    if (!st) st = with_plan(&f, f.rest[0], &err);
    return st ? tutti_cli_fail("plan", &err) : TUTTI_OK;
}
