/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h: a CUDA card as a device row: kernels, launches, streams, and objects that exist once for each card.
 *
 * Building and starting the program does not need CUDA: the driver, NVRTC and libraries are opened when a card is
 * wanted (cuda_libraries.c). A kernel's text is compiled by NVRTC for the card at hand and kept in a cache folder by
 * its hash.
 *
 * Kernels are launched by the functions of tutti_queue_work tables and of kernel rows. The device row calls these
 * functions when it empties its queue. If a sequence of work comes again with the same arguments, it is recorded once
 * as a CUDA graph and then replayed. Only the part of the arguments that varies from step to step is written anew (see
 * tutti_queue_work). So such a function must launch the same kernels for the same arguments, and its kernels must read
 * the varying part from the card's memory.
 *
 * Threads: a tutti_cuda is used by one thread at a time. Errors: opening a card and finding functions fail with a
 * message. A failed launch is remembered, and the row's `check` reports it. */
#ifndef TUTTI_CUDA_H
#define TUTTI_CUDA_H

#include "../../base/text/sourced.h"
#include "../../base/text/strbuf.h"
#include "../device_row.h"

typedef struct tutti_cuda tutti_cuda;

tutti_status tutti_cuda_open(int card, tutti_cuda **out, tutti_failure *err);
void tutti_cuda_close(tutti_cuda *c); /* c may be NULL */
const tutti_device *tutti_cuda_device(const tutti_cuda *c);
tutti_cuda *tutti_cuda_of(const tutti_device *d); /* Returns the card of a device row; d->kind must be
                                                   * TUTTI_DEVICE_CUDA */

/* The properties of a card. */
typedef struct {
    char name[96];            /* name, such as "NVIDIA H200" */
    int number, major, minor; /* number: number of the card; major, minor: its compute capability, 9 and 0 for 9.0 */
    /* multiprocessors: their number; shared_bytes: largest shared memory that a block can ask for */
    int multiprocessors, shared_bytes;
    int64_t memory_bytes, l2_bytes;
    int driver; /* version of the driver: 13000 means CUDA 13.0 */
} tutti_cuda_card;
const tutti_cuda_card *tutti_cuda_card_of(const tutti_cuda *c);

/* ---- kernels of our own ---- */

typedef struct tutti_cuda_function *tutti_cuda_function; /* a function handle of the driver */

/* Finds the function `entry` (extern "C" __global__) of the text `module` in this table of embedded texts. The module
 * is compiled at the first call, with the text "common" of the same table, if there is one, in front. TUTTI_ERR_FAILED
 * has the compiler's message. */
tutti_status tutti_cuda_find(tutti_cuda *c, const tutti_embedded_text *texts, const char *module, const char *entry,
                             tutti_cuda_function *out, tutti_failure *err);
/* An entry point to find by its name, and where to write the function. */
typedef struct {
    const char *entry;
    tutti_cuda_function *out;
} tutti_cuda_wanted;
/* Finds n wanted functions of one module as tutti_cuda_find does. TUTTI_ERR_FAILED if one is not found. */
tutti_status tutti_cuda_find_all(tutti_cuda *c, const tutti_embedded_text *texts, const char *module,
                                 const tutti_cuda_wanted *wanted, size_t n, tutti_failure *err);

typedef struct {
    uint32_t blocks[3];  /* number of blocks in x, y, z; zero counts as one */
    uint32_t threads[3]; /* number of threads of a block in x, y, z */
    uint32_t shared;     /* bytes of a block's dynamic shared memory */
} tutti_cuda_grid;
/* Returns a grid for n elements: blocks of `threads` threads, of which each computes `each` elements. */
tutti_cuda_grid tutti_cuda_cover(int64_t n, int threads, int each);
/* Launches a function. args: one pointer for each parameter, as cuLaunchKernel takes them. */
void tutti_cuda_run(tutti_cuda *c, tutti_cuda_function f, tutti_cuda_grid grid, void *const *args);
/* Sets nbytes of device memory to `value`. */
void tutti_cuda_fill(tutti_cuda *c, void *at, uint8_t value, size_t nbytes);
/* Copies nbytes between two places on the device. */
void tutti_cuda_move(tutti_cuda *c, void *to, const void *from, size_t nbytes);

/* ---- for libraries of others, such as cuDNN ---- */

/* returns the CUstream of the card's queue, on which a library must work */
void *tutti_cuda_stream(const tutti_cuda *c);
/* Remembers that a library's call `what` failed; words: its message. The row's `check` reports the first failure. */
void tutti_cuda_fail(tutti_cuda *c, const char *what, const char *words);
/* Opens a library of this name ("cudnn", "cublasLt", "nvrtc") as cuda_libraries.c looks for it; handles stay open.
 * TUTTI_ERR_FAILED names the places that were tried. The place where the library was found is written to `path`, which
 * may be NULL. */
tutti_status tutti_cuda_library(const char *name, void **handle, char path[256], tutti_failure *err);
/* Finds n functions of a library by their names, and writes them into a table of pointers. TUTTI_ERR_FAILED if the
 * library or one of the functions is missing. */
tutti_status tutti_cuda_functions(const char *name, const char *const *names, size_t n, void *pointers,
                                  tutti_failure *err);

/* --- cuda_survey.c: what this machine has of CUDA, for people --- */
enum { TUTTI_CUDA_SURVEY = 400, TUTTI_CUDA_NLIBRARIES = 5 };
typedef struct {
    const char *name, *purpose;    /* the library's name and what it is for: "cudnn", "convolutions" */
    char words[TUTTI_CUDA_SURVEY]; /* place and version: "/usr/lib/libcudnn.so.9, version 91900" */
} tutti_cuda_part;
/* Looks for library i < TUTTI_CUDA_NLIBRARIES; 0 is the driver. TUTTI_ERR_FAILED: it is missing; err says why, and
 * which package to install. */
tutti_status tutti_cuda_survey_library(int i, tutti_cuda_part *out, tutti_failure *err);
/* Returns the number of cards that the driver sees; 0 without a driver. */
int tutti_cuda_count_cards(void);
/* Opens the card and writes its name, compute capability, memory and driver version to `words`. TUTTI_ERR_FAILED: the
 * card cannot be used. Cost: up to some seconds. */
tutti_status tutti_cuda_survey_card(int number, char words[TUTTI_CUDA_SURVEY], tutti_failure *err);

/* An object that all kernels of a card share, such as a library's handle. The first call of tutti_cuda_keep with its
 * name makes it. Closing the card destroys all such objects in reverse order. When tutti_cuda_keep has returned, the
 * card's context is current on this thread, which libraries need outside of the queue. */
typedef struct {
    const char *name;
    tutti_status (*make)(tutti_cuda *c, void **out, tutti_failure *err);
    void (*destroy)(void *kept);
} tutti_cuda_kept;
tutti_status tutti_cuda_keep(tutti_cuda *c, const tutti_cuda_kept *what, void **out, tutti_failure *err);

#endif
