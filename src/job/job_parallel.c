/* SPDX-License-Identifier: Apache-2.0 */
/* job_parallel.c: hybrid parallelism: checks parallel.layers and parallel.groups, and counts the groups of ranks that
 * share those layers.
 *
 * `auto` is the balance of Das et al. 2016: with few groups, ranks exchange many activations and few parameters; with
 * many groups it is the other way round. The paper derives a formula for the sum. Here the elements are counted for
 * each possible number of groups, from the shapes of the model and the exchanges of a plan (tutti_split_volume_of), so
 * that the comparison uses what is really exchanged. */
#include <stdlib.h>
#include <string.h>

#include "../base/text/options.h"
#include "job_fields.h"

bool tutti_job_shares_auto(const tutti_job *job)
{
    return job->parallel.layers.n == 1 && !strcmp(job->parallel.layers.values[0], "auto");
}

bool tutti_job_shares(const tutti_job *job)
{
    return job->parallel.layers.n && !tutti_job_shares_auto(job);
}

int tutti_job_groups(const tutti_job *job)
{
    const char *text = job->parallel.groups;
    char *end;
    if (!text || !strcmp(text, "auto")) return 0;
    const long n = strtol(text, &end, 10);
    return !tutti_options_is_number(text) || end == text || *end || n < 1 || n > INT32_MAX ? -1 : (int)n;
}

/* Fails; the message names the divisors of n next below and next above `wanted`. */
static tutti_status refuse_groups(int n, int wanted, tutti_failure *err)
{
    int below = wanted < n ? wanted : n, above = wanted;
    while (n % below) below--;
    while (above < n && n % above) above++;
    if (above > n || below == above)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks do not make %d groups; use %d", n, wanted, below);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%d ranks do not make %d groups of one size; use %d or %d", n, wanted,
                      below, above);
}

tutti_status tutti_job_check_parallel(const tutti_job *job, const char **key, tutti_failure *err)
{
    const int groups = tutti_job_groups(job), nranks = (int)job->ranks;
    *key = "parallel.groups";
    if (groups < 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "'%s' is neither auto nor a number of 1 or more", job->parallel.groups);
    if (!tutti_job_shares(job) && groups)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "has no effect without parallel.layers, such as 'layers: [fc6, fc7]' beside it");
    if (nranks > 1 && groups && nranks % groups) return refuse_groups(nranks, groups, err);
    *key = "parallel.layers";
    for (int i = 0; i < job->parallel.layers.n; i++)
        if (!job->parallel.layers.values[i][0]) return tutti_fail(err, TUTTI_ERR_USAGE, "an empty name");
    return TUTTI_OK;
}

/* ---- how many ranks share a layer ---- */

/* Returns the size of groups with which a rank receives fewest elements; among equally good sizes the smallest. */
static int find_least(const tutti_split_layer *layers, int n, int nranks, int64_t batch)
{
    int64_t least = INT64_MAX;
    int best = 1;
    for (int parts = 1; parts <= nranks; parts++) {
        int64_t sum = 0;
        bool fits = nranks % parts == 0;
        for (int i = 0; i < n && fits; i++) {
            const tutti_split_volume v = tutti_split_volume_of(&layers[i], nranks, batch, parts);
            sum += v.activations + v.params;
            fits = layers[i].noutputs % parts == 0;
        }
        if (fits && sum < least) least = sum, best = parts;
    }
    return best;
}

/* Sets *parts, the number of ranks that share a layer, by the shapes of the layers in a graph in which no layer is
 * shared. */
static tutti_status choose(const tutti_split_layers *split, const tutti_model *model, int nranks,
                           const tutti_graph_config *config, int *parts, tutti_failure *err)
{
    tutti_graph *g = NULL;
    tutti_arena work = {0};
    tutti_split_layer *layers = TUTTI_ARENA_NEW(&work, tutti_split_layer, split->nlayers);
    const tutti_status st = tutti_graph_build(model, config, &g, err);
    if (!st) tutti_graph_describe_split(g, split, layers);
    if (!st) *parts = find_least(layers, split->nlayers, nranks, config->batch * nranks);
    tutti_graph_destroy(g);
    tutti_arena_release(&work);
    return st;
}

tutti_status tutti_job_split(const tutti_job *job, const tutti_model *as_written, const tutti_model *model, int nranks,
                             const tutti_graph_config *config, tutti_split_layers *out, tutti_failure *err)
{
    const int groups = tutti_job_groups(job);
    tutti_split_layers split = {.parts = 1, .layers = job->parallel.layers.values, .nlayers = job->parallel.layers.n};
    tutti_status st = TUTTI_OK;
    *out = (tutti_split_layers){0};
    if (!tutti_job_shares(job)) return TUTTI_OK;
    if (groups && nranks > 1 && nranks % groups) {
        st = refuse_groups(nranks, groups, err);
        return tutti_fail_at(err, "%s", job->parallel.said_groups);
    }
    if (groups && nranks > 1) split.parts = nranks / groups;
    st = tutti_split_check(&split, as_written, err);
    if (st) return tutti_fail_at(err, "%s", job->parallel.said_layers);
    if (!groups && nranks > 1) st = choose(&split, model, nranks, config, &split.parts, err);
    *out = split;
    return st;
}
