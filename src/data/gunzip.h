/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip.h: reads a regular file byte after byte, unpacked if it is gzip (RFC 1952). A gzip file is one member or
 * several and nothing else: zlib's own reader of files passes over what follows them. Threads: owner. */
#ifndef TUTTI_DATA_GUNZIP_H
#define TUTTI_DATA_GUNZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/failure.h"

typedef struct tutti_gunzip tutti_gunzip;

/* TUTTI_ERR_DATA where there is no such file. Words of all these calls leave the path to the caller. */
tutti_status tutti_gunzip_open(const char *path, tutti_gunzip **out, tutti_failure *err);
/* The next n bytes; *got is less at the end only. TUTTI_ERR_DATA: a damaged stream, a cut one, or something behind
 * it. */
tutti_status tutti_gunzip_read(tutti_gunzip *g, void *into, int64_t n, int64_t *got, tutti_failure *err);
bool tutti_gunzip_is_packed(const tutti_gunzip *g);
int64_t tutti_gunzip_file_bytes(const tutti_gunzip *g); /* when it was opened */
void tutti_gunzip_close(tutti_gunzip *g);

#endif
