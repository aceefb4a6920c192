/* SPDX-License-Identifier: Apache-2.0 */
/* group_impl.h: what the files of a group share: peers, their sockets, waiting.
 *
 *   control  a star of stream sockets over rank 0 (TCP between processes, socket pairs between threads): rendezvous and
 *            the small collectives; between hosts also what the mesh tells on one: rank 0 passes it on.
 *   mesh     one SOCK_SEQPACKET socket to every peer of this host: descriptors, long phases, aborts, goodbyes. Its end
 *            without a goodbye is a death, known at once because the kernel closes it.
 *   board    three cache lines a rank, mapped by all of its host: am I asleep, how many control calls have I entered,
 *            do I get on. On that of the host's first rank also who waits on which core.
 *
 * Two ranks are of one host when boot id, network namespace and TUTTI_HOST_ID agree: then they are *near*, else *far*.
 * A far peer has neither mesh nor bell nor board, and no memory of it is mapped.
 *
 * Sleeping (Dekker, all four accesses sequentially consistent): a sleeper sets asleep, looks at its counters once more,
 * then polls; a signaller writes the counter, then looks at asleep and rings the eventfd. One of the two sees the
 * other. Who can only go on when one rank has signalled says whom it waits for, and the others let it sleep.
 *
 * Files: group.c (life), group_star.c (the star's sockets, telling everybody), group_watch.c (messages, deaths,
 * sleeping), core_marks.c (who waits on which core), group_patience.c (deadlines, long phases), group_bear.c and
 * group_gone.c (deaths that others outlive), group_frame.c and group_control.c (calls over the star), group_wire.c,
 * group_wire_choose.c and group_progress.c (far peers), region.c, memory_file.c, enrolled.c, share.c and peer_memory.c
 * (memory); flight.c, peer_state.c, dump.c (reports of a hang). Ranks become a group in launch/. */
#ifndef TUTTI_GROUP_IMPL_H
#define TUTTI_GROUP_IMPL_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../../base/text/strbuf.h"
#include "../wire/wire.h"
#include "group.h"

enum { TUTTI_HOST_TEXT = 64, TUTTI_WORDS = 800, TUTTI_WHAT_TEXT = 64, TUTTI_PENDING_FDS = 16, TUTTI_MOST_EXTRA = 4 };
enum { TUTTI_ASLEEP = 1, TUTTI_ASLEEP_FOR = 2 };
enum { TUTTI_MARKS = 256 };         /* cores with a mark of their own */
enum { TUTTI_WATCH_NS = 10000000 }; /* sockets are looked at so often by who does not sleep */

typedef enum { TUTTI_PEER_HERE, TUTTI_PEER_LEFT, TUTTI_PEER_DEAD } tutti_peer_state;

/* Lines of their own, so that a rank counting its calls does not disturb who looks whether it sleeps. */
typedef struct {
    _Alignas(64) _Atomic uint32_t asleep;  /* 0, TUTTI_ASLEEP, or TUTTI_ASLEEP_FOR + the rank whose rings it hears */
    _Alignas(64) _Atomic uint64_t entered; /* control calls that this rank has begun */
    _Alignas(64) _Atomic uint64_t pulse;   /* looks for news: it runs, whether it waits or not */
    _Atomic uint64_t moves;                /* reports of progress in long phases */
    _Atomic int64_t done, total;           /* of the last one */
    /* Of the host's first rank: who waited last on each core (core_marks.c). */
    _Alignas(64) _Atomic uint32_t marks[TUTTI_MARKS];
} tutti_board;

typedef struct {
    uint64_t id; /* of the region */
    int fd;
} tutti_pending_fd;

/* --- frames on the control sockets --- */
typedef enum {
    TUTTI_FRAME_HELLO = 1,
    TUTTI_FRAME_WELCOME,
    TUTTI_FRAME_REFUSED,
    TUTTI_FRAME_BARRIER,
    TUTTI_FRAME_BROADCAST,
    TUTTI_FRAME_GATHER,
    TUTTI_FRAME_AGREE,
    TUTTI_FRAME_REPLY,
    TUTTI_FRAME_NOTICE,          /* its body is a tutti_mesh_message: what a far peer tells */
    TUTTI_FRAME_REPLY_OF_LIVING, /* a reply; behind it a byte a rank: whether it is gone */
} tutti_frame_kind;

enum { TUTTI_FRAME_MAGIC = 0x74746975, TUTTI_FRAME_MAX = 64 << 20 };

typedef struct {
    uint32_t magic, epoch, kind;
    int32_t rank;
    uint64_t call;
    uint32_t status, nbytes;
    char what[TUTTI_WHAT_TEXT];
} tutti_frame_head;
_Static_assert(sizeof(tutti_frame_head) == 96, "the head of a control frame is wire format");

typedef struct {
    tutti_frame_head head;
    char *body; /* nbytes + '\0' */
    size_t got; /* of head and body */
} tutti_frame;

/* What a peer is at that may take long, as it has said, and how this rank's wait under way has seen it go on. */
typedef struct {
    bool on;
    char what[TUTTI_WHAT_TEXT], unit[16];
    _Atomic uint64_t moves, pulse;   /* begins and ends; a far peer's reports and signs of life too */
    int64_t done, total;             /* a far peer's last report */
    uint64_t seen_moves, seen_pulse; /* when somebody last went on (group_patience.c) */
    int64_t idle_ns;                 /* of the wait: since this peer last did */
    char words[240];                 /* of tutti_peer_condition */
} tutti_long_phase;

typedef struct {
    char host[TUTTI_HOST_TEXT];
    int32_t pid;
    char describe[TUTTI_HOST_TEXT + 48]; /* "rank 3 (host box, pid 4711)" */
    int control;                         /* rank 0: to this peer; others: only peers[0]; else -1 */
    int mesh;                            /* -1: self, far */
    int bell;                            /* eventfd: own to sleep on, near peers' to ring */
    tutti_peer_state state;
    tutti_long_phase phase;
    bool closed;         /* mesh has ended; a far peer: control */
    atomic_bool gone;    /* its death is borne; any thread may ask */
    bool listed;         /* ... and all have heard of it, in the last control call */
    char *last_words;    /* ... and what is known of it; free() */
    tutti_board *board;  /* far: NULL */
    tutti_frame partial; /* being read from `control` */
    tutti_frame arrived; /* the frame of a call that has not been asked for yet; body NULL = none */
    int64_t waiting_ns;  /* when it last said that it waits for somebody */
    tutti_pending_fd pending[TUTTI_PENDING_FDS]; /* region descriptors that came before we asked */
    int npending;
} tutti_peer;

/* Memory that groups of threads share. */
typedef struct {
    atomic_int users;
    pthread_mutex_t lock;                 /* guards memories */
    struct tutti_thread_memory *memories; /* of regions (region.c) */
    tutti_board boards[];
} tutti_thread_boards;
void tutti_region_free_left(tutti_thread_boards *boards);

/* How the group reaches the exchanges over it, which it knows nothing else of (executor.c). All with the lock. */
typedef struct {
    /* One round over wire and exchanges: true if anything moved. */
    bool (*advance)(tutti_group *group);
    bool (*is_active)(const tutti_group *group);
    /* Invocations that `rank` has begun of the exchanges that it shares with this rank, and to *own how many this one
     * has of these; 0: a far rank. */
    int64_t (*count_begun)(const tutti_group *group, int rank, int64_t *own);
    /* A line for each that is under way: where it stands, who has not arrived. False: none is. */
    bool (*describe)(const tutti_group *group, tutti_strbuf *out);
    /* Other threads than the owner that wait for one look around. */
    void (*wake)(tutti_group *group);
} tutti_group_traffic;

struct tutti_group {
    int rank, nranks;
    uint32_t epoch;
    uint64_t cookie;
    double deadline_s;
    int64_t cache_bytes; /* of the last level: longer exchanges use streaming stores */
    int ncores;          /* that the ranks of this machine have together */
    bool spin;           /* ranks on this machine <= these: polling costs nobody anything */
    int64_t crowded_ns;  /* until then another process wants our core (remote.c) */
    uint32_t beside;     /* 1 + another rank that has waited on our core since we did (core_marks.c); 0: none has */
    int core;            /* which is this one */
    int64_t meeting_ns;  /* since then we have met others on our core ... */
    int meetings;        /* ... this often */
    bool strange;        /* nor was it for them alone that we made way */
    int32_t *hosts;      /* the host of each rank, by first appearance */
    int nhosts;          /* 1: all peers are near */
    int nmachine;        /* ranks that share this machine's cores and caches */
    tutti_peer *peers;
    int news;         /* epoll: of near peers the mesh, of far ones the star */
    uint64_t calls;   /* control calls begun */
    uint64_t regions; /* regions begun: their ids */

    tutti_status failed; /* sticky: the epoch is over */
    atomic_bool over;    /* the same, for any thread: soon after */
    int culprit;         /* who died, -1 = nobody in particular */
    char words[TUTTI_WORDS];
    bool bears;           /* deaths of others than rank 0 (group_bear.c) */
    int64_t broken_since; /* then: the wire to one of them, 0 = none */
    bool lists;           /* replies say who is gone */
    atomic_int ngone;
    int nlong;                       /* peers in a long phase */
    bool told_phase;                 /* that a wait is for a long phase has been said in this run */
    char own_phase[TUTTI_WHAT_TEXT]; /* this rank's; "": none */
    int64_t shown_ns;                /* when far ranks were last told that it goes on */
    int only;                        /* 1 + the rank whose ring alone wakes us; 0: anybody's does */
    int64_t last_watch_ns;           /* when the sockets were last looked at */

    pthread_mutex_t star_lock;  /* one frame at a time on the control sockets: tutti_group_abort is any thread's */
    pthread_mutex_t abort_lock; /* guards abort_words; innermost */
    atomic_bool aborted;
    char abort_words[TUTTI_WORDS];

    tutti_thread_boards *thread_boards; /* threads; else NULL */
    tutti_region *board_region;         /* processes; else NULL */
    struct tutti_exchange *exchanges;   /* by priority, then in creation order */
    const tutti_group_traffic *traffic; /* NULL: there has been no exchange yet */
    tutti_wire *wire;                   /* to far peers; NULL: there are none */
    char wires[512];                    /* what carries the bytes, for people */
    char trials[80];                    /* what 'auto' measured: "tcp 0.14 ms, ucx 0.29 ms" a MiB; "": nothing */
    char untaken[200];                  /* "ucx: why": a wire that is here and did not open; "": none */
    struct tutti_driver *driver;        /* its progress thread; NULL: the owner alone drives exchanges */

    struct tutti_flight *flight; /* what this rank did last */
    int call_from;               /* who is waited for in it */
    const char *call_kind;       /* of the control call under way; NULL = none */
    char call_what[TUTTI_WHAT_TEXT];
    int signal_fd;     /* asks for a report; -1 = nobody does */
    int64_t dumped_ns; /* the last report */

    tutti_peer_memory peer_memory;
    char peers_closed[300]; /* why */

    void (*look)(void *arg); /* before a sleep, now and then; NULL = nobody */
    int64_t looked_ns;       /* when it did */
    void *look_arg;
    void (*notice)(void *arg, const char *words);
    void *notice_arg;
};

tutti_group *tutti_group_alloc(int rank, int nranks, double deadline_s);
void tutti_group_name_peer(tutti_group *g, int rank, const char *host, int pid);
static inline bool tutti_group_is_near(const tutti_group *g, int rank)
{
    return g->hosts[rank] == g->hosts[g->rank];
}

/* --- waiting --- */

/* How long a blocking call has waited, and how much of that counts against the deadline (group_patience.c says what
 * does). */
typedef struct {
    int64_t last_ns, used_ns, told_ns;
    int64_t all_ns;     /* waited, whether it counts or not */
    int64_t look_ns;    /* ... since the last look at who goes on */
    int64_t ask_ns;     /* what the absent do is asked when so much is used; 0: it has not been yet */
    int64_t noticed_ns; /* what was used when the last notice went out; 0: since the last progress none has */
    int nnoticed;
    bool looks;      /* somebody has been in a long phase since this wait began */
    bool told_phase; /* that it waits for a long phase that goes on has been said */
    bool stopped;    /* who is waited for does not run: the notice comes at once */
} tutti_patience;
void tutti_patience_begin(tutti_group *g, tutti_patience *p);
/* Seconds left, <= 0 when the deadline has passed. `words` names the wait, for the notices; "": not yet. */
double tutti_patience_left(tutti_group *g, tutti_patience *p, const char *words);
/* A peer has begun or ended a long phase, or said how far it is; words: what the message has. */
void tutti_group_take_phase(tutti_group *g, tutti_peer *p, bool on, const char *words);
void tutti_group_take_report(tutti_peer *p, const char *words);
/* What a rank of another host is to hear now and then: that this one runs. Called by who looks for news. */
void tutti_group_show_pulse(tutti_group *g);
/* Who stands still, as far as is known here: stopped, or in a long phase; each with its condition. Nothing: nobody. */
void tutti_group_list_still(const tutti_group *g, tutti_strbuf *out);

/* Whether it is time to ask the system what the absent ranks do, for `words`. */
bool tutti_patience_asks(const tutti_group *g, tutti_patience *p);

/* Sleeps at most timeout_s until a doorbell rings, a mesh message comes or one of `extra` (at most TUTTI_MOST_EXTRA) is
 * ready; handles mesh messages.
 * recheck(arg) is asked once after this rank has declared itself asleep: true = do not sleep. */
void tutti_group_sleep(tutti_group *g, struct pollfd *extra, int nextra, double timeout_s, bool (*recheck)(void *),
                       void *arg);
/* Handles what the mesh sockets hold, without blocking. Sets g->failed on a death or abort. */
void tutti_group_watch(tutti_group *g);
/* The same of one peer alone. */
void tutti_group_drain(tutti_group *g, int rank);
/* From now on what comes from `rank` is heard: once its sockets are there. */
tutti_status tutti_group_look_out(tutti_group *g, int rank, tutti_failure *err);
/* Records the end of the epoch once and tells all peers the cause. culprit = rank or -1. */
void tutti_group_set_failed(tutti_group *g, int culprit, tutti_status status, const char *words);
/* The sticky failure into err. */
tutti_status tutti_group_report(const tutti_group *g, tutti_failure *err);
/* Wakes `rank` if it sleeps; call after the store that it shall see. */
void tutti_group_ring(tutti_group *g, int rank);

/* --- cores (core_marks.c), owner --- */
/* Marks the core that we run on as ours; g->beside becomes whoever has marked it since we did. */
void tutti_group_mark_core(tutti_group *g);
/* Gives the rank that we are beside a turn, or leaves it the core, and looks whether it is still there. True: we have
 * left. is_short: its turn takes microseconds. */
bool tutti_group_make_way(tutti_group *g, int64_t now_ns, bool is_short);

/* --- memory of near peers that no region maps (peer_memory.c) --- */
/* nbytes at the peer's address `from`, or to it, through the system. 0, or errno: EFAULT: not all of either side is
 * there. */
int tutti_peer_read(const tutti_group *g, int rank, void *to, uint64_t from, size_t nbytes);
int tutti_peer_write(const tutti_group *g, int rank, uint64_t to, const void *from, size_t nbytes);

/* --- the wire to far peers (group_wire.c), collective --- */
/* The row that TUTTI_WIRE asks for; "" = the fastest ("auto"). */
const char *tutti_group_asked_wire(void);
/* Opens the row's wire and connects it, on all ranks or on none; g->wire is it, also where that failed. */
tutti_status tutti_group_connect_wire(tutti_group *g, const tutti_wire_row *row, tutti_failure *err);
/* The fastest (group_wire_choose.c). */
tutti_status tutti_group_choose_wire(tutti_group *g, tutti_failure *err);
/* `name`: of the row that was asked for, "" = the fastest. Nothing where all peers are near. */
tutti_status tutti_group_open_wire(tutti_group *g, const char *name, tutti_failure *err);
void tutti_group_close_wire(tutti_group *g);
typedef struct {
    void *base;
    size_t nbytes;
} tutti_own_memory;
/* Lets far peers put into own memory; addresses[r] becomes where memory of far peer r begins, as it sees it. */
tutti_status tutti_group_enrol(tutti_group *g, const char *name, tutti_own_memory own_memory,
                               tutti_wire_memory **memory, uint64_t *addresses, tutti_failure *err);
void tutti_group_forget(tutti_group *g, tutti_wire_memory *memory);
/* The group goes on without this rank: nothing travels between it and us any more, and who waits looks again. Not with
 * the lock. */
void tutti_group_drop_on_wire(tutti_group *g, int rank);
/* Where memory of a far rank begins, as it sees it itself. */
uint64_t tutti_region_far(const tutti_region *region, int rank);

/* --- the thread that makes progress beside the owner (group_progress.c); nothing in groups without a wire --- */
typedef struct tutti_driver tutti_driver;
tutti_status tutti_driver_start(tutti_group *g, tutti_failure *err);
void tutti_driver_stop(tutti_group *g);
/* Guards wire and exchanges. */
void tutti_group_lock(tutti_group *g);
void tutti_group_unlock(tutti_group *g);
/* The owner drives from now on; the thread does again. */
void tutti_driver_take_over(tutti_group *g);
void tutti_driver_hand_back(tutti_group *g);
bool tutti_driver_is_owner(const tutti_group *g);
/* Is this call made by the thread? */
bool tutti_driver_is_running(const tutti_group *g);
/* With the lock, which it gives back meanwhile: sleeps until called (a condition by the clock that only goes on), or
 * for so long. There must be such a thread. */
void tutti_driver_sleep(tutti_group *g, pthread_cond_t *called, double seconds);
/* There is something to do: if the thread sleeps, it wakes. */
void tutti_driver_kick(tutti_group *g);
/* Readable when the wire has something to do (after arm); -1 without a wire. */
int tutti_driver_descriptor(const tutti_group *g);
/* One round by the owner before it sleeps on that: true = something moved or is there. */
bool tutti_driver_stir(tutti_group *g);

/* --- mesh messages --- */
typedef enum {
    TUTTI_MESH_HELLO = 1,
    TUTTI_MESH_REGION,
    TUTTI_MESH_LONG_BEGIN,
    TUTTI_MESH_LONG_END,
    TUTTI_MESH_ABORT,
    TUTTI_MESH_DEATH, /* id = the rank that died */
    TUTTI_MESH_GOODBYE,
    TUTTI_MESH_DUMP,     /* make your report; words = why */
    TUTTI_MESH_WAITING,  /* between hosts: `rank` has waited for seconds; who has not said so is who is waited for */
    TUTTI_MESH_PROGRESS, /* between hosts: how far the long phase of `rank` is; words = "done total" */
    TUTTI_MESH_PULSE,    /* between hosts, while anybody is in a long phase: `rank` runs */
} tutti_mesh_kind;

typedef struct {
    uint32_t kind, epoch;
    int32_t rank;
    uint32_t status;
    uint64_t id; /* hello: cookie; region: its id; death: the rank */
    char words[TUTTI_WORDS];
} tutti_mesh_message;

/* One message with at most one descriptor (-1 = none). Never blocks; false when it did not go out. */
bool tutti_mesh_send(int socket, const tutti_mesh_message *m, int fd);
/* 1: a message (*fd = its descriptor or -1), 0: none now, -1: the other end is closed. */
int tutti_mesh_receive(int socket, tutti_mesh_message *m, int *fd);
/* To everybody: near peers over the mesh, far ones over the star. Any thread. */
void tutti_group_tell(tutti_group *g, const tutti_mesh_message *m);
/* A message that came from peer `from`, whose own it is or (from = 0) who passes it on; takes over fd. */
void tutti_group_handle(tutti_group *g, int from, const tutti_mesh_message *m, int fd);
/* Peer `rank` went without a goodbye. */
void tutti_group_record_death(tutti_group *g, int rank);
/* Whether the group goes on without this rank, as this one has been told. */
bool tutti_group_does_without(const tutti_group *g, int rank);
/* A peer whose connection over the wire has been broken for longer than the star needs to say why, -1: none
 * (group_gone.c). *since_ns: when a broken one was first seen; 0 at first. */
int tutti_group_lost_on_wire(const tutti_group *g, int64_t *since_ns);
/* ... from now on; the words are about why. */
void tutti_group_record_gone(tutti_group *g, int rank, const char *words);
/* Has it said lately that it waits too? */
bool tutti_group_is_waiting(const tutti_group *g, int rank);

/* --- control sockets --- */

/* 1: whole, 0: more to come, -1: closed or not ours. Non-blocking. */
int tutti_frame_read(int fd, tutti_frame *f, size_t max_bytes);
void tutti_frame_release(tutti_frame *f);
/* Whole head and body or false; waits up to timeout_s for room. */
bool tutti_frame_write(int fd, const tutti_frame_head *head, const void *body, double timeout_s);
/* As tutti_frame_write, on the control socket of `rank`, between the frames of other threads. */
bool tutti_star_write(tutti_group *g, int rank, const tutti_frame_head *head, const void *body);
/* Reads what the control socket of `rank` holds: handles notices, keeps the frame of a call in `arrived`. Never blocks;
 * false = the other end is closed. */
bool tutti_star_drain(tutti_group *g, int rank);
/* A host that vanishes is a closed socket within 5 s. */
void tutti_star_set_options(int fd);
/* Rank 0: passes on to whom `m->rank` cannot reach itself. */
void tutti_star_relay(tutti_group *g, const tutti_mesh_message *m);

/* --- reports --- */

/* " [stopped by a signal ...]", " [running]", ...: what the system says of a near peer's process; "" if it says
 * nothing. */
const char *tutti_peer_condition(const tutti_group *g, int rank);
bool tutti_peer_is_stopped(const tutti_group *g, int rank);
/* Whether any near peer's process is stopped. */
bool tutti_group_has_stopped(const tutti_group *g);
/* Who has not entered the control call that this rank is in. */
void tutti_group_list_absent(const tutti_group *g, tutti_strbuf *out);
/* This rank's report, and a request to all others for theirs; at most one a second. */
void tutti_group_dump_all(tutti_group *g, const char *why);
/* This rank's report alone: somebody else has asked. */
void tutti_group_dump_asked(tutti_group *g, const char *why);
/* signal_fd is readable. */
void tutti_group_take_signal(tutti_group *g);

#endif
