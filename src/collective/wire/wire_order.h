/* SPDX-License-Identifier: Apache-2.0 */
/* wire_order.h: what wires share whose transports keep no order, or not over several connections: which memory is
 * enrolled, words that wait until the puts before them have landed, and reads under way.
 *
 * Puts to a peer are numbered from 1; a word carries the number of the last put before it and is ripe once all up to
 * that one have landed. A read is a word that is answered instead of written. Threads: as wire.h. */
#ifndef TUTTI_WIRE_ORDER_H
#define TUTTI_WIRE_ORDER_H

#include "wire.h"

/* --- memory --- */

struct tutti_wire_memory {
    tutti_wire_memory **list, *next;
    uint64_t base;
    size_t nbytes;
    void *own; /* what the wire keeps of it */
};

tutti_wire_memory *tutti_wire_memory_add(tutti_wire_memory **list, void *base, size_t nbytes);
void tutti_wire_memory_remove(tutti_wire_memory *m);
/* NULL: that is not all in memory that was enrolled, or not any more. */
void *tutti_wire_memory_find(const tutti_wire_memory *list, uint64_t address, size_t nbytes);

/* --- order; one a peer, zero-initialise --- */

typedef struct {
    uint64_t address, number;
    uint64_t word;   /* read: which one it is */
    uint64_t nbytes; /* read */
    bool reads;
} tutti_wire_word;

typedef struct {
    uint64_t sent;   /* puts to it */
    uint64_t landed; /* puts from it, without a gap */
    uint64_t *early; /* those beyond a gap */
    tutti_wire_word *words;
    int nearly, early_room, nwords, words_room;
} tutti_wire_order;

void tutti_wire_order_land(tutti_wire_order *o, uint64_t number);
void tutti_wire_order_add(tutti_wire_order *o, const tutti_wire_word *word);
/* Takes the first ripe one out; false: there is none. */
bool tutti_wire_order_take(tutti_wire_order *o, tutti_wire_word *out);
void tutti_wire_order_release(tutti_wire_order *o);

/* Stores a word in enrolled memory unless more is there already: counters only grow, whatever came first. Elsewhere:
 * not at all. */
void tutti_wire_store_word(const tutti_wire_memory *list, uint64_t address, uint64_t word);

/* --- reads; zero-initialise --- */

typedef struct tutti_wire_read {
    tutti_put base; /* first */
    struct tutti_wire_read *next;
    uint64_t number;
    char *to;
    size_t nbytes, left; /* left: not here yet */
} tutti_wire_read;

typedef struct {
    tutti_wire_read *head;
    uint64_t last; /* number */
} tutti_wire_reads;

tutti_wire_read *tutti_wire_reads_begin(tutti_wire_reads *reads, void *to, size_t nbytes);
/* Where n bytes of the answer at `offset` belong; NULL: there is no such read (any more), or it did not ask for
 * them. */
char *tutti_wire_reads_place(const tutti_wire_reads *reads, uint64_t number, uint64_t offset, size_t n);
/* So many bytes of its answer are here; the last of them end it. */
void tutti_wire_reads_arrive(tutti_wire_reads *reads, uint64_t number, size_t n);
/* Its owner has no such memory. */
void tutti_wire_reads_refuse(tutti_wire_reads *reads, uint64_t number);
void tutti_wire_reads_release(tutti_wire_reads *reads);

#endif
