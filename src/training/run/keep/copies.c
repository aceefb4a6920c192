/* SPDX-License-Identifier: Apache-2.0 */
/* copies.c: writes and reads copies of a run's state in a memory file that the ranks of a host map.
 *
 * The file: a head; a record for each slot and rank; then the two slots. A slot holds the vectors that all ranks have
 * together, packed as in the plan, and then each rank's own vectors. */
#include "copies.h"

#include <errno.h>
#include <stdatomic.h>
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
#include "keep.h"

/* MOST_VECTORS: as many as a tutti_checkpoint has room for: the weights, its common states and its own vectors. */
enum { NSLOTS = 2, PAGE = 4096, MOST_VECTORS = 2 * TUTTI_RULE_MAX_STATES + 2 };
static const double SHARE_OF_TIME = 0.01; /* most of a run's time that copies may take when no interval is given */

/* The numbers that one rank has written into a slot beside its vectors. */
typedef struct {
    _Atomic int64_t done; /* 1 + the step of the rank's part; 0 = the part is not whole */
    double loss;
    tutti_loss_scale_state scale;
    int64_t earlier_updates;
    int64_t has_frozen; /* the frozen parameters have been written (rank 0) */
    char skips[TUTTI_CHECKPOINT_SKIPS];
} record;

typedef struct {
    uint64_t layout; /* hash of everything that says where values lie; 0 = the file is empty */
} head;

struct tutti_copies {
    const tutti_plan *plan;
    int rank, nranks;
    bool *is_here;                            /* of each rank: it shares this host's file; heap */
    bool is_first;                            /* no rank with a lower number shares it */
    int64_t every;                            /* steps between copies; 0 = by time */
    int memory[MOST_VECTORS], nvectors, nown; /* memories of the plan: `nvectors` common ones, then `nown` own ones */
    /* at: where each vector begins in a slot; an own one of rank r lies r * own_bytes further */
    int64_t at[MOST_VECTORS], common_bytes, own_bytes;
    int64_t slots_at, slot_bytes, nbytes;
    char *base;
    int next;               /* the slot of the next copy */
    double cost_s, taken_s; /* seconds of the last copy, and when it was taken */
};

/* ---- where values lie ---- */

/* Lists the memories: common ones, then own ones. */
static tutti_status list_vectors(tutti_copies *c, tutti_failure *err)
{
    int own[MOST_VECTORS], n = 0;
    for (int m = 0; m < c->plan->nmemories; m++) {
        const tutti_saved_kind kind = tutti_saving_kind(c->plan, m);
        if (kind == TUTTI_SAVED_NOT) continue;
        if (n++ == MOST_VECTORS)
            return tutti_fail(err, TUTTI_ERR_FAILED,
                              "copies: the plan saves more than the %d vectors that a copy holds", MOST_VECTORS);
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

/* Sets where each vector begins: common ones in a slot, own ones behind them in each rank's part. */
static void lay_out(tutti_copies *c)
{
    int64_t end = 0;
    for (int i = 0; i < c->nvectors + c->nown; i++) {
        c->at[i] = end;
        end += (elements(c, i) * (int64_t)sizeof(float) + 63) / 64 * 64;
        if (i < c->nvectors) c->common_bytes = end;
    }
    c->own_bytes = end - c->common_bytes;
    c->slot_bytes = (c->common_bytes + c->nranks * c->own_bytes + PAGE - 1) / PAGE * PAGE;
    c->slots_at = PAGE + (NSLOTS * c->nranks * (int64_t)sizeof(record) + PAGE - 1) / PAGE * PAGE;
    c->nbytes = c->slots_at + NSLOTS * c->slot_bytes;
}

/* Returns where vector i lies in a slot; an own one is that of this rank. */
static float *vector_at(const tutti_copies *c, int slot, int i)
{
    const int64_t part = i < c->nvectors ? 0 : c->rank * c->own_bytes;
    return (float *)(void *)(c->base + c->slots_at + slot * c->slot_bytes + part + c->at[i]);
}

static record *record_at(const tutti_copies *c, int slot, int rank)
{
    return (record *)(void *)(c->base + PAGE) + slot * c->nranks + rank;
}

/* Returns a hash of the plan, the vectors and the kernels, which choose the order of each parameter's elements. */
static uint64_t layout_of(const tutti_copies *c)
{
    const uint64_t plan = tutti_plan_hash(c->plan);
    char *kernels = tutti_graph_say_choices(c->plan->graph);
    tutti_hasher *h = tutti_hasher_create();
    tutti_hasher_add(h, &plan, sizeof plan);
    tutti_hasher_add(h, &c->nbytes, sizeof c->nbytes);
    for (int p = 0; p < c->plan->graph->nparams; p++)
        tutti_hasher_add(h, &c->plan->param_offset[p], sizeof c->plan->param_offset[p]);
    if (kernels) tutti_hasher_add(h, kernels, strlen(kernels));
    free(kernels);
    return tutti_hasher_finish(h) | 1;
}

/* ---- opening ---- */

static tutti_status map_file(tutti_copies *c, int fd, tutti_failure *err)
{
    struct stat now = {0};
    const bool is_small = fstat(fd, &now) == 0 && now.st_size < c->nbytes;
    c->base = is_small ? tutti_memory_file_grow(fd, (size_t)c->nbytes) : tutti_memory_file_map(fd, (size_t)c->nbytes);
    if (c->base) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "copies: no %lld bytes of memory: %s", (long long)c->nbytes,
                      strerror(errno));
}

/* Returns the step of the copy in a slot, as far as this host's ranks have written it; -1 = it is not whole. */
static int64_t step_in(const tutti_copies *c, int slot)
{
    const int64_t done = atomic_load(&record_at(c, slot, c->rank)->done);
    for (int r = 0; r < c->nranks; r++)
        if (c->is_here[r] && atomic_load(&record_at(c, slot, r)->done) != done) return -1;
    return done - 1;
}

static int newest_slot(const tutti_copies *c)
{
    return step_in(c, 0) >= step_in(c, 1) ? 0 : 1;
}

/* Drops this host's part of every slot that does not hold the copy of `step`: a part of an earlier epoch and a part of
 * this one must not make a whole. step -1: all are dropped. */
static void clear(tutti_copies *c, int64_t step)
{
    head *h = (head *)(void *)c->base;
    bool keeps[NSLOTS];
    for (int slot = 0; slot < NSLOTS; slot++) keeps[slot] = step >= 0 && step_in(c, slot) == step;
    for (int slot = 0; slot < NSLOTS; slot++)
        for (int r = 0; r < c->nranks; r++) {
            record *one = record_at(c, slot, r);
            if (!c->is_here[r]) continue;
            if (!keeps[slot]) atomic_store(&one->done, 0);
            if (step < 0) one->has_frozen = 0;
        }
    h->layout = layout_of(c);
}

/* Returns the newest step of which every rank's host has a whole copy; -1 = there is none. */
static tutti_status agree_on_step(tutti_group *group, const tutti_copies *c, int64_t *step, tutti_failure *err)
{
    int64_t own[NSLOTS], (*all)[NSLOTS] = tutti_alloc(sizeof *all * (size_t)c->nranks);
    const bool is_same = ((const head *)(const void *)c->base)->layout == layout_of(c);
    for (int slot = 0; slot < NSLOTS; slot++) own[slot] = is_same ? step_in(c, slot) : -1;
    const tutti_status st = tutti_group_all_gather(group, "copies in memory", own, all, sizeof own, err);
    *step = -1;
    for (int slot = 0; slot < NSLOTS && !st; slot++) {
        bool is_whole = own[slot] > *step;
        for (int r = 0; r < c->nranks; r++) is_whole &= all[r][0] == own[slot] || all[r][1] == own[slot];
        if (is_whole) *step = own[slot];
    }
    free(all);
    return st;
}

static void list_ranks(tutti_group *group, tutti_copies *c)
{
    c->is_here = tutti_alloc(sizeof *c->is_here * (size_t)c->nranks);
    c->is_first = true;
    for (int r = 0; r < c->nranks; r++) {
        c->is_here[r] = tutti_group_host_of(group, r) == tutti_group_host_of(group, c->rank);
        c->is_first &= !c->is_here[r] || r >= c->rank;
    }
}

tutti_status tutti_copies_open(tutti_group *group, const tutti_train_config *config, tutti_copies **out,
                               tutti_failure *err)
{
    const tutti_plan *p = config->plan;
    int64_t step = -1;
    *out = NULL;
    if (config->copies <= 0 || config->pretended || !config->device->shares_host || p->admission != TUTTI_ADMIT_NOBODY)
        return TUTTI_OK;
    tutti_copies *c = tutti_alloc(sizeof *c);
    *c = (tutti_copies){
        .plan = p, .rank = tutti_group_rank(group), .nranks = p->config.nranks, .every = config->copy_every};
    list_ranks(group, c);
    tutti_status st = list_vectors(c, err);
    lay_out(c);
    if (!st) st = map_file(c, config->copies, err);
    st = tutti_group_all_ready(group, "memory for copies", st, err);
    if (!st) st = agree_on_step(group, c, &step, err);
    if (!st && c->is_first) clear(c, step);
    if (!st) st = tutti_group_barrier(group, "copies in memory", err);
    if (st) {
        tutti_copies_close(c);
        return st;
    }
    c->next = step < 0 ? 0 : 1 - newest_slot(c);
    *out = c;
    return TUTTI_OK;
}

void tutti_copies_close(tutti_copies *c)
{
    if (!c) return;
    if (c->base) munmap(c->base, (size_t)c->nbytes);
    free(c->is_here);
    free(c);
}

int64_t tutti_copies_newest(const tutti_copies *c)
{
    return c ? step_in(c, newest_slot(c)) : -1;
}

int64_t tutti_copies_bytes(const tutti_copies *c)
{
    return c->slot_bytes;
}

int64_t tutti_copies_file_bytes(const tutti_copies *c)
{
    return c->nbytes;
}

/* ---- reading ---- */

static void read_vector(const tutti_copies *c, int slot, int i, float *to)
{
    memcpy(to, vector_at(c, slot, i), (size_t)elements(c, i) * sizeof(float));
}

void tutti_copies_read(const tutti_copies *c, tutti_checkpoint *into)
{
    const int slot = newest_slot(c);
    const record *of_zero = record_at(c, slot, 0);
    into->step = step_in(c, slot);
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
                read_vector(c, newest_slot(c), i, into->own[k].values);
}

/* ---- between hosts ---- */

enum { MOST_SENT = 1 << 24 }; /* bytes of one message */

typedef struct {
    tutti_group *group;
    const tutti_copies *copies;
    int slot;    /* of this rank's file: the copy that is sent */
    char *spare; /* MOST_SENT bytes */
} sending;

/* Sends a piece of a slot from the file of `root` to the files of the other hosts. One rank of a host writes it; the
 * others receive it into `spare`. */
static tutti_status send_piece(const sending *s, int root, char *piece, size_t nbytes, tutti_failure *err)
{
    const tutti_copies *c = s->copies;
    const bool uses_file = c->rank == root || (c->is_first && !c->is_here[root]);
    tutti_status st = TUTTI_OK;
    for (size_t at = 0; at < nbytes && !st; at += MOST_SENT) {
        const size_t n = nbytes - at < MOST_SENT ? nbytes - at : MOST_SENT;
        st = tutti_group_broadcast(s->group, "copies in memory", root, uses_file ? piece + at : s->spare, n, err);
    }
    return st;
}

/* Sends all that rank `root` has written into the slot of its file. */
static tutti_status send_part(const sending *s, int root, tutti_failure *err)
{
    const tutti_copies *c = s->copies;
    const int64_t total = c->plan->total, size = sizeof(float);
    char *base = c->base + c->slots_at + s->slot * c->slot_bytes;
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < c->nvectors && !st; i++) {
        char *vector = base + c->at[i];
        for (int b = 0; b < c->plan->nbuckets && !st; b++) {
            int64_t first, count;
            tutti_plan_own_slice(c->plan, b, root, &first, &count);
            st = send_piece(s, root, vector + first * size, (size_t)(count * size), err);
        }
        const int64_t nrest = root == 0 ? elements(c, i) - total : 0; /* frozen parameters */
        if (!st && nrest > 0) st = send_piece(s, root, vector + total * size, (size_t)(nrest * size), err);
    }
    if (!st) st = send_piece(s, root, base + c->common_bytes + root * c->own_bytes, (size_t)c->own_bytes, err);
    if (!st) st = send_piece(s, root, (char *)record_at(c, s->slot, root), sizeof(record), err);
    return st;
}

tutti_status tutti_copies_complete(tutti_group *group, tutti_copies *c, tutti_failure *err)
{
    const sending s = {.group = group, .copies = c, .slot = newest_slot(c), .spare = tutti_alloc(MOST_SENT)};
    tutti_status st = TUTTI_OK;
    const bool is_needed = tutti_group_nhosts(group) > 1;
    for (int r = 0; r < c->nranks && !st && is_needed; r++) st = send_part(&s, r, err);
    free(s.spare);
    return st || !is_needed ? st : tutti_group_barrier(group, "copies in memory", err);
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

/* Copies the elements that this rank owns. */
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
    if (c->rank == 0 && n > total && !record_at(c, slot, 0)->has_frozen)
        memcpy(to + total, from + total, (size_t)(n - total) * sizeof *to);
}

void tutti_copies_take(tutti_copies *c, const tutti_stepping *s)
{
    const int slot = c->next;
    const double began = tutti_clock_s();
    record *mine = record_at(c, slot, c->rank);
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
    c->taken_s = tutti_clock_s();
    c->cost_s = c->taken_s - began;
}
