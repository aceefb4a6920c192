/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h: xxh3 (64 bits) with a stable text form. Threads: owner. */
#ifndef TUTTI_BASE_HASH_H
#define TUTTI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t tutti_hash(const void *bytes, size_t nbytes);
/* Hashes a stream of bytes: create a hasher, add any number of times, finish (which destroys it). */
typedef struct tutti_hasher tutti_hasher;
tutti_hasher *tutti_hasher_create(void);
void tutti_hasher_add(tutti_hasher *h, const void *bytes, size_t nbytes);
uint64_t tutti_hasher_finish(tutti_hasher *h);
/* Writes 16 lower-case hex digits and '\0'. */
void tutti_hash_text(uint64_t hash, char out[17]);

#endif
