/* SPDX-License-Identifier: Apache-2.0 */
/* export_steps.h: one rank's part as the exports write it: bytes, tags, what each step waits for. Private to
 * export_*.c. Threads: owner. */
#ifndef TUTTI_EXPORT_STEPS_H
#define TUTTI_EXPORT_STEPS_H

#include "../../base/text/strbuf.h"
#include "exports.h"

typedef struct {
    tutti_part part;
    int64_t *bytes;    /* a step: of its message, or that it adds */
    int32_t *tag;      /* a message: the same at both ends, and of no other message between the two in that direction */
    int32_t *previous; /* a step: the one before it in its sequence, -1 = none */
} tutti_export_part;

/* Is it two-sided? nchannels: one more than the highest channel of all parts. */
tutti_status tutti_export_begin(const tutti_schedule *s, const char *format, int32_t *nchannels, tutti_failure *err);
void tutti_export_part_of(const tutti_schedule *s, int32_t rank, int64_t n, int32_t nchannels, tutti_export_part *out);
void tutti_export_part_release(tutti_export_part *p);
/* Makes the folder; into it goes a file of that name, whole or not at all. */
tutti_status tutti_export_write(const char *folder, const char *name, const tutti_strbuf *text, tutti_failure *err);

#endif
