/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h: one large piece of zeroed memory that lasts as long as a run, in huge pages where the system allows them
 * (transparent_hugepage "madvise" or "always"). Threads: owner. */
#ifndef TUTTI_BASE_PAGES_H
#define TUTTI_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Aligned to a page (a huge one from 2 MiB), populated, so that running out of memory shows here. NULL with errno set
 * if there is none. */
void *tutti_pages_take(size_t nbytes);
void tutti_pages_give_back(void *pages, size_t nbytes); /* NULL is fine */
/* Whether the system allows huge pages for it. */
bool tutti_pages_are_huge(void);

#endif
