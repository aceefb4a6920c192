/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_impl.h: shared by the files of the wire tcp. Threads: as wire.h.
 *
 * A pair of ranks has one or more connections, all in one epoll set. Frames travel on them: a head, followed by the
 * bytes of a put or answer. The target reads the head first, and then receives the bytes at their final place.
 *
 *   dialer                                 listener
 *     | connect                               |
 *     | hello: rank, connection, token ------>|   the token stands on the listener's card, which came
 *     |<-------- welcome: the dialer's token  |   over the group's control sockets: strangers have none
 *     | frames <----------------------> frames|
 *     | bye                               bye |   after it, an end is no death
 *
 * Invariants. (1) Nothing is allocated for a caller that has not shown the token. (2) Bytes are received only into
 * enrolled memory, or into memory of a read that waits for them. (3) Frames of one connection arrive in order; puts of
 * all connections are numbered together.
 *
 * Files: tcp_wire.c (life, progress), tcp_settings.c (environment), tcp_interfaces.c (addresses, the card, the ways to
 * a peer), tcp_listen.c and tcp_dial.c (connections), tcp_frame.c (validates heads), tcp_send.c, tcp_pin.c (sends
 * without a copy), tcp_receive.c, tcp_messages.c (puts, words, reads). */
#ifndef TUTTI_TCP_IMPL_H
#define TUTTI_TCP_IMPL_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "../../base/arena.h"
#include "wire_impl.h"
#include "wire_order.h"

enum {
    TUTTI_TCP_MAGIC = 0x31747574, /* first word of every head, "tut1": shows that both sides have the same byte order
                                   * and version */
    TUTTI_TCP_VERSION = 1,
    TUTTI_TCP_TOKEN = 16,
    TUTTI_TCP_MOST_CONNECTIONS = 16, /* most connections between two ranks */
    TUTTI_TCP_MOST_ADDRESSES = 16,   /* most addresses of a host */
    TUTTI_TCP_MOST_CALLERS = 64,     /* most accepted connections whose rank is not known yet */
    TUTTI_TCP_MOST_PINNED = 64,      /* most sends of a connection that the kernel still reads from */
};

/* --- frames: wire format, in the byte order of both sides (a peer with another byte order sends another magic word and
 * is refused) --- */

typedef enum {
    TUTTI_TCP_PUT = 1,
    TUTTI_TCP_WORD,
    TUTTI_TCP_READ,    /* a rank asks for bytes of the receiver's memory */
    TUTTI_TCP_ANSWER,  /* carries some of the bytes that a read asked for */
    TUTTI_TCP_REFUSAL, /* answers a read of memory that is not enrolled */
    TUTTI_TCP_BYE,
} tcp_kind;

typedef struct {
    uint32_t magic;
    uint32_t head_sum; /* checksum of this head, computed with head_sum = 0; both checksums are 0 unless one side asked
                        * for them */
    uint32_t kind;
    uint32_t body_sum;
    uint64_t address; /* of a put, word or read: an address in the receiver's memory; of an answer: offset in the bytes
                       * that were asked for */
    uint64_t number;  /* of a put: its number; of a word or read: number of the last put before it */
    uint64_t word;    /* of a word: its value; of a read, answer or refusal: number of the read */
    uint64_t nbytes;  /* of a put or answer: bytes that follow the head; of a read: bytes wanted */
} tcp_head;
_Static_assert(sizeof(tcp_head) == 48, "the head of a frame is wire format");

typedef struct {
    uint32_t magic, version;
    uint8_t token[TUTTI_TCP_TOKEN]; /* in a hello: the listener's token; in a welcome: the dialer's token */
    int32_t rank;                   /* rank of the sender */
    uint32_t connection, nconnections;
    uint32_t spare;
} tcp_hello;
_Static_assert(sizeof(tcp_hello) == 40, "hello and welcome are wire format");

/* --- addresses --- */

typedef struct {
    uint8_t family, prefix; /* family: 4 or 6 (IPv4, IPv6); prefix: number of bits of the address that name its
                             * network */
    uint8_t bytes[16];
    char name[16]; /* name of the interface */
    uint32_t mbit; /* rate of the interface in Mbit/s; 0: unknown */
} tcp_address;

/* The card of a rank: facts that peers need to connect to it. */
typedef struct {
    uint32_t magic, version;
    uint8_t token[TUTTI_TCP_TOKEN];
    uint64_t netns;
    char boot_id[40];
    uint32_t checksum;     /* true if the rank wants checksums; one side is enough */
    uint32_t nconnections; /* number of connections that the rank asks for; 0: the number of networks decides
                            * (tcp_wire.c) */
    uint32_t port, naddresses;
    tcp_address addresses[TUTTI_TCP_MOST_ADDRESSES];
} tcp_card;

/* One way to connect to a peer: from one of this rank's addresses to one of the peer's addresses. */
typedef struct {
    tcp_address to;
    int own; /* number of this rank's address to leave from; -1: the system's routes decide */
} tcp_way;

/* The values of the environment, in the order of the words of TUTTI_NET_ZEROCOPY. */
typedef enum { TUTTI_TCP_ZEROCOPY_AUTO, TUTTI_TCP_ZEROCOPY_OFF, TUTTI_TCP_ZEROCOPY_ON } tcp_zerocopy;

typedef struct {
    const char *interfaces; /* interfaces to use; NULL: any */
    int64_t nconnections;   /* connections between two ranks; 0: the number of networks decides (tcp_wire.c) */
    bool checksum;
    int zerocopy;
    const char *congestion; /* name of the algorithm of congestion control; NULL: a rule decides */
    const char *ports;      /* ports to listen on, "40000-40099"; NULL: the kernel chooses one */
} tcp_settings;

/* --- connections --- */

typedef struct tcp_wire tcp_wire;

/* The kind of object that an event belongs to: the first member of each object with a descriptor in the epoll set. */
typedef enum { TUTTI_TCP_LISTENER, TUTTI_TCP_CALLER, TUTTI_TCP_CONNECTION } tcp_role;
typedef struct {
    tcp_role role;
    int fd; /* descriptor in the epoll set; -1: none */
} tcp_source;

/* A connection whose rank is not known yet. */
typedef struct {
    tcp_source source; /* must stay the first member, because pointers to it are cast to pointers to the whole struct */
    int64_t since_ns;
    size_t got;
    tcp_hello hello;
} tcp_caller;

/* A put under way: counts its parcels that are not sent yet, or that the kernel still reads. */
typedef struct {
    tutti_put base; /* must stay the first member, because pointers to it are cast to pointers to the whole struct */
    int64_t nparcels;
    bool lost;
} tcp_flight;

/* A frame that waits for room in the socket. */
typedef struct tcp_parcel {
    struct tcp_parcel *next;
    tcp_head head;
    const char *from;
    size_t nbytes, gone; /* gone: bytes of the frame (head and body) that were sent so far */
    tcp_flight *flight;  /* put that waits for this frame; NULL: none */
    bool pins;           /* true if the frame's bytes are sent from where they lie, without a copy */
    int npinned;         /* number of send calls whose bytes the kernel still reads */
} tcp_parcel;

typedef enum { TUTTI_TCP_DOWN, TUTTI_TCP_DIALING, TUTTI_TCP_GREETING, TUTTI_TCP_UP, TUTTI_TCP_OVER } tcp_state;

/* Result of the test whether sending without a copy pays on this connection. */
typedef enum { TUTTI_TCP_PIN_UNKNOWN, TUTTI_TCP_PIN_ASKED, TUTTI_TCP_PIN_YES, TUTTI_TCP_PIN_NO } tcp_pinning;

typedef struct {
    tcp_source source; /* must stay the first member, because pointers to it are cast to pointers to the whole struct */
    tcp_wire *w;
    int rank, index;
    tcp_state state;
    /* while dialing: index of the way that is tried now */
    int way;
    int64_t since_ns;
    size_t got; /* bytes of the welcome received so far */
    tcp_hello welcome;
    char why[112]; /* why the connection is not up; "" = nothing has gone wrong yet */
    /* list of the frames that wait to be sent */
    tcp_parcel *first, *last;
    size_t queued; /* bytes of the frames that wait */
    bool waits_for_room, corked;
    bool is_shallow; /* true: the kernel accepts only as many bytes as will leave soon (tcp_messages.c) */
    tcp_pinning pinning;
    uint32_t next_pin;
    tcp_parcel *pinned[TUTTI_TCP_MOST_PINNED]; /* parcels that the kernel still reads, indexed by the number of the send
                                                * call */
    /* fields for receiving: */
    tcp_head in, next_in; /* in: head of the frame whose bytes come; next_in: head of the next frame */
    size_t in_got;        /* bytes of `in` received so far; while the frame's own bytes come, bytes of next_in */
    char *to;             /* address for the next byte of the frame; NULL: its bytes are dropped */
    size_t left;          /* bytes of the frame still to come */
} tcp_connection;

typedef struct {
    tcp_connection *connections;
    int nconnections, nup;
    bool dials;   /* true: this rank dials the peer; false: the peer dials */
    bool left;    /* true once the peer's bye has arrived: it has left in good order */
    bool is_here; /* true if the peer is in this rank's network namespace, so that loopback reaches it */
    tcp_card *card;
    tcp_way ways[TUTTI_TCP_MOST_ADDRESSES];
    int nways, nrails; /* nways: number of ways; nrails: the connections are distributed over the first nrails of these
                        * ways */
    tutti_wire_order order;
} tcp_peer;

struct tcp_wire {
    tutti_wire wire; /* must stay the first member, because pointers to it are cast to pointers to the whole struct */
    tutti_arena arena;
    tcp_settings settings;
    int poll; /* the epoll set */
    tcp_source listener;
    tcp_caller callers[TUTTI_TCP_MOST_CALLERS];
    tcp_card card;
    tcp_peer *peers;
    bool checksum; /* true if every frame has a checksum, because one side asked for them */
    int ncorked;   /* number of connections whose last bytes the kernel holds back (tcp_send.c) */
    int nawaited;  /* number of peers that are not connected yet */
    int64_t watched_ns;
    tutti_wire_memory *memories;
    tutti_wire_reads reads;
    char trouble[80]; /* why no connection can be accepted; "" = nothing has gone wrong */
    char words[200];  /* memory for the text of tutti_tcp_describe */
};

/* --- tcp_wire.c --- */
/* Adds or changes a descriptor of the epoll set, for reading; room: also for writing. False: errno. */
bool tutti_tcp_watch(tcp_wire *w, tcp_source *s, bool room, bool is_new);
/* Ends all connections to the peer of `c`. The reason is the given words and the system's text for the errno `problem`
 * (0: none). */
void tutti_tcp_break(tcp_connection *c, int problem, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Ends this connection alone, which its peer has ended in good order. */
void tutti_tcp_end(tcp_connection *c, bool over);

/* --- tcp_settings.c --- */
tutti_status tutti_tcp_read_settings(tutti_arena *arena, tcp_settings *out, tutti_failure *err);
/* Reads a range such as "40000-40099". */
bool tutti_tcp_read_ports(const char *text, int *first, int *last);

/* --- tcp_interfaces.c --- */
/* Returns the number in /sys/class/net/INTERFACE/FILE ("speed": Mbit/s, "dev_port"); 0: there is none, or it is
 * negative. */
uint32_t tutti_tcp_interface_figure(const char *interface, const char *file);
/* Lists addresses of interfaces that are up, fastest first; `wanted`: only of these interfaces ("eth0,ib0"); NULL = of
 * all but loopback. */
tutti_status tutti_tcp_list_addresses(const char *wanted, tcp_address out[TUTTI_TCP_MOST_ADDRESSES], uint32_t *n,
                                      tutti_failure *err);
tutti_status tutti_tcp_fill_card(tcp_wire *w, tutti_failure *err);
/* Returns true if both cards are of one network namespace. */
bool tutti_tcp_is_here(const tcp_card *a, const tcp_card *b);
/* Finds the ways (pairs of addresses) to a peer, best first. */
void tutti_tcp_find_ways(const tcp_wire *w, tcp_peer *p);
socklen_t tutti_tcp_sockaddr(const tcp_address *a, uint32_t port, struct sockaddr_storage *out);
void tutti_tcp_address_text(const tcp_address *a, char out[64]);
/* Describes what the connections use: "eth0 10.77.0.1, 10 Gbit/s, 2 connections a pair". */
const char *tutti_tcp_describe(tutti_wire *base);

/* --- tcp_listen.c --- */
tutti_status tutti_tcp_listen(tcp_wire *w, tutti_failure *err);
void tutti_tcp_stop_listening(tcp_wire *w);
void tutti_tcp_accept(tcp_wire *w);
void tutti_tcp_hear(tcp_wire *w, tcp_caller *caller);
/* Drops callers that have sent nothing for some seconds. */
void tutti_tcp_drop_silent_callers(tcp_wire *w, int64_t now_ns);
/* Expects nconnections connections to `rank`, none of them up yet. */
void tutti_tcp_expect(tcp_wire *w, int rank, int nconnections);
/* Makes fd the socket of the connection, after each side has shown the other who it is. */
void tutti_tcp_adopt(tcp_connection *c, int fd);

/* --- tcp_dial.c --- */
void tutti_tcp_dial(tcp_connection *c, int64_t now_ns);
/* Continues dialing after an event of the connection's descriptor. */
void tutti_tcp_go_on_dialing(tcp_connection *c);
/* Tries refused connections again, and tries another way where there is no answer. */
void tutti_tcp_dial_again(tcp_wire *w, int64_t now_ns);
/* Sets the options of a socket of this wire. */
void tutti_tcp_set_options(const tcp_wire *w, int fd, bool is_here);

/* --- tcp_frame.c --- */
void tutti_tcp_seal(const tcp_wire *w, tcp_head *head, const void *bytes);
/* Returns NULL if the head can be that of a peer's frame; else words that say why not. */
const char *tutti_tcp_judge_head(const tcp_wire *w, const tcp_head *head);
bool tutti_tcp_body_is_whole(const tcp_wire *w, const tcp_head *head, const void *bytes);

/* --- tcp_send.c --- */
/* Sends as much as there is room for and keeps the rest. *flight: NULL, or a flight that counts the parcels; it is made
 * when a parcel is kept. more: another frame follows at once. */
void tutti_tcp_post(tcp_connection *c, const tcp_head *head, const void *from, tcp_flight **flight, bool more);
/* Sends the frames that wait. */
bool tutti_tcp_flush(tcp_connection *c);
/* Sends the bytes that the kernel holds back because more was to follow. */
void tutti_tcp_push(tcp_connection *c);
void tutti_tcp_end_parcel(tcp_parcel *p, bool over);
void tutti_tcp_land(tcp_flight *f, bool over);
/* Drops the frames that wait: the peer does not read any more. */
void tutti_tcp_drop_parcels(tcp_connection *c, bool over);

/* --- tcp_pin.c --- */
/* Returns true if nbytes should be sent without a copy. */
bool tutti_tcp_may_pin(tcp_connection *c, size_t nbytes);
/* Sends bytes of a parcel as send() does, without a copy if the kernel can. */
ssize_t tutti_tcp_send_pinned(tcp_connection *c, tcp_parcel *p, const char *from, size_t nbytes, int flags);
/* Handles the kernel's reports about earlier sends without a copy. */
void tutti_tcp_unpin(tcp_connection *c);

/* --- tcp_receive.c --- */
bool tutti_tcp_receive(tcp_connection *c);

/* --- tcp_messages.c --- */
tutti_put *tutti_tcp_put(tutti_wire *base, int rank, uint64_t address, const void *from, size_t nbytes, bool direct);
bool tutti_tcp_has_room(tutti_wire *base, int rank);
tutti_put *tutti_tcp_put_word(tutti_wire *base, int rank, uint64_t address, uint64_t word);
tutti_put *tutti_tcp_read(tutti_wire *base, int rank, uint64_t address, void *to, size_t nbytes);
/* Handles a frame that has arrived with all its bytes in their place. */
void tutti_tcp_settle(tcp_wire *w, int rank, const tcp_head *h);

#endif
