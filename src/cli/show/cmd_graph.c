/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_graph.c: `tutti graph JOB.yaml`: what one training step of the job does on one rank, as text or for Graphviz. */
#include <stdlib.h>

#include "../../job/resolve.h"
#include "../cli.h"

static const tutti_flag flags[] = {
    {"ranks", "N", "ranks to share the batch (default: the job's)", 0},
    {"set", "KEY=VALUE", "override a key of the job", TUTTI_FLAG_MANY},
    {"dot", NULL, "a drawing: pipe it into `dot -Tsvg`", 0},
};

static tutti_status show(const tutti_flags *f, tutti_failure *err)
{
    tutti_job *job = NULL;
    tutti_resolved r = {0};
    tutti_status st = tutti_cli_load_job(f, f->rest[0], &job, err);
    if (!st) st = tutti_job_resolve(job, &(tutti_job_seat){.on_device = true}, &r, err);
    if (!st) {
        char *text = tutti_cli_has(f, "dot") ? tutti_graph_dot(r.graph) : tutti_graph_print(r.graph);
        st = tutti_cli_write(NULL, text, err);
        free(text);
    }
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return st;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "graph",
        .usage = "tutti graph JOB.yaml [options]",
        .about = "Prints the step graph: the kernels of one call, what each reads and writes, and where gradients are\n"
                 "exchanged. d(x) is the gradient of x on this rank, sum(x) the sum over ranks.",
        TUTTI_CLI_FLAGS(flags),
        .wanted = "one job file is wanted: tutti graph JOB.yaml [options]",
        .run = show,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_graph = {"graph", "show what one training step of a job does", run_command};
