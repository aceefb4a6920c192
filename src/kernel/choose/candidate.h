/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.h: candidates: what can compute an op's passes, one row each (candidates.c), and the chooser that takes one
 * for each pass (chooser.c).
 *
 * A candidate is a kernel row with what is to be known of it before it is made: for which op, passes and precisions it
 * is, whether it fits shapes and orders, and how many seconds it takes. The chooser takes, for each pass, the one that
 * a request names where it fits, else the one that takes the fewest seconds. In 16 bits those that read 16 bits come
 * before those that half_adapter.c has to widen for. Where passes are best computed by different rows joined_adapter.c
 * holds a kernel of each. What cannot be made after all is passed over.
 *
 * Seconds are those of a tune file (tutti_tuned) where that has measured the pass: then only what it has measured is
 * compared. Else they are those of calibrated rules: what a candidate took on the processors that its file names, as a
 * function of shape, precision, threads and instruction set. A candidate without a rule for a shape is taken when it is
 * asked for, or measured, or nothing else fits; nothing is ever timed to choose, so every rank, every run and a resumed
 * run choose alike.
 *
 * Canonical: all that is considered for a pass has its sums in one order, `sums`, that of the first row of the table
 * that fits, and a tune file counts for nothing: bits follow from the job, the instruction set and the number of
 * threads.
 *
 * A new candidate is a kernel row in a file of its own, two functions and a line in candidates.c. Threads: tables are
 * shared. */
#ifndef TUTTI_CANDIDATE_H
#define TUTTI_CANDIDATE_H

#include "../../tensor/isa.h"
#include "../kernel_impl.h"

/* The order in which numbers are added up. In canonical mode, rows of one class may replace each other. */
typedef enum {
    TUTTI_SUMS_LIBRARY,  /* the library's order, and that of the rows that were calibrated beside it */
    TUTTI_SUMS_BLOCKED,  /* products of our own: over k from first to last, in blocks */
    TUTTI_SUMS_WINOGRAD, /* sums of Winograd's transforms (winograd.h) */
    TUTTI_SUMS_SPARSE,   /* terms that are zero are left out */
    TUTTI_SUMS_PLAIN,    /* the reference's */
} tutti_sums;

/* How a row uses several threads. A row that takes a single one fits no request of more. */
typedef enum {
    TUTTI_THREADS_ALIKE, /* threads share the work; the bits do not depend on the number of threads */
    TUTTI_THREADS_SPLIT, /* threads share the work; the number of threads decides how sums are split */
    TUTTI_THREADS_ONE,   /* the row uses one thread */
} tutti_candidate_threads;

enum {
    TUTTI_DOES_FORWARD = 1 << TUTTI_PASS_FORWARD,
    TUTTI_DOES_PARAMS = 1 << TUTTI_PASS_PARAMS,
    TUTTI_DOES_DATA = 1 << TUTTI_PASS_DATA,
    TUTTI_DOES_ALL = TUTTI_DOES_FORWARD | TUTTI_DOES_PARAMS | TUTTI_DOES_DATA,
    TUTTI_IN_F32 = 1 << TUTTI_PRECISION_F32,
    TUTTI_IN_BF16 = 1 << TUTTI_PRECISION_BF16,
    TUTTI_IN_F16 = 1 << TUTTI_PRECISION_F16,
    TUTTI_IN_ANY = TUTTI_IN_F32 | TUTTI_IN_BF16 | TUTTI_IN_F16,
};

/* A candidate. Its functions see a kernel k that is filled in as for create (op, attrs, in, ninputs, params; a
 * row-major f32 output) and a request r whose op is the candidate's. A value lies in a memory order (memory_order.h);
 * r->order is the order that the output is to have. */
typedef struct tutti_kernel_candidate {
    const char *name;    /* such as "onednn"; several candidates may share a name for other ops or precisions */
    const char *op;      /* NULL means every op */
    unsigned passes;     /* bits TUTTI_DOES_... */
    unsigned precisions; /* bits TUTTI_IN_...: the precision of the output and of what is multiplied */
    int device;          /* the tutti_device_kind in whose memory it computes; 0 is the CPU */
    tutti_candidate_threads threads;
    tutti_isa isa; /* the least instruction set that its own loops need; a library asks the processor itself */
    tutti_sums sums;
    /* True if other rows may compute the other passes: its passes keep nothing in `saved`, and after a merged ReLU its
     * first backward pass masks dout. Every row that does not do all passes is so. */
    bool joins;
    /* NULL means that it always fits */
    bool (*fits)(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
    /* Returns the seconds that r->nthreads threads take, or a negative number if this shape was not calibrated. NULL
     * means that nothing was calibrated. */
    double (*seconds)(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
    const tutti_kernel_row *row; /* NULL means the op's reference row */
} tutti_kernel_candidate;

typedef struct {
    const tutti_kernel_candidate *rows; /* of equally good rows, the first one is chosen */
    int n;
} tutti_candidate_table;
tutti_candidate_table tutti_candidates(void);
/* Returns the first candidate of this name for an op and a precision, or NULL. */
const tutti_kernel_candidate *tutti_candidate_find(const char *name, const char *op, tutti_precision precision);

/* --- measured seconds --- */

/* The seconds that a candidate takes for a pass at a shape, with the threads and the processor that the file names.
 * Words hold no blanks. */
typedef struct {
    const char *op, *shape, *precision, *pass, *candidate; /* "dense", "64x800:units=500", "f32", "forward", "onednn" */
    double seconds;                                        /* above 0 */
} tutti_tuned_entry;

/* The entries of a tune file for this processor and this number of threads. Borrowed, and never changed. */
typedef struct tutti_tuned {
    const tutti_tuned_entry *entries; /* ascending by op, shape, precision, pass, candidate (strcmp) */
    int n;
    uint64_t hash;                      /* of the text of the file */
    const struct tutti_tune_file *file; /* the file, in which rules of candidates may read more; may be NULL */
} tutti_tuned;

/* Writes the word for a request: "64x20x12x12/nhwc:out_channels=50,kernel=5,stride=1,pad=0,groups=1,bias,relu/nhwc". It
 * holds the inputs (with order, and with type if that is not the precision's), the attributes and the wanted order of
 * the output. */
enum { TUTTI_CANDIDATE_SHAPE = 256 };
void tutti_candidate_shape(const tutti_kernel *k, const tutti_kernel_request *r, char out[TUTTI_CANDIDATE_SHAPE]);

/* --- choosing --- */

/* Does what tutti_kernel_create does, with these candidates. */
tutti_status tutti_kernel_create_from(const tutti_candidate_table *table, const tutti_kernel_request *r,
                                      tutti_kernel *k, tutti_failure *err);
/* Finds all candidates that fit a pass of the request as it stands (not widened), whatever names the request has.
 * `tutti tune kernels` measures them. Writes at most `most` of them and returns their number. */
int tutti_candidates_that_fit(const tutti_candidate_table *table, const tutti_kernel_request *r, tutti_kernel_pass pass,
                              const tutti_kernel_candidate **out, int most);

/* --- for rules --- */

/* Return the floating-point operations of a pass, and the bytes of all values that it reads or writes, each counted
 * once. */
double tutti_candidate_flops(const tutti_kernel *k);
double tutti_candidate_bytes(const tutti_kernel *k);

#endif
