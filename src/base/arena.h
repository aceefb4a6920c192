/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: memory that is given back all at once. A job, a plan, a part of a schedule or a request has one arena for
 * all of its small objects.
 *
 * An allocation never fails: if the system has no memory left, the process prints how many bytes which line asked for,
 * and ends with exit code 1. So do not use it for memory whose size a user's file or job decides: use malloc, or check
 * before (memory.h). Memory is zeroed and aligned to 64 bytes.
 *
 * Threads: one at a time. */
#ifndef TUTTI_BASE_ARENA_H
#define TUTTI_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct tutti_arena_block tutti_arena_block;
typedef struct {
    tutti_arena_block *head;
} tutti_arena; /* begin with all bytes zero */

void *tutti_arena_alloc(tutti_arena *arena, size_t nbytes);
char *tutti_arena_strdup(tutti_arena *arena, const char *text);
/* Forgets all allocations but keeps the largest block for the next use. */
void tutti_arena_reset(tutti_arena *arena);
void tutti_arena_release(tutti_arena *arena);

/* Allocates an array of n elements of a type, all bytes zero. */
#define TUTTI_ARENA_NEW(arena, type, n) ((type *)tutti_arena_alloc((arena), sizeof(type) * (size_t)(n)))

/* Functions like calloc and realloc. Instead of returning NULL they end the process with a message that names file and
 * line. Release the memory with free(). */
void *tutti_alloc_at(size_t nbytes, const char *file, int line); /* returns zeroed memory */
void *tutti_realloc_at(void *old, size_t nbytes, const char *file, int line);
/* Ends the process as tutti_alloc_at does. Callers to whom another library gave no memory use it. nbytes 0 =
 * unknown. */
_Noreturn void tutti_no_memory_at(size_t nbytes, const char *file, int line);
#define tutti_no_memory(nbytes)    tutti_no_memory_at((nbytes), __FILE__, __LINE__)
#define tutti_alloc(nbytes)        tutti_alloc_at((nbytes), __FILE__, __LINE__)
#define tutti_realloc(old, nbytes) tutti_realloc_at((old), (nbytes), __FILE__, __LINE__)

/* Returns the array with room for element number n. An element has `element` bytes. The result is the same array, or a
 * larger copy; then *capacity is updated. New elements are not initialised. */
#define tutti_grow(array, n, capacity, element) tutti_grow_at((array), (n), (capacity), (element), __FILE__, __LINE__)
void *tutti_grow_past_at(void *array, int32_t n, int32_t *capacity, size_t element, const char *file, int line);
static inline void *tutti_grow_at(void *array, int32_t n, int32_t *capacity, size_t element, const char *file, int line)
{
    return n < *capacity ? array : tutti_grow_past_at(array, n, capacity, element, file, line);
}

#endif
