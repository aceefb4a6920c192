/* SPDX-License-Identifier: Apache-2.0 */
/* page_files.h: the files of the page, which cmake/page.cmake puts into the program: src/serve/page, and dygraphs where
 * the build had it. Threads: frozen. */
#ifndef TUTTI_SERVE_PAGE_FILES_H
#define TUTTI_SERVE_PAGE_FILES_H

#include <stddef.h>

typedef struct {
    const char *name; /* "index.html"; the ending says its type; NULL ends the table */
    const unsigned char *bytes;
    size_t nbytes;
} tutti_page_file;
extern const tutti_page_file tutti_page_files[];

#endif
