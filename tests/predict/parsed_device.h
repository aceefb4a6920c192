/* SPDX-License-Identifier: Apache-2.0 */
/* parsed_device.h: devices and step graphs that tests take as text. */
#ifndef TUTTI_PARSED_DEVICE_H
#define TUTTI_PARSED_DEVICE_H

#include "predict/parsed.h"
#include "predict/profile/processor_model.h"

static inline tutti_resolved resolved(const char *job_text, const char *override)
{
    tutti_job *job = parse_job(job_text, override);
    tutti_resolved r = {0};
    tutti_failure err = {0};
    if (tutti_job_resolve(job, &(tutti_job_seat){.nranks = 1}, &r, &err)) fail_msg("%s", err.text);
    tutti_job_destroy(job);
    return r;
}

static inline tutti_processor_model device(const char *text)
{
    tutti_processor_model d;
    tutti_failure err = {0};
    if (tutti_processor_model_parse("made up", text, &d, &err)) fail_msg("%s", err.text);
    return d;
}

#endif
