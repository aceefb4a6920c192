/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: memory that is given back all at once (one arena per job, plan, part or request).
 *
 * Small allocations never fail: if the system has no memory left, the process prints how much was asked for and where,
 * and ends with exit code 1. Memory whose size a user's file or job decides is allocated by malloc, or checked before
 * (memory.h). Memory is zeroed and aligned to 64 bytes.
 *
 * Threads: owner. */
#ifndef TUTTI_BASE_ARENA_H
#define TUTTI_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_arena_block tutti_arena_block;
typedef struct {
    tutti_arena_block *head;
} tutti_arena; /* zero-initialise */

void *tutti_arena_alloc(tutti_arena *arena, size_t nbytes);
char *tutti_arena_strdup(tutti_arena *arena, const char *text);
/* Forgets all allocations but keeps the largest block for the next use. */
void tutti_arena_reset(tutti_arena *arena);
void tutti_arena_release(tutti_arena *arena);

/* Allocates an array of n zeroed elements of a type. */
#define TUTTI_ARENA_NEW(arena, type, n) ((type *)tutti_arena_alloc((arena), sizeof(type) * (size_t)(n)))

/* Functions like malloc's that end the process, naming file and line, instead of returning NULL. Release with
 * free(). */
void *tutti_alloc_at(size_t nbytes, const char *file, int line); /* returns zeroed memory */
void *tutti_realloc_at(void *old, size_t nbytes, const char *file, int line);
/* Ends the process as tutti_alloc_at does, for callers that got no memory from another library; nbytes 0 = unknown. */
_Noreturn void tutti_no_memory_at(size_t nbytes, const char *file, int line);
#define tutti_no_memory(nbytes)    tutti_no_memory_at((nbytes), __FILE__, __LINE__)
#define tutti_alloc(nbytes)        tutti_alloc_at((nbytes), __FILE__, __LINE__)
#define tutti_realloc(old, nbytes) tutti_realloc_at((old), (nbytes), __FILE__, __LINE__)

/* Returns the array with room for element n, where an element has `element` bytes: the same array, or a larger copy
 * with *capacity updated. New elements are not initialised. */
#define tutti_grow(array, n, capacity, element) tutti_grow_at((array), (n), (capacity), (element), __FILE__, __LINE__)
void *tutti_grow_past_at(void *array, int32_t n, int32_t *capacity, size_t element, const char *file, int line);
static inline void *tutti_grow_at(void *array, int32_t n, int32_t *capacity, size_t element, const char *file, int line)
{
    return n < *capacity ? array : tutti_grow_past_at(array, n, capacity, element, file, line);
}

#endif
