/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip.h: reads a regular file byte after byte, and unpacks it if it is gzip (RFC 1952). A gzip file consists of one
 * or more members and nothing else; zlib's own file reader would ignore bytes that follow them. Threads: one at a
 * time. */
#ifndef TUTTI_DATA_GUNZIP_H
#define TUTTI_DATA_GUNZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/failure.h"

typedef struct tutti_gunzip tutti_gunzip;

/* Opens a file. TUTTI_ERR_DATA if it does not exist. The messages of these functions do not name the path: the caller
 * adds it. */
tutti_status tutti_gunzip_open(const char *path, tutti_gunzip **out, tutti_failure *err);
/* Reads the next n unpacked bytes. *got, the number of bytes that were read, is less than n only at the end.
 * TUTTI_ERR_DATA: the file is damaged or cut off, or other bytes follow the last member. */
tutti_status tutti_gunzip_read(tutti_gunzip *g, void *into, int64_t n, int64_t *got, tutti_failure *err);
bool tutti_gunzip_is_packed(const tutti_gunzip *g);
int64_t tutti_gunzip_file_bytes(const tutti_gunzip *g); /* returns the size of the file when it was opened */
void tutti_gunzip_close(tutti_gunzip *g);

#endif
