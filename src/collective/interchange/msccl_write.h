/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_write.h: declarations that the files of the export share: msccl_export.c decides what is written, msccl_write.c
 * writes it. Threads: one at a time. */
#ifndef TUTTI_MSCCL_WRITE_H
#define TUTTI_MSCCL_WRITE_H

#include "msccl_impl.h"

enum { MSCCL_MOST_CHUNKS = 1 << 16 };

typedef struct {
    const char *type;
    msccl_place src, dst; /* the places that the line reads and writes; buffer -1 = none */
    int32_t count, block, step;
    bool awaited;
} msccl_line;

typedef struct {
    int32_t send, recv, channel;
    msccl_line *lines;
    int32_t nlines, capacity;
} msccl_out_block;

typedef struct {
    const tutti_schedule_header *head;
    tutti_part *parts;
    tutti_strbuf *text;
    int32_t of; /* number of chunks of the vector */
    int32_t rank;
    msccl_out_block *blocks;
    int32_t nblocks, nsequences;
    int32_t *block_of, *last_of,
        *previous; /* for each step of the part: the number of its block, of its last line there, and of the step before
                    * it in its sequence */
    int32_t *base; /* for each buffer: number of its first chunk in the program's buffer i, o or s */
    int32_t nscratch;
} msccl_writer;

void msccl_write_algo(msccl_writer *w);
void msccl_write_places(msccl_writer *w, const tutti_part *p);
/* adds the lines of the step to its block */
void msccl_write_step(msccl_writer *w, const tutti_part *p, int32_t index);
tutti_status msccl_write_gpu(msccl_writer *w, tutti_failure *err);

#endif
