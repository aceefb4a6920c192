/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.c: computes CRC-32C bit by bit from its definition. */
#include "crc32c.h"

static const uint32_t POLYNOMIAL = 0x82f63b78; /* 0x1edc6f41 with its bits reversed */

uint32_t tutti_crc32c(const void *bytes, size_t nbytes)
{
    const unsigned char *at = bytes;
    uint32_t crc = ~(uint32_t)0;
    for (size_t i = 0; i < nbytes; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
    }
    return ~crc;
}
