/* SPDX-License-Identifier: Apache-2.0 */
/* wire_order.h: shared by wires whose transports keep no order, or none over several connections. It holds the enrolled
 * memory, the words that wait until the puts before them have landed, and the reads under way.
 *
 * Puts to a peer are numbered from 1. A word carries the number of the last put before it and is ripe once all puts up
 * to that one have landed. A read waits like a word, and is answered instead of written. Threads: as wire.h. */
#ifndef TUTTI_WIRE_ORDER_H
#define TUTTI_WIRE_ORDER_H

#include "wire.h"

/* --- enrolled memory --- */

struct tutti_wire_memory {
    tutti_wire_memory **list, *next;
    uint64_t base;
    size_t nbytes;
    void *own; /* the wire's own data for this memory */
};

tutti_wire_memory *tutti_wire_memory_add(tutti_wire_memory **list, void *base, size_t nbytes);
void tutti_wire_memory_remove(tutti_wire_memory *m);
/* Returns the memory; NULL: not all of it is enrolled, or not any more. */
void *tutti_wire_memory_find(const tutti_wire_memory *list, uint64_t address, size_t nbytes);

/* --- order; one for each peer, zero-initialise --- */

typedef struct {
    uint64_t address, number;
    uint64_t word;   /* of a word: its value; of a read: its number */
    uint64_t nbytes; /* of a read: bytes wanted */
    bool reads;
} tutti_wire_word;

typedef struct {
    uint64_t sent;   /* number of puts sent to the peer */
    uint64_t landed; /* the puts from the peer up to this number have all landed */
    uint64_t *early; /* numbers of later puts that have landed already */
    tutti_wire_word *words;
    int nearly, early_room, nwords, words_room;
} tutti_wire_order;

void tutti_wire_order_land(tutti_wire_order *o, uint64_t number);
void tutti_wire_order_add(tutti_wire_order *o, const tutti_wire_word *word);
/* Removes the first word whose earlier puts have all landed; false: there is none. */
bool tutti_wire_order_take(tutti_wire_order *o, tutti_wire_word *out);
void tutti_wire_order_release(tutti_wire_order *o);

/* Stores a word in enrolled memory unless the value there is larger: counters only grow, in whatever order words
 * arrive. Stores nothing if the memory is not enrolled. */
void tutti_wire_store_word(const tutti_wire_memory *list, uint64_t address, uint64_t word);

/* --- reads; zero-initialise --- */

typedef struct tutti_wire_read {
    tutti_put base; /* must stay the first member, because pointers to it are cast to pointers to the whole struct */
    struct tutti_wire_read *next;
    uint64_t number;
    char *to;
    size_t nbytes, left; /* nbytes: bytes of the read; left: bytes of it that have not arrived */
} tutti_wire_read;

typedef struct {
    tutti_wire_read *head;
    uint64_t last; /* number of the newest read */
} tutti_wire_reads;

tutti_wire_read *tutti_wire_reads_begin(tutti_wire_reads *reads, void *to, size_t nbytes);
/* Returns the place of n bytes of the answer at `offset`; NULL: there is no such read (any more), or it did not ask for
 * them. */
char *tutti_wire_reads_place(const tutti_wire_reads *reads, uint64_t number, uint64_t offset, size_t n);
/* Notes that n bytes of the read's answer have arrived; the last of them end the read. */
void tutti_wire_reads_arrive(tutti_wire_reads *reads, uint64_t number, size_t n);
/* Notes that the memory that the read asked for does not exist on the peer. */
void tutti_wire_reads_refuse(tutti_wire_reads *reads, uint64_t number);
void tutti_wire_reads_release(tutti_wire_reads *reads);

#endif
