/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.c: the row of one card. */
#include "cuda.h"

tutti_status tutti_cuda_open(int card, tutti_cuda **out, tutti_failure *err)
{
    (void)card, (void)out;
    return tutti_fail(err, TUTTI_ERR_FAILED, "this build has no CUDA row");
}

void tutti_cuda_close(tutti_cuda *c)
{
    (void)c;
}

const tutti_device *tutti_cuda_device(const tutti_cuda *c)
{
    return (const tutti_device *)(const void *)c;
}

tutti_cuda *tutti_cuda_of(const tutti_device *d)
{
    return (tutti_cuda *)(uintptr_t)d;
}
