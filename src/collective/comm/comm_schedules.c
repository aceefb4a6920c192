/* SPDX-License-Identifier: Apache-2.0 */
/* comm_schedules.c: schedules that the library chose: compiled, lowered and proved once in the life of a communicator, however many lanes
 * run them. With 300 ranks on one host each costs every rank 50 ms, and a training of support vectors has seven lanes for two of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../exchange/prove.h"
#include "comm_impl.h"
#include "tutti/lower.h"

struct tutti_made_schedule {
    tutti_made_schedule *next;
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_compile_request request;
    tutti_schedule *compiled, *lowered;
};

static void destroy(tutti_made_schedule *m)
{
    tutti_schedule_destroy(m->lowered), tutti_schedule_destroy(m->compiled);
    free(m);
}

static bool is_for(const tutti_made_schedule *m, const char *algorithm, const tutti_compile_request *q)
{
    return !strcmp(m->algorithm, algorithm) && m->request.collective == q->collective && m->request.root == q->root &&
           m->request.in_place == q->in_place;
}

tutti_status tutti_made_schedule_find(tutti_comm *comm, const char *algorithm, const tutti_compile_request *q,
                                      tutti_schedule **out, tutti_failure *err)
{
    uint64_t hash;
    for (const tutti_made_schedule *m = comm->made; m; m = m->next)
        if (is_for(m, algorithm, q)) {
            *out = m->lowered;
            return TUTTI_OK;
        }
    tutti_made_schedule *m = tutti_alloc(sizeof *m);
    snprintf(m->algorithm, sizeof m->algorithm, "%s", algorithm);
    m->request = *q;
    tutti_status s = tutti_schedule_compile(algorithm, q, &m->compiled, err);
    if (!s) s = tutti_schedule_lower_hosts(m->compiled, tutti_group_hosts(comm->group), &m->lowered, err);
    if (!s) s = tutti_group_prove(comm->group, m->lowered, &hash, err);
    if (s) {
        destroy(m);
        return s;
    }
    m->next = comm->made;
    comm->made = m;
    *out = m->lowered;
    return TUTTI_OK;
}

void tutti_made_schedules_destroy(tutti_comm *comm)
{
    for (tutti_made_schedule *m = comm->made, *next; m; m = next) next = m->next, destroy(m);
    comm->made = NULL;
}
