/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: trains a job from a C program: ./train_job JOB.yaml [DIR [KEY=VALUE ...]]. Ctrl-C ends the run in good
 * order, with a checkpoint in DIR, from which the same command goes on. It ends with the weights of `tutti train` for
 * the same job. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tutti/job.h"

static tutti_stop_wish wish;

static void stop(int signal_number)
{
    tutti_run_stop(&wish, signal_number);
}

/* Rank 0 alone tells of steps and tests; whoever fails says why. */
static void progress(void *arg, const tutti_run_event *e)
{
    (void)arg;
    switch (e->kind) {
    case TUTTI_RUN_STEP:
        if (e->is_logged)
            printf("step %" PRId64 " of %" PRId64 ": loss %.4f, %.0f images/s\n", e->step, e->nsteps, e->loss,
                   e->images_per_s);
        break;
    case TUTTI_RUN_TEST: printf("test: %.2f %% right\n", 100 * e->accuracy); break;
    case TUTTI_RUN_CHECKPOINT: printf("saved: %s\n", e->text); break;
    case TUTTI_RUN_NOTE:
    case TUTTI_RUN_REPORT:
    case TUTTI_RUN_FAILED: fprintf(stderr, "rank %d: %s\n", e->rank, e->text); break;
    default: break;
    }
}

int main(int argc, char **argv)
{
    tutti_failure err = {0};
    tutti_job *job = NULL;
    tutti_run_result result;
    if (argc < 2) {
        fprintf(stderr, "usage: train_job JOB.yaml [DIR [KEY=VALUE ...]]\n");
        return TUTTI_ERR_USAGE;
    }
    const int noverrides = argc > 3 ? argc - 3 : 0;
    if (tutti_job_load(argv[1], (const char *const *)(argv + argc - noverrides), noverrides, &job, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return (int)err.status;
    }
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    const tutti_run_options options = {.dir = argc > 2 ? argv[2] : NULL, .stop = &wish};
    const tutti_run_events events = {progress, NULL};
    const tutti_status st = tutti_job_run(job, &options, &events, &result, &err); /* its words have been told */
    if (!st)
        printf("%s at step %" PRId64 " of %" PRId64 ", weights %016" PRIx64 "\n",
               result.stop_signal ? "stopped" : "done", result.step, result.nsteps, result.weights_hash);
    tutti_job_destroy(job);
    return st ? (int)st : result.stop_signal ? 128 + result.stop_signal : 0;
}
