/* SPDX-License-Identifier: Apache-2.0 */
/* executor_impl.h: an exchange after binding: steps with addresses instead of slices.
 *
 * Two numbers name a rank. Parts, slices, buffers, counters and offsets in the exchange's memory use the schedule's
 * number (`member`: an index into x->members). Sockets, bells, wires, regions and words use the group's number (`rank`;
 * in a bound step: peer).
 *
 * Shared region of an exchange, one part per member:   [started][aim][counter (src 0, channel 0)] ... [scratch buffers]
 *   started   invocations that this rank has begun; only failures read it, to name ranks that have not arrived
 *   aim       addresses of this rank's plain memory (executor_plain.c)
 *   counter   one u64 on a cache line of its own for each (source, channel): only the source writes it, the owner reads
 *             it. It only grows: ordinal o of invocation e stands at e * (signals of an invocation) + o. The words
 *             behind it hold the source's call numbers of even and odd invocations.
 *
 * Memory of far peers has the peers' own addresses, which go to the wire and are never dereferenced on this rank. A put
 * or signal over the wire is complete when its source may be reused; later puts, and a signal to the same peer, start
 * before that.
 *
 * Files: executor.c (life), members.c, executor_bind.c (slices to addresses) and executor_place.c (places of buffers),
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
    TUTTI_OWN_LINES = 2,      /* number of cache lines before the counters */
    TUTTI_BLOCK = 1 << 20,    /* bytes of each operand that a step moves before it returns, so that its caller can do
                               * other work in between */
    TUTTI_PIECE = 1 << 18,    /* bytes of a put over a wire before it gives others a turn: 7 ms at 300 Mbit/s */
    TUTTI_MAX_BANK_SETS = 64, /* most sets of pointers of an exchange, one for each combination of banks */
    TUTTI_TIMED = 1 << 13     /* bytes of a step below which its time is not measured, because two looks at the clock
                               * would cost too much */
};

typedef _Atomic uint64_t tutti_counter;

/* The vector of an exchange: n elements of `bytes` each, in blocks of given sizes or evenly divided. */
typedef struct {
    int64_t n;
    size_t bytes;
    size_t sent_bytes, taken_bytes; /* bytes of an element in scratch (sent) and in inputs (taken); equal to `bytes`
                                     * unless values are rounded */
    int32_t nblocks;
    const int64_t *first; /* first element of each block, nblocks + 1 entries; NULL: the blocks are equally long */
} tutti_vector;

/* Most pieces of a put that are in flight at a time. */
enum { TUTTI_MOST_PIECES = 4 };

typedef struct {
    tutti_step_kind kind;
    uint32_t when;
    int32_t peer, channel, stage; /* peer: the other rank's number in the group; channel and stage: as in the schedule's
                                   * step */
    bool stream;
    int32_t first_dep, ndeps;   /* range of exchange.deps with the steps that this step depends on */
    int32_t nins, nouts, first; /* first: index of the step's pointers in a pointer set: nins inputs, then nouts
                                 * outputs */
    const uint8_t *folds;       /* reduce: number of folds after each input */
    int64_t n, cursor;          /* elements of the step, and the number of them that are done */
    size_t in_bytes, out_bytes; /* bytes of an element of the inputs, and of an element of the outputs */
    bool shows;                 /* plain memory: true if the step stores into memory that peers will read */
    int32_t first_peer, npeers; /* plain memory: the step's range in the array `peers` of tutti_plain */
    tutti_counter *counter;     /* signal: counter in the peer's memory; wait: counter in this rank's */
    tutti_wire *wire;           /* the wire of a put or signal to a far peer; else NULL */
    uint64_t far;               /* signal over a wire: address of the counter, as the peer sees it */
    uint64_t each, ordinal;     /* the step's counter value is invocation * each + ordinal */
    int64_t done;               /* 1 + the last invocation in which the step was completed */
    /* Over a wire: flights of a signal, or of a put's pieces, whose sources are still needed. launched: true once all
     * pieces have started. */
    tutti_put *flights[TUTTI_MOST_PIECES];
    bool launched;
} tutti_op;

typedef struct {
    int32_t *ops; /* indices of the sequence's ops in program order */
    int32_t nops, at;
} tutti_sequence;

typedef struct tutti_plain tutti_plain;

/* For exchanges on regions: whether stores bypass the caches, and the trials that decide it (executor_stores.c). */
typedef struct {
    bool past;
    int left;          /* number of trial invocations still to come */
    double least_s[2]; /* least time of an invocation: with ordinary stores, with stores past the caches */
    double worked_s;   /* stats.work_s when this invocation began */
} tutti_stores;

typedef struct tutti_exchange_memory tutti_exchange_memory;

struct tutti_exchange {
    tutti_group *group;
    const tutti_device *device;
    struct tutti_exchange *next;
    tutti_arena arena;
    const int32_t *members; /* the group's rank of each of the schedule's ranks */
    int32_t nmembers, me;   /* me: index of this rank in members; -1: this rank is no member */
    bool over_some;         /* true unless the members are all ranks of the group in their order */
    char name[96], algorithm[TUTTI_ALGORITHM_TEXT];
    int priority;                  /* the exchange's priority, by which group->exchanges is sorted */
    tutti_exchange_memory *memory; /* shared by the exchanges that were made together */
    tutti_region *region;          /* region of `memory` */
    size_t *at;                    /* offset of this exchange in the region, for each member */
    size_t *buffers_at;            /* offset of each member's list of buffers, for ranks that map it */
    int32_t *nbuffers;
    tutti_op *ops;
    int32_t nops;
    int32_t *deps;
    tutti_sequence *sequences;
    int32_t nsequences;
    tutti_dtype type, sent; /* element types: of outputs, and of scratch */
    bool rounds;            /* true if values are rounded to the type `sent` before they are sent */
    tutti_operation op;
    tutti_vector vector;
    char **pointers[TUTTI_MAX_BANK_SETS]; /* pointers of the ops; invocation e uses set e mod nsets */
    int32_t nsets;
    int32_t nchannels;
    tutti_counter *started; /* this rank's word `started` (see above); a peer's word is the first of the peer's part */

    int64_t invocation; /* number of the running invocation or the next one */
    bool active;
    unsigned when;
    int32_t remaining; /* number of ops of this invocation that are not done */
    bool timed;
    int64_t began_ns, met_ns; /* timed invocations: when this one began, and when it first moved anything after a wait
                               * (0 = not yet) */
    double worked_s;          /* stats.work_s when this invocation began */
    bool has_waited;
    tutti_stores stores;
    uint64_t noted;      /* number of the exchange's start in the flight recorder */
    int64_t left_behind; /* time at which this rank saw that a peer that it needs had left the group; 0 = none has
                          * left */
    char *average;       /* avg: address of the elements that this rank divides when its sums are complete */
    int64_t naverage, averaged;
    tutti_plain *plain; /* for inputs and outputs outside regions; NULL: all are in regions */
    uint64_t call;      /* call number by which this rank marks the invocation */
    bool stuck;         /* true if the exchange cannot continue: memory that it needs is missing, or a peer has marked
                         * the invocation with another call number */
    int stranger;       /* the peer because of which the exchange is stuck */
    bool (*again)(void *arg);
    void *again_arg;
    pthread_cond_t *sleeper; /* condition of the thread that waits in tutti_exchange_wait_any; NULL: none waits */
    tutti_exchange *first;   /* the exchange that x follows: `act` makes x ready once `first` has ended; NULL: the
                              * caller reports when x is ready */
    void (*act)(void *arg, bool beside);
    void *act_arg;
    uint64_t delay_seed;
    int32_t delay_us;
    tutti_exchange_stats stats;
};

/* --- members (members.c) --- */

/* A list of ranks. */
typedef struct {
    const int32_t *rank;
    int32_t n;
} tutti_ranks_listed;
/* Checks that these are members for a schedule of `nplaces` ranks; *me becomes this rank's index, -1: none. `what`
 * begins the words of a failure. */
tutti_status tutti_members_find(const tutti_group *g, const char *what, int32_t nplaces, tutti_ranks_listed members,
                                int32_t *me, tutti_failure *err);
/* Checks the members of the binding and stores them in x. */
tutti_status tutti_members_take(tutti_exchange *x, int32_t nplaces, const tutti_exchange_binding *binding,
                                tutti_failure *err);
/* Returns the number of hosts of the members. */
int tutti_members_count_hosts(const tutti_exchange *x);

/* --- binding --- */

/* The place of a buffer of one rank: an address of this process, or of a far rank. */
typedef struct {
    char *base;        /* address of element `origin`, bank 0 */
    int64_t origin;    /* index of the first stored element */
    size_t stride;     /* bytes between banks */
    int32_t banks;     /* number of banks; 0: the buffer has no place */
    size_t bytes_left; /* bytes from base to the end of its region */
    size_t each;       /* bytes of an element of the buffer */
    bool is_scratch;
    bool plain;       /* the buffer is plain memory without a base: each tutti_exchange_aim sets its address */
    size_t before;    /* bytes of the rank's outputs that lie before this one */
    tutti_wire *wire; /* far memory: the wire to its rank, and base is an address there; NULL: near memory */
} tutti_buffer_place;

typedef struct {
    tutti_buffer_place *places; /* places of the member's buffers; NULL until a step needs one of them */
    tutti_buffer *buffers;      /* the member's buffers, kept only if memory is plain (tutti_binder_lay_again) */
    int32_t nbuffers;
} tutti_rank_places;

typedef struct {
    tutti_exchange *x;
    const tutti_schedule *schedule;
    tutti_exchange_binding binding;
    tutti_rank_places *ranks;
    tutti_failure *err;
} tutti_binder;

/* Places all buffers of the member unless they are placed (executor_place.c); places plain buffers again when the
 * vector's length has changed. */
void tutti_binder_need(tutti_binder *b, int32_t member);
void tutti_binder_lay_again(tutti_binder *b);
/* Returns where the member's memory of the region begins: mapped here, or as the far rank sees it. */
char *tutti_binder_memory(const tutti_binder *b, const tutti_region *region, int32_t member, tutti_wire **wire);

/* Returns where the member's part of the exchange's memory begins, mapped here; NULL for a far rank. */
static inline char *tutti_exchange_base(const tutti_exchange *x, int32_t member)
{
    char *base = tutti_region_base(x->region, x->members[member]);
    return base ? base + x->at[member] : NULL;
}

/* Returns the bytes of an element of the buffer: outputs hold sums, scratch holds what is sent. */
static inline size_t tutti_buffer_element(const tutti_vector *v, const tutti_buffer *b)
{
    if (b->role == TUTTI_BUFFER_OUT) return v->bytes;
    return b->role == TUTTI_BUFFER_IN ? v->taken_bytes : v->sent_bytes;
}

/* Returns the list of buffers that the member has written into shared memory; NULL for a far rank. */
static inline tutti_buffer *tutti_exchange_buffers(const tutti_exchange *x, int32_t member)
{
    char *base = tutti_region_base(x->region, x->members[member]);
    return base ? (tutti_buffer *)(void *)(base + x->buffers_at[member]) : NULL;
}

/* Fills ops, sequences, deps and pointers from this rank's part; `layout` was agreed before. */
tutti_status tutti_exchange_bind(tutti_exchange *x, const tutti_schedule *schedule, const tutti_part *part,
                                 const tutti_exchange_binding *binding, tutti_failure *err);
/* Sets the number of elements of each step, of the result that this rank averages, and their addresses. Called again
 * when the length of a plain vector changes. */
tutti_status tutti_exchange_measure(tutti_binder *b, const tutti_part *part);
void tutti_exchange_point(const tutti_binder *b, const tutti_part *part);
/* Returns the bytes of this rank's part of the shared memory, in which each channel takes TUTTI_LINE bytes for each
 * member; and the number of channels that a part uses. */
size_t tutti_exchange_own_bytes(const tutti_part *part, int nmembers, int32_t nchannels, const tutti_vector *v,
                                bool plain);
int32_t tutti_part_channels(const tutti_part *part);
size_t tutti_buffers_bytes(int32_t nbuffers); /* bytes of the list of buffers, which lies at the end of a rank's part of
                                               * the memory */
/* Returns slice k of a step: inputs first, then outputs. */
static inline const tutti_slice *tutti_step_slice(const tutti_part *part, const tutti_step *step, int32_t k)
{
    return &part->slices[k < step->nins ? step->first_in + k : step->first_out + k - step->nins];
}

/* --- stores (executor_stores.c) --- */
/* Decides how outputs are stored. past: true stores them past the caches, whatever the length. */
void tutti_stores_choose(tutti_exchange *x, const tutti_schedule *schedule, bool past);
/* Notes the time that the steps of a trial invocation took. */
void tutti_stores_record(tutti_exchange *x, double seconds);

/* --- plain memory --- */

/* The words of an *aim*: what a rank writes for an invocation on plain memory before its first signal. */
typedef struct {
    _Atomic uint64_t in, out;
} tutti_aim;

/* A pointer into plain memory of a rank: pointers[set][at] = that rank's aim + offset. */
typedef struct {
    int32_t set, at, member;
    bool out;
    size_t offset;
} tutti_plain_pointer;

struct tutti_plain {
    tutti_binder *binder;
    tutti_part part;
    tutti_plain_pointer *own, *peers; /* pointers to this rank's and to peers' plain memory; peers: only for set 0, in
                                       * the order of the ops */
    int32_t nown, npeers;
    int32_t *owner; /* for each pointer of a set: the peer (its rank in the group) whose plain memory it points to, -1 =
                     * none */
    bool stream, shown_past; /* stream: outputs bypass the caches in this invocation; shown_past: so do stores that
                              * peers read */
    size_t average;          /* offset in out of the elements that this rank divides */
    /* buffer into which pieces of peers' memory are copied; NULL: peers' memory can be used like this rank's own */
    char *bounce;
    size_t bounce_bytes; /* bytes of `bounce` for each operand */
};

void tutti_plain_bind(tutti_binder *b, int32_t npointers);
void tutti_plain_release(tutti_plain *plain);
/* Notes that operand k of op i, or the elements that this rank averages, are this slice of plain memory. */
void tutti_plain_note(tutti_exchange *x, int32_t i, int32_t k, int32_t set, const tutti_slice *s);
void tutti_plain_note_average(tutti_exchange *x, const tutti_slice *owned);
tutti_aim *tutti_plain_aim_of(const tutti_exchange *x, int32_t member);
/* Finds the addresses of the peers' memory for this step and invocation; call it when the step's waits are over. */
void tutti_plain_find_peers(const tutti_exchange *x, const tutti_op *op);
/* Moves n elements of a step from element `from` on; the system reads and writes peers' memory (executor_peer.c).
 * Returns false if that fails now (a peer has died) or for good (the group has failed). */
bool tutti_peer_move(tutti_exchange *x, const tutti_op *op, int64_t from, int64_t n);

/* Returns the number of elements before point k of `of` equal slices: floor(k * n / of) without overflow. */
static inline int64_t tutti_slice_point(int64_t k, int64_t n, int64_t of)
{
    return n / of * k + n % of * k / of;
}

/* Returns the number of elements before point k of `of` slices, also if blocks are uneven (executor.h). */
static inline int64_t tutti_vector_point(const tutti_vector *v, int64_t k, int64_t of)
{
    if (!v->first) return tutti_slice_point(k, v->n, of);
    const int64_t at = k * v->nblocks, block = at / of;
    if (block >= v->nblocks) return v->n;
    return v->first[block] + tutti_slice_point(at % of, v->first[block + 1] - v->first[block], of);
}

/* --- the state of an exchange, for failures and reports --- */

/* Returns the invocations that the member has begun; -1 for a far rank. */
int64_t tutti_exchange_begun(const tutti_exchange *x, int32_t member);
bool tutti_exchange_is_absent(const tutti_exchange *x, int32_t member);
/* Lists the members that have not arrived; with_state: also what the system says of their processes. */
void tutti_exchange_list_absent(const tutti_exchange *x, bool with_state, tutti_strbuf *out);
/* Describes the step that holds the exchange up: "exchange 'sum' (ring, invocation 3): step 4 (wait, stage 1) for rank
 * 2 (...) on channel 0, 4096 bytes still to write here". */
void tutti_exchange_describe(const tutti_exchange *x, tutti_strbuf *out);
/* Implements tutti_group_traffic.describe for all exchanges of the group. */
bool tutti_exchange_describe_all(const tutti_group *g, tutti_strbuf *out);
int64_t tutti_exchange_count_begun(const tutti_group *g, int rank, int64_t *own);
/* Returns the step that holds up the first sequence, -1: none is held up; and the bytes that this rank has yet to
 * write. */
int32_t tutti_exchange_held_step(const tutti_exchange *x);
int64_t tutti_exchange_missing(const tutti_exchange *x);

/* Wakes the threads in tutti_exchange_wait_any, so that they look again. The caller holds the lock. */
void tutti_exchange_wake_sleepers(tutti_group *g);

/* Drive one exchange, or all that are active, once; return true if there was any progress. */
bool tutti_exchange_advance(tutti_exchange *x);
bool tutti_exchange_advance_all(tutti_group *group);

#endif
