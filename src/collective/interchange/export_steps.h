/* SPDX-License-Identifier: Apache-2.0 */
/* export_steps.h: one rank's part for the exports: bytes, tags, and the steps that each step waits for. Private to
 * export_*.c. Threads: one at a time. */
#ifndef TUTTI_EXPORT_STEPS_H
#define TUTTI_EXPORT_STEPS_H

#include "../../base/text/strbuf.h"
#include "exports.h"

typedef struct {
    tutti_part part;
    int64_t *bytes;    /* for each step: bytes of its message, or bytes that the step adds */
    int32_t *tag;      /* for each message: its tag, which both ends share and no other message between the two ranks in
                        * that direction has */
    int32_t *previous; /* for each step: the one before it in its sequence, -1 = none */
} tutti_export_part;

/* Checks that the schedule is two-sided. nchannels: one more than the highest channel of all parts. */
tutti_status tutti_export_begin(const tutti_schedule *s, const char *format, int32_t *nchannels, tutti_failure *err);
void tutti_export_part_of(const tutti_schedule *s, int32_t rank, int64_t n, int32_t nchannels, tutti_export_part *out);
void tutti_export_part_release(tutti_export_part *p);
/* Makes the folder and writes a file of that name into it, whole or not at all. */
tutti_status tutti_export_write(const char *folder, const char *name, const tutti_strbuf *text, tutti_failure *err);

#endif
