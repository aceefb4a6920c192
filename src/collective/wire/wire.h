/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h: the wire, which carries bytes between hosts: a table of functions, with a row for each of shm, tcp and ucx.
 *
 *   shm   maps memory: loads and stores are the transport, so it has no functions; the group passes the descriptors.
 *   tcp   moves bytes by itself (put, read), between hosts or on one, over sockets.
 *   ucx   does the same over the transports that the library UCX finds.
 *
 * A wire that moves bytes is opened once for each group, connected to every peer that maps no memory of this rank, and
 * told which memory peers may put into. From then on every put goes to its place without a message before it. Order: a
 * word becomes visible only after all bytes that were put to that peer before it, and words only grow. Bytes arrive,
 * and are read, while the peer calls progress.
 *
 * Threads: one at a time (a group's lock ensures it). Later errors break the connection to one peer
 * (tutti_wire.broken); other peers are not touched. */
#ifndef TUTTI_WIRE_H
#define TUTTI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti/failure.h"

enum {
    TUTTI_WIRE_MAPS_MEMORY = 1, /* peers load and store directly; such a wire stays on one host */
    TUTTI_WIRE_CROSSES_HOSTS = 2,
    TUTTI_WIRE_TELLS_ALL = 4, /* the wire's descriptor becomes readable also for puts that were begun since it was
                               * armed */
};
enum { TUTTI_WIRE_SURVEY = 200 };

typedef struct tutti_wire tutti_wire;
typedef struct tutti_wire_memory tutti_wire_memory;

/* A put or a read under way (a flight); give it back with tutti_put_release. A wire's own struct for a flight begins
 * with this one. */
typedef struct {
    bool over;      /* true once the flight has ended: the source of a put may be reused, or the bytes of a read have
                     * arrived. Stays false if the connection to the peer broke */
    bool flying;    /* true while the wire still holds the flight; a read that is neither flying nor over was refused:
                     * there is no such memory */
    bool abandoned; /* true if the flight was released while under way; the wire frees it */
} tutti_put;

typedef struct {
    const char *name, *help;
    unsigned can;
    /* Opens the wire. NULL: there is nothing to open (shm), or this build lacks the wire (then `absent` has a
     * remedy). */
    tutti_status (*open)(int rank, int nranks, tutti_wire **out, tutti_failure *err);
    const char *absent;
    /* Waits up to flush_s until all puts have arrived; 0 = gives everything up. */
    void (*close)(tutti_wire *w, double flush_s);
    /* Returns the bytes that peers need to connect; the wire owns them. */
    const void *(*address)(tutti_wire *w, size_t *nbytes);
    tutti_status (*connect)(tutti_wire *w, int rank, const void *address, tutti_failure *err);
    /* Called after all connects, between calls of progress: returns a peer that is not reached yet and why (the wire's
     * words), -1: all are reached. NULL: connecting never waits. */
    int (*awaited)(tutti_wire *w, const char **why);
    /* Describes the transport for people: "eth0 10.77.0.1, 10 Gbit/s"; the wire owns the text. NULL: no description. */
    const char *(*describe)(tutti_wire *w);
    /* Writes the library's version and the transports that it finds on this host, for people: "1.13.1: tcp+sysv+cma".
     * Opens no connection. TUTTI_ERR_RENDEZVOUS: the library is missing; TUTTI_ERR_FAILED: it finds no
     * transport. NULL: the wire needs no library. */
    tutti_status (*survey)(char out[TUTTI_WIRE_SURVEY], tutti_failure *err);
    /* Enrols memory that peers may put into and read, until it is forgotten. */
    tutti_status (*enrol)(tutti_wire *w, void *base, size_t nbytes, tutti_wire_memory **out, tutti_failure *err);
    void (*forget)(tutti_wire_memory *m);
    /* Puts into enrolled memory of `rank` at `address` (as that rank sees it); NULL = the put is over already. direct:
     * the bytes must be received in place, even if that takes a round trip before they go. Otherwise they go at once,
     * and the target may copy them to their place. */
    tutti_put *(*put)(tutti_wire *w, int rank, uint64_t address, const void *from, size_t nbytes, bool direct);
    /* Returns true if a put to `rank` would leave at once instead of waiting behind others on this rank; also if a put
     * would not wait because the peer broke or left. progress returns true when this becomes true. A caller of it wants
     * to choose late what goes next. So from its first call on, few unsent bytes wait below the wire (in the kernel).
     * NULL: the wire does not know. */
    bool (*has_room)(tutti_wire *w, int rank);
    /* Returns how many bytes of a put of `nbytes` to `rank`, if it is not direct, the target copies to their place.
     * NULL: always none. */
    size_t (*copied)(const tutti_wire *w, int rank, size_t nbytes);
    tutti_put *(*put_word)(tutti_wire *w, int rank, uint64_t address, uint64_t word);
    /* Reads from enrolled memory of `rank` at `address` into any memory of this rank, after all earlier puts. The
     * owner's bytes must stay until the read is over. To give up a flying read, halt the wire first: its bytes may be
     * on their way. */
    tutti_put *(*read)(tutti_wire *w, int rank, uint64_t address, void *to, size_t nbytes);
    /* Gives a peer up for good, unless it has broken by itself: nothing more is read from it or sent to it, and its
     * flights are given up. Other peers are not touched. */
    void (*drop)(tutti_wire *w, int rank);
    bool (*progress)(tutti_wire *w); /* true if anything moved */
    /* The descriptor becomes readable when progress has something to do; arm returns false if progress already has
     * something to do. */
    int (*descriptor)(tutti_wire *w);
    bool (*arm)(tutti_wire *w);
} tutti_wire_row;

/* The first members of the struct of every open wire. */
struct tutti_wire {
    const tutti_wire_row *row;
    int rank, nranks;
    bool halted;         /* true: progress does nothing any more, because memory that peers may put into will be
                          * freed */
    int64_t copied;      /* bytes that arrived elsewhere and were then copied to their place */
    char (*broken)[160]; /* for each rank: why the connection to it has ended; "" = it has not */
};

int tutti_wire_count(void);
const tutti_wire_row *tutti_wire_at(int i);
/* Returns the wire's row; NULL: there is none, and the failure names the nearest name. */
const tutti_wire_row *tutti_wire_find(const char *name, tutti_failure *err);

/* Checks that TUTTI_NET_IF names interfaces of this host that are up. Returns TUTTI_OK, or TUTTI_ERR_USAGE with the
 * list of interfaces. A wrong name is an error whatever wire is used in the end. */
tutti_status tutti_wire_check_interfaces(tutti_failure *err);

/* Checks all variables TUTTI_NET_*, as the wire tcp does when it is opened. TUTTI_ERR_USAGE names the wrong one. */
tutti_status tutti_wire_check_settings(tutti_failure *err);

/* An address of this host that the wire tcp may use. */
typedef struct {
    char name[16], address[64]; /* such as "eth0" and "10.77.0.1" */
    uint32_t mbit;              /* rate that the interface reports, in Mbit/s; 0 = unknown */
    uint32_t mtu;               /* bytes of the largest packet; 0 = unknown */
} tutti_wire_interface;
enum { TUTTI_WIRE_MOST_INTERFACES = 8 };
/* Lists the addresses in the order in which the wire tcp tries them: those that TUTTI_NET_IF names, else the fastest
 * first. Loopback is listed only if the host has no other. TUTTI_ERR_USAGE: see tutti_wire_check_interfaces. */
tutti_status tutti_wire_list_interfaces(tutti_wire_interface out[TUTTI_WIRE_MOST_INTERFACES], int *n,
                                        tutti_failure *err);

/* Gives a flight back; one that is not over yet is freed when it is. NULL is accepted. */
void tutti_put_release(tutti_put *f);

#endif
