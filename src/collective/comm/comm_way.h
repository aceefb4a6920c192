/* SPDX-License-Identifier: Apache-2.0 */
/* comm_way.h: the ways that calls may go through memory, and how a class of calls chooses among them.
 *
 * All ways of an allreduce sum in one order (a balanced tree over the ranks), so the bits do not depend on the choice.
 * No model can tell which way is fastest: on the same virtual machine, reading what another core has just written takes
 * a fifth of the time of storing it past the caches, or five times as long, depending on where the host has put the two
 * cores. So the first calls of a class try its ways in turn, and later calls take the fastest. Now and then a call
 * tries another way again (never for more than about a hundredth of the time).
 *
 * Rank 0's times decide for all ranks. At the beginning of call k of the class, rank 0 writes into one of two words
 * which way call k + 1 goes. A rank that has completed call k knows that rank 0 has begun it, and reads the word before
 * it begins call k + 1, which rank 0 cannot complete before. So only blocking calls choose among ways, and only of a
 * collective that no rank completes before rank 0 has begun, and that rank 0 does not complete before all ranks have
 * begun. Requests agree on a way when they are prepared.
 *
 * Threads: one at a time. */
#ifndef TUTTI_COMM_WAY_H
#define TUTTI_COMM_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "tutti/types.h"

typedef enum {
    TUTTI_WAY_MAPPED,
    TUTTI_WAY_ONE_SHOT,
    TUTTI_WAY_ONE_SHOT_PAST,
    TUTTI_WAY_TWO_SHOT,
    TUTTI_WAY_TWO_SHOT_PAST,
    TUTTI_WAY_STAGED,
    TUTTI_WAY_STAGED_PAST,
    TUTTI_WAY_REACHED,
    TUTTI_NWAYS
} tutti_way;

typedef enum { TUTTI_PATH_MAPPED, TUTTI_PATH_SHOWN, TUTTI_PATH_STAGED, TUTTI_PATH_REACHED } tutti_path;

typedef struct {
    tutti_path path;
    const char *algorithm; /* algorithm of a call that leaves the choice to the library; NULL: the fastest by the
                            * figures of this host */
    bool past_caches;      /* true if a rank writes memory that peers read with stores that bypass the caches */
    int32_t piece;         /* bytes of all blocks together that one invocation moves */
    bool shared;           /* true if tutti_way_piece divides `piece` by the number of ranks, because each rank reads
                            * the pieces of all ranks */
    const char *words;
} tutti_way_row;
const tutti_way_row *tutti_way_at(tutti_way way);
/* Returns the bytes of a piece of a call between nranks ranks; 0: the call moves everything at once. */
int64_t tutti_way_piece(tutti_way way, int32_t nranks);

/* --- choosing (comm_choice.c) --- */

/* The key of a class: calls with an equal key try ways through memory together. */
typedef struct {
    int32_t collective, type, op, in_place;
    int32_t octave; /* bytes: 2^octave <= bytes < 2^(octave + 1) */
    uint32_t ways;  /* bit set of the ways that may be chosen */
} tutti_class_key;

/* A burst: consecutive calls that try one way through memory. */
typedef struct {
    int left, n; /* left: calls still to come in the burst; n: calls so far that count */
    bool begun;
    double sum, least, most; /* sum, least and largest time of the calls that count, in seconds for each byte */
} tutti_way_burst;

typedef struct {
    int64_t tries; /* number of calls that have gone this way through memory */
    int64_t last;  /* number of the last call that went this way */
    double cost;   /* seconds per byte that calls took this way; 0: unknown */
    tutti_way_burst burst;
} tutti_way_record;

enum { TUTTI_MOST_CLASSES = 64 };

typedef struct tutti_class tutti_class;
struct tutti_class {
    tutti_class *next;
    tutti_class_key key;
    bool takes_turns; /* true if ranks share cores and so take turns */
    int number;       /* the classes of a communicator are numbered in the order in which they are made, the same on all
                       * ranks */
    int64_t calls;    /* number of calls of the class that have begun */
    double credit;    /* seconds that may be spent on trying */
    tutti_way way;    /* the way through memory of the current calls */
    int left;         /* number of further calls that go this way before the next choice */
    tutti_way_record record[TUTTI_NWAYS];
};

/* Makes the next calls of the class try this way through memory. Rank 0 calls it; the other ranks only when they make a
 * class. */
void tutti_class_begin_burst(tutti_class *c, tutti_way way);
/* Rank 0: returns the way through memory of the call after the one that begins now. */
tutti_way tutti_class_next(tutti_class *c);
/* Rank 0: notes that a call of `bytes` bytes went this way and took `seconds`. */
void tutti_class_record(tutti_class *c, tutti_way way, int64_t bytes, double seconds);
/* Rank 0: returns the fastest known way, or `otherwise` if no time is known. */
tutti_way tutti_class_best(const tutti_class *c, tutti_way otherwise);
int32_t tutti_octave_of(int64_t bytes);

#endif
