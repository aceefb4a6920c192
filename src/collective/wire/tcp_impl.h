/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_impl.h: what the files of the wire tcp share. Threads: as wire.h.
 *
 * A pair of ranks has one or more connections, all in one epoll set. What travels is frames: a head, and behind the
 * heads of puts and answers their bytes, which the target receives where they belong, because it has read the head
 * before.
 *
 *   dialer                                 listener
 *     | connect                               |
 *     | hello: rank, connection, token ------>|   the token stands on the listener's card, which came
 *     |<-------- welcome: the dialer's token  |   over the group's control sockets: strangers have none
 *     | frames <----------------------> frames|
 *     | bye                               bye |   after it, an end is no death
 *
 * Invariants. (1) Nothing is allocated for who has not shown the token. (2) No byte is received but into enrolled
 * memory, or into memory of a read that waits for it. (3) Frames of one connection arrive in order; puts of all of them
 * are numbered together.
 *
 * Files: tcp_wire.c (life, progress), tcp_settings.c (environment), tcp_interfaces.c (addresses, the card, the ways to
 * a peer), tcp_listen.c and tcp_dial.c (connections), tcp_frame.c (what a head may say), tcp_send.c, tcp_pin.c (sends
 * without a copy), tcp_receive.c, tcp_messages.c (puts, words, reads). */
#ifndef TUTTI_TCP_IMPL_H
#define TUTTI_TCP_IMPL_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "../../base/arena.h"
#include "wire_impl.h"
#include "wire_order.h"

enum {
    TUTTI_TCP_MAGIC = 0x31747574, /* "tut1" */
    TUTTI_TCP_VERSION = 1,
    TUTTI_TCP_TOKEN = 16,
    TUTTI_TCP_MOST_CONNECTIONS = 16, /* of a pair */
    TUTTI_TCP_MOST_ADDRESSES = 16,   /* of a host */
    TUTTI_TCP_MOST_CALLERS = 64,     /* accepted and not known yet */
    TUTTI_TCP_MOST_PINNED = 64,      /* sends of a connection that the kernel still reads from */
};

/* --- what travels: wire format, in the byte order of both sides (the magic word refuses everything else) --- */

typedef enum {
    TUTTI_TCP_PUT = 1,
    TUTTI_TCP_WORD,
    TUTTI_TCP_READ,    /* asks for bytes */
    TUTTI_TCP_ANSWER,  /* has some of them */
    TUTTI_TCP_REFUSAL, /* there is no such memory */
    TUTTI_TCP_BYE,
} tcp_kind;

typedef struct {
    uint32_t magic;
    uint32_t head_sum; /* of this head with head_sum 0; both sums are 0 where nobody asked for them */
    uint32_t kind;
    uint32_t body_sum;
    uint64_t address; /* put, word, read: in memory of who gets it; answer: bytes into what was asked for */
    uint64_t number;  /* of this put; word, read: of the last put before it */
    uint64_t word;    /* word: its value; read, answer, refusal: which read */
    uint64_t nbytes;  /* put, answer: that follow; read: wanted */
} tcp_head;
_Static_assert(sizeof(tcp_head) == 48, "the head of a frame is wire format");

typedef struct {
    uint32_t magic, version;
    uint8_t token[TUTTI_TCP_TOKEN]; /* hello: the listener's; welcome: the dialer's */
    int32_t rank;                   /* of who speaks */
    uint32_t connection, nconnections;
    uint32_t spare;
} tcp_hello;
_Static_assert(sizeof(tcp_hello) == 40, "hello and welcome are wire format");

/* --- addresses --- */

typedef struct {
    uint8_t family, prefix; /* 4 or 6; bits of its network */
    uint8_t bytes[16];
    char name[16]; /* of the interface */
    uint32_t mbit; /* 0: the system does not say */
} tcp_address;

/* What peers need to connect. */
typedef struct {
    uint32_t magic, version;
    uint8_t token[TUTTI_TCP_TOKEN];
    uint64_t netns;
    char boot_id[40];
    uint32_t checksum;     /* wanted? One side is enough */
    uint32_t nconnections; /* 0: by rule */
    uint32_t port, naddresses;
    tcp_address addresses[TUTTI_TCP_MOST_ADDRESSES];
} tcp_card;

/* One way to a peer. */
typedef struct {
    tcp_address to;
    int own; /* the address of ours to leave from, -1: as the routes say */
} tcp_way;

/* The environment's, in the order of the words of TUTTI_NET_ZEROCOPY. */
typedef enum { TUTTI_TCP_ZEROCOPY_AUTO, TUTTI_TCP_ZEROCOPY_OFF, TUTTI_TCP_ZEROCOPY_ON } tcp_zerocopy;

typedef struct {
    const char *interfaces; /* NULL: any */
    int64_t nconnections;   /* 0: by rule */
    bool checksum;
    int zerocopy;
    const char *congestion; /* NULL: by rule */
    const char *ports;      /* "40000-40099"; NULL: the kernel's choice */
} tcp_settings;

/* --- connections --- */

typedef struct tcp_wire tcp_wire;

/* What an event belongs to: the first member of who has a descriptor in the epoll set. */
typedef enum { TUTTI_TCP_LISTENER, TUTTI_TCP_CALLER, TUTTI_TCP_CONNECTION } tcp_role;
typedef struct {
    tcp_role role;
    int fd; /* -1: none */
} tcp_source;

/* Who has connected and not said yet who it is. */
typedef struct {
    tcp_source source; /* first */
    int64_t since_ns;
    size_t got;
    tcp_hello hello;
} tcp_caller;

/* A put: its parcels that are not sent yet, or still read by the kernel. */
typedef struct {
    tutti_put base; /* first */
    int64_t nparcels;
    bool lost;
} tcp_flight;

/* A frame that waits for room in the socket. */
typedef struct tcp_parcel {
    struct tcp_parcel *next;
    tcp_head head;
    const char *from;
    size_t nbytes, gone; /* gone: of head and bytes */
    tcp_flight *flight;  /* NULL: nobody waits for it */
    bool pins;           /* its bytes go without a copy */
    int npinned;         /* calls that the kernel still reads from */
} tcp_parcel;

typedef enum { TUTTI_TCP_DOWN, TUTTI_TCP_DIALING, TUTTI_TCP_GREETING, TUTTI_TCP_UP, TUTTI_TCP_OVER } tcp_state;

/* Whether sending without a copy pays here. */
typedef enum { TUTTI_TCP_PIN_UNKNOWN, TUTTI_TCP_PIN_ASKED, TUTTI_TCP_PIN_YES, TUTTI_TCP_PIN_NO } tcp_pinning;

typedef struct {
    tcp_source source; /* first */
    tcp_wire *w;
    int rank, index;
    tcp_state state;
    /* dialing */
    int way;
    int64_t since_ns;
    size_t got; /* of the welcome */
    tcp_hello welcome;
    char why[112]; /* it is not up; "" = nothing has gone wrong yet */
    /* sending */
    tcp_parcel *first, *last;
    size_t queued; /* bytes */
    bool waits_for_room, corked;
    bool is_shallow; /* the kernel takes no more than soon goes */
    tcp_pinning pinning;
    uint32_t next_pin;
    tcp_parcel *pinned[TUTTI_TCP_MOST_PINNED]; /* by the number of the call */
    /* receiving */
    tcp_head in, next_in; /* of the frame whose bytes come; of the one behind it */
    size_t in_got;        /* of `in`, or, while bytes come, 0 */
    char *to;             /* where the next byte belongs; NULL: nowhere any more */
    size_t left;          /* bytes of the frame to come */
} tcp_connection;

typedef struct {
    tcp_connection *connections;
    int nconnections, nup;
    bool dials;   /* we dial it; else it dials us */
    bool left;    /* it has said bye */
    bool is_here; /* in our network namespace: over loopback */
    tcp_card *card;
    tcp_way ways[TUTTI_TCP_MOST_ADDRESSES];
    int nways, nrails; /* nrails: of the first ones, on which the connections are dealt out */
    tutti_wire_order order;
} tcp_peer;

struct tcp_wire {
    tutti_wire wire; /* first */
    tutti_arena arena;
    tcp_settings settings;
    int poll; /* the epoll set */
    tcp_source listener;
    tcp_caller callers[TUTTI_TCP_MOST_CALLERS];
    tcp_card card;
    tcp_peer *peers;
    bool checksum; /* of every frame: somebody asked for it */
    int ncorked;   /* connections */
    int nawaited;  /* peers that are not connected yet */
    int64_t watched_ns;
    tutti_wire_memory *memories;
    tutti_wire_reads reads;
    char trouble[80]; /* why nobody can be accepted; "" = nothing has gone wrong */
    char words[200];  /* of tutti_tcp_describe */
};

/* --- tcp_wire.c --- */
/* In the epoll set, for reading; room: also for writing. False: errno. */
bool tutti_tcp_watch(tcp_wire *w, tcp_source *s, bool room, bool is_new);
/* All connections to this one's peer are over; the words, and what the system says of `problem` (0: nothing), are
 * why. */
void tutti_tcp_break(tcp_connection *c, int problem, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* This one alone, which its peer has ended in good order. */
void tutti_tcp_end(tcp_connection *c, bool over);

/* --- tcp_settings.c --- */
tutti_status tutti_tcp_read_settings(tutti_arena *arena, tcp_settings *out, tutti_failure *err);
/* "40000-40099" */
bool tutti_tcp_read_ports(const char *text, int *first, int *last);

/* --- tcp_interfaces.c --- */
/* The number in /sys/class/net/INTERFACE/FILE ("speed": Mbit/s, "dev_port"); 0: there is none, or it is negative. */
uint32_t tutti_tcp_interface_figure(const char *interface, const char *file);
/* Addresses of interfaces that are up, fastest first; `wanted`: of these alone ("eth0,ib0"), NULL = of all but
 * loopback. */
tutti_status tutti_tcp_list_addresses(const char *wanted, tcp_address out[TUTTI_TCP_MOST_ADDRESSES], uint32_t *n,
                                      tutti_failure *err);
tutti_status tutti_tcp_fill_card(tcp_wire *w, tutti_failure *err);
/* Whether both are of one network namespace. */
bool tutti_tcp_is_here(const tcp_card *a, const tcp_card *b);
/* The ways to a peer, best first. */
void tutti_tcp_find_ways(const tcp_wire *w, tcp_peer *p);
socklen_t tutti_tcp_sockaddr(const tcp_address *a, uint32_t port, struct sockaddr_storage *out);
void tutti_tcp_address_text(const tcp_address *a, char out[64]);
/* "eth0 10.77.0.1, 10 Gbit/s, 2 connections a pair": what the connections use. */
const char *tutti_tcp_describe(tutti_wire *base);

/* --- tcp_listen.c --- */
tutti_status tutti_tcp_listen(tcp_wire *w, tutti_failure *err);
void tutti_tcp_stop_listening(tcp_wire *w);
void tutti_tcp_accept(tcp_wire *w);
void tutti_tcp_hear(tcp_wire *w, tcp_caller *caller);
/* Who has said nothing for seconds goes. */
void tutti_tcp_drop_silent_callers(tcp_wire *w, int64_t now_ns);
/* So many connections to `rank`, none of them up yet. */
void tutti_tcp_expect(tcp_wire *w, int rank, int nconnections);
/* A connection is there and both sides know each other. */
void tutti_tcp_adopt(tcp_connection *c, int fd);

/* --- tcp_dial.c --- */
void tutti_tcp_dial(tcp_connection *c, int64_t now_ns);
/* Its descriptor has something to say. */
void tutti_tcp_go_on_dialing(tcp_connection *c);
/* Tries again what was refused, and elsewhere what does not answer. */
void tutti_tcp_dial_again(tcp_wire *w, int64_t now_ns);
/* How this wire wants its sockets. */
void tutti_tcp_set_options(const tcp_wire *w, int fd, bool is_here);

/* --- tcp_frame.c --- */
void tutti_tcp_seal(const tcp_wire *w, tcp_head *head, const void *bytes);
/* NULL: it may be a frame of a peer; else why not. */
const char *tutti_tcp_judge_head(const tcp_wire *w, const tcp_head *head);
bool tutti_tcp_body_is_whole(const tcp_wire *w, const tcp_head *head, const void *bytes);

/* --- tcp_send.c --- */
/* Sends what there is room for now, keeps the rest. *flight: NULL, or a flight that counts the parcels; made when one
 * is kept. more: another frame follows at once. */
void tutti_tcp_post(tcp_connection *c, const tcp_head *head, const void *from, tcp_flight **flight, bool more);
/* Sends what waits. */
bool tutti_tcp_flush(tcp_connection *c);
/* Sends what the kernel holds back because more was to follow. */
void tutti_tcp_push(tcp_connection *c);
void tutti_tcp_end_parcel(tcp_parcel *p, bool over);
void tutti_tcp_land(tcp_flight *f, bool over);
/* Forgets what waits: nobody reads it any more. */
void tutti_tcp_drop_parcels(tcp_connection *c, bool over);

/* --- tcp_pin.c --- */
/* Whether so many bytes shall go without a copy. */
bool tutti_tcp_may_pin(tcp_connection *c, size_t nbytes);
/* As send, of a parcel's bytes, without a copy if the kernel can. */
ssize_t tutti_tcp_send_pinned(tcp_connection *c, tcp_parcel *p, const char *from, size_t nbytes, int flags);
/* Takes what the kernel says of earlier ones. */
void tutti_tcp_unpin(tcp_connection *c);

/* --- tcp_receive.c --- */
bool tutti_tcp_receive(tcp_connection *c);

/* --- tcp_messages.c --- */
tutti_put *tutti_tcp_put(tutti_wire *base, int rank, uint64_t address, const void *from, size_t nbytes, bool direct);
bool tutti_tcp_has_room(tutti_wire *base, int rank);
tutti_put *tutti_tcp_put_word(tutti_wire *base, int rank, uint64_t address, uint64_t word);
tutti_put *tutti_tcp_read(tutti_wire *base, int rank, uint64_t address, void *to, size_t nbytes);
/* A frame is here, with all its bytes where they belong. */
void tutti_tcp_settle(tcp_wire *w, int rank, const tcp_head *h);

#endif
