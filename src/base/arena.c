/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c: allocates memory that is given back all at once. An arena is a list of blocks, newest first; each new block
 * is at least twice as large as the last, so an arena of n bytes costs O(log n) calls of malloc. Large blocks ask for
 * huge pages, because the owner of a large arena uses all of it. */
#include "arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tutti/failure.h"

enum { ALIGNMENT = 64, FIRST_BLOCK = 16384, HUGE_PAGE = 2 << 20 };

struct tutti_arena_block {
    tutti_arena_block *next;
    size_t used, size;
    char *bytes;
};

/* Ends the process with a message and the exit code of a failure, because no caller could continue. The function does
 * not call abort(), which would write a huge core file that nobody needs. Buffered output is lost, as with abort(). */
void tutti_no_memory_at(size_t nbytes, const char *file, int line_number)
{
    const char *slash = strrchr(file, '/');
    char wanted[32] = "", line[200];
    if (nbytes) snprintf(wanted, sizeof wanted, " for %zu bytes", nbytes);
    const int n =
        snprintf(line, sizeof line, "tutti: no memory%s (%s:%d): the process ends; give it more, or less to do\n",
                 wanted, slash ? slash + 1 : file, line_number);
    /* a single write, because other threads may write to stderr at the same time */
    (void)!write(STDERR_FILENO, line, n > 0 ? (size_t)n : 0);
    _exit(TUTTI_ERR_FAILED);
}

void *tutti_alloc_at(size_t nbytes, const char *file, int line)
{
    void *p = calloc(1, nbytes ? nbytes : 1);
    if (!p) tutti_no_memory_at(nbytes, file, line);
    return p;
}

void *tutti_realloc_at(void *old, size_t nbytes, const char *file, int line)
{
    void *p = realloc(old, nbytes ? nbytes : 1);
    if (!p) tutti_no_memory_at(nbytes, file, line);
    return p;
}

void *tutti_grow_past_at(void *array, int32_t n, int32_t *capacity, size_t element, const char *file, int line)
{
    enum { FIRST = 16 };
    int64_t room = *capacity;
    while (room <= n) room = room ? 2 * room : FIRST;
    if (room > INT32_MAX || (size_t)room > SIZE_MAX / element) tutti_no_memory_at(0, file, line);
    *capacity = (int32_t)room;
    return tutti_realloc_at(array, element * (size_t)room, file, line);
}

static tutti_arena_block *block_create(size_t size)
{
    const size_t alignment = size < HUGE_PAGE ? ALIGNMENT : HUGE_PAGE;
    size = (size + alignment - 1) / alignment * alignment; /* aligned_alloc needs a multiple of the alignment */
    tutti_arena_block *block = tutti_alloc(sizeof *block);
    block->size = size;
    block->bytes = aligned_alloc(alignment, size);
    if (!block->bytes) tutti_no_memory(size);
    /* the result does not matter: if huge pages are forbidden, pages are small */
    if (size >= HUGE_PAGE) madvise(block->bytes, size, MADV_HUGEPAGE);
    return block;
}

void *tutti_arena_alloc(tutti_arena *arena, size_t nbytes)
{
    size_t need = (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (need < nbytes) tutti_no_memory(nbytes);
    tutti_arena_block *block = arena->head;
    if (!block || block->size - block->used < need) {
        size_t size = block ? block->size * 2 : FIRST_BLOCK;
        block = block_create(need > size ? need : size);
        block->next = arena->head;
        arena->head = block;
    }
    void *p = block->bytes + block->used;
    block->used += need;
    return memset(p, 0, need);
}

char *tutti_arena_strdup(tutti_arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(tutti_arena_alloc(arena, n), text, n);
}

static void blocks_destroy(tutti_arena_block *block)
{
    while (block) {
        tutti_arena_block *next = block->next;
        free(block->bytes);
        free(block);
        block = next;
    }
}

void tutti_arena_reset(tutti_arena *arena)
{
    if (!arena->head) return;
    blocks_destroy(arena->head->next);
    arena->head->next = NULL;
    arena->head->used = 0;
}

void tutti_arena_release(tutti_arena *arena)
{
    blocks_destroy(arena->head);
    arena->head = NULL;
}
