/* SPDX-License-Identifier: Apache-2.0 */
/* measure_run.h: a short real training run as a child process, for comparing predictions with. Threads: one at a
 * time. */
#ifndef TUTTI_MEASURE_RUN_H
#define TUTTI_MEASURE_RUN_H

#include "tutti/failure.h"

/* Returns the median seconds of a step of `tutti train job --ranks nranks`, without the first steps. overrides: --set
 * texts. The run has its own folder under $TMPDIR, which is removed afterwards. It takes as long as 200 steps and one
 * small test. */
tutti_status tutti_measure_run(const char *job, int nranks, const char *const *overrides, int noverrides,
                               double *step_s, tutti_failure *err);

#endif
