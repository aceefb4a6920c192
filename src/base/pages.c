/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c: maps anonymous memory at a boundary of huge pages and asks for them (madvise, Linux): where they are forbidden,
 * pages are small and nothing else changes. */
#include "pages.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

static size_t round_up(size_t nbytes)
{
    return (nbytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/* One huge page more than wanted is mapped, and what lies before and behind the boundaries is given back at once. */
void *tutti_pages_take(size_t nbytes)
{
    const size_t wanted = round_up(nbytes ? nbytes : 1), mapped = wanted + HUGE_PAGE;
    char *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    const size_t before = round_up((uintptr_t)base) - (uintptr_t)base;
    if (before) munmap(base, before);
    munmap(base + before + wanted, HUGE_PAGE - before);
    base += before;
    madvise(base, wanted, MADV_HUGEPAGE);
    memset(base, 0, nbytes);
    return base;
}

void tutti_pages_give_back(void *pages, size_t nbytes)
{
    if (pages) munmap(pages, round_up(nbytes ? nbytes : 1));
}

/* "always [madvise] never": what holds stands in brackets. No such file: a kernel without them. */
bool tutti_pages_are_huge(void)
{
    char text[64] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (!f) return false;
    const bool told = fgets(text, sizeof text, f);
    fclose(f);
    return told && !strstr(text, "[never]");
}
