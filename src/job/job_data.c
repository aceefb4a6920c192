/* SPDX-License-Identifier: Apache-2.0 */
/* job_data.c: from the keys of `data` to what opens a set. */
#include "job_fields.h"

tutti_dataset_config tutti_job_data_config(const tutti_job *job)
{
    tutti_dataset_config c = {.set = job->data.set,
                              .path = job->data.path,
                              .seed = (uint64_t)job->data.seed,
                              .train_samples = job->data.train_samples,
                              .test_samples = job->data.test_samples,
                              .classes = job->data.classes,
                              .size = job->data.size,
                              .first_label = job->data.first_label,
                              .label_last = job->data.label == 1,
                              .header = job->data.header,
                              .skip_bad = job->data.on_bad_sample == 1,
                              .augment = job->data.augment,
                              .mean = job->data.mean.values,
                              .nmean = job->data.mean.n,
                              .std = job->data.std.values,
                              .nstd = job->data.std.n};
    for (; c.shape.ndims < job->data.shape.n && c.shape.ndims < TUTTI_MAX_DIMS; c.shape.ndims++)
        c.shape.dim[c.shape.ndims] = (int64_t)job->data.shape.values[c.shape.ndims];
    return c;
}
