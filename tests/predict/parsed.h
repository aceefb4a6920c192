/* SPDX-License-Identifier: Apache-2.0 */
/* parsed.h: jobs and topologies of prediction tests, from text. */
#ifndef TUTTI_PARSED_H
#define TUTTI_PARSED_H

#include "job/resolve.h"
#include "tutti/topology.h"

/* override: KEY=VALUE, or NULL. */
static inline tutti_job *parse_job(const char *text, const char *override)
{
    tutti_job *job = NULL;
    tutti_failure err = {0};
    const char *const overrides[] = {override};
    if (tutti_job_parse("job", text, strlen(text), overrides, override != NULL, &job, &err)) fail_msg("%s", err.text);
    return job;
}

static inline tutti_topology parse_topology(const char *text)
{
    tutti_topology t = {0};
    assert_int_equal(tutti_topology_parse(text, &t, NULL), TUTTI_OK);
    return t;
}

#endif
