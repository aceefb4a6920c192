/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_impl.h: declarations that the files of src/device/cuda share.
 *
 *   cuda_device.c    opens and closes a card, shared objects   cuda_memory.c   memory, ranges, copies to the host
 *   cuda_libraries.c finds libraries                           cuda_module.c   kernels' texts, compiled and cached
 *   cuda_queue.c     the queue, and its replays                cuda_loops.c    copy, reduce, average, convert
 *
 * Invariants: while a call of the device row runs, `lock` is held, and the card's context is the current one of the
 * calling thread. Work on the queue has not been given to the driver yet. Work that was given to the driver is over
 * once `done` has reached its number. */
#ifndef TUTTI_CUDA_IMPL_H
#define TUTTI_CUDA_IMPL_H

#include <pthread.h>

#include "cuda.h"
#include "cuda_api.h"

enum { TUTTI_CUDA_MOST_INPUTS = 64, TUTTI_CUDA_MOST_OUTPUTS = 8 };

/* A range of addresses that the driver knows, so that copies may use them directly. */
typedef struct {
    char *base;
    size_t nbytes;
    bool is_host;   /* true for pages of the host that the driver has registered */
    bool is_alien;  /* true for pages of the host that other code of this process has registered with the driver */
    bool is_opened; /* true for the card's memory that another process allocated and this process opened */
} tutti_cuda_range;

typedef struct {
    const char *text; /* the text of the module's kernels, which the build embeds */
    void *module;
} tutti_cuda_module;

typedef struct {
    const tutti_cuda_kept *what;
    void *kept;
} tutti_cuda_keeping;

typedef struct tutti_cuda_queue tutti_cuda_queue;

/* Handles of the kernels in loops.cu. */
typedef struct {
    tutti_cuda_function sum_f32, sum, divide, convert;
} tutti_cuda_loops;

struct tutti_cuda {
    tutti_device row; /* must be the first field */
    pthread_mutex_t lock;
    tutti_cuda_driver driver;
    tutti_cuda_card card;
    /* context: the card's context; stream: the queue's stream; side: the stream on which `bring` copies host memory */
    void *context, *stream, *side;
    void *arrived;  /* CUDA event that is reached when the last copy by `bring` is over */
    bool is_coming; /* true if `bring` has made a copy for which the queue has not waited yet */
    tutti_cuda_range *ranges;
    int nranges, most_ranges;
    tutti_cuda_module *modules;
    int nmodules;
    tutti_cuda_keeping *keeping;
    int nkept;
    tutti_cuda_queue *queue;
    tutti_cuda_loops loops;
    char *bounce; /* pinned host memory of TUTTI_CUDA_BOUNCE bytes, through which plain host memory is copied */
    /* pinned copy of the memory that `look` read last: seen_bytes bytes of the card's memory from address seen_at on */
    char *seen;
    const char *seen_at;
    size_t seen_bytes;
    tutti_failure failure; /* the first failure of a launch or copy; TUTTI_OK if there is none */
};
enum { TUTTI_CUDA_BOUNCE = 4 << 20, TUTTI_CUDA_SEEN = 4096 };

static inline tutti_cuda *tutti_cuda_begin(const tutti_device *d)
{
    tutti_cuda *c = tutti_cuda_of(d);
    pthread_mutex_lock(&c->lock);
    c->driver.cuCtxSetCurrent(c->context);
    return c;
}

static inline void tutti_cuda_end(tutti_cuda *c)
{
    pthread_mutex_unlock(&c->lock);
}

/* If `result` is a failure, remembers it unless an earlier one is remembered: the call's name and the driver's message.
 * Returns true if `result` is a success. */
bool tutti_cuda_is_well(tutti_cuda *c, tutti_cu_result result, const char *call);
#define TUTTI_CUDA(c, call, ...) tutti_cuda_is_well(c, (c)->driver.call(__VA_ARGS__), #call)
/* Writes the driver's message for a result, "out of memory (CUDA_ERROR_OUT_OF_MEMORY)", into out. */
void tutti_cuda_words(const tutti_cuda_driver *driver, tutti_cu_result result, char out[160]);

/* cuda_memory.c: fills in the row's calls for memory, and keeps the address ranges that the device knows. */
void tutti_cuda_place_memory(tutti_device *row);
const tutti_cuda_range *tutti_cuda_range_of(const tutti_cuda *c, const void *at);
void tutti_cuda_release_ranges(tutti_cuda *c);
/* Copies nbytes of plain host memory from `from` to `to`, after everything on the queue. The copy is over when it
 * returns. */
void tutti_cuda_carry_in(tutti_cuda *c, void *to, const void *from, size_t nbytes);

/* cuda_queue.c: the queue of work. replays: true if repeated sequences are to be recorded and replayed. */
tutti_cuda_queue *tutti_cuda_queue_create(bool replays);
void tutti_cuda_queue_destroy(tutti_cuda *c);
void tutti_cuda_place_queue(tutti_device *row);
/* tutti_cuda_flush gives all queued work to the driver. tutti_cuda_sync also waits until the work is over. Callers hold
 * the lock. */
void tutti_cuda_flush(tutti_cuda *c);
void tutti_cuda_sync(tutti_cuda *c);
void tutti_cuda_forget_recorded(tutti_cuda *c); /* Forgets all recorded sequences. Call it when nothing is running. */
uint64_t tutti_cuda_put(tutti_cuda *c, const tutti_queue_work *work, const void *args);

/* cuda_loops.c: finds the kernels of loops.cu. */
tutti_status tutti_cuda_loops_find(tutti_cuda *c, tutti_failure *err);
void tutti_cuda_place_loops(tutti_device *row);

/* cuda_module.c: compiles and loads kernels. */
void tutti_cuda_modules_release(tutti_cuda *c);

#endif
