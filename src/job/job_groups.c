/* SPDX-License-Identifier: Apache-2.0 */
/* job_groups.c: checks optimiser.groups: parameters with rates or decays of their own. An entry without effect is
 * refused: it was meant for a layer with another name, or for a frozen layer. The graph matches patterns of frozen
 * parameters (training/graph/frozen.c). */
#include <stdlib.h>
#include <string.h>

#include "../base/text/name_pattern.h"
#include "../base/text/options.h"
#include "job_fields.h"

static bool is_number_to(const char *text, double most)
{
    char *end;
    const double value = strtod(text, &end);
    return tutti_options_is_number(text) && end != text && !*end && value >= 0 && value <= most;
}

/* is_rate returns true for a number that optimiser.lr may have (job_table.c); is_decay, for one that
 * optimiser.weight_decay may have. */
static bool is_rate(const char *text)
{
    return is_number_to(text, 1e6);
}

static bool is_decay(const char *text)
{
    return is_number_to(text, 1e3);
}

static bool is_truth(const char *text)
{
    return !strcmp(text, "true") || !strcmp(text, "false");
}

static tutti_status check_entries(const char *said, const tutti_texts *entries, bool (*is_good)(const char *),
                                  const char *otherwise, tutti_failure *err)
{
    for (int i = 0; i < entries->n; i += 2) {
        if (!entries->values[i][0])
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: an empty pattern; '*' is for all parameters", said);
        if (!entries->values[i + 1][0])
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' has no value; one stands behind a colon and a space",
                              said, entries->values[i]);
        if (!is_good(entries->values[i + 1]))
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' of '%s' is %s", said, entries->values[i + 1],
                              entries->values[i], otherwise);
    }
    return TUTTI_OK;
}

tutti_status tutti_job_check_groups(const tutti_job *job, tutti_failure *err)
{
    tutti_status st =
        check_entries(job->optimiser.said_rate, &job->train.group_rates, is_rate, "not a number from 0 to 1e6", err);
    if (!st)
        st = check_entries(job->optimiser.said_decay, &job->train.group_decays, is_decay, "not a number from 0 to 1e3",
                           err);
    return st ? st
              : check_entries(job->graph.frozen.said, &job->graph.frozen.patterns, is_truth, "neither true nor false",
                              err);
}

static bool fits(const tutti_graph *g, const char *pattern, bool weights_alone)
{
    for (int p = 0; p < g->nparams; p++) {
        const tutti_param *param = &g->params[p];
        const bool counts =
            param->desc.kind == TUTTI_PARAM_WEIGHT || (!weights_alone && param->desc.kind == TUTTI_PARAM_BIAS);
        if (param->layer >= 0 && !param->is_frozen && counts && tutti_name_matches(pattern, param->name)) return true;
    }
    return false;
}

static tutti_status match(const char *said, const tutti_texts *entries, const tutti_graph *g, bool weights_alone,
                          tutti_failure *err)
{
    for (int i = 0; i < entries->n; i += 2)
        if (!fits(g, entries->values[i], weights_alone))
            return tutti_fail(
                err, TUTTI_ERR_USAGE, "%s: '%s' fits no %s of model %s; 'tutti plan JOB' lists their names", said,
                entries->values[i], weights_alone ? "decayed parameter" : "learned parameter", g->model->name);
    return TUTTI_OK;
}

tutti_status tutti_job_match_groups(const tutti_job *job, const tutti_graph *graph, tutti_failure *err)
{
    const tutti_status st = match(job->optimiser.said_rate, &job->train.group_rates, graph, false, err);
    return st ? st : match(job->optimiser.said_decay, &job->train.group_decays, graph, true, err);
}
