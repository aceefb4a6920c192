/* SPDX-License-Identifier: Apache-2.0 */
/* memory_file.h: memory that processes of one host share by a file descriptor; it has no name in any file system.
 * Threads: one at a time. */
#ifndef TUTTI_BASE_MEMORY_FILE_H
#define TUTTI_BASE_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The three steps to make a memory file. Ranks that share a file call the steps separately, so that each rank populates
 * its own part. */
int tutti_memory_file_open(const char *name); /* makes an empty file and returns its descriptor; -1 with errno */
/* maps the file from its beginning, for reading and writing; NULL with errno */
void *tutti_memory_file_map(int fd, size_t nbytes);
/* allocates pages of the file, from `offset` on; false with errno */
bool tutti_memory_file_populate(int fd, void *base, size_t offset, size_t nbytes);
/* Gives the file this size, maps it and allocates all of its pages, so that a missing page does not cause SIGBUS later;
 * NULL with errno. */
void *tutti_memory_file_grow(int fd, size_t nbytes);
/* Makes a memfd whose pages are all allocated, so that a missing page does not cause SIGBUS later. Maps it for reading
 * and writing at *base, and returns its descriptor; -1 with errno. */
int tutti_memory_file_make(const char *name, size_t nbytes, void **base);

#endif
