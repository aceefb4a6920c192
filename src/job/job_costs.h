/* SPDX-License-Identifier: Apache-2.0 */
/* job_costs.h: `exchange.buckets: auto`: the plan is made again, merged by the costs of exchanges, which are measured
 * between the ranks that will train, or predicted. Threads: one at a time. */
#ifndef TUTTI_JOB_COSTS_H
#define TUTTI_JOB_COSTS_H

#include "../collective/group/group.h"
#include "resolve.h"
#include "tutti/topology.h"

/* Merges buckets by measured costs. Collective, before anything else is made with the plan; does nothing under another
 * rule of buckets. The costs are those of the newest checkpoint under `dir` if it has costs for the same number of
 * ranks and threads (so a resumed run has the same buckets). Otherwise they are measured: all ranks exchange vectors
 * from 4 KiB to 64 MiB or the model's size, each for about 10 ms or seven times; rank 0's clock counts, and rank 0
 * sends its times to the others. dir NULL = measure. Layers are not timed: on mapped memory no exchange runs beside a
 * kernel, so the times at which gradients are ready do not matter (merge.h). */
tutti_status tutti_job_merge_measured(const tutti_job *job, tutti_group *group, const char *dir, tutti_resolved *r,
                                      tutti_failure *err);

/* Uses predicted costs instead: layers timed on this machine, exchanges simulated on t. Under another rule of buckets
 * the buckets stay, and the plan shows the times of its exchanges. */
tutti_status tutti_job_add_costs(const tutti_job *job, const tutti_topology *t, tutti_resolved *r, tutti_failure *err);

#endif
