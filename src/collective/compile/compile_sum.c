/* SPDX-License-Identifier: Apache-2.0 */
/* compile_sum.c: finds which subtrees of the canonical sum a rank holds, and writes balanced sums as postfix folds.
 *
 * The sum of a vector over S slots is one balanced binary tree. A rank holds a run of slots, hence at most 2 log2 S
 * whole subtrees. These subtrees, the rank's roots, come in the order of their leaves. So a binary counter (fold while
 * the two topmost are equally large) rebuilds exactly that tree, whichever rank has which slots. So the bits do not
 * depend on the rank count. */
#include "../../base/arena.h"
#include "compile_impl.h"

int tutti_compile_roots(const tutti_compile_request *q, int32_t rank, tutti_root out[TUTTI_MAX_ROOTS])
{
    if (!q->slots) {
        out[0] = (tutti_root){rank, 1};
        return 1;
    }
    int64_t at = (int64_t)q->slots * rank / q->nranks, end = (int64_t)q->slots * (rank + 1) / q->nranks;
    int n = 0;
    while (at < end) {
        int64_t size = at ? at & -at : q->slots; /* the largest aligned subtree that may begin at this slot */
        while (at + size > end) size /= 2;
        out[n++] = (tutti_root){(int32_t)at, (int32_t)size};
        at += size;
    }
    return n;
}

int tutti_compile_nroots(const tutti_compile_request *q, int32_t rank)
{
    tutti_root roots[TUTTI_MAX_ROOTS];
    return tutti_compile_roots(q, rank, roots);
}

int32_t *tutti_compile_first_roots(const tutti_compile_request *q)
{
    int32_t *first = tutti_alloc(sizeof *first * ((size_t)q->nranks + 1));
    for (int32_t r = 0; r < q->nranks; r++) first[r + 1] = first[r] + tutti_compile_nroots(q, r);
    return first;
}

int tutti_balance_push(tutti_balance *t, int32_t nleaves, bool last)
{
    int folds = 0;
    t->count[t->depth++] = nleaves;
    while (t->depth > 1 && (last || t->count[t->depth - 2] == t->count[t->depth - 1])) {
        t->count[t->depth - 2] += t->count[t->depth - 1];
        t->depth--;
        folds++;
    }
    return folds;
}

tutti_status tutti_accept_fast_sums(const char *name, const char *why, const tutti_compile_request *q,
                                    tutti_failure *err)
{
    if (!q->slots) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s cannot make canonical sums: %s; direct can", name, why);
}

tutti_status tutti_accept_powers_of_two(const char *name, const char *why, const tutti_compile_request *q,
                                        tutti_failure *err)
{
    if (!q->slots || !(q->nranks & (q->nranks - 1))) return TUTTI_OK;
    int32_t below = 1;
    while (2 * below < q->nranks) below *= 2;
    return tutti_fail(
        err, TUTTI_ERR_USAGE,
        "%s makes canonical sums at powers of two only, not at %d ranks (%s); %d or %d ranks can, and direct "
        "at any count",
        name, q->nranks, why, below, 2 * below);
}
