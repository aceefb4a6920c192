/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c: hashes bytes by xxh3 of the xxhash library. */
#include "hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "arena.h"

struct tutti_hasher {
    XXH3_state_t *state;
};

uint64_t tutti_hash(const void *bytes, size_t nbytes)
{
    return XXH3_64bits(bytes, nbytes);
}

tutti_hasher *tutti_hasher_create(void)
{
    tutti_hasher *h = tutti_alloc(sizeof *h);
    h->state = XXH3_createState();
    if (!h->state) tutti_no_memory(sizeof *h);
    XXH3_64bits_reset(h->state);
    return h;
}

void tutti_hasher_add(tutti_hasher *h, const void *bytes, size_t nbytes)
{
    XXH3_64bits_update(h->state, bytes, nbytes);
}

uint64_t tutti_hasher_finish(tutti_hasher *h)
{
    uint64_t hash = XXH3_64bits_digest(h->state);
    XXH3_freeState(h->state);
    free(h);
    return hash;
}

void tutti_hash_text(uint64_t hash, char out[17])
{
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
}
