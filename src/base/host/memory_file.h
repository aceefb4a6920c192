/* SPDX-License-Identifier: Apache-2.0 */
/* memory_file.h: memory without a name in any file system, which processes of one host share by its descriptor.
 * Threads: owner. */
#ifndef TUTTI_BASE_MEMORY_FILE_H
#define TUTTI_BASE_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The three steps of making a memory file. Ranks that share a file call them one by one, so that each populates its own
 * part. */
int tutti_memory_file_open(const char *name);       /* makes an empty file and returns its descriptor; -1 and errno */
void *tutti_memory_file_map(int fd, size_t nbytes); /* maps the file from its beginning, for reading and writing; NULL
                                                     * and errno */
/* allocates the file's pages; false and errno */
bool tutti_memory_file_populate(int fd, void *base, size_t offset, size_t nbytes);
/* Gives the file this size, maps it and allocates all of its pages, so that none is missing later (SIGBUS); NULL and
 * errno. */
void *tutti_memory_file_grow(int fd, size_t nbytes);
/* Makes a memfd whose pages are all allocated, so that none is missing later (SIGBUS), and maps it for reading and
 * writing; -1 and errno. */
int tutti_memory_file_make(const char *name, size_t nbytes, void **base);

#endif
