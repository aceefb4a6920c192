/* SPDX-License-Identifier: Apache-2.0 */
/* job_data.c: turns the keys of `data` into the configuration that opens a set. */
#include "job_fields.h"

tutti_dataset_config tutti_job_data_config(const tutti_job *job)
{
    tutti_dataset_config c = job->data;
    for (; c.shape.ndims < job->data_shape.n && c.shape.ndims < TUTTI_MAX_DIMS; c.shape.ndims++)
        c.shape.dim[c.shape.ndims] = (int64_t)job->data_shape.values[c.shape.ndims];
    return c;
}
