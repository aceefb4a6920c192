/* SPDX-License-Identifier: Apache-2.0 */
/* device_row.h: a device: where vectors lie and what computes on them, one row for each kind: `cpu` is this host's
 * memory and cores, `cuda` those of a card. Code that owns vectors (a plan's memories, an exchange's scratch) is given
 * a row and touches them only by its calls. Addresses belong to the row: the host may add to them and compare them, but
 * it may read memory at them only if the row shares the host's memory. Some parts of the program use the host's memory
 * without a row: `tune kernels`, `eval`, `infer`, memory that callers of tutti/comm.h bring, the bytes of wires, and
 * the support vector machine.
 *
 * Memory. A row allocates memory, or `enrol` makes memory known to it that exists already, such as regions, which peers
 * map too. The row's calls touch no other memory, unless it shares the host's memory.
 *
 * The queue. Work (`launch`) and loops (`copy`, `reduce`, `convert`, `average`) run in the order in which threads put
 * them on the queue. The row `cpu` runs each at once. Work is over when `wait` for its event has returned. All work and
 * all loops are over when `finish` has returned. Nothing else waits for them: a caller that lets the host or another
 * rank read their results calls `finish` first.
 *
 * Loops are elementwise. They give the same bits at any offset, in any pieces, and on all rows (tensor/reduce.h and
 * tensor/convert.h say which).
 *
 * Work is a row of a table (tutti_queue_work). Each kind of device has its own table, and a caller takes the row from
 * the table of its device's kind.
 *
 * A row with data of its own is a struct that begins with a tutti_device. Threads: any, but no two calls at the same
 * time may touch the same elements unless both read, or a method says so (tensor/relaxed.h). Errors: allocating fails;
 * a card that fails later reports the failure in `check`. Cost: a loop is one indirect call, then its one pass over
 * memory. */
#ifndef TUTTI_DEVICE_ROW_H
#define TUTTI_DEVICE_ROW_H

#include "../tensor/reduce.h"
#include "tutti/failure.h"

/* A reduction: outputs = expression over inputs, element by element. in, out: types of inputs and outputs. One of them
 * may have 16 bits if the other one is f32. Then the sum is made in f32, and rounded once if `out` has 16 bits. */
typedef struct {
    tutti_dtype in, out;
    tutti_operation op;   /* the operation; avg is computed as a sum */
    const uint8_t *folds; /* order of the additions, in postfix form as in tutti/schedule.h; NULL means left to right */
    bool stream;          /* true if the vectors are larger than the caches, so that stores may bypass these */
} tutti_device_reduction;

/* All work that was launched up to a moment. */
typedef struct {
    uint64_t number; /* number of the last of this work; 0 means that there is none */
} tutti_event;

typedef struct tutti_device tutti_device;

/* Kinds of devices. Each kind has its own tables of work (tutti_queue_work). */
typedef enum { TUTTI_DEVICE_CPU, TUTTI_DEVICE_CUDA, TUTTI_NDEVICE_KINDS } tutti_device_kind;

/* One kind of work, as one kind of device computes it. */
typedef struct {
    const char *name; /* the name in messages of failures, such as "forward" */
    /* Does the work. args: nbytes of arguments. varying: where the device finds the part of the arguments that changes
     * from step to step, when the work runs (on the CPU: inside args). Code that is recorded once and replayed must
     * read that part from there. */
    void (*run)(const tutti_device *d, const void *args, const void *varying);
    /* nbytes: bytes of the arguments; varying_at, varying_bytes: offset and bytes of the part that changes from step to
     * step, 0 bytes if no part does */
    size_t nbytes, varying_at, varying_bytes;
} tutti_queue_work;

enum { TUTTI_DEVICE_HANDLE = 64 }; /* bytes of a handle by which another process of this host opens memory */

struct tutti_device {
    const char *name;  /* name, such as "cpu" */
    const char *about; /* description of the device, such as "NVIDIA H200"; NULL if there is nothing to add */
    tutti_device_kind kind;
    bool shares_host; /* true if calls and launches may touch all memory that the host may touch */

    /* Returns zeroed, populated memory at a multiple of at least 64; NULL with errno set if there is none. */
    void *(*allocate)(const tutti_device *d, size_t nbytes);
    /* frees memory from `allocate`; `at` may be NULL */
    void (*release)(const tutti_device *d, void *at, size_t nbytes);
    /* Shares memory that the device has allocated with other processes of this host: show writes a handle, by which
     * each process opens the memory at an address of its own. NULL if peers map the host's memory themselves. The
     * message of a failure says what the device refuses. */
    tutti_status (*show)(const tutti_device *d, const void *at, char handle[TUTTI_DEVICE_HANDLE], tutti_failure *err);
    tutti_status (*open)(const tutti_device *d, const char handle[TUTTI_DEVICE_HANDLE], size_t nbytes, void **at,
                         tutti_failure *err);
    void (*close)(const tutti_device *d, void *at);
    /* Makes pages of host memory known to the device; they must stay until they are forgotten. host_too: the host
     * touches the pages, too (signal words, a wire). TUTTI_ERR_FAILED has a message. */
    tutti_status (*enrol)(const tutti_device *d, void *at, size_t nbytes, bool host_too, tutti_failure *err);
    void (*forget)(const tutti_device *d, void *at, size_t nbytes);

    /* Copies the input to each output. The input may be the host's own memory. Addresses and lengths may have any
     * value; an output may be the input. */
    void (*copy)(const tutti_device *d, char *const *outputs, int nout, const char *input, size_t nbytes, bool stream);
    /* Reduces n elements. An output may be one of the inputs (same address, same type); else outputs do not overlap
     * anything. */
    void (*reduce)(const tutti_device *d, const tutti_device_reduction *how, const tutti_operands *of, int64_t n);
    /* Divides the n elements of x by nranks. This is the second half of avg, after the sum. */
    void (*average)(const tutti_device *d, tutti_dtype type, char *x, int64_t n, int32_t nranks);
    /* Converts from one type to another. One of them is f32, the other one f32, bf16 or f16. The memories do not
     * overlap. */
    void (*convert)(const tutti_device *d, tutti_dtype type, const void *from, tutti_dtype to_type, void *to,
                    int64_t n);

    /* Puts work on the queue. args: work->nbytes bytes, which the row copies if it runs the work later. Memory that
     * args point to must stay until the work is over. */
    tutti_event (*launch)(const tutti_device *d, const tutti_queue_work *work, const void *args);
    void (*wait)(const tutti_device *d, tutti_event event);
    /* Gives the queued work to the device and returns. push, bring and brought are NULL if the device reads the host's
     * memory in place. */
    void (*push)(const tutti_device *d);
    /* Copies host memory to the device's, beside the queue. Work that is launched after the next push or wait reads the
     * copied values. No work in flight may read `to`; `from` must not change until brought has returned. */
    void (*bring)(const tutti_device *d, void *to, const void *from, size_t nbytes);
    void (*brought)(const tutti_device *d);
    /* Waits until everything on the queue is over. */
    void (*finish)(const tutti_device *d);
    /* Forgets all recorded sequences of work. The host calls it when it has remade something that arguments of work
     * point to, such as a kernel. NULL if the row never records. */
    void (*renew)(const tutti_device *d);
    /* Returns TUTTI_ERR_FAILED, with a message, once the device has failed. Results of launches after the failure are
     * undefined. */
    tutti_status (*check)(const tutti_device *d, tutti_failure *err);

    /* Copies a few numbers of the device's memory to `to`, for the host. */
    void (*look)(const tutti_device *d, void *to, const void *from, size_t nbytes);
    /* borrow lends memory to loops of the host that are not part of a step: they draw, read or write weights. Until
     * give_back, only the host uses the memory. If the host did not change it, nothing is written back. The CPU lends
     * the memory itself. A device that must make a copy ends the process if there is no memory for one, as tutti_alloc
     * does. */
    void *(*borrow)(const tutti_device *d, const void *at, size_t nbytes);
    void (*give_back)(const tutti_device *d, const void *at, void *borrowed, size_t nbytes, bool changed);
};

/* Returns the kind of a device. NULL, which stands for the CPU in requests and configurations, has the CPU's kind. */
static inline tutti_device_kind tutti_device_kind_of(const tutti_device *d)
{
    return d ? d->kind : TUTTI_DEVICE_CPU;
}

/* Returns this host's memory and cores. */
const tutti_device *tutti_device_cpu(void);

/* Connects to a device. name: "cpu"; "cuda" for a card; "auto" for that card if it can be used, else the CPU. card:
 * number of the card among those that the process sees, modulo their number. *why (why may be NULL) becomes the reason
 * why "auto" took the CPU, which the caller frees, or NULL. TUTTI_ERR_USAGE says what is missing. Each connect needs a
 * disconnect, after everything made on the device is gone. */
tutti_status tutti_device_connect(const char *name, int card, const tutti_device **out, char **why, tutti_failure *err);
void tutti_device_disconnect(const tutti_device *d); /* d may be NULL */

#endif
