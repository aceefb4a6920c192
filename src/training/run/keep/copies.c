/* SPDX-License-Identifier: Apache-2.0 */
/* copies.c: writes and reads copies of a run's state in a memory file that the ranks of a host map.
 *
 * The file: a head, with the offsets of the parameters; a record for each slot and rank; then the two slots. A slot
 * holds the vectors that all ranks have together, packed as in the plan, and then each rank's own vectors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../base/arena.h"
#include "../../../base/clock.h"
#include "../../../base/hash.h"
#include "../../../base/host/memory_file.h"
#include "../step/sparsity.h"
#include "copies_impl.h"

static const double SHARE_OF_TIME = 0.01; /* largest part of a run's time that copies may take, if no interval is
                                           * given */

/* ---- where values lie ---- */

/* Lists the plan's memories that a copy holds: common ones, then each rank's own. */
static tutti_status list_vectors(tutti_copies *c, tutti_failure *err)
{
    int own[TUTTI_COPY_VECTORS], n = 0;
    for (int m = 0; m < c->plan->nmemories; m++) {
        const tutti_saved_kind kind = tutti_saving_kind(c->plan, m);
        if (kind == TUTTI_SAVED_NOT) continue;
        if (n++ == TUTTI_COPY_VECTORS)
            return tutti_fail(err, TUTTI_ERR_FAILED,
                              "copies: the plan saves more than the %d vectors that a copy holds", TUTTI_COPY_VECTORS);
        if (kind == TUTTI_SAVED_OWN)
            own[c->nown++] = m;
        else
            c->memory[c->nvectors++] = m;
    }
    memcpy(c->memory + c->nvectors, own, sizeof *own * (size_t)c->nown);
    return TUTTI_OK;
}

static int64_t elements(const tutti_copies *c, int i)
{
    return c->plan->memories[c->memory[i]].elements;
}

static int64_t up_to_page(int64_t nbytes)
{
    return (nbytes + TUTTI_COPY_PAGE - 1) / TUTTI_COPY_PAGE * TUTTI_COPY_PAGE;
}

/* Sets where each vector begins in a slot: first the common vectors, then each rank's part with its own vectors. */
static void lay_out(tutti_copies *c)
{
    tutti_copy_head *h = &c->head;
    int64_t end = 0;
    h->nranks = c->nranks;
    h->nvectors = c->nvectors;
    h->nparams = c->plan->graph->nparams;
    for (int i = 0; i < c->nvectors + c->nown; i++) {
        h->at[i] = end;
        h->elements[i] = elements(c, i);
        end += (elements(c, i) * (int64_t)sizeof(float) + 63) / 64 * 64;
        if (i < c->nvectors) c->common_bytes = end;
    }
    c->own_bytes = end - c->common_bytes;
    h->slot_bytes = up_to_page(c->common_bytes + c->nranks * c->own_bytes);
    h->records_at = up_to_page((int64_t)sizeof *h + h->nparams * (int64_t)sizeof(int64_t));
    h->slots_at = h->records_at + up_to_page(TUTTI_COPY_SLOTS * c->nranks * (int64_t)sizeof(tutti_copy_record));
    h->nbytes = h->slots_at + TUTTI_COPY_SLOTS * h->slot_bytes;
}

char *tutti_copies_slot(const tutti_copies *c, int slot)
{
    return c->base + c->head.slots_at + slot * c->head.slot_bytes;
}

/* Returns where vector i lies in a slot; if each rank has its own vector i, this rank's. */
static float *vector_at(const tutti_copies *c, int slot, int i)
{
    const int64_t part = i < c->nvectors ? 0 : c->rank * c->own_bytes;
    return (float *)(void *)(tutti_copies_slot(c, slot) + part + c->head.at[i]);
}

tutti_copy_record *tutti_copies_record(const tutti_copies *c, int slot, int rank)
{
    return (tutti_copy_record *)(void *)(c->base + c->head.records_at) + slot * c->nranks + rank;
}

/* Sets head.kind, a hash of what must be equal in two files so that one can be converted into the other: the common
 * vectors, and the kernels, which choose the order of each parameter's elements. Then sets head.layout, a hash of kind
 * and plan. */
static void hash_layout(tutti_copies *c)
{
    const uint64_t plan = tutti_plan_hash(c->plan);
    char *kernels = tutti_graph_say_choices(c->plan->graph);
    tutti_hasher *h = tutti_hasher_create();
    for (int i = 0; i < c->nvectors; i++) {
        const char *name = c->plan->memories[c->memory[i]].name;
        tutti_hasher_add(h, name, strlen(name) + 1);
    }
    for (int p = 0; p < c->plan->graph->nparams; p++) {
        const int64_t n = c->plan->graph->params[p].desc.elements;
        tutti_hasher_add(h, &n, sizeof n);
    }
    if (kernels) tutti_hasher_add(h, kernels, strlen(kernels));
    if (c->nown) tutti_hasher_add(h, &plan, sizeof plan); /* another number of ranks cannot use own vectors */
    free(kernels);
    c->head.kind = tutti_hasher_finish(h);
    h = tutti_hasher_create();
    tutti_hasher_add(h, &c->head.kind, sizeof c->head.kind);
    tutti_hasher_add(h, &plan, sizeof plan);
    tutti_hasher_add(h, &c->head.nbytes, sizeof c->head.nbytes);
    for (int p = 0; p < c->plan->graph->nparams; p++)
        tutti_hasher_add(h, &c->plan->param_offset[p], sizeof c->plan->param_offset[p]);
    c->head.layout = tutti_hasher_finish(h) | 1;
}

/* ---- opening ---- */

/* Returns a number that differs between files, even files of several machines. */
static uint64_t identity_of(const struct stat *file)
{
    const uint64_t numbers[] = {(uint64_t)file->st_dev, (uint64_t)file->st_ino};
    char host[256] = "";
    tutti_hasher *h = tutti_hasher_create();
    if (gethostname(host, sizeof host - 1)) host[0] = '\0';
    tutti_hasher_add(h, host, strlen(host));
    tutti_hasher_add(h, numbers, sizeof numbers);
    return tutti_hasher_finish(h);
}

static tutti_status map_file(tutti_copies *c, int fd, tutti_failure *err)
{
    struct stat now = {0};
    const bool is_small = fstat(fd, &now) == 0 && now.st_size < c->head.nbytes;
    c->mapped = is_small ? c->head.nbytes : now.st_size;
    c->base = is_small ? tutti_memory_file_grow(fd, (size_t)c->mapped) : tutti_memory_file_map(fd, (size_t)c->mapped);
    c->file = identity_of(&now);
    if (c->base) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "copies: no %lld bytes of memory: %s", (long long)c->mapped,
                      strerror(errno));
}

tutti_status tutti_copies_open(tutti_group *group, const tutti_train_config *config, tutti_copies **out,
                               tutti_failure *err)
{
    const tutti_plan *p = config->plan;
    *out = NULL;
    if (config->copies <= 0 || config->pretended || !config->device->shares_host || p->admission != TUTTI_ADMIT_NOBODY)
        return TUTTI_OK;
    tutti_copies *c = tutti_alloc(sizeof *c);
    *c = (tutti_copies){
        .plan = p, .rank = tutti_group_rank(group), .nranks = p->config.nranks, .every = config->copy_every};
    c->is_here = tutti_alloc(sizeof *c->is_here * (size_t)c->nranks);
    tutti_status st = list_vectors(c, err);
    lay_out(c);
    hash_layout(c);
    if (!st) st = map_file(c, config->copies, err);
    st = tutti_group_all_ready(group, "memory for copies", st, err);
    if (!st) st = tutti_copies_agree(group, c, err);
    if (st) {
        tutti_copies_close(c);
        return st;
    }
    c->next = 1 - c->slot;
    *out = c;
    return TUTTI_OK;
}

void tutti_copies_close(tutti_copies *c)
{
    if (!c) return;
    if (c->base) munmap(c->base, (size_t)c->mapped);
    free(c->is_here);
    free(c);
}

int64_t tutti_copies_newest(const tutti_copies *c)
{
    return c ? c->step : -1;
}

int64_t tutti_copies_bytes(const tutti_copies *c)
{
    return c->head.slot_bytes;
}

int64_t tutti_copies_file_bytes(const tutti_copies *c)
{
    return c->head.nbytes;
}

/* ---- reading ---- */

static void read_vector(const tutti_copies *c, int slot, int i, float *to)
{
    memcpy(to, vector_at(c, slot, i), (size_t)elements(c, i) * sizeof(float));
}

void tutti_copies_read(const tutti_copies *c, tutti_checkpoint *into)
{
    const int slot = c->slot;
    const tutti_copy_record *of_zero = tutti_copies_record(c, slot, 0);
    into->step = c->step;
    into->loss = of_zero->loss;
    into->scale = of_zero->scale;
    into->earlier_updates = of_zero->earlier_updates;
    memcpy(into->skips, of_zero->skips, sizeof into->skips);
    for (int i = 0; i < c->nvectors; i++) {
        const char *name = c->plan->memories[c->memory[i]].name;
        if (c->memory[i] == c->plan->answer) read_vector(c, slot, i, into->weights);
        for (int k = 0; k < into->nstates; k++)
            if (!strcmp(into->state_name[k], name)) read_vector(c, slot, i, into->state[k]);
    }
}

void tutti_copies_read_own(const tutti_copies *c, const tutti_checkpoint *into)
{
    for (int i = c->nvectors; i < c->nvectors + c->nown; i++)
        for (int k = 0; k < into->nown; k++)
            if (!strcmp(into->own[k].name, c->plan->memories[c->memory[i]].name))
                read_vector(c, c->slot, i, into->own[k].values);
}

/* ---- writing ---- */

bool tutti_copies_is_wished(const tutti_copies *c, const tutti_stepping *s)
{
    return c && s->rank == 0 && c->every == 0 && tutti_clock_s() - c->taken_s >= c->cost_s / SHARE_OF_TIME;
}

bool tutti_copies_is_due(const tutti_copies *c, const tutti_stepping *s)
{
    if (!c || s->step >= s->config->nsteps) return false;
    return c->every ? s->step % c->every == 0 : s->asked_to_copy;
}

/* Copies to the slot those elements of vector i that this rank owns. */
static void write_owned(const tutti_copies *c, const tutti_stepping *s, int slot, int i)
{
    float *to = vector_at(c, slot, i);
    const float *from = tutti_shared_vector(&s->shared, c->memory[i], 0);
    for (int b = 0; b < c->plan->nbuckets; b++) {
        int64_t first, count;
        tutti_plan_own_slice(c->plan, b, c->rank, &first, &count);
        memcpy(to + first, from + first, (size_t)count * sizeof *to);
    }
    const int64_t total = c->plan->total, n = elements(c, i);
    if (c->rank == 0 && n > total && !tutti_copies_record(c, slot, 0)->has_frozen)
        memcpy(to + total, from + total, (size_t)(n - total) * sizeof *to);
}

tutti_status tutti_copies_take(tutti_copies *c, tutti_stepping *s, tutti_failure *err)
{
    const int slot = c->next;
    const double began = tutti_clock_s();
    tutti_copy_record *mine = tutti_copies_record(c, slot, c->rank);
    tutti_status st = tutti_step_wait_all(s, err);
    if (st) return st;
    tutti_step_sync(s);
    atomic_store(&mine->done, 0);
    for (int i = 0; i < c->nvectors; i++) write_owned(c, s, slot, i);
    for (int i = c->nvectors; i < c->nvectors + c->nown; i++)
        memcpy(vector_at(c, slot, i), tutti_shared_vector(&s->shared, c->memory[i], 0),
               (size_t)elements(c, i) * sizeof(float));
    mine->has_frozen = 1;
    mine->loss = s->last_loss;
    mine->scale = s->scale;
    mine->earlier_updates = s->earlier_updates;
    tutti_relus_skips(c->plan->graph, mine->skips, sizeof mine->skips);
    atomic_store(&mine->done, s->step + 1);
    c->next = 1 - slot;
    st = tutti_copies_share(s->group, c, slot, err);
    c->taken_s = tutti_clock_s();
    c->cost_s = c->taken_s - began;
    return st;
}
