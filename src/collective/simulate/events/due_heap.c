/* SPDX-License-Identifier: Apache-2.0 */
/* due_heap.c: a heap of events by their times. An entry moves up or down until its parent comes before it and its
 * children do not. */
#include "flows.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../../../base/arena.h"

static bool is_before(tutti_due a, tutti_due b)
{
    return a.when != b.when ? a.when < b.when : a.of < b.of;
}

/* Puts the entry `it` at place i, or below it where it is not later than its children. */
static void sink(tutti_due_heap *h, int64_t i, tutti_due it)
{
    for (int64_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && is_before(h->at[child + 1], h->at[child])) child++;
        if (!is_before(h->at[child], it)) break;
        h->at[i] = h->at[child];
    }
    h->at[i] = it;
}

void tutti_due_heap_reserve(tutti_due_heap *h, int64_t n)
{
    if (n <= h->room) return;
    h->room = n > 2 * h->room ? n : 2 * h->room;
    h->at = tutti_realloc(h->at, (size_t)h->room * sizeof *h->at);
}

void tutti_due_heap_add(tutti_due_heap *h, tutti_due it)
{
    int64_t i = h->n++;
    tutti_due_heap_reserve(h, h->n);
    for (; i && is_before(it, h->at[(i - 1) / 2]); i = (i - 1) / 2) h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = it;
}

void tutti_due_heap_drop(tutti_due_heap *h)
{
    h->n--;
    sink(h, 0, h->at[h->n]);
}

void tutti_due_heap_order(tutti_due_heap *h, int64_t n)
{
    h->n = n;
    for (int64_t i = n / 2; i-- > 0;) sink(h, i, h->at[i]);
}

void tutti_due_heap_release(tutti_due_heap *h)
{
    free(h->at);
    *h = (tutti_due_heap){0};
}
