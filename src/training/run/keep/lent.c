/* SPDX-License-Identifier: Apache-2.0 */
/* lent.c: borrows the vectors of a checkpoint from the device while the host fills, writes, copies or hashes them. */
#include <string.h>

#include "keep.h"

/* Most vectors of a checkpoint: the weights, the rule's states, the rank's own vectors. */
enum { MOST = 1 + TUTTI_RULE_MAX_STATES + TUTTI_RULE_MAX_STATES + 1 };

static int list(tutti_checkpoint *c, float **vectors[MOST])
{
    int n = 0;
    vectors[n++] = &c->weights;
    for (int i = 0; i < c->nstates; i++) vectors[n++] = &c->state[i];
    for (int i = 0; i < c->nown; i++) vectors[n++] = &c->own[i].values;
    return n;
}

/* Returns the bytes of a vector, which is a memory of the plan; states have no elements for frozen parameters. */
static size_t bytes_of(const tutti_stepping *s, const float *vector)
{
    int m = 0;
    while (tutti_shared_vector(&s->shared, m, 0) != vector) m++;
    return (size_t)tutti_plan_memory_bytes(&s->plan->memories[m]) / (size_t)s->plan->memories[m].copies;
}

tutti_checkpoint tutti_lent_borrow(const tutti_stepping *s, const tutti_checkpoint *there)
{
    tutti_checkpoint c = *there;
    float **vectors[MOST];
    const int n = list(&c, vectors);
    c.device = (int)s->device->kind;
    tutti_step_sync(s);
    for (int i = 0; i < n; i++)
        if (*vectors[i]) *vectors[i] = s->device->borrow(s->device, *vectors[i], bytes_of(s, *vectors[i]));
    return c;
}

void tutti_lent_give_back(const tutti_stepping *s, const tutti_checkpoint *there, tutti_checkpoint *c, bool changed)
{
    tutti_checkpoint from = *there;
    float **at[MOST], **lent[MOST];
    const int n = list(c, lent);
    list(&from, at);
    for (int i = 0; i < n; i++)
        if (*at[i]) s->device->give_back(s->device, *at[i], *lent[i], bytes_of(s, *at[i]), changed);
}

size_t tutti_lent_copy(const tutti_stepping *s, const tutti_checkpoint *there, tutti_checkpoint *c, char *to)
{
    enum { ALIGNMENT = 64 };
    tutti_checkpoint from = *there;
    float **at[MOST], **lent[MOST];
    const int n = list(c, lent);
    size_t end = 0;
    list(&from, at);
    for (int i = 0; i < n; i++) {
        if (!*at[i]) continue;
        const size_t nbytes = bytes_of(s, *at[i]);
        if (to) *lent[i] = memcpy(to + end, *lent[i], nbytes);
        end += (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return end;
}
