/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h: what carries bytes between hosts: the functions of a wire, one row each.
 *
 *   shm   maps memory: loads and stores are the transport, so it has no functions; the group passes the descriptors.
 *   tcp   moves bytes by itself (put, read), between hosts or on one, over sockets.
 *   ucx   the same over whatever the library UCX finds.
 *
 * A wire that moves bytes is opened once a group, connected to every peer that maps no memory of ours, and told the
 * memory that may be put into; from then on every put goes where it belongs without a word before it. Order: a word is
 * not seen before all that was put to that peer before it, and words only grow. Bytes arrive, and are read, while the
 * peer calls progress.
 *
 * Threads: one at a time (a group's lock sees to it). Errors that come later break the connection to one peer
 * (tutti_wire.broken); other peers are not touched. */
#ifndef TUTTI_WIRE_H
#define TUTTI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"

enum {
    TUTTI_WIRE_MAPS_MEMORY = 1, /* peers load and store; such a wire stays on one host */
    TUTTI_WIRE_CROSSES_HOSTS = 2,
    TUTTI_WIRE_TELLS_ALL = 4, /* its descriptor tells of what was put since it was armed, too */
};

typedef struct tutti_wire tutti_wire;
typedef struct tutti_wire_memory tutti_wire_memory;

/* A put or a read under way; give it back with tutti_put_release. A wire's own flights begin with it. */
typedef struct {
    bool over;      /* put: the source may be reused; read: the bytes are here. Stays false if the peer broke */
    bool flying;    /* the wire still holds it; a read that neither flies nor is over was refused: there is no such
                 * memory */
    bool abandoned; /* released while flying: the wire frees it */
} tutti_put;

typedef struct {
    const char *name, *help;
    unsigned can;
    /* NULL: nothing to open (shm), or not in this build (then `absent` says what to do). */
    tutti_status (*open)(int rank, int nranks, tutti_wire **out, tutti_failure *err);
    const char *absent;
    /* Waits up to flush_s until what was put has arrived; 0 = gives everything up. */
    void (*close)(tutti_wire *w, double flush_s);
    /* What peers need to connect; the wire's. */
    const void *(*address)(tutti_wire *w, size_t *nbytes);
    tutti_status (*connect)(tutti_wire *w, int rank, const void *address, tutti_failure *err);
    /* After all connects, between calls of progress: a peer that is not reached yet and why (the wire's words), -1: all
     * are. NULL: nothing is waited for. */
    int (*awaited)(tutti_wire *w, const char **why);
    /* What the bytes go over, for people: "eth0 10.77.0.1, 10 Gbit/s"; the wire's. NULL: nothing to say. */
    const char *(*describe)(tutti_wire *w);
    /* Memory that peers may put into and read, until it is forgotten. */
    tutti_status (*enrol)(tutti_wire *w, void *base, size_t nbytes, tutti_wire_memory **out, tutti_failure *err);
    void (*forget)(tutti_wire_memory *m);
    /* Into enrolled memory of `rank` at `address` (as it sees it itself); NULL = over already. direct: the bytes must
     * be received in place, even if that takes a round trip before they go; else they go at once, and the target may
     * copy them there. */
    tutti_put *(*put)(tutti_wire *w, int rank, uint64_t address, const void *from, size_t nbytes, bool direct);
    /* Whether a put to `rank` would be on its way at once, instead of behind others that still wait here; true where a
     * put would not wait for room either (the peer broke or left). progress returns true when it has become so. Who
     * asks wants to choose late what goes next, so from then on little waits below the wire either. NULL: the wire does
     * not know. */
    bool (*has_room)(tutti_wire *w, int rank);
    /* Bytes of such a put, if it is not direct, that the target copies to their place. NULL: none, ever. */
    size_t (*copied)(const tutti_wire *w, int rank, size_t nbytes);
    tutti_put *(*put_word)(tutti_wire *w, int rank, uint64_t address, uint64_t word);
    /* From enrolled memory of `rank` at `address` to any memory of ours, after all that was put there before. The
     * owner's bytes must stay until the read is over. Who gives one up that flies halts the wire first: its bytes may
     * be on their way. */
    tutti_put *(*read)(tutti_wire *w, int rank, uint64_t address, void *to, size_t nbytes);
    /* The peer is gone for good, if it has not broken by itself: nothing more is read from it or sent to it, what was
     * on its way to it is given up. Other peers are not touched. */
    void (*drop)(tutti_wire *w, int rank);
    bool (*progress)(tutti_wire *w); /* true if anything moved */
    /* The descriptor becomes readable when progress has something to do; arm: false = it has already. */
    int (*descriptor)(tutti_wire *w);
    bool (*arm)(tutti_wire *w);
} tutti_wire_row;

/* What every open wire begins with. */
struct tutti_wire {
    const tutti_wire_row *row;
    int rank, nranks;
    bool halted;         /* progress does nothing any more: memory that peers may put into goes */
    int64_t copied;      /* bytes that have arrived and were copied to their place */
    char (*broken)[160]; /* nranks: why the connection to a peer is over; "" = it is not */
};

int tutti_wire_count(void);
const tutti_wire_row *tutti_wire_at(int i);
/* NULL and words with the nearest name if there is none. */
const tutti_wire_row *tutti_wire_find(const char *name, tutti_failure *err);

/* TUTTI_NET_IF names interfaces that are up here: TUTTI_OK, or TUTTI_ERR_USAGE with those that there are. Whatever wire
 * is taken in the end, a wrong name is a mistake. */
tutti_status tutti_wire_check_interfaces(tutti_failure *err);

/* Gives a flight back; one that is not over yet goes when it is. NULL is accepted. */
void tutti_put_release(tutti_put *f);

#endif
