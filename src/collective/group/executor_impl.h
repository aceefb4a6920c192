/* SPDX-License-Identifier: Apache-2.0 */
/* executor_impl.h: an exchange after binding: steps with addresses instead of slices.
 *
 * Shared region of an exchange, one part a rank:   [started][counter (src 0, channel 0)] ... [scratch buffers]
 *   started   invocations that this rank has begun; serves failures only ("who has not arrived")
 *   counter   one u64 on a cache line of its own for each (source, channel): written by the source alone, read by the
 *             owner. It only grows: ordinal o of invocation e stands at e * (signals of an invocation) + o.
 *
 * Memory of far peers has addresses of theirs: they go to the wire and are never followed here. A put or signal over the wire
 * is complete when its source may be reused; puts behind it, and a signal to the same peer, start before that.
 *
 * Files: executor.c (life), executor_bind.c (slices to addresses), executor_run.c (steps), executor_wait.c, executor_words.c. */
#ifndef TUTTI_EXECUTOR_IMPL_H
#define TUTTI_EXECUTOR_IMPL_H

#include "../../base/arena.h"
#include "../../tensor/tensor.h"
#include "executor.h"
#include "group_impl.h"

enum {
    TUTTI_LINE = 64,
    TUTTI_BLOCK = 1 << 20,     /* bytes of each operand that a step moves before it lets others look */
    TUTTI_WATCH_NS = 10000000, /* sockets are looked at so often by who does not sleep */
    TUTTI_MAX_BANK_SETS = 64,  /* least common multiple of all banks */
    TUTTI_TIMED = 1 << 13      /* bytes below which a step is not worth two looks at the clock */
};

typedef _Atomic uint64_t tutti_counter;

/* What the exchange is over: n elements of `bytes` each, in blocks of their own sizes or evenly divided. */
typedef struct {
    int64_t n;
    size_t bytes;
    int32_t nblocks;
    const int64_t *first; /* nblocks + 1 beginnings of blocks; NULL = even */
} tutti_vector;

typedef struct {
    tutti_step_kind kind;
    uint32_t when;
    int32_t peer, channel, stage;
    bool stream;
    int32_t first_dep, ndeps;   /* into exchange.deps */
    int32_t nins, nouts, first; /* into a pointer set: inputs, then outputs */
    const uint8_t *folds;       /* reduce */
    int64_t n, cursor;          /* elements; how many of them are done */
    int64_t from;               /* first element of its slices: with plain memory they all begin there */
    bool writes_plain;
    tutti_counter *counter; /* signal: in the peer's memory; wait: in ours */
    tutti_wire *wire;       /* put, signal to a far peer: over it; else NULL */
    uint64_t far;           /* signal over a wire: where the counter lies, as the peer sees it */
    tutti_put *flight;      /* its source is still needed */
    bool launched;          /* put, signal over a wire: it has started */
    uint64_t each, ordinal; /* counter reaches invocation * each + ordinal */
    int64_t done;           /* 1 + the last invocation in which it was completed */
} tutti_op;

/* A pointer into this rank's plain memory: set anew for each invocation. */
typedef struct {
    int32_t set, at; /* pointers[set][at] */
    bool out;
    int64_t offset; /* bytes behind the aim */
} tutti_plain_pointer;

typedef struct {
    int32_t *ops; /* in program order */
    int32_t nops, at;
} tutti_sequence;

typedef struct tutti_exchange_memory tutti_exchange_memory;

struct tutti_exchange {
    tutti_group *group;
    struct tutti_exchange *next;
    tutti_arena arena;
    char name[96], algorithm[TUTTI_ALGORITHM_TEXT];
    int priority;                  /* group->exchanges is in this order */
    tutti_exchange_memory *memory; /* shared with those that were made together */
    tutti_region *region;          /* the memory's */
    size_t *at;                    /* where in it, on each rank */
    tutti_op *ops;
    int32_t nops;
    int32_t *deps;
    tutti_sequence *sequences;
    int32_t nsequences;
    tutti_dtype type;
    tutti_operation op;
    tutti_vector vector;
    char **pointers[TUTTI_MAX_BANK_SETS]; /* invocation e uses set e mod nsets */
    int32_t nsets;
    int32_t nchannels;
    tutti_counter *started; /* ours; a peer's is at the base of its part */

    int64_t invocation; /* the running or the next one */
    bool active;
    unsigned when;
    int32_t remaining; /* ops of this invocation */
    bool timed;
    uint64_t noted;      /* which record of the flight recorder its start is */
    int64_t left_behind; /* when it was seen that a peer that is needed has left the group; 0 = it was not */
    char *average;       /* avg: what this rank divides when its sums are complete */
    int64_t naverage, averaged;
    tutti_plain_pointer *plain;
    int32_t nplain;
    int64_t length; /* elements of this invocation: n, with plain memory perhaps fewer */
    bool stream;    /* plain: outputs bypass the caches in this invocation */
    bool (*again)(void *arg);
    void *again_arg;
    uint64_t delay_seed;
    int32_t delay_us;
    tutti_exchange_stats stats;
};

/* Where the exchange's own memory of `rank` begins, mapped here; NULL: a far rank. */
static inline char *tutti_exchange_base(const tutti_exchange *x, int rank)
{
    char *base = tutti_region_base(x->region, rank);
    return base ? base + x->at[rank] : NULL;
}

/* Fills ops, sequences, deps, pointers from this rank's part; `layout` was agreed before. */
tutti_status tutti_exchange_bind(tutti_exchange *x, const tutti_schedule *schedule, const tutti_part *part,
                                 const tutti_exchange_binding *binding, tutti_failure *err);
/* Bytes of this rank's part of the shared memory (each channel adds TUTTI_LINE a rank), and the channels that a part uses. */
size_t tutti_exchange_own_bytes(const tutti_part *part, int nranks, int32_t nchannels, const tutti_vector *v);
int32_t tutti_part_channels(const tutti_part *part);

/* Elements before slice point k of `of`: floor(k * n / of) without overflow. */
static inline int64_t tutti_slice_point(int64_t k, int64_t n, int64_t of)
{
    return n / of * k + n % of * k / of;
}

/* Elements before slice point k of `of` (executor.h). */
static inline int64_t tutti_vector_point(const tutti_vector *v, int64_t k, int64_t of)
{
    if (!v->first) return tutti_slice_point(k, v->n, of);
    const int64_t at = k * v->nblocks, block = at / of;
    if (block >= v->nblocks) return v->n;
    return v->first[block] + tutti_slice_point(at % of, v->first[block + 1] - v->first[block], of);
}

/* --- where it stands, for failures and reports --- */

/* Invocations that `rank` has begun; -1: a far rank. */
int64_t tutti_exchange_begun(const tutti_exchange *x, int rank);
bool tutti_exchange_is_absent(const tutti_exchange *x, int rank);
/* with_state: also what the system says of their processes, which is asked for. */
void tutti_exchange_list_absent(const tutti_exchange *x, bool with_state, tutti_strbuf *out);
/* "exchange 'sum' (ring, invocation 3): step 4 (wait, stage 1) for rank 2 (...) on channel 0, 4096 bytes still to write here" */
void tutti_exchange_describe(const tutti_exchange *x, tutti_strbuf *out);
/* The step that holds the first sequence that is held up; -1: none is. Bytes that this rank has yet to write. */
int32_t tutti_exchange_held_step(const tutti_exchange *x);
int64_t tutti_exchange_missing(const tutti_exchange *x);

/* One round over one exchange, or over all that are active: true if anything moved. */
bool tutti_exchange_advance(tutti_exchange *x);
bool tutti_exchange_advance_all(tutti_group *group);

#endif
