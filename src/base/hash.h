/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h: the hash function xxh3 (64 bits), and a text form of hashes. Threads: one at a time. */
#ifndef TUTTI_BASE_HASH_H
#define TUTTI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t tutti_hash(const void *bytes, size_t nbytes);
/* Hashes bytes that come in pieces: create a hasher, add any number of pieces, then finish, which returns the hash and
 * destroys the hasher. */
typedef struct tutti_hasher tutti_hasher;
tutti_hasher *tutti_hasher_create(void);
void tutti_hasher_add(tutti_hasher *h, const void *bytes, size_t nbytes);
uint64_t tutti_hasher_finish(tutti_hasher *h);
/* Writes a hash as 16 lower-case hex digits and '\0'. */
void tutti_hash_text(uint64_t hash, char out[17]);

#endif
