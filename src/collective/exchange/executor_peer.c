/* SPDX-License-Identifier: Apache-2.0 */
/* executor_peer.c: steps that reach into plain memory of a peer through the system. Such a step moves its vector in
 * pieces that stay in a second-level cache: each piece is read, reduced and written to its place. Waits notice a peer
 * that has died; memory that does not exist ends the epoch with a message that names its rank. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor_impl.h"

/* A piece of a step: the addresses of the step's operands, moved on to the piece. */
typedef struct {
    tutti_exchange *x;
    const tutti_op *op;
    const int32_t *owner; /* for each operand: the peer, -1 = this rank */
    char *const *at;
    int64_t from, n;
    char *bounce; /* next free bounce buffer */
} piece;

static char *here(const piece *p, int32_t k)
{
    return p->at[k] + (size_t)p->from * p->x->vector.bytes;
}

static size_t bytes_of(const piece *p)
{
    return (size_t)p->n * p->x->vector.bytes;
}

static char *take_bounce(piece *p)
{
    char *taken = p->bounce;
    p->bounce += p->x->plain->bounce_bytes;
    return taken;
}

/* --- failures --- */

/* Returns true if the memory of the piece's peer exists; then it is this rank's memory that is missing. */
static bool is_there(const piece *p, int32_t k)
{
    char byte;
    const uint64_t first = (uint64_t)(uintptr_t)here(p, k), last = first + bytes_of(p) - 1;
    const tutti_group *g = p->x->group;
    return !tutti_peer_read(g, p->owner[k], &byte, first, 1) && !tutti_peer_read(g, p->owner[k], &byte, last, 1);
}

static bool refuse(const piece *p, int32_t k, int problem)
{
    tutti_group *g = p->x->group;
    char words[TUTTI_WORDS];
    if (problem == ESRCH) return false; /* the peer's process has ended: a wait will notice and report the death */
    const bool ours = problem == EFAULT && is_there(p, k);
    snprintf(
        words, sizeof words,
        "%s: exchange '%s' (%s): %zu bytes of the %s that %s gave cannot be %s: %s (address %p): is that memory still "
        "there%s?",
        g->peers[g->rank].describe, p->x->name, p->x->algorithm, bytes_of(p), k < p->op->nins ? "input" : "output",
        g->peers[ours ? g->rank : p->owner[k]].describe, k < p->op->nins && !ours ? "read" : "written",
        strerror(problem), (void *)here(p, k), k < p->op->nins ? "" : " and may it be written");
    tutti_group_set_failed(g, -1, TUTTI_ERR_PEER, words);
    p->x->stuck = true;
    return false;
}

static bool read_in(const piece *p, int32_t k, char *to)
{
    const int problem = tutti_peer_read(p->x->group, p->owner[k], to, (uint64_t)(uintptr_t)here(p, k), bytes_of(p));
    return problem ? refuse(p, k, problem) : true;
}

/* Writes the piece to all outputs of peers. */
static bool write_out(const piece *p, const char *from)
{
    for (int32_t k = p->op->nins; k < p->op->nins + p->op->nouts; k++) {
        if (p->owner[k] < 0) continue;
        const int problem =
            tutti_peer_write(p->x->group, p->owner[k], (uint64_t)(uintptr_t)here(p, k), from, bytes_of(p));
        if (problem) return refuse(p, k, problem);
    }
    return true;
}

/* --- moving a piece --- */

/* Lists the step's outputs on this rank; returns their number. */
static int32_t own_outputs(const piece *p, char *out[])
{
    int32_t n = 0;
    for (int32_t k = p->op->nins; k < p->op->nins + p->op->nouts; k++)
        if (p->owner[k] < 0) out[n++] = here(p, k);
    return n;
}

static bool copy_piece(piece *p, char *out[])
{
    const int32_t nown = own_outputs(p, out);
    char *first = p->owner[0] < 0 ? here(p, 0) : nown ? out[0] : take_bounce(p);
    if (p->owner[0] >= 0 && !read_in(p, 0, first)) return false;
    for (int32_t i = 0; i < nown; i++)
        if (out[i] != first) p->x->device->copy(p->x->device, &out[i], 1, first, bytes_of(p), false);
    return write_out(p, first);
}

static bool reduce_piece(piece *p, const char *in[], char *out[])
{
    for (int32_t k = 0; k < p->op->nins; k++) {
        char *const own = here(p, k), *const to = p->owner[k] < 0 ? own : take_bounce(p);
        if (p->owner[k] >= 0 && !read_in(p, k, to)) return false;
        in[k] = to;
    }
    int32_t nown = own_outputs(p, out);
    if (nown == 0) out[nown++] = take_bounce(p);
    const tutti_device_reduction how = {.in = p->x->type, .out = p->x->type, .op = p->x->op, .folds = p->op->folds};
    p->x->device->reduce(p->x->device, &how, &(tutti_operands){out, nown, in, p->op->nins}, p->n);
    return write_out(p, out[0]);
}

/* Returns the elements of a piece; a copy between two places needs no bounce buffer and goes at once. */
static int64_t piece_elements(const tutti_exchange *x, const tutti_op *op)
{
    if (op->kind == TUTTI_STEP_COPY && op->nins + op->nouts == 2) return INT64_MAX;
    const int64_t n = (int64_t)(x->plain->bounce_bytes / x->vector.bytes);
    return n > 0 ? n : 1;
}

bool tutti_peer_move(tutti_exchange *x, const tutti_op *op, int64_t from, int64_t n)
{
    enum { FEW = 64 };
    const char *few_in[FEW];
    char *few_out[FEW];
    const bool many = op->nins > FEW || op->nouts > FEW;
    const char **in = many ? tutti_alloc(sizeof *in * (size_t)op->nins) : few_in;
    char **out = many ? tutti_alloc(sizeof *out * (size_t)(op->nouts + 1)) : few_out;
    piece p = {.x = x, .op = op, .owner = x->plain->owner + op->first};
    p.at = x->pointers[x->invocation % x->nsets] + op->first;
    const int64_t each = piece_elements(x, op), end = from + n;
    bool good = !x->stuck;
    for (int64_t at = from; at < end && good; at += p.n) {
        p.from = at, p.n = end - at < each ? end - at : each, p.bounce = x->plain->bounce;
        good = op->kind == TUTTI_STEP_REDUCE ? reduce_piece(&p, in, out) : copy_piece(&p, out);
    }
    if (many) free(in), free(out);
    return good;
}
