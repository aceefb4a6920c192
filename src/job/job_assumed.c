/* SPDX-License-Identifier: Apache-2.0 */
/* job_assumed.c: figures by which exchanges are chosen if nothing was measured: a processor model that comes with the
 * program, and 10 GbE between hosts. */
#include <stdio.h>

#include "../predict/profile/processor_model.h"
#include "job_choice.h"

void tutti_job_assume(const tutti_graph *g, bool card, tutti_profile *out)
{
    enum { CORES = 16 }; /* cores of the assumed processor */
    tutti_processor_model d;
    tutti_status st = tutti_processor_model_open(card ? "v100" : "e5-2698v3", &d, NULL);
    if (!st) {
        st = tutti_profile_of_processor_model(&d, g, out, NULL);
        tutti_processor_model_release(&d);
    }
    if (!st && !card) tutti_profile_stretch(out, (double)CORES / g->config.nthreads);
    if (!st) return;
    *out = (tutti_profile){.samples_per_call = g->config.batch,
                           .nlayers = g->model->nlayers,
                           .update_s_per_element = TUTTI_ASSUMED_UPDATE_S};
    out->layers = TUTTI_ARENA_NEW(&out->arena, tutti_layer_time, g->model->nlayers);
}

/* Returns the number of ranks on each host if all hosts have the same number, next to each other; else 0. */
static int ranks_a_host(const int32_t *host_of, int nranks)
{
    int group = 1;
    while (group < nranks && host_of[group] == host_of[0]) group++;
    for (int r = 0; r < nranks; r++)
        if (host_of[r] != host_of[r / group * group] || (r >= group && host_of[r] == host_of[r - group])) return 0;
    return nranks % group ? 0 : group;
}

bool tutti_job_machine(const int32_t *host_of, int nranks, int ncores, tutti_topology *out)
{
    const int group = host_of ? ranks_a_host(host_of, nranks) : nranks;
    char line[96];
    if (!group) return false;
    if (group == nranks) return tutti_topology_of_cores(ncores, out, NULL, NULL) == TUTTI_OK;
    snprintf(line, sizeof line, "cluster,hosts=%d,ranks=%d,nic=10GbE", nranks / group, group);
    return tutti_topology_parse(line, out, NULL) == TUTTI_OK;
}
