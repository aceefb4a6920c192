/* SPDX-License-Identifier: Apache-2.0 */
/* executor_impl.h: an exchange after binding: steps with addresses instead of slices.
 *
 * Two numbers mean a rank. Parts, slices, buffers, counters and offsets in the exchange's memory go by the schedule's
 * (`member`: an index into x->members); sockets, bells, wires, regions and words go by the group's (`rank`; of a bound
 * step: peer).
 *
 * Shared region of an exchange, one part a member:   [started][aim][counter (src 0, channel 0)] ... [scratch buffers]
 *   started   invocations that this rank has begun; serves failures only ("who has not arrived")
 *   aim       where this rank's plain memory lies (executor_plain.c)
 *   counter   one u64 on a cache line of its own for each (source, channel): written by the source alone, read by the
 *             owner. It only grows: ordinal o of invocation e stands at e * (signals of an invocation) + o. Behind it
 *             stands what the source takes even and odd invocations for.
 *
 * Memory of far peers has addresses of theirs: they go to the wire and are never followed here. A put or signal over
 * the wire is complete when its source may be reused; puts behind it, and a signal to the same peer, start before that.
 *
 * Files: executor.c (life), members.c, executor_bind.c (slices to addresses) and executor_place.c (where buffers lie),
 * executor_plain.c (memory that is no region) and executor_peer.c (that of peers), executor_run.c (steps),
 * executor_stores.c, executor_wait.c, executor_words.c. */
#ifndef TUTTI_EXECUTOR_IMPL_H
#define TUTTI_EXECUTOR_IMPL_H

#include "../../base/arena.h"
#include "../../tensor/tensor.h"
#include "../group/group_impl.h"
#include "executor.h"

enum {
    TUTTI_LINE = 64,
    TUTTI_OWN_LINES = 2,      /* before the counters */
    TUTTI_BLOCK = 1 << 20,    /* bytes of each operand that a step moves before it lets others look */
    TUTTI_PIECE = 1 << 18,    /* bytes of a put over a wire before it gives way: 7 ms at 300 Mbit/s */
    TUTTI_MAX_BANK_SETS = 64, /* least common multiple of all banks */
    TUTTI_TIMED = 1 << 13     /* bytes below which a step is not worth two looks at the clock */
};

typedef _Atomic uint64_t tutti_counter;

/* What the exchange is over: n elements of `bytes` each, in blocks of their own sizes or evenly divided. */
typedef struct {
    int64_t n;
    size_t bytes;
    size_t sent_bytes, taken_bytes; /* of those in scratch, in inputs; `bytes`, but where these are rounded */
    int32_t nblocks;
    const int64_t *first; /* nblocks + 1 beginnings of blocks; NULL = even */
} tutti_vector;

/* Of a put, in flight at a time. */
enum { TUTTI_MOST_PIECES = 4 };

typedef struct {
    tutti_step_kind kind;
    uint32_t when;
    int32_t peer, channel, stage; /* peer: the group's rank */
    bool stream;
    int32_t first_dep, ndeps;   /* into exchange.deps */
    int32_t nins, nouts, first; /* into a pointer set: inputs, then outputs */
    const uint8_t *folds;       /* reduce */
    int64_t n, cursor;          /* elements; how many of them are done */
    size_t in_bytes, out_bytes; /* of an element of its inputs, of its outputs */
    bool shows;                 /* plain: it stores what peers will read */
    int32_t first_peer, npeers; /* plain: into peers' pointers */
    tutti_counter *counter;     /* signal: in the peer's memory; wait: in ours */
    tutti_wire *wire;           /* put, signal to a far peer: over it; else NULL */
    uint64_t far;               /* signal over a wire: where the counter lies, as the peer sees it */
    uint64_t each, ordinal;     /* counter reaches invocation * each + ordinal */
    int64_t done;               /* 1 + the last invocation in which it was completed */
    /* Over a wire: of a signal, or of a put's pieces, whose sources are still needed; launched: all of it has
     * started. */
    tutti_put *flights[TUTTI_MOST_PIECES];
    bool launched;
} tutti_op;

typedef struct {
    int32_t *ops; /* in program order */
    int32_t nops, at;
} tutti_sequence;

typedef struct tutti_plain tutti_plain;

/* Regions: stores that bypass the caches (executor_stores.c). */
typedef struct {
    bool past;
    int left;          /* invocations that try */
    double least_s[2]; /* that they took: ordinary, past the caches */
    double worked_s;   /* stats.work_s when this one began */
} tutti_stores;

typedef struct tutti_exchange_memory tutti_exchange_memory;

struct tutti_exchange {
    tutti_group *group;
    const tutti_device *device;
    struct tutti_exchange *next;
    tutti_arena arena;
    const int32_t *members; /* the group's rank of each of the schedule's */
    int32_t nmembers, me;   /* this rank's place among them; -1: it is none */
    bool over_some;         /* not simply all of the group */
    char name[96], algorithm[TUTTI_ALGORITHM_TEXT];
    int priority;                  /* group->exchanges is in this order */
    tutti_exchange_memory *memory; /* shared with those that were made together */
    tutti_region *region;          /* the memory's */
    size_t *at;                    /* where in it, on each member */
    size_t *buffers_at;            /* and where there that member's buffers stand, for those who map it */
    int32_t *nbuffers;
    tutti_op *ops;
    int32_t nops;
    int32_t *deps;
    tutti_sequence *sequences;
    int32_t nsequences;
    tutti_dtype type, sent; /* of outputs; of scratch */
    bool rounds;            /* ... where that may be another one */
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
    int64_t began_ns, met_ns; /* timed: this invocation; when it first moved something after a wait, 0 = it has not */
    double worked_s;          /* stats.work_s when it began */
    bool has_waited;
    tutti_stores stores;
    uint64_t noted;      /* which record of the flight recorder its start is */
    int64_t left_behind; /* when it was seen that a peer that is needed has left the group; 0 = it was not */
    char *average;       /* avg: what this rank divides when its sums are complete */
    int64_t naverage, averaged;
    tutti_plain *plain; /* NULL: all inputs and outputs are in regions */
    uint64_t call;      /* what this rank takes the invocation for */
    bool stuck;         /* it cannot go on: memory that it wants is not there, or a peer takes it for another call */
    int stranger;       /* who that is */
    bool (*again)(void *arg);
    void *again_arg;
    pthread_cond_t *sleeper; /* of who waits for it in tutti_exchange_wait_any; NULL: nobody does */
    tutti_exchange *first;   /* NULL: the caller says when it is ready; else `act` makes it so */
    void (*act)(void *arg, bool beside);
    void *act_arg;
    uint64_t delay_seed;
    int32_t delay_us;
    tutti_exchange_stats stats;
};

/* --- members (members.c) --- */

/* Ranks by number. */
typedef struct {
    const int32_t *rank;
    int32_t n;
} tutti_ranks_listed;
/* Whether these are members for a schedule of `nplaces` ranks, and this rank's place among them, -1: none. `what`
 * begins the words. */
tutti_status tutti_members_find(const tutti_group *g, const char *what, int32_t nplaces, tutti_ranks_listed members,
                                int32_t *me, tutti_failure *err);
/* The same, into x. */
tutti_status tutti_members_take(tutti_exchange *x, int32_t nplaces, const tutti_exchange_binding *binding,
                                tutti_failure *err);
/* Hosts that they are on. */
int tutti_members_count_hosts(const tutti_exchange *x);

/* --- binding --- */

/* Where a buffer of one rank lies: in our address space, or in that of a far rank. */
typedef struct {
    char *base;        /* of element `origin`, bank 0 */
    int64_t origin;    /* first stored element */
    size_t stride;     /* between banks, bytes */
    int32_t banks;     /* 0: it has no place */
    size_t bytes_left; /* from base to the end of its region */
    size_t each;       /* bytes of an element */
    bool is_scratch;
    bool plain;       /* no base: addresses come with each aim */
    size_t before;    /* bytes of its rank's outputs that lie before it */
    tutti_wire *wire; /* far memory: base is the peer's address */
} tutti_buffer_place;

typedef struct {
    tutti_buffer_place *places; /* one a buffer; NULL until needed */
    tutti_buffer *buffers;      /* plain */
    int32_t nbuffers;
} tutti_rank_places;

typedef struct {
    tutti_exchange *x;
    const tutti_schedule *schedule;
    tutti_exchange_binding binding;
    tutti_rank_places *ranks;
    tutti_failure *err;
} tutti_binder;

/* executor_place.c. Places all buffers of the member, if they are not yet; and plain ones again when the vector's
 * length has changed. */
void tutti_binder_need(tutti_binder *b, int32_t member);
void tutti_binder_lay_again(tutti_binder *b);
/* Where memory of the member begins: mapped here, or as the far rank sees it itself. */
char *tutti_binder_memory(const tutti_binder *b, const tutti_region *region, int32_t member, tutti_wire **wire);

/* Where the exchange's own memory of the member begins, mapped here; NULL: a far rank. */
static inline char *tutti_exchange_base(const tutti_exchange *x, int32_t member)
{
    char *base = tutti_region_base(x->region, x->members[member]);
    return base ? base + x->at[member] : NULL;
}

/* Outputs hold sums, scratch what is sent. */
static inline size_t tutti_buffer_element(const tutti_vector *v, const tutti_buffer *b)
{
    if (b->role == TUTTI_BUFFER_OUT) return v->bytes;
    return b->role == TUTTI_BUFFER_IN ? v->taken_bytes : v->sent_bytes;
}

/* What that member has shown of its buffers; NULL: a far rank. */
static inline tutti_buffer *tutti_exchange_buffers(const tutti_exchange *x, int32_t member)
{
    char *base = tutti_region_base(x->region, x->members[member]);
    return base ? (tutti_buffer *)(void *)(base + x->buffers_at[member]) : NULL;
}

/* Fills ops, sequences, deps, pointers from this rank's part; `layout` was agreed before. */
tutti_status tutti_exchange_bind(tutti_exchange *x, const tutti_schedule *schedule, const tutti_part *part,
                                 const tutti_exchange_binding *binding, tutti_failure *err);
/* Elements of each step, and of the result that this rank averages; their addresses: again when a plain vector's length
 * changes. */
tutti_status tutti_exchange_measure(tutti_binder *b, const tutti_part *part);
void tutti_exchange_point(const tutti_binder *b, const tutti_part *part);
/* Bytes of this rank's part of the shared memory (each channel adds TUTTI_LINE a member), and the channels that a part
 * uses. */
size_t tutti_exchange_own_bytes(const tutti_part *part, int nmembers, int32_t nchannels, const tutti_vector *v,
                                bool plain);
int32_t tutti_part_channels(const tutti_part *part);
size_t tutti_buffers_bytes(int32_t nbuffers); /* of them, the last of a rank's part of the memory */
/* Inputs, then outputs. */
static inline const tutti_slice *tutti_step_slice(const tutti_part *part, const tutti_step *step, int32_t k)
{
    return &part->slices[k < step->nins ? step->first_in + k : step->first_out + k - step->nins];
}

/* --- stores (executor_stores.c) --- */
/* past: whatever the length. */
void tutti_stores_choose(tutti_exchange *x, const tutti_schedule *schedule, bool past);
/* An invocation that tried: what its steps took. */
void tutti_stores_record(tutti_exchange *x, double seconds);

/* --- plain memory --- */

/* What a rank tells the others of an invocation, before its first signal. */
typedef struct {
    _Atomic uint64_t in, out;
} tutti_aim;

/* A pointer into plain memory of a rank: pointers[set][at] = its aim + offset. */
typedef struct {
    int32_t set, at, member;
    bool out;
    size_t offset;
} tutti_plain_pointer;

struct tutti_plain {
    tutti_binder *binder;
    tutti_part part;
    tutti_plain_pointer *own, *peers; /* of peers: set 0 alone, in the order of the ops */
    int32_t nown, npeers;
    int32_t *owner; /* of each pointer of a set: the peer (the group's rank) whose plain memory it is, -1 = none */
    bool stream, shown_past; /* outputs bypass the caches in this invocation; what is shown does */
    size_t average;          /* of the elements that this rank divides, in out */
    char *bounce;            /* NULL: peers' memory is as our own */
    size_t bounce_bytes;     /* of each operand */
};

void tutti_plain_bind(tutti_binder *b, int32_t npointers);
void tutti_plain_release(tutti_plain *plain);
/* Operand k of op i is this slice of plain memory; so is what this rank averages. */
void tutti_plain_note(tutti_exchange *x, int32_t i, int32_t k, int32_t set, const tutti_slice *s);
void tutti_plain_note_average(tutti_exchange *x, const tutti_slice *owned);
tutti_aim *tutti_plain_aim_of(const tutti_exchange *x, int32_t member);
/* Where this step finds the peers' memory in this invocation; its waits are over. */
void tutti_plain_find_peers(const tutti_exchange *x, const tutti_op *op);
/* executor_peer.c: n elements of a step from element `from` on, that of peers through the system. False: it cannot, now
 * (a peer has died) or ever (the group has failed). */
bool tutti_peer_move(tutti_exchange *x, const tutti_op *op, int64_t from, int64_t n);

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

/* Invocations that the member has begun; -1: a far rank. */
int64_t tutti_exchange_begun(const tutti_exchange *x, int32_t member);
bool tutti_exchange_is_absent(const tutti_exchange *x, int32_t member);
/* with_state: also what the system says of their processes, which is asked for. */
void tutti_exchange_list_absent(const tutti_exchange *x, bool with_state, tutti_strbuf *out);
/* "exchange 'sum' (ring, invocation 3): step 4 (wait, stage 1) for rank 2 (...) on channel 0, 4096 bytes still to write
 * here" */
void tutti_exchange_describe(const tutti_exchange *x, tutti_strbuf *out);
/* What the group asks of all of them (tutti_group_traffic). */
bool tutti_exchange_describe_all(const tutti_group *g, tutti_strbuf *out);
int64_t tutti_exchange_count_begun(const tutti_group *g, int rank, int64_t *own);
/* The step that holds the first sequence that is held up; -1: none is. Bytes that this rank has yet to write. */
int32_t tutti_exchange_held_step(const tutti_exchange *x);
int64_t tutti_exchange_missing(const tutti_exchange *x);

/* Whoever is in tutti_exchange_wait_any looks whether it shall end. With the lock. */
void tutti_exchange_wake_sleepers(tutti_group *g);

/* One round over one exchange, or over all that are active: true if anything moved. */
bool tutti_exchange_advance(tutti_exchange *x);
bool tutti_exchange_advance_all(tutti_group *group);

#endif
