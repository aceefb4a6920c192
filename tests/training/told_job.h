/* SPDX-License-Identifier: Apache-2.0 */
/* told_job.h: jobs of networks of the zoo as they are resolved for training, by kernels that a test wants: by name, or
 * each pass by another. */
#ifndef TUTTI_TOLD_JOB_H
#define TUTTI_TOLD_JOB_H

#include "job/job_fields.h"
#include "job/resolve.h"
#include "told_kernels.h"
#include "zoo.h"

/* As rank 0 of the job's ranks. Both are the caller's to release. */
static inline void told_resolve(const char *text, tutti_job **job, tutti_resolved *out)
{
    tutti_failure err = {0};
    const tutti_job_seat seat = {.prove_later = true};
    tutti_status st = tutti_job_parse("test", text, strlen(text), NULL, 0, job, &err);
    if (!st) st = tutti_job_resolve(*job, &seat, out, &err);
    if (st) fail_msg("%s: %s", text, err.text);
}

/* Whether passes of products are computed by the kernels that the job names. */
static inline bool told_asked(const tutti_graph *g)
{
    bool asked = false;
    for (int l = 0; l < g->nkernels; l++)
        for (int pass = 0; pass < TUTTI_NPASSES && told_is_product(&g->kernels[l]); pass++) {
            const tutti_kernel_chosen *c = &g->kernels[l].chosen[pass];
            asked = asked || (c->name && c->why == TUTTI_CHOSEN_ASKED);
        }
    return asked;
}

/* The job of a network by kernels of this name; false: they compute nothing of it. keys: more lines. */
static inline bool told_job_by(const char *model, const char *name, const char *keys, char text[ZOO_JOB])
{
    char lines[ZOO_JOB / 2];
    tutti_job *job = NULL;
    tutti_resolved r;
    snprintf(lines, sizeof lines, "kernels: {name: %s}\n%s", name, keys);
    zoo_job(model, lines, text);
    told_resolve(text, &job, &r);
    const bool asked = told_asked(r.graph);
    tutti_resolved_release(&r);
    tutti_job_destroy(job);
    return asked;
}

/* The same, each pass by another, as a tune file at `path` has it. Returns how many products are computed by
 * several. */
static inline int told_job_by_others(const char *model, int turn, const char *path, char text[ZOO_JOB])
{
    char lines[ZOO_JOB / 2];
    tutti_tune_file file = {.place = tutti_tune_here(1)};
    int njoined = 0;
    snprintf(lines, sizeof lines, "kernels: {tuned: %s}\nthreads: 1\n", path);
    zoo_job(model, lines, text);
    for (int before = -1; file.nentries > before;) { /* other kernels leave other orders, which ask for other words */
        tutti_job *job = NULL;
        tutti_resolved r;
        tutti_failure err = {0};
        if (tutti_tune_file_write(&file, path, &err)) fail_msg("%s", err.text);
        told_resolve(text, &job, &r);
        before = file.nentries;
        told_kernels(r.graph, told_another, &turn, &file);
        njoined = told_joined(r.graph);
        tutti_resolved_release(&r);
        tutti_job_destroy(job);
    }
    tutti_tune_file_release(&file);
    return njoined;
}

#endif
