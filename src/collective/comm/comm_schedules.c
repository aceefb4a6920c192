/* SPDX-License-Identifier: Apache-2.0 */
/* comm_schedules.c: keeps the schedules that a communicator has compiled, lowered and proved. With 300 ranks on one
 * host each schedule costs every rank 50 ms, and a training of support vectors has seven queues for two schedules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../exchange/executor.h"
#include "comm_impl.h"

struct tutti_made_schedule {
    tutti_made_schedule *next;
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_compile_request request;
    tutti_prepared made;
};

static void destroy(tutti_made_schedule *m)
{
    tutti_prepared_release(&m->made);
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
    for (const tutti_made_schedule *m = comm->made; m; m = m->next)
        if (is_for(m, algorithm, q)) {
            *out = m->made.lowered;
            return TUTTI_OK;
        }
    tutti_made_schedule *m = tutti_alloc(sizeof *m);
    snprintf(m->algorithm, sizeof m->algorithm, "%s", algorithm);
    m->request = *q;
    const tutti_prover together = tutti_group_prover(comm->group);
    const tutti_status st =
        tutti_schedule_prepare(algorithm, q, tutti_group_hosts(comm->group), &together, &m->made, err);
    if (st) {
        destroy(m);
        return st;
    }
    m->next = comm->made;
    comm->made = m;
    *out = m->made.lowered;
    return TUTTI_OK;
}

void tutti_made_schedules_destroy(tutti_comm *comm)
{
    for (tutti_made_schedule *m = comm->made, *next; m; m = next) next = m->next, destroy(m);
    comm->made = NULL;
}
