/* SPDX-License-Identifier: Apache-2.0 */
/* check_value.c: gives each expression one number (hash-consing). Expressions that are equal up to commutation have the
 * same number.
 *
 * A sum sorts its two operands, so a + b and b + a are one node: floating-point addition commutes bit for bit, but does
 * not associate. A walk of the tree proves that each leaf occurs exactly once. The walk ends at the first leaf that it
 * meets twice, so it never costs more than the number of leaves, however often the expression shares nodes. */
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

enum { FIRST_TABLE = 1 << 12 };

void tutti_values_init(tutti_values *v, uint32_t nleaves)
{
    *v = (tutti_values){.nleaves = nleaves, .n = nleaves + 2, .capacity = nleaves + FIRST_TABLE};
    v->nodes = tutti_alloc(sizeof *v->nodes * v->capacity);
    v->proved = tutti_alloc(v->capacity);
    v->stamp = tutti_alloc(sizeof *v->stamp * ((size_t)nleaves + 1));
    v->mask = FIRST_TABLE - 1;
    v->table = tutti_alloc(sizeof *v->table * FIRST_TABLE);
}

void tutti_values_release(tutti_values *v)
{
    free(v->nodes);
    free(v->proved);
    free(v->stamp);
    free(v->table);
    *v = (tutti_values){0};
}

/* Returns the node that marks a rounding: the sum of a value and this node is the rounded value. It is no leaf and
 * contains none. */
static uint32_t mark_of(const tutti_values *v)
{
    return v->nleaves + 1;
}

static uint32_t mix(uint32_t a, uint32_t b)
{
    uint64_t x = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(x >> 32);
}

static void grow_table(tutti_values *v)
{
    free(v->table);
    v->mask = v->mask * 2 + 1;
    v->table = tutti_alloc(sizeof *v->table * ((size_t)v->mask + 1));
    for (uint32_t id = mark_of(v) + 1; id < v->n; id++) {
        uint32_t at = mix(v->nodes[id].left, v->nodes[id].right) & v->mask;
        while (v->table[at]) at = (at + 1) & v->mask;
        v->table[at] = id;
    }
}

uint32_t tutti_values_add(tutti_values *v, uint32_t a, uint32_t b)
{
    if (a > b) {
        uint32_t swap = a;
        a = b, b = swap;
    }
    uint32_t at = mix(a, b) & v->mask;
    for (uint32_t id; (id = v->table[at]); at = (at + 1) & v->mask)
        if (v->nodes[id].left == a && v->nodes[id].right == b) return id;
    if (v->n >= (uint32_t)1 << 31) {
        v->full = true;
        return a;
    }
    if (v->n == v->capacity) {
        uint32_t grown = v->capacity * 2;
        v->nodes = tutti_realloc(v->nodes, sizeof *v->nodes * grown);
        v->proved = tutti_realloc(v->proved, grown);
        memset(v->proved + v->capacity, 0, grown - v->capacity);
        v->capacity = grown;
    }
    uint32_t id = v->n++;
    v->nodes[id] = (tutti_sum){a, b};
    v->proved[id] = 0;
    v->table[at] = id;
    if (v->n - v->nleaves > v->mask / 2) grow_table(v);
    return id;
}

uint32_t tutti_values_round(tutti_values *v, uint32_t a)
{
    const uint32_t mark = mark_of(v);
    return a <= v->nleaves || v->nodes[a].left == mark || v->nodes[a].right == mark ? a : tutti_values_add(v, a, mark);
}

/* Walks the tree of `root`; returns false at the first leaf that is foreign (times 1) or met again (times 2). */
static bool walk(tutti_values *v, uint32_t root, uint32_t first, uint32_t count, uint32_t *culprit, int *times)
{
    uint32_t capacity = 64, n = 0, *stack = tutti_alloc(sizeof *stack * capacity), stamp = ++v->nroots;
    bool ok = true;
    stack[n++] = root;
    while (n && ok) {
        uint32_t id = stack[--n];
        if (id == mark_of(v)) continue;
        if (id > v->nleaves) {
            if (n + 2 > capacity) stack = tutti_realloc(stack, sizeof *stack * (capacity *= 2));
            stack[n++] = v->nodes[id].left;
            stack[n++] = v->nodes[id].right;
            continue;
        }
        bool foreign = id < first || id >= first + count;
        ok = !foreign && v->stamp[id] != stamp;
        if (!ok) *culprit = id, *times = foreign ? 1 : 2;
        v->stamp[id] = stamp;
    }
    free(stack);
    return ok;
}

bool tutti_values_prove(tutti_values *v, uint32_t root, uint32_t first, uint32_t count, uint32_t *culprit, int *times)
{
    if (v->proved[root]) return true;
    if (!walk(v, root, first, count, culprit, times)) return false;
    for (uint32_t leaf = first; leaf < first + count; leaf++)
        if (v->stamp[leaf] != v->nroots) {
            *culprit = leaf, *times = 0;
            return false;
        }
    v->proved[root] = 1;
    return true;
}
