/* SPDX-License-Identifier: Apache-2.0 */
/* fake.h: what the fake driver's files share: the lock, reports, device memory, work on streams.
 *
 * All state is one process's, under one recursive lock that each driver call holds (fake_enter). */
#ifndef FAKE_FAKE_H
#define FAKE_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake_demand.h"
#include "ptx/ptx.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

enum { /* cuda.h's CUresult */
       FAKE_OK = 0,
       FAKE_INVALID_VALUE = 1,
       FAKE_OUT_OF_MEMORY = 2,
       FAKE_NOT_INITIALIZED = 3,
       FAKE_NO_DEVICE = 100,
       FAKE_INVALID_DEVICE = 101,
       FAKE_INVALID_CONTEXT = 201,
       FAKE_NO_BINARY_FOR_GPU = 209,
       FAKE_INVALID_PTX = 218,
       FAKE_OPERATING_SYSTEM = 304,
       FAKE_INVALID_HANDLE = 400,
       FAKE_NOT_FOUND = 500,
       FAKE_NOT_READY = 600,
       FAKE_LAUNCH_FAILED = 719,
       FAKE_ALREADY_REGISTERED = 712,
       FAKE_NOT_REGISTERED = 713,
       FAKE_CAPTURE_UNSUPPORTED = 900,
       FAKE_CAPTURE_INVALIDATED = 901,
       FAKE_CAPTURE_MERGE = 902,
       FAKE_CAPTURE_UNMATCHED = 903,
       FAKE_CAPTURE_UNJOINED = 904,
       FAKE_CAPTURED_EVENT = 907
};

/* ---- reports (fake_report.c) ---- */

/* Counts a report and says it by fake_say. */
void fake_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* FAKE_CALL takes the lock and counts the call; the end of the scope releases it. A call that is to fail, or that needs
 * a context and has none, returns at once: fake_enter says its code. FAKE_CALL_ANYWHERE needs no context. */
typedef struct {
    int code;
} fake_guard;
fake_guard fake_enter(const char *name, bool context);
void fake_leave(fake_guard *g);
#define FAKE_CALL_IN(context)                                                                                          \
    fake_guard guard_ __attribute__((cleanup(fake_leave))) = fake_enter(__func__, context);                            \
    if (guard_.code) return guard_.code
#define FAKE_CALL()          FAKE_CALL_IN(true)
#define FAKE_CALL_ANYWHERE() FAKE_CALL_IN(false)
void fake_pause(void); /* lets other threads have the lock for a moment */

/* ---- memory (fake_memory.c) ---- */

enum { FAKE_NONE = 0, FAKE_UNWRITTEN = 1, FAKE_WRITTEN = 2 }; /* of a byte of the arena */

typedef struct fake_block {
    uint64_t at;
    size_t nbytes, mapped;
    int fd, card;
    bool freed, opened, inner; /* opened: of another process; inner: a module's */
    struct fake_block *next;
} fake_block;

int fake_memory_begin(void);
int fake_allocate(size_t nbytes, int card, bool inner, uint64_t *out);
int fake_open(int fd, size_t nbytes, int card, uint64_t *out); /* takes the fd */
int fake_free(uint64_t at, bool inner, const char *call);
fake_block *fake_block_of(uint64_t address); /* alive or freed; NULL */
fake_block *fake_blocks(void);
size_t fake_used(int card);
void fake_open_memory(bool open); /* for the host */
int fake_host_add(void *at, size_t nbytes, bool ours);
int fake_host_remove(void *at, bool ours);
bool fake_host_has(uint64_t at, size_t nbytes);
int fake_host_left(bool ours); /* how many */

extern uint64_t fake_arena, fake_arena_size, fake_alias, fake_shadow;

static inline bool fake_is_device(uint64_t at)
{
    return at - fake_arena < fake_arena_size;
}
/* Says where the fake itself finds the byte; the address must be the device's. */
static inline uint8_t *fake_bytes(uint64_t at)
{
    return (uint8_t *)(uintptr_t)(at - fake_arena + fake_alias);
}
static inline uint8_t *fake_marks(uint64_t at)
{
    return (uint8_t *)(uintptr_t)(at - fake_arena + fake_shadow);
}
/* Checks a range of nbytes and marks it as written where `writes` says so. Host memory must be registered unless `any`
 * is set. NULL: the access was reported in the name of `who`. */
uint8_t *fake_range(uint64_t at, size_t nbytes, bool writes, bool any, const char *who);
/* Writes into `out`, of `size` bytes, what stands at the nbytes behind the address. */
void fake_describe(uint64_t at, size_t nbytes, char *out, size_t size);

/* ---- contexts (fake_device.c) ---- */

enum { FAKE_MAX_CARDS = 16 };
int fake_current_card(void);  /* -1: none */
size_t fake_card_bytes(void); /* memory of a card */
bool fake_released(void);     /* every context that was retained has been released */
int fake_cards(void);

/* ---- streams (fake_streams.c) ---- */

typedef struct fake_event fake_event;
typedef struct fake_stream fake_stream;
typedef struct fake_graph fake_graph;

typedef enum {
    FAKE_OP_COPY,
    FAKE_OP_SET,
    FAKE_OP_LAUNCH,
    FAKE_OP_HOST,
    FAKE_OP_RECORD,
    FAKE_OP_WAIT,
    FAKE_OP_WAIT_VALUE,
    FAKE_OP_WRITE_VALUE
} fake_op_kind;

typedef struct fake_op {
    fake_op_kind kind;
    uint64_t to, from; /* addresses */
    size_t nbytes;
    uint32_t value, unit; /* of SET, WAIT_VALUE, WRITE_VALUE; bytes of the value, or how to compare */
    fake_event *event;
    uint64_t ticket; /* of a record: which one */
    void (*work)(void *args);
    ptx_launch launch;
    uint8_t *args; /* its own */
    struct fake_op *next;
} fake_op;

struct fake_event {
    bool alive, timing;
    uint64_t recorded, done; /* tickets */
    fake_stream *stream;     /* of the last record */
    fake_graph *capture;     /* recorded while this was captured */
    int position;            /* what the stream had captured then */
    double time;
    fake_event *next;
};

struct fake_stream {
    bool alive;
    int card;
    fake_op *first, **last;
    fake_graph *capture;
    bool origin, invalidated, stepping, inner; /* inner: the card's own, the handle 0 */
    int mode, position, joined;                /* operations captured; how many of them the origin waits for */
    fake_stream *next;
};

struct fake_graph {
    bool alive, instance;
    fake_op *first, **last;
    fake_graph *next;
};

/* Finds the stream behind a handle. NULL: there is none or it was destroyed, which was reported in the name of
 * `call`. */
fake_stream *fake_stream_of(void *handle, const char *call);
fake_event *fake_event_of(void *handle, const char *call);
/* Puts a copy of the op and of its arg_bytes of arguments onto the stream, or into the graph that the stream
 * captures. */
int fake_enqueue(fake_stream *s, const fake_op *op, size_t arg_bytes);
void fake_free_op(fake_op *op);
fake_op *fake_copy_op(const fake_op *op, size_t arg_bytes);
size_t fake_op_args(const fake_op *op);
/* Runs what stands on the stream, at most so many operations (0: all); false: some are left. */
bool fake_run_stream(fake_stream *s, int at_most);
bool fake_run_until(fake_stream *s, int at_most, const fake_event *e,
                    uint64_t ticket); /* until e is recorded; e may be NULL */
void fake_run_all(int card);
bool fake_capturing(bool strict); /* a stream captures; strict: in a mode that forbids unsafe calls */
fake_stream *fake_streams(void);
fake_event *fake_events(void);
fake_graph *fake_graphs(void);
int fake_modules_left(void);
double fake_now(void); /* seconds */
void fake_append(fake_op ***last, fake_op *op);

/* ---- modules (fake_modules.c) ---- */

typedef struct fake_module {
    ptx_module m; /* first: a function's `module` is this too */
    bool alive;
    struct fake_module *next;
} fake_module;

#endif
