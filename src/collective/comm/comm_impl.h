/* SPDX-License-Identifier: Apache-2.0 */
/* comm_impl.h: declarations that the files of a communicator share.
 *
 *   way      how a call goes through memory; one row each in comm_way.c. Each way has one of four paths:
 *     mapped   the exchange is bound to memory of all ranks (alloc, enrol): a call is one invocation
 *     shown    bound to plain memory (executor.h), which peers see through scratch: an invocation moves a piece
 *     staged   bound to memory of its own: a piece is copied in, exchanged, copied out
 *     reached  bound to plain memory, which the system copies between processes (CMA): a call is one invocation
 *   class    calls of one kind and about one length: they try several ways and keep the fastest (comm_choice.c)
 *   queue    one exchange and the requests that go through it, one after the other
 *   board    what each rank has called, in memory that the others read when something is wrong
 *
 * Files: comm.c (life), comm_memory.c (allocations), comm_call.c (calls and requests), comm_plan.c (validates a call,
 * lists its ways), comm_way.c, comm_choice.c, comm_queue.c and comm_queue_make.c (queues), comm_schedules.c,
 * comm_board.c, comm_explain.c, comm_transfer.c (tutti/transfer.h). */
#ifndef TUTTI_COMM_IMPL_H
#define TUTTI_COMM_IMPL_H

#include "../../base/arena.h"
#include "../../device/device_row.h"
#include "../exchange/executor.h"
#include "../exchange/remote.h"
#include "../simulate/choose/choose.h"
#include "comm_way.h"
#include "tutti/comm.h"
#include "tutti/compile.h"

/* Two calls with the same key go through one queue. Keys are compared byte by byte. */
typedef struct {
    int32_t way, collective, type, op, root, in_place;
    int64_t n;                  /* elements of the vector that the exchange moves */
    int64_t in, out;            /* places of input and output: allocation << 48 | offset if the path is mapped, 0 on
                                 * other paths */
    uint64_t counts, algorithm; /* counts: hash of the array of counts; 0: equal blocks, or path staged (which takes any
                                 * counts). algorithm: hash of its name; 0: auto */
} tutti_call_key;
_Static_assert(sizeof(tutti_call_key) == 64, "no padding: keys are compared byte by byte");

/* A call, described for the other ranks: the key of the first way that it may go, and facts that the key leaves out. */
typedef struct {
    int64_t preparing;
    tutti_call_key key;
    int64_t count;
    uint64_t counts; /* hash of the array of counts, for every path (the key has it for some paths only) */
    char algorithm[32];
} tutti_notice;
_Static_assert(sizeof(tutti_notice) == 120, "a notice and its number are two cache lines");

typedef struct tutti_call_queue tutti_call_queue;
struct tutti_call_queue {
    tutti_call_queue *next;
    tutti_comm *comm;
    tutti_call_key key;
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_schedule *lowered; /* the communicator owns this schedule */
    tutti_exchange *x;
    tutti_region *stage; /* path staged: memory into which the input is copied, then the output */
    char *stage_in, *stage_out;
    int64_t piece; /* largest number of elements of a block that one invocation moves; mapped, reached: the whole
                    * block */
    tutti_request *head, *tail;
};

/* A block of the caller's memory. */
typedef struct {
    char *at;
    int64_t n;
} tutti_call_block;

struct tutti_request {
    tutti_comm *comm;                            /* NULL: the communicator was destroyed, and the request's queue too */
    tutti_call_queue *queue;                     /* queue of this request; NULL: the allocation that the queue used has
                                                  * been freed */
    tutti_request *next;                         /* the next request of the queue */
    tutti_request *next_prepared, **prepared_at; /* links in the list of the communicator's prepared requests */
    tutti_call call;
    tutti_notice notice;
    size_t bytes;               /* bytes of an element */
    tutti_call_block *in, *out; /* path staged: arrays of the blocks of input and output, in the order in which they lie
                                 * in the stage */
    tutti_call_block one_in, one_out;
    int32_t nin, nout;
    int64_t length, at; /* length: elements of the longest block; at: how many elements of it are done */
    int64_t piece;      /* most elements of a block that the next invocation moves */
    bool large;         /* true if the whole call exceeds the caches, so that keeping lines in them does not pay */
    uint64_t number;    /* number of the call */
    bool active;
    atomic_bool done;  /* true once the call is complete; set by any thread that drives the group */
    tutti_arena arena; /* memory of a prepared request */
};

/* A validated call. */
typedef struct {
    uint32_t ways;            /* bit set of the ways through memory that the call may use */
    tutti_way first;          /* the way through memory that is taken if no way's time is known */
    bool in_place, has_empty; /* in_place: input and output are the same memory; has_empty: some block has no
                               * elements */
    size_t bytes;             /* bytes of an element */
    int32_t nblocks;          /* number of blocks: 1, ranks or ranks^2 */
    int64_t longest, total;   /* elements of the longest block, and of the vector */
    int64_t in, out;          /* places of input and output, as in tutti_call_key */
} tutti_call_plan;

/* The last call with its plan, so that an equal call need not be planned again. */
typedef struct {
    tutti_call call;
    tutti_call_plan plan;
    tutti_notice notice;
} tutti_last;

typedef struct tutti_own_schedule {
    struct tutti_own_schedule *next;
    char name[TUTTI_ALGORITHM_TEXT];
    tutti_schedule *compiled, *lowered;
} tutti_own_schedule;

typedef struct tutti_allocation {
    struct tutti_allocation *next;
    tutti_region *region;
    char *own;
    size_t bytes;
    int64_t number; /* number of the allocation, from 1 */
    bool enrolled;  /* true if the caller owns the memory */
} tutti_allocation;

typedef struct tutti_made_schedule tutti_made_schedule;
typedef struct tutti_board_entry tutti_board_entry;

struct tutti_comm {
    tutti_group *group;
    const tutti_device *device; /* the CPU as a device: callers' memory is ordinary memory of the host */
    int rank, nranks;
    tutti_call_queue *queues; /* list of queues, the last used one first */
    tutti_last last;
    bool has_last; /* true if `last` is valid: no memory was allocated, enrolled or freed since it was set */
    tutti_class *classes;
    int nclasses;
    tutti_allocation *allocations;
    int64_t nallocations;
    tutti_own_schedule *schedules; /* schedules that the caller registered */
    tutti_made_schedule *made;     /* schedules that the library made */
    tutti_request *prepared;       /* all requests that have not been freed */
    tutti_region *board;
    bool crowded;        /* true if some rank shares its core with another rank; then the time of a call depends on the
                          * work of all ranks together */
    uint64_t calls;      /* number of the last call; calls count from 1 */
    tutti_writes writes; /* writes of tutti/transfer.h in flight */
    struct tutti_launched *from; /* settings that the launcher left in the environment, from which the communicator was
                                  * made; else NULL */
    struct tutti_home *home;     /* shows whether this process made the communicator or is its child by fork */
    atomic_bool in_use;          /* true while a call is running */
    int64_t timed_ns;            /* time at which the last timed call ended */
    tutti_topology *here;        /* the hosts of the ranks as a topology; NULL: not needed yet */
};

/* --- entering and leaving calls: comm.c --- */
/* enter refuses calls in a child of fork, and calls of a second thread while one is in a call. leave undoes an enter
 * that succeeded. */
tutti_status tutti_comm_enter(tutti_comm *comm, tutti_failure *err);
void tutti_comm_leave(tutti_comm *comm);

/* --- checking a call: comm_plan.c --- */
/* Validates a call as far as this rank alone can, and lists the ways that it may go. */
tutti_status tutti_plan_call(const tutti_comm *comm, const tutti_call *call, tutti_call_plan *out, tutti_failure *err);
/* Returns the key of the queue for this way and the call, or for the part [at, at + n) of it. */
tutti_call_key tutti_key_of(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan, tutti_way way);
void tutti_notice_of(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan, tutti_notice *out);
bool tutti_is_auto(const tutti_call *call);
/* Returns the number of counts of a call; 1 means that it takes no array of counts, whatever the number of ranks. */
int32_t tutti_block_number(tutti_collective c, int32_t nranks);
/* Returns the number of elements of block k of the call. */
int64_t tutti_block_count(const tutti_call *call, int32_t k);

/* --- parts of a call: comm_call.c --- */
/* Returns how many elements of the vector one request moves: all, or one of several equal parts. */
int64_t tutti_part_of(const tutti_call *call, const tutti_call_plan *plan);
/* Returns the class of calls with parts of this length; NULL if no call of the class has been made. */
tutti_class *tutti_class_find(const tutti_comm *comm, const tutti_call_plan *plan, const tutti_call *call);

/* --- schedules: comm_schedules.c --- */
/* Finds the lowered and proved schedule for the request, and makes it if there is none (collective). The communicator
 * owns it. */
tutti_status tutti_made_schedule_find(tutti_comm *comm, const char *algorithm, const tutti_compile_request *request,
                                      tutti_schedule **out, tutti_failure *err);
void tutti_made_schedules_destroy(tutti_comm *comm);

/* --- requests in a queue: comm_queue.c --- */
/* Called when an invocation is complete; arg is the queue. Returns true if the next one begins. */
bool tutti_call_queue_turn(void *arg);
/* Queues the request. It begins at once if no other request is before it. */
void tutti_call_queue_push(tutti_request *q);
/* Ends all requests of the queue after a failure of the group. */
void tutti_call_queue_drop(tutti_call_queue *queue);

/* --- making queues: comm_queue_make.c --- */
/* Finds the queue of the key, and makes it if there is none (collective). */
tutti_status tutti_call_queue_find(tutti_comm *comm, const tutti_call_key *key, const tutti_call *call,
                                   const tutti_notice *notice, tutti_call_queue **out, tutti_failure *err);
void tutti_call_queue_destroy(tutti_call_queue *queue);
tutti_own_schedule *tutti_find_schedule(const tutti_comm *comm, const char *name);
/* Predicts the times of the algorithms by the figures of this host; between hosts, by assumed figures of a star. */
tutti_status tutti_call_queue_candidates(tutti_comm *comm, const tutti_call_key *key, tutti_choice *out,
                                         tutti_failure *err);

/* --- allocations: comm_memory.c --- */
/* Returns allocation << 48 | offset for an address, 0 if it is in no allocation. */
int64_t tutti_place_of(const tutti_comm *comm, const void *address);
void tutti_free_allocations(tutti_comm *comm);

/* --- the board, on which each rank writes its calls: comm_board.c --- */
tutti_status tutti_board_open(tutti_comm *comm, tutti_failure *err);
/* Writes the notice for the other ranks and returns the call's number. */
uint64_t tutti_board_post(tutti_comm *comm, const tutti_notice *notice);
/* Returns true if every rank that has made call `number` has made the same call; else it fails the group. */
bool tutti_board_compare(tutti_comm *comm, uint64_t number);
void tutti_notice_text(const tutti_notice *notice, char *out, size_t size);
/* Returns the shared word in which rank 0 writes the way through memory of a call of class `number`. Each class has two
 * words, by the parity of the call's number. */
_Atomic uint32_t *tutti_board_choice(const tutti_comm *comm, int number, int parity);

#endif
