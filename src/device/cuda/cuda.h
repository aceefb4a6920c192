/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h: a CUDA card as a device row: kernels, launches, streams, and things that are kept once for each card.
 *
 * The program has no CUDA dependency: the driver, NVRTC and libraries are opened when a card is wanted
 * (cuda_libraries.c). A kernel's text is compiled by NVRTC for the card at hand and kept in a cache folder by its hash.
 *
 * Launches come from functions of tutti_queue_work tables and of kernel rows, which the row calls when it empties its
 * queue. A sequence of work that comes again with the same arguments is recorded once as a CUDA graph and replayed;
 * only the varying part of arguments is written anew (see tutti_queue_work). So such a function launches the same
 * things for the same arguments, and its kernels read the varying part from the device.
 *
 * Threads: a tutti_cuda is one thread's at a time. Errors: opening and finding fail with words; a failed launch is
 * remembered, and check says so. */
#ifndef TUTTI_CUDA_H
#define TUTTI_CUDA_H

#include "../../base/text/sourced.h"
#include "../../base/text/strbuf.h"
#include "../device_row.h"

typedef struct tutti_cuda tutti_cuda;

tutti_status tutti_cuda_open(int card, tutti_cuda **out, tutti_failure *err);
void tutti_cuda_close(tutti_cuda *c); /* c may be NULL */
const tutti_device *tutti_cuda_device(const tutti_cuda *c);
tutti_cuda *tutti_cuda_of(const tutti_device *d); /* d->kind must be TUTTI_DEVICE_CUDA */

/* The properties of a card. */
typedef struct {
    char name[96];                     /* "NVIDIA H200" */
    int number, major, minor;          /* capability 9.0: major 9, minor 0 */
    int multiprocessors, shared_bytes; /* the most shared memory that a block can ask for */
    int64_t memory_bytes, l2_bytes;
    int driver; /* 13000 means CUDA 13.0 */
} tutti_cuda_card;
const tutti_cuda_card *tutti_cuda_card_of(const tutti_cuda *c);

/* ---- kernels of our own ---- */

typedef struct tutti_cuda_function *tutti_cuda_function; /* the driver's */

/* Finds the function `entry` (extern "C" __global__) of the text `module` in this table of embedded texts. The module
 * is compiled at the first call, with the text "common" of the same table, if there is one, in front. TUTTI_ERR_FAILED
 * with the compiler's words. */
tutti_status tutti_cuda_find(tutti_cuda *c, const tutti_embedded_text *texts, const char *module, const char *entry,
                             tutti_cuda_function *out, tutti_failure *err);
/* A function that is to be found by the name of its entry, and where to put it. */
typedef struct {
    const char *entry;
    tutti_cuda_function *out;
} tutti_cuda_wanted;
/* Finds n wanted functions of one module as tutti_cuda_find does. TUTTI_ERR_FAILED at the first that is not found. */
tutti_status tutti_cuda_find_all(tutti_cuda *c, const tutti_embedded_text *texts, const char *module,
                                 const tutti_cuda_wanted *wanted, size_t n, tutti_failure *err);

typedef struct {
    uint32_t blocks[3];  /* x, y, z; zero counts as one */
    uint32_t threads[3]; /* of a block */
    uint32_t shared;     /* bytes of dynamic shared memory */
} tutti_cuda_grid;
/* Returns the blocks of `threads` threads for n elements, of which a thread takes `each`. */
tutti_cuda_grid tutti_cuda_cover(int64_t n, int threads, int each);
/* args: one pointer for each parameter, as cuLaunchKernel takes them. */
void tutti_cuda_run(tutti_cuda *c, tutti_cuda_function f, tutti_cuda_grid grid, void *const *args);
/* Sets nbytes of device memory to `value`. */
void tutti_cuda_fill(tutti_cuda *c, void *at, uint8_t value, size_t nbytes);
void tutti_cuda_move(tutti_cuda *c, void *to, const void *from, size_t nbytes); /* both lie on the device */

/* ---- other people's libraries ---- */

void *tutti_cuda_stream(const tutti_cuda *c); /* a CUstream, which a library is told to work on */
/* Remembers that a library's call failed: `what` and its words. check reports the first failure. */
void tutti_cuda_fail(tutti_cuda *c, const char *what, const char *words);
/* Opens a library of this name ("cudnn", "cublasLt", "nvrtc") as cuda_libraries.c looks for it; handles stay open.
 * TUTTI_ERR_FAILED with where it was looked for. path: where it was found; may be NULL. */
tutti_status tutti_cuda_library(const char *name, void **handle, char path[256], tutti_failure *err);
/* Finds n functions of such a library by their names, and writes them into a table of pointers. TUTTI_ERR_FAILED if the
 * library or one of them is missing. */
tutti_status tutti_cuda_functions(const char *name, const char *const *names, size_t n, void *pointers,
                                  tutti_failure *err);

/* Appends lines for people: which parts of CUDA this machine has, and which are missing. */
void tutti_cuda_describe(tutti_strbuf *out);

/* A thing that all kernels of a card share, such as a library's handle. The first call with its name makes it. Closing
 * the card destroys all of them, the last made first. Once keep has returned, the card's context is the current one of
 * this thread, which libraries need outside of the queue. */
typedef struct {
    const char *name;
    tutti_status (*make)(tutti_cuda *c, void **out, tutti_failure *err);
    void (*destroy)(void *kept);
} tutti_cuda_kept;
tutti_status tutti_cuda_keep(tutti_cuda *c, const tutti_cuda_kept *what, void **out, tutti_failure *err);

#endif
