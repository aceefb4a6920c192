/* SPDX-License-Identifier: Apache-2.0 */
/* fakelib.h: what the fake libcudnn.so.9 and libcublasLt.so.13 share. They compute on the processor, on the streams of
 * the fake libcuda.so.1 (../fake/fake_cuda.h), and refuse what the real ones refuse.
 *
 * Environment, as of the fake libcuda:
 *   TUTTI_FAKE_CUDA_FATAL=0             a report is a line on stderr; otherwise the first one ends the process with
 *                                       code 97
 *   TUTTI_FAKE_CUDA_FAIL=NAME:N[:CODE]  the Nth call of this name fails with the code (execution failed); several after
 *                                       commas
 *
 * Reported ("fake cudnn: ...", "fake cublasLt: ...") is what a caller does wrong and what a card computes rubbish with
 * or runs only by luck: descriptors that were destroyed or are of another kind, what is left at the end (once the
 * context of the last handle is released), algorithms that were not asked for with these descriptors, workspaces that
 * are too small or lie in operands, outputs in inputs, addresses that are not aligned as was promised. What a library
 * may refuse (shapes, types, orders) is a status alone. Accesses are checked by the fake libcuda when the work runs.
 *
 * What differs from the real ones, on purpose: a workspace is asked for more often, is filled with rubbish before the
 * work, and its size is odd; what is called non-deterministic is so from one run to the next; only what tutti's
 * declarations name (src/kernel/cuda/library/cudnn_api.h, cublaslt_api.h) is there.
 *
 * Threads: any; calls hold one lock a library, which the work itself never takes. */
#ifndef FAKELIBS_FAKELIB_H
#define FAKELIBS_FAKELIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKELIB_EXPORT __attribute__((visibility("default")))

/* ---- of the library itself, in its own files ---- */

enum { FAKELIB_MOST_KINDS = 4 };
typedef struct {
    const char *name;                      /* "cudnn" */
    int failed;                            /* the status of a call that fails on demand */
    const char *kinds[FAKELIB_MOST_KINDS]; /* of objects; the first is the handle */
} fakelib_library;
extern const fakelib_library fakelib_self;

/* ---- calls and reports ---- */

void fakelib_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* FAKELIB_CALL takes the lock, which the end of the scope releases; a call that is to fail returns at once.
 * fakelib_enter says the status of the failure, 0 where there is none. */
int fakelib_enter(const char *name);
void fakelib_leave(const int *code);
#define FAKELIB_CALL()                                                                                                 \
    const int code_ __attribute__((cleanup(fakelib_leave))) = fakelib_enter(__func__);                                 \
    if (code_) return code_

/* ---- objects ---- */

enum { FAKELIB_HANDLE = 0 };
void *fakelib_new(int kind,
                  size_t nbytes); /* zeroed; kept to the end of the process, so that none is taken for another */
/* Finds the object of this kind behind a handle. NULL: the handle is NULL, or reported as no object, destroyed or of
 * another kind. */
void *fakelib_of(const void *object, int kind, const char *call);
bool fakelib_destroy(void *object, int kind, const char *call);
bool fakelib_has_context(void); /* the thread has a current one; remembered for the end */

/* ---- the card ---- */

/* Puts work on the stream with a copy of nbytes of args; 0 where the work is there. */
int fakelib_enqueue(void *stream, void (*work)(void *args), const void *args, size_t nbytes);
/* The work tells what it reads and writes. False: the access was reported. */
bool fakelib_reads(const void *at, size_t nbytes);
bool fakelib_writes(void *at, size_t nbytes);
/* Fills a workspace with rubbish: NaN in every type. */
bool fakelib_spoil(void *workspace, size_t nbytes);

typedef struct {
    const char *what;
    const void *at;
    size_t nbytes;
    bool written;
} fakelib_range;
/* Says whether no range that is written overlaps another one; reports where one does. */
bool fakelib_are_apart(const fakelib_range *ranges, int n, const char *call);
bool fakelib_is_aligned(const fakelib_range *range, size_t bytes, const char *call);

/* ---- numbers (fakelib_numbers.c) ---- */

typedef enum { FAKELIB_F32, FAKELIB_BF16, FAKELIB_F16 } fakelib_type;
size_t fakelib_bytes(fakelib_type type);
float fakelib_get(fakelib_type type, const void *from, int64_t i);
void fakelib_put(fakelib_type type, void *to, int64_t i, float value);
float fakelib_tf32(float value);
void *fakelib_alloc(size_t nbytes); /* zeroed; never NULL */
/* c[m][n] += sum over k, in its order, of a[m][k] * b[k][n]. */
void fakelib_product(const int64_t mnk[3], const float *a, const float *b, float *c);

#endif
