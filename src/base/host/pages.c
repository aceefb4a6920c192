/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c: allocates large pieces of memory in huge pages. Maps anonymous memory aligned to huge pages and asks Linux
 * for huge pages (madvise): if they are forbidden, pages are small and nothing else changes. Memory smaller than one
 * huge page uses small pages. For example, each exchange has a region of its own with a few signal words, and there are
 * hundreds of such regions. */
#include "pages.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20, SMALL_PAGE = 4096 };

static size_t round_up(size_t nbytes, size_t to)
{
    return (nbytes + to - 1) / to * to;
}

/* Returns how many bytes are mapped if `nbytes` are wanted. */
static size_t mapping_of(size_t nbytes)
{
    return nbytes < HUGE_PAGE ? round_up(nbytes ? nbytes : 1, SMALL_PAGE) : round_up(nbytes, HUGE_PAGE);
}

static char *map(size_t nbytes)
{
    char *base = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

/* Maps one huge page more than needed. Then it unmaps what lies before the first boundary of a huge page and what is
 * left behind. */
static char *map_huge(size_t wanted)
{
    char *base = map(wanted + HUGE_PAGE);
    if (!base) return NULL;
    const size_t before = round_up((uintptr_t)base, HUGE_PAGE) - (uintptr_t)base;
    if (before) munmap(base, before);
    munmap(base + before + wanted, HUGE_PAGE - before);
    madvise(base + before, wanted, MADV_HUGEPAGE);
    return base + before;
}

void *tutti_pages_take(size_t nbytes)
{
    char *base = nbytes < HUGE_PAGE ? map(mapping_of(nbytes)) : map_huge(mapping_of(nbytes));
    if (base) memset(base, 0, nbytes);
    return base;
}

void tutti_pages_give_back(void *pages, size_t nbytes)
{
    if (pages) munmap(pages, mapping_of(nbytes));
}

/* True if huge pages are not forbidden. The system's file has "always [madvise] never", with the active value in
 * brackets. If there is no such file, the kernel has no huge pages. */
bool tutti_pages_are_huge(void)
{
    char text[64] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (!f) return false;
    const bool told = fgets(text, sizeof text, f);
    fclose(f);
    return told && !strstr(text, "[never]");
}
