/* SPDX-License-Identifier: Apache-2.0 */
/* session_pretend.c: reads the kernel times of a layer trace for a run that pretends to compute
 * (training/run/step/pretend.c). A trace that lacks something is refused as by tutti predict, which reads it by the
 * same function. */
#include <stdlib.h>

#include "../base/arena.h"
#include "../predict/profile/profile.h"
#include "session.h"

static tutti_status check_job(const tutti_session *s, tutti_failure *err)
{
    const tutti_plan_config *c = &s->parts.plan->config;
    if (c->slots || c->accumulate > 1)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "--pretend: a layer trace has times of whole steps, not of slots or micro-batches: leave reduction: "
            "canonical and accumulate out");
    if (s->parts.graph->nsplit)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "--pretend: a layer trace has times of whole layers, not of shared ones: leave parallel.layers out");
    if (s->config.init.from)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "--pretend learns nothing, so first weights have no effect: leave --init out");
    return TUTTI_OK;
}

tutti_status tutti_session_pretend(const char *path, tutti_session *s, tutti_failure *err)
{
    tutti_layer_trace trace = {0};
    tutti_profile profile = {0};
    tutti_status st = check_job(s, err);
    if (!st) st = tutti_layer_trace_read(path, &trace, err);
    if (!st) st = tutti_profile_of_trace(path, &trace, s->parts.graph, &profile, err);
    if (!st) s->pretended = tutti_alloc(sizeof *s->pretended * (size_t)profile.nlayers);
    for (int l = 0; l < profile.nlayers && !st; l++)
        s->pretended[l] = (tutti_pretended_layer){profile.layers[l].forward_s, profile.layers[l].params_s,
                                                  profile.layers[l].data_s, profile.layers[l].sum_s};
    if (!st) s->config.pretended = s->pretended, s->config.test = NULL;
    tutti_profile_release(&profile);
    tutti_layer_trace_release(&trace);
    return st;
}
