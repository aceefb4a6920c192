/* SPDX-License-Identifier: Apache-2.0 */
/* group_impl.h: declarations that the files of a group share: peers, their sockets, waiting.
 *
 *   control  a star of stream sockets over rank 0 (TCP between processes, socket pairs between threads): rendezvous and
 *            the small collectives. Between hosts it also carries the messages that the mesh carries on one host, and
 *            rank 0 passes them on.
 *   mesh     one SOCK_SEQPACKET socket to every peer of this host: descriptors, long phases, aborts, goodbyes. If it
 *            ends without a goodbye, the peer has died; this is known at once because the kernel closes the socket.
 *   board    three cache lines for each rank, mapped by all of its host: whether the rank sleeps, how many control
 *            calls it has entered, whether it makes progress. The board of the host's first rank also says which rank
 *            waits on which core.
 *
 * Two ranks are of one host when boot id, network namespace and TUTTI_HOST_ID agree: then they are *near*, else *far*.
 * A far peer has neither mesh nor bell nor board, and no memory of it is mapped.
 *
 * Sleeping (Dekker, all four accesses sequentially consistent): a sleeper sets asleep, looks at its counters once more,
 * then polls; a signaller writes the counter, then looks at asleep and rings the eventfd. At least one of the two sees
 * the other's store. A sleeper that needs a signal from one certain rank names that rank, and the others let it sleep.
 *
 * Files: group.c (life), group_star.c (the star's sockets, messages to all), group_watch.c (messages, deaths,
 * sleeping), core_marks.c (which rank waits on which core), group_patience.c (deadlines, long phases), group_bear.c and
 * group_gone.c (deaths that others outlive), group_frame.c and group_control.c (calls over the star), group_wire.c,
 * group_wire_choose.c and group_progress.c (far peers), region.c, memory_pass.c, enrolled.c, share.c and peer_memory.c
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
enum { TUTTI_MARKS = 256 };         /* most cores on which ranks mark themselves (core_marks.c) */
enum { TUTTI_WATCH_NS = 10000000 }; /* nanoseconds after which a rank that does not sleep checks its sockets again */

typedef enum { TUTTI_PEER_HERE, TUTTI_PEER_LEFT, TUTTI_PEER_DEAD } tutti_peer_state;

/* The fields have cache lines of their own, so that a rank that counts its calls does not disturb ranks that look
 * whether it sleeps. */
typedef struct {
    _Alignas(64) _Atomic uint32_t asleep;  /* 0, TUTTI_ASLEEP, or TUTTI_ASLEEP_FOR + the only rank whose rings wake this
                                            * rank */
    _Alignas(64) _Atomic uint64_t entered; /* number of control calls that this rank has begun */
    _Alignas(64) _Atomic uint64_t pulse;   /* counter that grows each time the rank checks for messages, so it grows
                                            * while the rank runs, whether the rank waits or not */
    _Atomic uint64_t moves;                /* number of progress reports in long phases */
    _Atomic int64_t done, total;           /* done and total of the last progress report of this rank's long phase */
    /* On the board of the host's first rank: the last rank that waited on each core (core_marks.c). */
    _Alignas(64) _Atomic uint32_t marks[TUTTI_MARKS];
} tutti_board;

typedef struct {
    uint64_t id; /* id of the region whose descriptor this is */
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
    TUTTI_FRAME_NOTICE,          /* carries a message as on the mesh (tutti_mesh_message), between hosts */
    TUTTI_FRAME_REPLY_OF_LIVING, /* a reply that ends with one byte for each rank: 1 if the rank is gone */
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
    char *body; /* body of nbytes, and a '\0' behind it */
    size_t got; /* bytes of head and body that were received */
} tutti_frame;

/* The long phase that a peer has announced, and the progress that this rank's current wait has seen. */
typedef struct {
    bool on;
    char what[TUTTI_WHAT_TEXT], unit[16];
    _Atomic uint64_t moves, pulse;   /* moves: number of beginnings, ends and (far peer) reports of the peer's phases;
                                      * pulse: number of the peer's messages */
    int64_t done, total;             /* done and total of a far peer's last progress report */
    uint64_t seen_moves, seen_pulse; /* values of `moves` and `pulse` at the last check in which the peer had made
                                      * progress (group_patience.c) */
    int64_t idle_ns;                 /* time of the wait since the peer last made progress */
    char words[240];                 /* memory for the text of tutti_peer_condition */
} tutti_long_phase;

typedef struct {
    char host[TUTTI_HOST_TEXT];
    int32_t pid;
    char describe[TUTTI_HOST_TEXT + 48]; /* words for the peer: "rank 3 (host box, pid 4711)" */
    int control;                         /* socket of the star: rank 0 has one to each peer, the other ranks have one in
                                          * peers[0]; else -1 */
    int mesh;                            /* socket of the mesh; -1 for this rank and far peers */
    int bell;                            /* eventfd that wakes a rank: of this rank, the one on which it sleeps; of a
                                          * near peer, the one that wakes the peer */
    tutti_peer_state state;
    tutti_long_phase phase;
    bool closed;         /* near peer: the mesh socket has ended; far peer: the control socket has ended */
    atomic_bool gone;    /* true if the peer died and the group continues; any thread may read it */
    bool listed;         /* the peer is gone, and the answer of the last control call has announced that to all ranks */
    char *last_words;    /* words about the peer's end, if the peer is gone; on the heap */
    tutti_board *board;  /* board of the peer; NULL for a far peer */
    tutti_frame partial; /* the frame that is being read from `control` */
    tutti_frame arrived; /* the frame of a call that this rank has not made yet; body NULL = none */
    int64_t waiting_ns;  /* time of the peer's last message that it waits for some rank */
    tutti_pending_fd pending[TUTTI_PENDING_FDS]; /* descriptors of regions that came before this rank asked for them */
    int npending;
} tutti_peer;

/* Memory that groups of threads share. */
typedef struct {
    atomic_int users;
    pthread_mutex_t lock;                 /* guards memories */
    struct tutti_thread_memory *memories; /* list of regions (region.c) */
    tutti_board boards[];
} tutti_thread_boards;
void tutti_region_free_left(tutti_thread_boards *boards);

/* The calls by which a group reaches the exchanges over it, of which it knows nothing else (executor.c). The caller
 * holds the lock. */
typedef struct {
    /* Drives wire and exchanges once: true if anything moved. */
    bool (*advance)(tutti_group *group);
    bool (*is_active)(const tutti_group *group);
    /* Returns how many invocations `rank` has begun of the exchanges that it shares with this rank; *own gets the
     * number that this rank has begun of them. 0 for a far rank. */
    int64_t (*count_begun)(const tutti_group *group, int rank, int64_t *own);
    /* Writes a line for each exchange under way: its step, and the ranks that have not arrived. False: none is. */
    bool (*describe)(const tutti_group *group, tutti_strbuf *out);
    /* Wakes the threads other than the owner that wait for an exchange. */
    void (*wake)(tutti_group *group);
} tutti_group_traffic;

struct tutti_group {
    int rank, nranks;
    uint32_t epoch;
    uint64_t cookie;
    double deadline_s;
    int64_t cache_bytes; /* bytes of the last-level cache: exchanges over larger vectors use streaming stores */
    int ncores;          /* cores of all ranks of this machine together */
    bool spin;           /* true if this machine has a core for each of its ranks, so that polling disturbs no rank */
    int64_t crowded_ns;  /* until this time this rank assumes that another process wants its core (remote.c) */
    uint32_t beside;     /* 1 + another rank that has waited on this core since this rank did (core_marks.c); 0: none
                          * has */
    int core;            /* number of the core on which this rank last waited */
    int64_t meeting_ns;  /* time since which this rank has met other ranks on its core */
    int meetings;        /* number of meetings with other ranks on this core since meeting_ns */
    bool strange;        /* true if a process other than these ranks has run on the core since meeting_ns */
    int32_t *hosts;      /* the host of each rank, numbered by first appearance */
    int nhosts;          /* number of hosts; 1: all peers are near */
    int nmachine;        /* number of ranks that share this machine's cores and caches */
    tutti_peer *peers;
    int news;         /* epoll set: near peers' mesh sockets, far peers' control sockets */
    uint64_t calls;   /* number of control calls that this rank has begun */
    uint64_t regions; /* number of regions that this rank has begun to create; ids of regions are made from it */

    tutti_status failed; /* not TUTTI_OK: the epoch is over, for good */
    atomic_bool over;    /* true once the epoch is over; any thread may read it */
    int culprit;         /* the rank that died, -1 = no rank in particular */
    char words[TUTTI_WORDS];
    bool bears;           /* true if the group survives deaths of all ranks but 0 (group_bear.c) */
    int64_t broken_since; /* in groups that outlive deaths: since when the wire to some peer is broken; 0 = no wire
                           * is */
    bool lists;           /* true if replies of rank 0 list the ranks that are gone */
    atomic_int ngone;
    int nlong;                       /* number of peers in a long phase */
    bool told_phase;                 /* true if a notice has been given that a wait is for a long phase */
    char own_phase[TUTTI_WHAT_TEXT]; /* phase of this rank; "": none */
    int64_t shown_ns;                /* time of the last message to far ranks that this rank makes progress */
    int only;                        /* 1 + the only rank by which this rank wants to be woken; 0: any rank */
    int64_t last_watch_ns;           /* when this rank last checked the sockets */

    pthread_mutex_t star_lock;  /* guards the control sockets, so that frames of two threads do not mix:
                                 * tutti_group_abort may come from any thread */
    pthread_mutex_t abort_lock; /* guards abort_words; this lock is taken last */
    atomic_bool aborted;
    char abort_words[TUTTI_WORDS];

    tutti_thread_boards *thread_boards; /* boards of ranks that are threads; else NULL */
    tutti_region *board_region;         /* region of the boards of ranks that are processes; else NULL */
    struct tutti_exchange *exchanges;   /* list of the group's exchanges, sorted by priority, then by creation */
    const tutti_group_traffic *traffic; /* calls by which the group drives exchanges; NULL: no exchange has been made
                                         * yet */
    tutti_wire *wire;                   /* wire to far peers; NULL: there are none */
    char wires[512];                    /* name of the transport, for people */
    char trials[80];                    /* times for a MiB over each wire, if TUTTI_WIRE=auto measured them: "tcp 0.14
                                         * ms, ucx 0.29 ms"; else "" */
    char untaken[200];                  /* a wire that is installed but did not open, with the reason: "ucx: why"; "":
                                         * none */
    struct tutti_driver *driver;        /* thread that makes progress; NULL: only the owner drives exchanges */

    struct tutti_flight *flight; /* flight recorder of this rank */
    int call_from;               /* the rank that the current control call waits for */
    const char *call_kind;       /* kind of the control call under way; NULL = no call is under way */
    char call_what[TUTTI_WHAT_TEXT];
    int signal_fd;     /* descriptor that reports the signal that asks for a report; -1 = none */
    int64_t dumped_ns; /* time of the last report */

    tutti_peer_memory peer_memory;
    char peers_closed[300]; /* words why this rank cannot reach peers' plain memory; "": it can */

    void (*look)(void *arg); /* callback before a sleep, now and then; NULL = none */
    int64_t looked_ns;       /* time of the last call of `look` */
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

/* --- time of a wait --- */

/* The time of a blocking call's wait, and the part of it that counts against the deadline (rules: group_patience.c). */
typedef struct {
    int64_t last_ns, used_ns, told_ns;
    int64_t all_ns;     /* length of the whole wait */
    int64_t look_ns;    /* length of the wait since the progress of peers was last checked */
    int64_t ask_ns;     /* value of used_ns at which to ask the system about absent ranks; 0: not set yet */
    int64_t noticed_ns; /* value of used_ns at the last notice; 0: no notice since peers last made progress */
    int nnoticed;
    bool looks;      /* true: peers are checked for progress, because some rank has been in a long phase during this
                      * wait */
    bool told_phase; /* the notice was given that this wait is for a long phase that makes progress */
    bool stopped;    /* the awaited rank is stopped: the notice comes at once */
} tutti_patience;
void tutti_patience_begin(tutti_group *g, tutti_patience *p);
/* Returns the seconds left, <= 0 when the deadline has passed. `words` names the wait, for the notices; "": no notices
 * yet. */
double tutti_patience_left(tutti_group *g, tutti_patience *p, const char *words);
/* Notes that a peer has begun or ended a long phase, or has reported progress; words: the words of the peer's
 * message. */
void tutti_group_take_phase(tutti_group *g, tutti_peer *p, bool on, const char *words);
void tutti_group_take_report(tutti_peer *p, const char *words);
/* Sends far ranks a sign of life now and then. A rank calls it whenever it checks for messages. */
void tutti_group_show_pulse(tutti_group *g);
/* Lists the ranks that are known to make no progress (stopped, or in a long phase) with their conditions; the list may
 * be empty. */
void tutti_group_list_still(const tutti_group *g, tutti_strbuf *out);

/* Returns true when it is time to ask the system what the absent ranks do, for `words`. */
bool tutti_patience_asks(const tutti_group *g, tutti_patience *p);

/* Sleeps at most timeout_s until a doorbell rings, a mesh message comes or one of `extra` (at most TUTTI_MOST_EXTRA) is
 * ready; handles mesh messages. recheck(arg) is asked once after this rank has declared itself asleep: true = do not
 * sleep. */
void tutti_group_sleep(tutti_group *g, struct pollfd *extra, int nextra, double timeout_s, bool (*recheck)(void *),
                       void *arg);
/* Handles the messages in the mesh sockets without blocking. Sets g->failed on a death or abort. */
void tutti_group_watch(tutti_group *g);
/* Handles the messages of one peer alone. */
void tutti_group_drain(tutti_group *g, int rank);
/* Begins to listen to `rank`, once its sockets exist. */
tutti_status tutti_group_look_out(tutti_group *g, int rank, tutti_failure *err);
/* Records the end of the epoch once and sends all peers the cause. culprit = rank or -1. */
void tutti_group_set_failed(tutti_group *g, int culprit, tutti_status status, const char *words);
/* Copies the recorded failure into err. */
tutti_status tutti_group_report(const tutti_group *g, tutti_failure *err);
/* Wakes `rank` if it sleeps; call it after the store that the rank shall see. */
void tutti_group_ring(tutti_group *g, int rank);

/* --- cores (core_marks.c), owner --- */
/* Marks the current core as this rank's; g->beside becomes the rank that has marked it since the last mark. */
void tutti_group_mark_core(tutti_group *g);
/* Yields the core to the rank that shares it, or moves this rank to another core; then checks whether that rank is
 * still on the same core. Returns true if this rank has left the core. is_short: the exchange that waits takes only
 * microseconds. */
bool tutti_group_make_way(tutti_group *g, int64_t now_ns, bool is_short);

/* --- memory of near peers that no region maps (peer_memory.c) --- */
/* Copies nbytes from the peer's address `from`, or to it, through the system. Returns 0 or errno; EFAULT: a part of
 * either side does not exist. */
int tutti_peer_read(const tutti_group *g, int rank, void *to, uint64_t from, size_t nbytes);
int tutti_peer_write(const tutti_group *g, int rank, uint64_t to, const void *from, size_t nbytes);

/* --- the wire to far peers (group_wire.c), collective --- */
/* Returns the name of the wire that TUTTI_WIRE asks for; "" = the fastest ("auto"). */
const char *tutti_group_asked_wire(void);
/* Opens the row's wire and connects it, on all ranks or on none. g->wire is that wire, even after a failure. */
tutti_status tutti_group_connect_wire(tutti_group *g, const tutti_wire_row *row, tutti_failure *err);
/* Measures and chooses the fastest wire (group_wire_choose.c). */
tutti_status tutti_group_choose_wire(tutti_group *g, tutti_failure *err);
/* Opens the wire `name`, "" = the fastest. Does nothing if all peers are near. */
tutti_status tutti_group_open_wire(tutti_group *g, const char *name, tutti_failure *err);
void tutti_group_close_wire(tutti_group *g);
typedef struct {
    void *base;
    size_t nbytes;
} tutti_own_memory;
/* Lets far peers put into own memory; addresses[r] becomes the beginning of far peer r's memory, as that peer sees
 * it. */
tutti_status tutti_group_enrol(tutti_group *g, const char *name, tutti_own_memory own_memory,
                               tutti_wire_memory **memory, uint64_t *addresses, tutti_failure *err);
void tutti_group_forget(tutti_group *g, tutti_wire_memory *memory);
/* Ends all traffic with a rank that is gone, while the group continues; wakes waiting threads to check again. The
 * caller must not hold the lock. */
void tutti_group_drop_on_wire(tutti_group *g, int rank);
/* Returns the beginning of a far rank's memory, as that rank sees it. */
uint64_t tutti_region_far(const tutti_region *region, int rank);

/* --- the thread that makes progress beside the owner (group_progress.c); groups without a wire have none --- */
typedef struct tutti_driver tutti_driver;
tutti_status tutti_driver_start(tutti_group *g, tutti_failure *err);
void tutti_driver_stop(tutti_group *g);
/* Guards wire and exchanges. */
void tutti_group_lock(tutti_group *g);
void tutti_group_unlock(tutti_group *g);
/* tutti_driver_take_over lets the owner drive from now on; tutti_driver_hand_back lets the thread drive again. */
void tutti_driver_take_over(tutti_group *g);
void tutti_driver_hand_back(tutti_group *g);
bool tutti_driver_is_owner(const tutti_group *g);
/* Returns true if the caller is the thread that makes progress. */
bool tutti_driver_is_running(const tutti_group *g);
/* Sleeps until `called` is signalled (a condition on the monotonic clock), or for `seconds`. The caller holds the lock,
 * which is given back meanwhile. The group must have a thread that makes progress. */
void tutti_driver_sleep(tutti_group *g, pthread_cond_t *called, double seconds);
/* Wakes the thread if it sleeps, because there is something to do. */
void tutti_driver_kick(tutti_group *g);
/* Returns a descriptor that becomes readable when the wire has something to do (after arm); -1 without a wire. */
int tutti_driver_descriptor(const tutti_group *g);
/* The owner calls this before it sleeps on the descriptor of tutti_driver_descriptor: drives wire and exchanges once.
 * True: something moved or has arrived. */
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
    TUTTI_MESH_DUMP,     /* the receiver shall make a report; words = why */
    TUTTI_MESH_WAITING,  /* between hosts: `rank` has been waiting for some seconds. A rank that sends no such message
                          * is the one that the others wait for */
    TUTTI_MESH_PROGRESS, /* between hosts: progress in the long phase of `rank`; words = "done total" */
    TUTTI_MESH_PULSE,    /* between hosts, while any rank is in a long phase: `rank` runs */
} tutti_mesh_kind;

typedef struct {
    uint32_t kind, epoch;
    int32_t rank;
    uint32_t status;
    uint64_t id; /* in a hello: the cookie; for a region: its id; for a death: the rank */
    char words[TUTTI_WORDS];
} tutti_mesh_message;

/* Sends one message with at most one descriptor (-1 = none). Never blocks; false when the message did not go out. */
bool tutti_mesh_send(int socket, const tutti_mesh_message *m, int fd);
/* Returns 1: a message (*fd = its descriptor or -1), 0: none now, -1: the other end is closed. */
int tutti_mesh_receive(int socket, tutti_mesh_message *m, int *fd);
/* Tells all ranks: near peers over the mesh, far ones over the star. Any thread. */
void tutti_group_tell(tutti_group *g, const tutti_mesh_message *m);
/* Handles a message that came from peer `from`, which sent it itself or (from = 0) passed it on; fd then belongs to
 * this function. */
void tutti_group_handle(tutti_group *g, int from, const tutti_mesh_message *m, int fd);
/* Records that peer `rank` went without a goodbye. */
void tutti_group_record_death(tutti_group *g, int rank);
/* Returns true if this rank has been told that the group continues without `rank`. */
bool tutti_group_does_without(const tutti_group *g, int rank);
/* Returns a peer whose connection over the wire has been broken for longer than the star needs to say why, -1: none
 * (group_gone.c). *since_ns: when a broken connection was first seen; 0 at first. */
int tutti_group_lost_on_wire(const tutti_group *g, int64_t *since_ns);
/* Records that the group does without `rank` from now on; the words say why. */
void tutti_group_record_gone(tutti_group *g, int rank, const char *words);
/* Returns true if `rank` has reported lately that it waits too. */
bool tutti_group_is_waiting(const tutti_group *g, int rank);

/* --- control sockets --- */

/* Reads without blocking. 1: the frame is whole, 0: more is to come, -1: closed or not a frame of this group. */
int tutti_frame_read(int fd, tutti_frame *f, size_t max_bytes);
void tutti_frame_release(tutti_frame *f);
/* Writes whole head and body, or returns false; waits up to timeout_s for room. */
bool tutti_frame_write(int fd, const tutti_frame_head *head, const void *body, double timeout_s);
/* Writes a frame on the control socket of `rank`, between the frames of other threads. */
bool tutti_star_write(tutti_group *g, int rank, const tutti_frame_head *head, const void *body);
/* Reads what the control socket of `rank` holds: handles notices, keeps the frame of a call in `arrived`. Never blocks;
 * false = the other end is closed. */
bool tutti_star_drain(tutti_group *g, int rank);
/* Sets socket options by which the socket of a host that has vanished ends within 5 s. */
void tutti_star_set_options(int fd);
/* Rank 0: passes the message on to the ranks that `m->rank` cannot reach itself. */
void tutti_star_relay(tutti_group *g, const tutti_mesh_message *m);

/* --- reports --- */

/* Returns what the system says of a near peer's process: " [stopped by a signal ...]", " [running]", ...; "" if it says
 * nothing. */
const char *tutti_peer_condition(const tutti_group *g, int rank);
bool tutti_peer_is_stopped(const tutti_group *g, int rank);
/* Returns true if the process of some near peer is stopped. */
bool tutti_group_has_stopped(const tutti_group *g);
/* Lists the ranks that have not entered the control call that this rank is in. */
void tutti_group_list_absent(const tutti_group *g, tutti_strbuf *out);
/* Makes this rank's report and asks all others for theirs; at most once a second. */
void tutti_group_dump_all(tutti_group *g, const char *why);
/* Makes this rank's report alone, because another rank has asked. */
void tutti_group_dump_asked(tutti_group *g, const char *why);
/* Handles signal_fd when it is readable. */
void tutti_group_take_signal(tutti_group *g);

#endif
