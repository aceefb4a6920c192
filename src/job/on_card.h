/* SPDX-License-Identifier: Apache-2.0 */
/* on_card.h: opens a device by its name for commands that measure it. Threads: one at a time. */
#ifndef TUTTI_ON_CARD_H
#define TUTTI_ON_CARD_H

#include <stdint.h>

#include "tutti/failure.h"

typedef struct {
    const struct tutti_device *device; /* NULL = the cpu */
    char name[96];                     /* name of the card */
    int driver;                        /* CUDA's version: 13000 for CUDA 13.0 */
    int64_t l2_bytes;
} tutti_on_card;

/* Opens a device. where: "cpu", or "cuda": the first card. TUTTI_ERR_USAGE says what is missing. Close it after
 * everything that was made on it is gone. */
tutti_status tutti_on_card_open(const char *where, tutti_on_card *out, tutti_failure *err);
void tutti_on_card_close(tutti_on_card *c);

#endif
