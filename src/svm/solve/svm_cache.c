/* SPDX-License-Identifier: Apache-2.0 */
/* svm_cache.c: the cache of kernel rows, which drops the least recently used row first. It has a list of rows in the
 * order of their last use, and a table that gives the row of each key. */
#include "svm_cache.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"

typedef struct row row;
struct row {
    row *older, *newer;
    void *values;
    int64_t key, length, turn; /* turn: when the row was last used, as a count of the calls of tutti_svm_cache_turn */
};

struct tutti_svm_cache {
    size_t room, used; /* bytes for values in all, and bytes in use */
    size_t value_bytes;
    int64_t nkeys, most, turn;
    row **of_key; /* [nkeys] the row of each key; NULL if it is not kept */
    row *oldest, *newest;
    void *spare; /* [most] values, for permute; NULL until it is needed */
};

tutti_svm_cache *tutti_svm_cache_create(size_t nbytes, int64_t nkeys, int64_t most, size_t value_bytes)
{
    tutti_svm_cache *c = tutti_alloc(sizeof *c);
    assert(value_bytes == sizeof(float) || value_bytes == sizeof(double));
    *c = (tutti_svm_cache){.room = nbytes, .value_bytes = value_bytes, .nkeys = nkeys, .most = most};
    if (nbytes / 2 < (size_t)most * value_bytes) c->room = 0;
    c->of_key = tutti_alloc((size_t)nkeys * sizeof(row *));
    return c;
}

static void take_out(tutti_svm_cache *c, row *r)
{
    *(r->older ? &r->older->newer : &c->oldest) = r->newer;
    *(r->newer ? &r->newer->older : &c->newest) = r->older;
}

static void put_newest(tutti_svm_cache *c, row *r)
{
    r->turn = c->turn;
    r->older = c->newest;
    r->newer = NULL;
    *(c->newest ? &c->newest->newer : &c->oldest) = r;
    c->newest = r;
}

static void forget(tutti_svm_cache *c, row *r)
{
    take_out(c, r);
    c->used -= (size_t)r->length * c->value_bytes;
    c->of_key[r->key] = NULL;
    free(r->values);
    free(r);
}

void tutti_svm_cache_destroy(tutti_svm_cache *c)
{
    if (!c) return;
    while (c->oldest) forget(c, c->oldest);
    free(c->of_key);
    free(c->spare);
    free(c);
}

static row *row_of(tutti_svm_cache *c, int64_t key)
{
    assert(key >= 0 && key < c->nkeys);
    row *r = c->of_key[key];
    if (!r) return NULL;
    take_out(c, r);
    put_newest(c, r);
    return r;
}

void *tutti_svm_cache_find(tutti_svm_cache *c, int64_t key, int64_t *length)
{
    const row *r = row_of(c, key);
    *length = r ? r->length : 0;
    return r ? r->values : NULL;
}

/* Drops rows of earlier turns until there is room for `more` bytes. Returns false if there is not enough room. */
static bool make_room(tutti_svm_cache *c, size_t more)
{
    if (more > c->room) return false;
    while (c->used > c->room - more && c->oldest && c->oldest->turn != c->turn) forget(c, c->oldest);
    return c->used <= c->room - more;
}

void *tutti_svm_cache_make(tutti_svm_cache *c, int64_t key, int64_t length)
{
    assert(length >= 1 && length <= c->most);
    row *r = row_of(c, key);
    const int64_t old = r ? r->length : 0;
    if (length > old && !make_room(c, (size_t)(length - old) * c->value_bytes)) return NULL;
    void *values = realloc(r ? r->values : NULL, (size_t)length * c->value_bytes);
    if (!values) return NULL; /* the old row stays as it was */
    if (!r) {
        r = tutti_alloc(sizeof *r);
        r->key = key;
        c->of_key[key] = r;
        put_newest(c, r);
    }
    r->values = values;
    r->length = length;
    c->used += (size_t)length * c->value_bytes;
    c->used -= (size_t)old * c->value_bytes;
    return values;
}

void tutti_svm_cache_turn(tutti_svm_cache *c)
{
    c->turn++;
}

static void gather(const tutti_svm_cache *c, void *to, const void *values, const int64_t *from, int64_t n)
{
    if (c->value_bytes == sizeof(float))
        for (int64_t i = 0; i < n; i++) ((float *)to)[i] = ((const float *)values)[from[i]];
    else
        for (int64_t i = 0; i < n; i++) ((double *)to)[i] = ((const double *)values)[from[i]];
}

void tutti_svm_cache_permute(tutti_svm_cache *c, const int64_t *from, int64_t n)
{
    if (!c->spare) c->spare = tutti_alloc((size_t)c->most * c->value_bytes);
    for (row *r = c->oldest, *next; r; r = next) {
        next = r->newer;
        if (r->length < n) {
            forget(c, r);
            continue;
        }
        gather(c, c->spare, r->values, from, n);
        memcpy(r->values, c->spare, (size_t)n * c->value_bytes);
    }
}
