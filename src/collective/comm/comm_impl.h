/* SPDX-License-Identifier: Apache-2.0 */
/* comm_impl.h: what the files of a communicator share.
 *
 *   lane     one exchange and the requests that go through it, one after the other. Three paths:
 *     mapped   the exchange is bound to memory of tutti_comm_alloc: one invocation a call
 *     direct   bound to plain memory (executor.h), which only one-shot can: a piece of the vector an invocation
 *     staged   bound to memory of its own: a piece is copied in, exchanged, copied out
 *   board    what each rank has called, in memory that the others read: found out only when something is wrong, or where the lane
 *            does not say it all (how long a vector is that goes in pieces)
 *
 * Files: comm.c (life, memory), comm_call.c (calls and requests), comm_plan.c (which path), comm_lane.c (lanes),
 * comm_schedules.c, comm_board.c, comm_explain.c, comm_transfer.c (tutti/transfer.h). */
#ifndef TUTTI_COMM_IMPL_H
#define TUTTI_COMM_IMPL_H

#include "../../base/arena.h"
#include "../group/executor.h"
#include "../group/remote.h"
#include "../simulate/choose.h"
#include "tutti/comm.h"

typedef enum { TUTTI_PATH_MAPPED, TUTTI_PATH_DIRECT, TUTTI_PATH_STAGED } tutti_path;

/* What two calls must share to go through one lane; compared byte by byte. */
typedef struct {
    int32_t path, collective, type, op, root, in_place;
    int64_t n;                  /* elements of the exchange's vector */
    int64_t in, out;            /* mapped: allocation << 48 | offset; else 0 */
    uint64_t counts, algorithm; /* hashes; 0 = even or staged (which takes any), auto */
} tutti_lane_key;
_Static_assert(sizeof(tutti_lane_key) == 64, "no padding: keys are compared byte by byte");

/* A call, described for the other ranks. */
typedef struct {
    int64_t preparing;
    tutti_lane_key key;
    int64_t count;
    uint64_t counts; /* as in the key, on every path */
    char algorithm[32];
} tutti_notice;
_Static_assert(sizeof(tutti_notice) == 120, "a notice and its number are two cache lines");

typedef struct tutti_lane tutti_lane;
struct tutti_lane {
    tutti_lane *next;
    tutti_comm *comm;
    tutti_lane_key key;
    char algorithm[TUTTI_ALGORITHM_TEXT];
    tutti_schedule *lowered; /* the communicator's */
    tutti_exchange *x;
    tutti_region *stage; /* staged: in, then out */
    char *stage_in, *stage_out;
    int64_t piece; /* elements of each block that an invocation moves; mapped: everything */
    tutti_request *head, *tail;
};

/* A block of the caller's memory. */
typedef struct {
    char *at;
    int64_t n;
} tutti_block;

struct tutti_request {
    tutti_comm *comm;
    tutti_lane *lane;
    tutti_request *next; /* behind it in the lane */
    tutti_call call;
    tutti_notice notice;
    size_t bytes;          /* of an element */
    tutti_block *in, *out; /* staged: blocks in the order of the stage */
    tutti_block one_in, one_out;
    int32_t nin, nout;
    int64_t length, at; /* of the longest block; what of it is through */
    uint64_t number;    /* of the call */
    bool active;
    atomic_bool done;  /* set in whatever thread drives the group */
    tutti_arena arena; /* of a prepared one: what it keeps */
};

/* What a call wants, after it was looked at. */
typedef struct {
    tutti_path path;
    bool in_place;
    size_t bytes;           /* of an element */
    int32_t nblocks;        /* 1, ranks or ranks^2 */
    int64_t longest, total; /* elements of the longest block, of the vector */
    int64_t piece;          /* elements of each block in one invocation */
    int64_t in, out;        /* as in the key */
} tutti_call_plan;

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
} tutti_allocation;

typedef struct tutti_made_schedule tutti_made_schedule;
typedef struct tutti_board_entry tutti_board_entry;

struct tutti_comm {
    tutti_group *group;
    int rank, nranks;
    tutti_lane *lanes; /* the one used last first */
    tutti_allocation *allocations;
    int64_t nallocations;
    tutti_own_schedule *schedules; /* the caller's */
    tutti_made_schedule *made;     /* the library's */
    tutti_region *board;
    uint64_t calls;              /* numbers of calls begin at 1 */
    tutti_writes writes;         /* of tutti/transfer.h, in flight */
    struct tutti_launched *from; /* the environment it came from; else NULL */
};

/* --- comm_plan.c --- */
/* Refuses what can be refused without the others, and says which way the call goes. */
tutti_status tutti_plan_call(const tutti_comm *comm, const tutti_call *call, tutti_call_plan *out, tutti_failure *err);
void tutti_notice_of(const tutti_call *call, const tutti_call_plan *plan, tutti_notice *out);
bool tutti_is_auto(const tutti_call *call);
/* Elements of block k of the call's blocks. */
int64_t tutti_block_count(const tutti_call *call, int32_t k);

/* --- comm_schedules.c --- */
/* The lowered schedule for the request, proved, made if there is none (collective). The communicator's. */
tutti_status tutti_made_schedule_find(tutti_comm *comm, const char *algorithm, const tutti_compile_request *request,
                                      tutti_schedule **out, tutti_failure *err);
void tutti_made_schedules_destroy(tutti_comm *comm);

/* --- comm_lane.c --- */
/* The lane for the request, made if there is none (collective). */
tutti_status tutti_lane_find(tutti_request *q, const tutti_call_plan *plan, tutti_failure *err);
void tutti_lane_destroy(tutti_lane *lane);
/* Queues the request; it begins at once if nothing is before it. */
void tutti_lane_push(tutti_request *q);
/* After a failure of the group: nothing of the lane goes on. */
void tutti_lane_drop(tutti_lane *lane);
tutti_own_schedule *tutti_find_schedule(const tutti_comm *comm, const char *name);
/* What algorithms would take, by the figures of this host, or between hosts of a star, assumed. */
tutti_status tutti_lane_candidates(const tutti_comm *comm, const tutti_lane_key *key, tutti_choice *out,
                                   tutti_failure *err);

/* --- comm_board.c --- */
tutti_status tutti_board_open(tutti_comm *comm, tutti_failure *err);
/* Tells the others; returns the call's number. */
uint64_t tutti_board_post(tutti_comm *comm, const tutti_notice *notice);
/* Whether everybody who has made call `number` has made the same; if not the group has failed. */
bool tutti_board_compare(tutti_comm *comm, uint64_t number);
void tutti_notice_text(const tutti_notice *notice, char *out, size_t size);

#endif
