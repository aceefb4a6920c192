/* SPDX-License-Identifier: Apache-2.0 */
/* due_heap.h: what comes next of what is due some time: a binary heap. Threads: owner.
 *
 * Of what is due at once the smaller number comes first, so that the order is a function of what was added. */
#ifndef TUTTI_DUE_HEAP_H
#define TUTTI_DUE_HEAP_H

#include <stdint.h>

typedef struct {
    double when;
    int64_t of; /* the caller's number */
} tutti_due;

/* Begins as zeros; at[0] comes next, where n > 0. */
typedef struct {
    tutti_due *at;
    int64_t n, room;
} tutti_due_heap;

void tutti_due_heap_add(tutti_due_heap *h, tutti_due it); /* O(log n) */
void tutti_due_heap_drop(tutti_due_heap *h);              /* the next one; O(log n) */
/* Anew, of `n` that the caller wrote to `at` in any order, where room was reserved. O(n) */
void tutti_due_heap_order(tutti_due_heap *h, int64_t n);
void tutti_due_heap_reserve(tutti_due_heap *h, int64_t n); /* room for so many */
void tutti_due_heap_release(tutti_due_heap *h);

#endif
