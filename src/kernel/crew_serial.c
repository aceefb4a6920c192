/* SPDX-License-Identifier: Apache-2.0 */
/* crew_serial.c: runs kernels on the calling thread alone, in a build without libgomp. CMake compiles either this file
 * or crew_gomp.c. */
#include "crew.h"

void tutti_crew_run(int nthreads, int64_t n, tutti_crew_job *job, void *arg)
{
    (void)nthreads;
    if (n > 0) job(arg, 0, n, 0);
}

void tutti_crew_ask(int nthreads)
{
    (void)nthreads;
}

tutti_status tutti_crew_prepare(int nthreads, tutti_failure *err)
{
    (void)nthreads, (void)err;
    return TUTTI_OK;
}
