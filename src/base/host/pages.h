/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h: one large piece of zeroed memory that lasts as long as a run, in huge pages where the system allows them
 * (transparent_hugepage "madvise" or "always"). Threads: one at a time. */
#ifndef TUTTI_BASE_PAGES_H
#define TUTTI_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Returns memory aligned to a page (to a huge page from 2 MiB on). All pages are touched, so that a lack of memory
 * shows here: NULL with errno set. */
void *tutti_pages_take(size_t nbytes);
void tutti_pages_give_back(void *pages, size_t nbytes); /* pages may be NULL */
/* Returns true if the system allows huge pages for tutti_pages_take. */
bool tutti_pages_are_huge(void);

#endif
