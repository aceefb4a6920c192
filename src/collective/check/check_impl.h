/* SPDX-License-Identifier: Apache-2.0 */
/* check_impl.h: declarations that the files of the checker share, and why the proof holds. One legal interleaving of
 * all ranks is replayed on symbols.
 *
 * Why one interleaving suffices. The i-th send of a channel meets the i-th recv, and the i-th signal the i-th wait. The
 * checker proves that operations on one end of a channel are ordered, so these pairs are the same in every
 * interleaving. A step that may start can always start later, so all interleavings run the same steps. If no two
 * accesses race, every read sees the same write in every interleaving.
 *
 *   grid     the elementary intervals: between neighbours of all distinct slice boundaries first/of. floor(first*n/of)
 *            grows with the fraction, so a proof for these intervals holds for every n, empty slices included.
 *   storage  one (rank, memory): buffers of one rank that alias share it. A cell is one interval of one bank of it;
 *            cells side by side with one history are a run (check_runs.c).
 *   value    a cell holds the number of an expression: leaf or sum; equal up to commutation = same number.
 *   clock    what a thread (one sequence of one rank) knows to have happened (vector clock, FastTrack epochs:
 *            Flanagan & Freund, PLDI 2009).
 *   owner    the caller: overwrites inputs before READY, uses outputs before FREE. Its two acts in each invocation are
 *            writes that belong to no thread; a thread that is told READY or FREE knows them.
 *
 * Threads: one at a time. */
#ifndef TUTTI_CHECK_IMPL_H
#define TUTTI_CHECK_IMPL_H

#include "../../base/arena.h"
#include "check_source.h"

/* ---- grid (check_grid.c) ---- */
typedef struct {
    int32_t of;
    int32_t *place; /* one entry for each of the boundaries 0 .. of. While slices are added: 1 if one begins or ends
                     * there, else 0. After tutti_grid_close: the boundary's number in the grid, -1 = none */
} tutti_grid_row;
typedef struct {
    tutti_grid_row *rows;
    int32_t nrows, last; /* last: index of the row that was found last, where the next search begins */
    int64_t work;        /* sum of the rows' `of`, which has an upper limit, because the work to close the grid grows
                          * with it */
    int32_t ncells;
    int32_t *first, *of; /* boundary i is the fraction first[i] / of[i] of the vector; ncells + 1 boundaries,
                          * ascending */
    int64_t units;       /* least common multiple of the rows' `of` */
} tutti_grid;
tutti_status tutti_grid_mark(tutti_grid *g, const tutti_slice *s, tutti_failure *err);
tutti_status tutti_grid_close(tutti_grid *g, tutti_failure *err);
void tutti_grid_find(tutti_grid *g, const tutti_slice *s, int32_t *lo, int32_t *hi);
void tutti_grid_release(tutti_grid *g);

/* ---- expressions (check_value.c); 0 = undefined ---- */
typedef struct {
    uint32_t left, right;
} tutti_sum;
typedef struct {
    tutti_sum *nodes; /* array of sums, two operands each; a leaf is stored as {0, 0} */
    uint32_t n, capacity, nleaves;
    uint32_t *table, mask;
    uint8_t *proved; /* for each node: true once every leaf is known to be in its tree exactly once */
    uint32_t *stamp; /* for each leaf: number of the last root in whose tree the walk met it */
    uint32_t nroots;
    bool full; /* true if there are more sums than indices to name them: then the check ends with a failure */
} tutti_values;
void tutti_values_init(tutti_values *v, uint32_t nleaves);
void tutti_values_release(tutti_values *v);
uint32_t tutti_values_add(tutti_values *v, uint32_t a, uint32_t b);
/* Returns the sum after a rounding, which is another expression. A leaf, or a value that was just rounded, stays the
 * same. */
uint32_t tutti_values_round(tutti_values *v, uint32_t a);
/* Returns true if each of leaves [first, first + count) is in the tree exactly once, and nothing else is. Otherwise
 * *culprit is the leaf and *times is 0 (missing), 2 (double) or 1 (foreign). A root costs O(count) the first time, then
 * nothing. */
bool tutti_values_prove(tutti_values *v, uint32_t root, uint32_t first, uint32_t count, uint32_t *culprit, int *times);

/* ---- clocks (check_clock.c, check_layout.c) ---- */
/* The layout of a rank's clocks: which threads' counts and which callers' marks it has. near = NULL: those of all
 * ranks, in order. */
typedef struct {
    int32_t *near, nnear; /* numbers of the nnear neighbouring ranks, ascending */
    int32_t *start;       /* counts of the threads of rank near[i] begin at index start[i], marks of that rank at 2 * i;
                           * nnear + 1 entries */
    const int32_t *first_thread, *rank_of;
    int32_t ncounts, nmarks;
} tutti_clock_layout;
typedef struct tutti_base {
    int32_t refs;
    struct tutti_base *next; /* next base of the free list */
    const tutti_clock_layout *layout;
    /* wide: the clock's count of each thread (stale for the holder itself) in 32 bits; if NULL, in 16 bits */
    int32_t *wide;
    int16_t *narrow;
    int32_t maker, age; /* maker: the thread that made the base; age: an older base of the same thread knows nothing
                         * that a younger one does not */
    uint8_t *marks;     /* for each rank: the number of invocations of which its READY is known, then that of which
                         * its FREE is known */
} tutti_base;
static inline int32_t tutti_base_count(const tutti_base *b, int32_t at)
{
    return b->wide ? b->wide[at] : b->narrow[at];
}
typedef struct {
    tutti_arena arena;
    tutti_base *spare;
    size_t begin, count_bytes, mark_bytes; /* bytes of a base: counts begin at offset `begin` and take count_bytes;
                                            * marks follow and take mark_bytes */
    bool wide;                             /* counts may pass 2^15, so they need 32 bits */
} tutti_clocks;
static inline int32_t tutti_layout_rank(const tutti_clock_layout *l, int32_t rank)
{
    int32_t lo = 0, hi = l->nnear;
    while (lo < hi) {
        int32_t mid = (lo + hi) / 2;
        if (l->near[mid] < rank)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < l->nnear && l->near[lo] == rank ? lo : -1;
}
/* Return the index of a clock's entry for a thread, or for a mark (a caller's READY or FREE); -1 if the layout has
 * none. */
static inline int32_t tutti_layout_thread(const tutti_clock_layout *l, int32_t thread)
{
    if (!l->near) return thread;
    int32_t rank = l->rank_of[thread], at = tutti_layout_rank(l, rank);
    return at < 0 ? -1 : l->start[at] + thread - l->first_thread[rank];
}
static inline int32_t tutti_layout_mark(const tutti_clock_layout *l, int32_t mark)
{
    if (!l->near) return mark;
    int32_t at = tutti_layout_rank(l, mark / 2);
    return at < 0 ? -1 : 2 * at + mark % 2;
}
/* The knowledge that a signal, a message or a completed step carries. */
typedef struct {
    tutti_base *base;
    int32_t thread, own, depth;
    int32_t via, via_own; /* knowledge that is not in the base: the thread `via` up to its clock via_own; via -1 =
                           * none */
} tutti_news;
typedef struct {
    tutti_base *base;
    int32_t thread, own, depth;
    int32_t via, via_own, age;
    bool released; /* true if other threads may know of this epoch already, so the next event needs a new epoch */
} tutti_clock;
void tutti_clocks_init(tutti_clocks *c, const tutti_clock_layout *layouts, int32_t nranks, int64_t max_events);
void tutti_clocks_release(tutti_clocks *c);
void tutti_clock_init(tutti_clocks *c, tutti_clock *t, int32_t thread, const tutti_clock_layout *layout);
tutti_news tutti_clock_tell(tutti_clock *t); /* returns the thread's knowledge for a message and takes a reference;
                                              * tutti_clock_drop releases it */
void tutti_clock_drop(tutti_clocks *c, tutti_news *news);
void tutti_clock_hear(tutti_clocks *c, tutti_clock *t, const tutti_news *news);
void tutti_clock_mark(tutti_clocks *c, tutti_clock *t, int32_t mark, int32_t count);
static inline int32_t tutti_clock_of(const tutti_clock *t, int32_t thread)
{
    if (thread == t->thread) return t->own;
    if (thread == t->via) return t->via_own;
    int32_t at = tutti_layout_thread(t->base->layout, thread);
    return at < 0 ? 0 : tutti_base_count(t->base, at);
}
static inline int32_t tutti_clock_marked(const tutti_clock *t, int32_t mark)
{
    int32_t at = tutti_layout_mark(t->base->layout, mark);
    return at < 0 ? 0 : t->base->marks[at];
}
/* Begins an event of the thread and returns its epoch. */
static inline int32_t tutti_clock_event(tutti_clock *t)
{
    if (t->released) {
        t->own++;
        t->released = false;
    }
    return t->own;
}

/* ---- the program: all parts, compiled for the replay (check_load.c) ---- */
typedef struct {
    uint8_t kind, when;
    uint16_t hint;
    int32_t index;   /* number of the step in its part */
    int32_t channel; /* index into channels, or -1 */
    int32_t lo, hi;  /* the slice of the operand covers cells lo .. hi - 1 */
    int32_t node;    /* index into the rank's nodes if other steps depend on this step, else -1 */
    int32_t args;    /* index into the rank's args, where the step has ndeps, nins, nouts, nodes..., storages in...,
                      * storages out..., folds... */
} tutti_check_step;

typedef struct {
    int32_t rank, buffer;
    int32_t lo, hi, banks;
    int64_t base;   /* first cell of the storage */
    int32_t within; /* the storage whose cells this storage shares; -1 = this storage has cells of its own */
    int32_t at;     /* `within` >= 0: offset of this storage in the storage `within` */
} tutti_storage;

typedef struct {
    int32_t step;   /* number of the step in its part, for texts */
    int32_t waiter; /* first of the list of threads that wait for the step, -1 = none */
    int32_t ndependents, nleft;
    bool done;
    tutti_news news;
} tutti_step_node;

typedef struct {
    tutti_buffer *buffers;
    int32_t nbuffers;
    int32_t *storage_of;
    int32_t *outs, nouts; /* for each ordinal: the storage of the rank's output with this ordinal (in place: of the
                           * input) */
    int32_t first_thread, nthreads;
    tutti_check_step *steps; /* steps, grouped by sequence */
    int32_t nsteps;
    int32_t *args;
    tutti_step_node *nodes;
    int32_t nnodes;
    int32_t first_leaf; /* `in` of ordinal o holds leaf first_leaf + o */
    int32_t nleaves;
    int32_t invocation, nrunning;
} tutti_check_rank;

typedef struct {
    uint32_t value;
    int32_t ncells;
} tutti_value_piece;

typedef struct tutti_signal_note {
    tutti_news news;
    const tutti_check_step *send; /* a message that was sent and not yet received (check_buffered.c): its send, and the
                                   * values that it carries */
    tutti_value_piece *pieces;
    int32_t npieces;
    struct tutti_signal_note *next;
} tutti_signal_note;

typedef struct {
    int32_t src, dst, number;
    int32_t giver, taker;             /* threads that are blocked at the sending and the receiving end, -1 = none */
    int32_t gave_thread, gave_clock;  /* thread and clock of the last send or signal */
    int32_t took_thread, took_clock;  /* thread and clock of the last recv or wait */
    int32_t ngiven, ntaken;           /* number of operations at the sending and at the receiving end so far, over all
                                       * invocations */
    tutti_signal_note *oldest, *last; /* list of signals that no wait has taken yet: its first and its last entry */
    int32_t *seen;                    /* one-sided: (thread, clock) of each wait that completed; NULL = the schedule has
                                       * no puts */
    int32_t seen_capacity;
} tutti_channel;

typedef struct {
    uint32_t value;
    int32_t writer,
        wclock; /* writer: a thread; or nthreads + a mark; or, for a put, nthreads + nmarks + a channel. wclock: the
                 * writer's clock; for a put the ordinal of its signal */
    int32_t reader, rclock; /* last read of the cell. reader: its thread, -1 for none, or -2 - i for a list of reads
                             * that begins at i; rclock: the thread's clock */
    int32_t storage;        /* the storage through which the cell was written */
} tutti_cell;
typedef struct {
    int32_t thread, clock, next;
} tutti_read;

typedef struct {
    tutti_clock clock;
    int32_t rank, sequence;
    int32_t first, nsteps, at; /* first, nsteps: the thread's steps in the rank's array; at: its next step */
    int32_t ndeps_met;         /* dependencies of the step at `at` that are complete */
    int32_t next_waiter;
    bool queued;
} tutti_thread;

/* An access that the second run of a failed check notes, so that the failure can name it. */
typedef struct {
    int32_t writer, clock; /* thread that accessed the cell, and its clock then: as in tutti_cell */
    int32_t rank, step, invocation;
    bool write;
} tutti_witness;

typedef struct {
    const tutti_part_source *source;
    const tutti_schedule_header *head;
    tutti_check_report report;
    tutti_failure *err;
    tutti_arena arena; /* memory of everything that lives as long as the check */
    tutti_grid grid;
    tutti_values values;
    tutti_clocks clocks;
    bool full;         /* true if clocks have an entry for every thread; else a race is only a suspicion */
    bool reuses;       /* true if some sequence of a rank overwrites memory that another of the rank's sequences has
                        * read */
    uint64_t *touched; /* rank x rank bits, used while loading: which rank touches whose memory */
    tutti_clock_layout *layouts;
    int32_t *first_thread, *rank_of; /* first_thread: for each rank its first thread; rank_of: for each thread its
                                      * rank */
    tutti_check_rank *ranks;
    tutti_storage *storages;
    int32_t nstorages;
    tutti_cell *cells;
    int64_t ncells;
    uint64_t *heads;           /* one bit for each cell: 1 if a run of cells begins there */
    tutti_value_piece *pieces; /* values that the next write stores, from left to right */
    int32_t npieces, pieces_capacity;
    tutti_read *reads;
    int32_t nreads, reads_capacity, spare_read;
    tutti_channel *channels;
    int32_t nchannels, channels_capacity;
    int32_t *channel_table;
    uint32_t channel_mask;
    tutti_thread *threads;
    int32_t nthreads;
    int32_t *queue, queue_head, queue_count; /* ring buffer of threads that may run: first entry and number of
                                              * entries */
    tutti_signal_note *spare_note;
    int32_t ninvocations, nleaves;
    int32_t *leaf_rank, *leaf_ordinal, *leaf_first, *leaf_count;
    uint32_t *stack; /* stack on which the sum expression of a reduce step is evaluated */
    int32_t stack_capacity;
    uint32_t *first_root;    /* for each invocation: the expression of the first output cell that was judged; 0 = none
                              * yet */
    uint32_t canonical_root; /* canonical sums: the expression that every result must have in invocation 0; 0 = none */
    uint32_t
        *held; /* allreduce: for each invocation and interval of the grid, the value of the first rank that was checked;
                * 0 = none yet */
    bool fixed, canonical, agree;
    bool finished;  /* true once an access has failed; then the failure's text is set */
    bool suspicion; /* true if the access failed because a clock has no entry for a thread, so that the race is only
                     * suspected */
    bool misreads;  /* true if a read found nothing that was written for it */
    int64_t watch;  /* cell that the second run watches, -1 = none */
    int64_t race;   /* cell of the race that was found, -1 = none */
    tutti_witness *witnesses;
    int32_t nwitnesses, witnesses_capacity;
} tutti_checker;

void tutti_layout_begin(tutti_checker *c);
void tutti_layout_touch(tutti_checker *c, int32_t who, int32_t whose);
void tutti_layout_end(tutti_checker *c);
tutti_status tutti_check_load(tutti_checker *c);
/* check_shape.c: checks one part alone */
tutti_status tutti_check_part_shape(tutti_checker *c, const tutti_part *part);
/* checks that the inputs tile the leaves */
tutti_status tutti_check_leaves(tutti_checker *c);
/* Returns true if this rank must hold a result at the end. */
static inline bool tutti_check_owes(const tutti_schedule_header *h, int32_t rank)
{
    bool to_root = h->collective == TUTTI_GATHER || h->collective == TUTTI_REDUCE;
    return h->collective != TUTTI_BARRIER && (!to_root || rank == h->root);
}
/* Returns true if the caller fills the rank's slice (rank, 1, ranks) of the vector; false if it fills all that the
 * inputs store. */
static inline bool tutti_check_fills_slice(const tutti_schedule_header *h)
{
    return h->collective == TUTTI_ALL_GATHER || h->collective == TUTTI_GATHER || h->collective == TUTTI_ALL_TO_ALL;
}
/* Returns true if loads and stores of rank a may touch memory of rank b. */
static inline bool tutti_check_is_mapped(const tutti_schedule_header *h, int32_t a, int32_t b)
{
    return h->wire == TUTTI_WIRE_MAPPED || (h->wire == TUTTI_WIRE_MIXED && h->host_of[a] == h->host_of[b]);
}
int32_t tutti_check_channel(tutti_checker *c, int32_t src, int32_t dst, int32_t number);

/* ---- replay (check_replay.c) and accesses (check_access.c) ---- */
tutti_status tutti_check_replay(tutti_checker *c);
/* Replays with channels that buffer messages (check_buffered.c). */
bool tutti_check_play_buffered(tutti_checker *c, tutti_thread *t, const tutti_check_step *s);
bool tutti_check_give_up(tutti_checker *c, const tutti_channel *ch, const char *what);
bool tutti_check_in_order(tutti_checker *c, const tutti_channel *ch, const tutti_clock *t, int32_t *last,
                          int32_t *clock, const char *what);
/* Signals and messages that were sent but not received. give appends t's knowledge to the channel. take joins the
 * oldest entry into t's knowledge and returns it, valid until the next give; NULL: t waits, or the check has failed
 * with the given words. */
tutti_signal_note *tutti_check_give(tutti_checker *c, tutti_channel *ch, tutti_clock *t);
tutti_signal_note *tutti_check_take(tutti_checker *c, tutti_channel *ch, tutti_clock *t, const char *at_a_time,
                                    const char *not_ordered);
/* Returns true if both ends of a message describe it alike. */
bool tutti_check_same_message(tutti_checker *c, const tutti_channel *ch, const tutti_check_step *send,
                              const tutti_check_step *recv);
/* Return the place of a step's inputs (of outputs, of folds) in its args. */
static inline const int32_t *tutti_check_inputs(const int32_t *args)
{
    return args + 3 + args[0];
}
static inline const int32_t *tutti_check_outputs(const int32_t *args)
{
    return tutti_check_inputs(args) + args[1];
}
/* runs one step; false: it is blocked or has failed */
bool tutti_check_play(tutti_checker *c, int32_t thread, const tutti_check_step *step);
void tutti_check_wake(tutti_checker *c, int32_t thread);
void tutti_check_complete(tutti_checker *c, int32_t thread); /* completes the thread's current step, `at` */

/* Read or write cells [lo, hi) of the step in a storage. Both return false after setting the failure. A write stores
 * c->pieces. */
bool tutti_access_read(tutti_checker *c, tutti_thread *t, const tutti_check_step *s, int32_t storage);
bool tutti_access_write(tutti_checker *c, tutti_thread *t, const tutti_check_step *s, int32_t storage);
/* Returns true if the cell was last written through a storage that places other elements there, so that it does not
 * hold this storage's elements. */
bool tutti_access_displaced(const tutti_checker *c, const tutti_cell *cell, int32_t storage);
/* Returns true if the last write to the cell happened before t's present. */
bool tutti_access_known(const tutti_checker *c, const tutti_clock *t, const tutti_cell *cell);
/* Plays the caller's accesses before invocation e of rank r: it overwrites inputs (READY) and uses outputs (FREE). */
bool tutti_access_owner(tutti_checker *c, int32_t r, int32_t e);
static inline int64_t tutti_cell_at(const tutti_checker *c, int32_t storage, int32_t invocation, int32_t at)
{
    const tutti_storage *s = &c->storages[storage];
    return s->base + (int64_t)(invocation % s->banks) * (s->hi - s->lo) + (at - s->lo);
}

/* ---- runs of cells with one history (check_runs.c) ---- */
static inline int64_t tutti_run_of(const tutti_checker *c, int64_t at) /* returns the first cell of the run */
{
    int64_t word = at / 64;
    uint64_t bits = c->heads[word] & ~(uint64_t)0 >> (63 - at % 64);
    while (!bits) bits = c->heads[--word];
    return word * 64 + 63 - __builtin_clzll(bits);
}
static inline int64_t tutti_run_after(const tutti_checker *c, int64_t at) /* returns the first cell of the next run */
{
    int64_t word = ++at / 64;
    uint64_t bits = c->heads[word] & ~(uint64_t)0 << at % 64;
    while (!bits) bits = c->heads[++word];
    return word * 64 + __builtin_ctzll(bits);
}
void tutti_runs_init(tutti_checker *c); /* cuts the storages into runs; call it once the storages have their cells */
void tutti_runs_cut(tutti_checker *c, int64_t lo, int64_t hi);
/* joins neighbouring runs that are alike */
void tutti_runs_join(tutti_checker *c, int64_t lo, int64_t hi);
/* stores the pieces in the cells, with the history of `like` */
void tutti_runs_write(tutti_checker *c, int64_t lo, int64_t hi, const tutti_cell *like);
/* Returns the value of cell `at`; *ncells becomes at most the number of cells from there that have the same value. */
uint32_t tutti_runs_value(const tutti_checker *c, int64_t at, int32_t *ncells);
void tutti_pieces_add(tutti_checker *c, uint32_t value, int32_t ncells);
void tutti_reads_add(tutti_checker *c, tutti_cell *cell, int32_t thread, int32_t clock);

/* ---- required results (check_result.c) ---- */
bool tutti_result_rank(tutti_checker *c, int32_t r, int32_t invocation); /* checks the postcondition of one rank */
tutti_status tutti_result_end(tutti_checker *c);

/* ---- counter-examples in words (check_explain.c) ---- */
void tutti_explain_step(tutti_checker *c, int32_t rank, int32_t step, char *out, size_t size);
void tutti_explain_cell(tutti_checker *c, const tutti_cell *cell, char *out, size_t size);
void tutti_explain_leaf(const tutti_checker *c, uint32_t leaf, int32_t invocation, char *out, size_t size);
tutti_status tutti_explain_deadlock(tutti_checker *c);
tutti_status tutti_explain_race(tutti_checker *c, tutti_cell *cell, int32_t other, int32_t clock, const char *now);

#endif
