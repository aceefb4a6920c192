/* SPDX-License-Identifier: Apache-2.0 */
/* svm_cache.h: a cache of rows of the kernel matrix; without room, the row unused for longest is dropped first.
 *
 * A row holds values at positions 0 .. length - 1 of the solver's order of its own samples (active ones first). When
 * elimination moves samples to the back, permute() moves the values with them, so that rows stay usable. The solver
 * completes a row that is too short.
 *
 * Threads: one at a time. */
#ifndef TUTTI_SVM_CACHE_H
#define TUTTI_SVM_CACHE_H

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_svm_cache tutti_svm_cache;

/* Creates a cache of nbytes for rows of up to `most` values, f32 or f64 by value_bytes. Keys are 0 .. nkeys - 1
 * (numbers of samples in the whole set). With room for less than two rows it keeps nothing. */
tutti_svm_cache *tutti_svm_cache_create(size_t nbytes, int64_t nkeys, int64_t most, size_t value_bytes);
void tutti_svm_cache_destroy(tutti_svm_cache *cache);
/* Returns the row of a key and the number of its values; NULL if the row is not kept. The call counts as a use of the
 * row. */
void *tutti_svm_cache_find(tutti_svm_cache *cache, int64_t key, int64_t *length);
/* Returns memory for `length` values of a key; its old values stay. Rows used longest ago are dropped, but none that
 * was found or made since the last tutti_svm_cache_turn. NULL if there is no room; then an old row stays as it was. 1
 * <= length <= most. The memory stays in place until this key is made again, or a row is made in a later turn. */
void *tutti_svm_cache_make(tutti_svm_cache *cache, int64_t key, int64_t length);
void tutti_svm_cache_turn(tutti_svm_cache *cache);
/* Permutes the first n positions: position i gets what was at from[i]. Rows shorter than n are dropped. */
void tutti_svm_cache_permute(tutti_svm_cache *cache, const int64_t *from, int64_t n);

#endif
