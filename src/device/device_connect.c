/* SPDX-License-Identifier: Apache-2.0 */
/* device_connect.c: finds the device row of a name, and chooses the device for the name `auto`. */
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda.h"
#include "device_row.h"

tutti_status tutti_device_connect(const char *name, int card, const tutti_device **out, char **why, tutti_failure *err)
{
    tutti_failure words = {0};
    tutti_cuda *cuda = NULL;
    if (why) *why = NULL;
    *out = tutti_device_cpu();
    if (!strcmp(name, "cpu")) return TUTTI_OK;
    const bool must = strcmp(name, "auto") != 0;
    if (must && strcmp(name, "cuda") != 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "device '%s' is unknown; there are auto, cpu, cuda", name);
    const tutti_status st = tutti_cuda_open(card, &cuda, &words);
    if (st && must) return tutti_fail(err, TUTTI_ERR_USAGE, "device cuda: %s", words.text);
    if (!st)
        *out = tutti_cuda_device(cuda);
    else if (why)
        *why = strdup(words.text);
    return TUTTI_OK;
}

void tutti_device_disconnect(const tutti_device *d)
{
    if (tutti_device_kind_of(d) == TUTTI_DEVICE_CUDA) tutti_cuda_close(tutti_cuda_of(d));
}
