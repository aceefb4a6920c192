/* SPDX-License-Identifier: Apache-2.0 */
/* msccl_impl.h: a program as read (msccl_read.c), the chunks that its steps move (msccl_trace.c), and its schedule
 * (msccl_import.c). Threads: one at a time. */
#ifndef TUTTI_MSCCL_IMPL_H
#define TUTTI_MSCCL_IMPL_H

#include "../../base/arena.h"
#include "msccl.h"

typedef enum {
    MSCCL_NOP,
    MSCCL_SEND,
    MSCCL_RECV,
    MSCCL_COPY,
    MSCCL_REDUCE,
    MSCCL_RRC,
    MSCCL_RRS,
    MSCCL_RCS,
    MSCCL_RRCS,
    MSCCL_NTYPES
} msccl_type;
extern const char *const msccl_type_names[MSCCL_NTYPES];
/* bits for the kinds of steps: reads src, writes dst, sends, receives */
enum { MSCCL_READS = 1, MSCCL_WRITES = 2, MSCCL_GIVES = 4, MSCCL_TAKES = 8 };
extern const unsigned msccl_does[MSCCL_NTYPES];

/* Limits of the format's readers: steps of a block, blocks of a GPU, channels, blocks of a channel, chunks of a
 * step. */
enum {
    MSCCL_MOST_STEPS = 256,
    MSCCL_MOST_BLOCKS = 216,
    MSCCL_MOST_CHANNELS = 32,
    MSCCL_MOST_OF_A_CHANNEL = 32,
    MSCCL_MOST_AT_ONCE = 71
};

typedef enum { MSCCL_I, MSCCL_O, MSCCL_S } msccl_buffer;
typedef struct {
    int32_t buffer, offset;
} msccl_place;

typedef struct msccl_step {
    msccl_type type;
    int32_t line;
    msccl_place src, dst;
    int32_t count;
    int32_t block, step; /* block and number of the step that this step waits for, -1 = none */
    bool awaited;        /* true if the attribute hasdep is set: another step waits for this step */
    /* fields that msccl_trace sets: */
    int32_t *position;            /* `count` entries: for each chunk that the step moves, its number in the vector */
    struct msccl_step *from, *to; /* the step that sends what this step receives, and the step that receives what this
                                   * step sends */
    int32_t stage_in, stage;      /* stage_in: stage of the step's receive; stage: stage of its other work */
    int32_t last;                 /* a step of the program may become several in the schedule: number of the last of
                                   * these */
} msccl_step;

typedef struct {
    int32_t send, recv, channel; /* send, recv: GPUs that the block sends to and receives from, -1 = none */
    msccl_step *steps;
    int32_t nsteps, capacity;
} msccl_block;

typedef struct {
    int32_t chunks[3]; /* numbers of chunks of input, output and scratch that the program declares */
    int32_t size[3];   /* numbers of chunks of input, output and scratch that the GPU's steps use */
    msccl_block *blocks;
    int32_t nblocks, capacity;
} msccl_gpu;

typedef struct {
    int32_t buffer, position, next; /* buffer: the schedule's buffer for chunk `position` at one place of memory; next:
                                     * index of the entry of another chunk at the same place */
} msccl_tenant;

typedef struct {
    tutti_slice *lies_in; /* for each buffer: the slice of another buffer in which it lies; rank -1 = it has memory of
                           * its own */
    int32_t nbuffers;
    int32_t *origin; /* for each step of the schedule: the block and the step of the program from which it was made */
    int32_t nsteps, capacity;
} msccl_rank;

struct tutti_msccl {
    tutti_arena arena;
    char name[64], protocol[16];
    tutti_collective collective;
    bool in_place;
    int32_t root, ngpus, nchunks, nchannels;
    int32_t of; /* number of chunks of the vector */
    bool azure; /* true if minBytes, maxBytes and outofplace are present */
    bool told;  /* true if the program's reader wakes waiting steps even where hasdep="0" */
    uint64_t hash;
    msccl_gpu *gpus;
    tutti_schedule *schedule;
    msccl_rank *ranks;
};

/* Returns the chunk of the vector that belongs at the place of input or output; -1 = none (scratch). */
int32_t msccl_natural(const tutti_msccl *m, int32_t gpu, msccl_place at);
/* Returns the number of a place of a GPU, below size[0] + size[1] + size[2]. In place, places in the same memory have
 * the same number. */
int32_t msccl_location(const tutti_msccl *m, int32_t gpu, msccl_place at);
static inline int32_t msccl_nlocations(const msccl_gpu *g)
{
    return g->size[0] + g->size[1] + g->size[2];
}
static inline msccl_place msccl_at(msccl_place p, int32_t i)
{
    return (msccl_place){p.buffer, p.offset + i};
}

tutti_status msccl_trace(tutti_msccl *m, const char *name, tutti_failure *err);
tutti_status msccl_make_schedule(tutti_msccl *m, tutti_failure *err);
void msccl_describe_step(const void *owner, int32_t rank, int32_t step, char *out, size_t size);
bool msccl_lies_in(const void *owner, int32_t rank, int32_t buffer, tutti_slice *where);

#endif
