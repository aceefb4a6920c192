/* SPDX-License-Identifier: Apache-2.0 */
/* interpret_impl.h: declarations that the files of the interpreter share.
 *
 *   world   everything that never changes: parts of all ranks, the places of their memory, shared words.
 *   state   everything that changes, in one block of memory, so that a search can copy, hash and restore it.
 *   actor   a sequence of a rank, or one of the two hands of its caller: `scribbler` (judges the outputs of the
 *           invocation that is complete, spoils them, says FREE) and `feeder` (overwrites the inputs, says READY).
 *   word    a number (sum modulo 2^64, exact in any order) and a print of how it was summed (equal up to commutation).
 *
 * Threads: one at a time. */
#ifndef TUTTI_INTERPRET_IMPL_H
#define TUTTI_INTERPRET_IMPL_H

#include "interpret.h"

enum { TUTTI_VERDICT_TEXT = 300, TUTTI_SCRIBBLER = -1, TUTTI_FEEDER = -2 };

typedef struct {
    uint64_t sum, tree;
} tutti_word;

typedef struct {
    int32_t actor_rank;
    int32_t sequence; /* sequence of the rank; -1: scribbler, -2: feeder */
    int32_t *steps, nsteps;
} tutti_actor;

typedef struct {
    int32_t src, dst, number;
} tutti_message_line; /* a channel of the schedule */

typedef struct {
    const tutti_part_source *source;
    const tutti_schedule_header *head;
    tutti_part *parts; /* parts are kept until the end, so no deep copy is needed */
    int32_t nranks, nactors, nlines, ninvocations;
    tutti_actor *actors;
    int32_t *first_actor; /* for each rank: index of its first actor; its sequences come first, then scribbler, then
                           * feeder */
    int32_t **line_of;    /* for each rank and step: index of the channel that the step uses, or -1 */
    tutti_message_line *lines;
    int64_t **place; /* for each rank and buffer: first word in memory; bank b starts b * n later */
    int64_t nwords;
    uint8_t *shared;  /* for each word of bank 0: 1 if more than one actor uses it, and one of them writes */
    int64_t n, chunk; /* n: elements of the vector; chunk: elements that one action reads or writes (1, or n = whole
                       * slices) */
    int32_t max_inputs;
    int32_t *first_done; /* for each rank: where its steps' flags begin in state.done */
    int32_t ndone;
    int32_t capacity;     /* messages that a channel buffers; 0 = rendezvous */
    uint64_t salt;        /* number that changes the values of all inputs from run to run */
    tutti_word *expected; /* for each invocation and element: the sum that is right */
    tutti_word *fixed;    /* for each invocation: print of the first element that was judged; its `sum` is 1 once a
                           * print is stored */
    char *text;           /* text of the verdict, TUTTI_VERDICT_TEXT bytes */
} tutti_world;

typedef struct {
    int32_t at, micro; /* at: the actor's next step in its list of steps; micro: next action within that step */
} tutti_actor_state;

typedef struct {
    int32_t given, taken; /* numbers of signals and waits on the channel so far; if it carries messages, of messages
                           * sent and received */
    int32_t sender;       /* rendezvous: 1 + the actor that offers a message */
    int32_t queued;       /* number of buffered messages */
} tutti_line_state;

typedef struct {
    int32_t completed;              /* number of complete invocations, which is the index of the running one */
    int32_t running;                /* number of the rank's sequences that are not yet complete */
    int32_t judged, ready, is_free; /* numbers of invocations of this rank whose outputs were judged, and for which its
                                     * caller has reported READY, and FREE */
} tutti_rank_state;

typedef struct {
    tutti_word *words;
    tutti_word *registers; /* for each actor: room for max_inputs + 1 chunks that its current step has read */
    tutti_actor_state *actors;
    tutti_line_state *lines;
    tutti_rank_state *ranks;
    uint8_t *done; /* for each step: true if it is done in the running invocation */
    void *block;
    size_t nbytes;
} tutti_state;

/* Elements that were put but are not yet visible, and buffered messages (random mode only). */
typedef struct {
    int64_t to;
    tutti_word value;
    int32_t line, ordinal; /* the elements become visible at the latest when the signal number `ordinal` of the line
                            * (channel) is seen */
} tutti_word_flight;
typedef struct tutti_parcel {
    struct tutti_parcel *next;
    int64_t nwords;
    tutti_word words[];
} tutti_parcel;

typedef struct {
    tutti_world *world;
    tutti_state state;
    tutti_word_flight *flights;
    int32_t nflights, flights_capacity;
    tutti_parcel **parcels; /* for each channel: the oldest message that was not received */
    tutti_parcel **partial; /* for each actor: the message that it is about to send */
    uint64_t random;
    bool wrong;
} tutti_run;

/* Creates the world (interpret_load.c). If the parts make no sense, it writes why into text and returns false. */
bool tutti_world_create(tutti_world *w, const tutti_part_source *source, int64_t n, bool whole_slices, char *text);
void tutti_world_release(tutti_world *w);
void tutti_state_create(tutti_state *s, const tutti_world *w);
/* Returns the number of sequences of rank r that have to complete. */
int32_t tutti_world_nrunning(const tutti_world *w, int32_t r);
void tutti_run_reset(tutti_run *run); /* resets the run to the beginning and frees the messages that are under way */

/* ---- actions (interpret_act.c) ---- */
/* OVER: the actor has nothing left to do */
typedef enum { TUTTI_ACT_BLOCKED, TUTTI_ACT_DONE, TUTTI_ACT_OVER } tutti_act;
tutti_act tutti_run_act(tutti_run *run, int32_t actor);  /* plays the actor's next action; sets run->wrong if it is
                                                          * wrong */
bool tutti_run_is_shared(tutti_run *run, int32_t actor); /* true if the order of the next action may matter */
/* ---- callers of ranks (interpret_caller.c) ---- */
bool tutti_run_may_end(tutti_run *run, int32_t r); /* false: a barrier lets rank r end too early; the reason is in
                                                    * run->text */
tutti_act tutti_run_scribble(tutti_run *run, int32_t actor);
tutti_act tutti_run_feed(tutti_run *run, int32_t actor);
bool tutti_run_is_over(const tutti_run *run);
void tutti_run_say_hang(tutti_run *run);

/* Sets [*lo, *hi) to the elements of a slice for n elements. */
static inline void tutti_world_range(const tutti_slice *s, int64_t n, int64_t *lo, int64_t *hi)
{
    *lo = (int64_t)s->first * n / s->of;
    *hi = ((int64_t)s->first + s->count) * n / s->of;
}
static inline uint64_t tutti_world_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
static inline bool tutti_world_reduces(const tutti_world *w)
{
    tutti_collective c = w->head->collective;
    return c == TUTTI_ALLREDUCE || c == TUTTI_REDUCE_SCATTER || c == TUTTI_REDUCE;
}
/* Returns the value of element i of input `ordinal` of rank r in invocation e. */
static inline tutti_word tutti_world_leaf(const tutti_world *w, int32_t r, int32_t ordinal, int32_t e, int64_t i)
{
    uint64_t x =
        tutti_world_mix(w->salt + 0x9e3779b97f4a7c15u * (uint64_t)(r * 4096 + ordinal + 1)) + (uint64_t)e * 1000003u;
    /* the print of a leaf does not depend on the element, so that equal trees over different elements compare equal */
    return (tutti_word){tutti_world_mix(x * 31 + (uint64_t)i), tutti_world_mix(x)};
}
static inline tutti_word tutti_world_add(tutti_word a, tutti_word b)
{
    uint64_t lo = a.tree < b.tree ? a.tree : b.tree, hi = a.tree < b.tree ? b.tree : a.tree;
    return (tutti_word){a.sum + b.sum, tutti_world_mix(lo * 0x9e3779b97f4a7c15u + tutti_world_mix(hi + 77))};
}

#endif
