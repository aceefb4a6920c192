/* SPDX-License-Identifier: Apache-2.0 */
/* comm_impl.h: what the files of a communicator share.
 *
 *   way      how a call goes through memory; one row each in comm_way.c. Four paths:
 *     mapped   the exchange is bound to memory of all ranks (alloc, enrol): one invocation a call
 *     shown    bound to plain memory (executor.h), shown to the peers through scratch: a piece of the vector an
 *              invocation
 *     staged   bound to memory of its own: a piece is copied in, exchanged, copied out
 *     reached  bound to plain memory, that of peers included: one invocation a call
 *   class    calls of one kind and about one length: which of several ways they go is found out by the calls themselves
 *            (comm_choice.c)
 *   queue     one exchange and the requests that go through it, one after the other
 *   board    what each rank has called, in memory that the others read when something is wrong
 *
 * Files: comm.c (life), comm_memory.c (allocations), comm_call.c (calls and requests), comm_plan.c (is a call sound,
 * which ways may it go), comm_way.c, comm_choice.c, comm_queue.c and comm_queue_make.c (queues), comm_schedules.c,
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
    int64_t n;                  /* elements of the exchange's vector */
    int64_t in, out;            /* mapped: allocation << 48 | offset; else 0 */
    uint64_t counts, algorithm; /* hashes; 0 = even or staged (which takes any), auto */
} tutti_call_key;
_Static_assert(sizeof(tutti_call_key) == 64, "no padding: keys are compared byte by byte");

/* A call, described for the other ranks: the key of the first way that it may go, and what that does not say. */
typedef struct {
    int64_t preparing;
    tutti_call_key key;
    int64_t count;
    uint64_t counts; /* as in the key, on every path */
    char algorithm[32];
} tutti_notice;
_Static_assert(sizeof(tutti_notice) == 120, "a notice and its number are two cache lines");

typedef struct tutti_call_queue tutti_call_queue;
struct tutti_call_queue {
    tutti_call_queue *next;
    tutti_comm *comm;
    tutti_call_key key;
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_schedule *lowered; /* the communicator's */
    tutti_exchange *x;
    tutti_region *stage; /* staged: in, then out */
    char *stage_in, *stage_out;
    int64_t piece; /* most elements of each block that an invocation moves; mapped, reached: everything */
    tutti_request *head, *tail;
};

/* A block of the caller's memory. */
typedef struct {
    char *at;
    int64_t n;
} tutti_call_block;

struct tutti_request {
    tutti_comm *comm;                            /* NULL: it is gone, and so is what the request was prepared on */
    tutti_call_queue *queue;                     /* NULL: the same of an allocation */
    tutti_request *next;                         /* behind it in the queue */
    tutti_request *next_prepared, **prepared_at; /* of the communicator's */
    tutti_call call;
    tutti_notice notice;
    size_t bytes;               /* of an element */
    tutti_call_block *in, *out; /* staged: blocks in the order of the stage */
    tutti_call_block one_in, one_out;
    int32_t nin, nout;
    int64_t length, at; /* of the longest block; what of it is through */
    int64_t piece;      /* most of it that the next invocation moves */
    bool large;         /* of the whole call: what a neighbour's caches hold is not worth keeping */
    uint64_t number;    /* of the call */
    bool active;
    atomic_bool done;  /* set in whatever thread drives the group */
    tutti_arena arena; /* of a prepared one: what it keeps */
};

/* What a call wants, after it was looked at. */
typedef struct {
    uint32_t ways;            /* bits: those that it may go */
    tutti_way first;          /* of them, for whoever cannot find out */
    bool in_place, has_empty; /* some block has no elements */
    size_t bytes;             /* of an element */
    int32_t nblocks;          /* 1, ranks or ranks^2 */
    int64_t longest, total;   /* elements of the longest block, of the vector */
    int64_t in, out;          /* as in the key */
} tutti_call_plan;

/* The last call, looked at. */
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
    int64_t number; /* from 1 */
    bool enrolled;  /* the caller's memory */
} tutti_allocation;

typedef struct tutti_made_schedule tutti_made_schedule;
typedef struct tutti_board_entry tutti_board_entry;

struct tutti_comm {
    tutti_group *group;
    const tutti_device *device; /* the host's: callers' memory is plain */
    int rank, nranks;
    tutti_call_queue *queues; /* the one used last first */
    tutti_last last;
    bool has_last; /* and no memory has come or gone since */
    tutti_class *classes;
    int nclasses;
    tutti_allocation *allocations;
    int64_t nallocations;
    tutti_own_schedule *schedules; /* the caller's */
    tutti_made_schedule *made;     /* the library's */
    tutti_request *prepared;       /* all that have not been freed */
    tutti_region *board;
    bool crowded;        /* ranks share cores, as one of them sees it: then what all of them do together counts */
    uint64_t calls;      /* numbers of calls begin at 1 */
    tutti_writes writes; /* of tutti/transfer.h, in flight */
    struct tutti_launched *from; /* the environment it came from; else NULL */
    struct tutti_home *home;     /* the process that made it */
    atomic_bool in_use;          /* by a call */
    int64_t timed_ns;            /* when the last call that was timed was over */
    tutti_topology *here;        /* where the ranks are; NULL: nobody has asked yet */
};

/* --- comm.c --- */
/* Whoever calls may: not a child of fork, and no second thread beside one that is in a call. leave undoes an enter that
 * said yes. */
tutti_status tutti_comm_enter(tutti_comm *comm, tutti_failure *err);
void tutti_comm_leave(tutti_comm *comm);

/* --- comm_plan.c --- */
/* Refuses what can be refused without the others, and says which ways the call may go. */
tutti_status tutti_plan_call(const tutti_comm *comm, const tutti_call *call, tutti_call_plan *out, tutti_failure *err);
/* The key of a queue for the call, or the part [at, at + n) of it, on this way. */
tutti_call_key tutti_key_of(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan, tutti_way way);
void tutti_notice_of(const tutti_comm *comm, const tutti_call *call, const tutti_call_plan *plan, tutti_notice *out);
bool tutti_is_auto(const tutti_call *call);
/* How many counts a call has; one, whatever the number of ranks: it takes no array of them. */
int32_t tutti_block_number(tutti_collective c, int32_t nranks);
/* Elements of block k of the call's blocks. */
int64_t tutti_block_count(const tutti_call *call, int32_t k);

/* --- comm_call.c --- */
/* Elements of the vector that go one way; all, or an even part of it. */
int64_t tutti_part_of(const tutti_call *call, const tutti_call_plan *plan);
/* The class of such a part; NULL: none has gone yet. */
tutti_class *tutti_class_find(const tutti_comm *comm, const tutti_call_plan *plan, const tutti_call *call);

/* --- comm_schedules.c --- */
/* The lowered schedule for the request, proved, made if there is none (collective). The communicator's. */
tutti_status tutti_made_schedule_find(tutti_comm *comm, const char *algorithm, const tutti_compile_request *request,
                                      tutti_schedule **out, tutti_failure *err);
void tutti_made_schedules_destroy(tutti_comm *comm);

/* --- comm_queue.c --- */
/* An invocation is complete (arg: the queue); true: the next one begins. */
bool tutti_call_queue_turn(void *arg);
/* Queues the request; it begins at once if nothing is before it. */
void tutti_call_queue_push(tutti_request *q);
/* After a failure of the group: nothing of the queue goes on. */
void tutti_call_queue_drop(tutti_call_queue *queue);

/* --- comm_queue_make.c --- */
/* The queue of the key, made if there is none (collective). */
tutti_status tutti_call_queue_find(tutti_comm *comm, const tutti_call_key *key, const tutti_call *call,
                                   const tutti_notice *notice, tutti_call_queue **out, tutti_failure *err);
void tutti_call_queue_destroy(tutti_call_queue *queue);
tutti_own_schedule *tutti_find_schedule(const tutti_comm *comm, const char *name);
/* What algorithms would take, by the figures of this host, or between hosts of a star, assumed. */
tutti_status tutti_call_queue_candidates(tutti_comm *comm, const tutti_call_key *key, tutti_choice *out,
                                         tutti_failure *err);

/* --- comm_memory.c --- */
/* Allocation << 48 | offset of an address, 0 = in none. */
int64_t tutti_place_of(const tutti_comm *comm, const void *address);
void tutti_free_allocations(tutti_comm *comm);

/* --- comm_board.c --- */
tutti_status tutti_board_open(tutti_comm *comm, tutti_failure *err);
/* Tells the others; returns the call's number. */
uint64_t tutti_board_post(tutti_comm *comm, const tutti_notice *notice);
/* Whether everybody who has made call `number` has made the same; if not the group has failed. */
bool tutti_board_compare(tutti_comm *comm, uint64_t number);
void tutti_notice_text(const tutti_notice *notice, char *out, size_t size);
/* Where rank 0 says which way call `parity` of a class goes. */
_Atomic uint32_t *tutti_board_choice(const tutti_comm *comm, int number, int parity);

#endif
