/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.h: CRC-32 with Castagnoli's polynomial (RFC 3720, appendix B.4), which event files are checked with. Computed
 * bit by bit, which is fast enough for records of a hundred bytes. Threads: any (pure functions). */
#ifndef TUTTI_CRC32C_H
#define TUTTI_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t tutti_crc32c(const void *bytes, size_t nbytes);

#endif
