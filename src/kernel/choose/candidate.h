/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.h: candidates, the rows that can compute an op's passes (candidates.c), and the chooser, which takes a
 * candidate for each pass (chooser.c).
 *
 * A candidate is a kernel row (tutti_kernel_row) with facts that are needed before a kernel is made: the row's op,
 * passes and precisions, whether the row fits shapes and memory orders, and how many seconds it takes. For each pass
 * the chooser takes the candidate that the request names, if it fits. Otherwise it takes the candidate with the fewest
 * seconds. If activations have 16 bits, candidates that read them directly come before candidates for which
 * half_adapter.c converts them to f32. If different rows are best for different passes, joined_adapter.c holds a kernel
 * of each row. If a kernel cannot be made after all, the next best candidate is taken.
 *
 * If a tune file (tutti_tuned) has measured seconds for the pass, these are used and only the measured candidates are
 * compared. Otherwise seconds come from calibrated rules. A rule is a function of shape, precision, threads and
 * instruction set. The rule was fitted to times of the candidate on the processors that its file names. A candidate
 * without a rule for a shape is taken if the request names it, if it was measured, or if nothing else fits. The chooser
 * never times a kernel, so every rank, every run and a resumed run choose alike.
 *
 * Canonical mode: for a pass, only candidates with one order of additions (`sums`) are compared. That is the order of
 * the first candidate in the table that fits. Tune files are ignored. So the bits of a result depend only on the job,
 * the instruction set and the number of threads.
 *
 * A new candidate is a kernel row in a file of its own, two functions and a line in candidates.c. Threads: any may read
 * the tables. */
#ifndef TUTTI_CANDIDATE_H
#define TUTTI_CANDIDATE_H

#include "../../tensor/isa.h"
#include "../kernel_impl.h"

/* The order in which a row adds up the terms of a sum. In canonical mode, a row may replace another row only if both
 * have the same order. */
typedef enum {
    TUTTI_SUMS_LIBRARY,  /* the order of the library (oneDNN), and of rows that give the same sums */
    TUTTI_SUMS_BLOCKED,  /* the order of tutti's own matrix products: k from first to last, in blocks */
    TUTTI_SUMS_WINOGRAD, /* sums of Winograd's transforms (winograd.h) */
    TUTTI_SUMS_SPARSE,   /* the order of a row that leaves out zero terms */
    TUTTI_SUMS_PLAIN,    /* sums in the order of the op's reference row */
} tutti_sums;

/* How a row uses several threads. A row that uses one thread does not fit a request for several threads. */
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

/* A candidate. Its functions get a kernel k and a request r. In k, the same fields are filled in as for
 * tutti_kernel_row.create: op, attrs, in, ninputs, params, and a row-major f32 output. r->op is the candidate's op, and
 * r->order is the memory order (memory_order.h) that the output is to have. */
typedef struct tutti_kernel_candidate {
    const char *name;    /* such as "onednn"; candidates for different ops or precisions may have the same name */
    const char *op;      /* NULL means every op */
    unsigned passes;     /* the passes that the row computes: bits TUTTI_DOES_... */
    unsigned precisions; /* bits TUTTI_IN_...: precisions of the output and of the elements that are multiplied */
    int device;          /* kind of the device in whose memory the row computes, a tutti_device_kind; 0 is the CPU */
    tutti_candidate_threads threads;
    tutti_isa isa; /* the least instruction set that the row's own loops need; a library asks the processor itself */
    tutti_sums sums;
    /* True if other rows may compute the other passes: the row's passes keep nothing in `saved`, and if a ReLU is
     * merged, the row's first backward pass masks dout. A row that does not compute all passes must have this
     * property. */
    bool joins;
    /* returns true if the candidate fits the kernel and request; NULL means that it always fits */
    bool (*fits)(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
    /* Returns the seconds that r->nthreads threads take, or a negative number if this shape was not calibrated. NULL
     * means that nothing was calibrated. */
    double (*seconds)(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass);
    const tutti_kernel_row *row; /* the row that makes the kernel; NULL means the op's reference row */
} tutti_kernel_candidate;

typedef struct {
    const tutti_kernel_candidate *rows; /* the candidates; of equally good ones the first is chosen */
    int n;
} tutti_candidate_table;
tutti_candidate_table tutti_candidates(void);
/* Returns the first candidate of this name for an op and a precision, or NULL. */
const tutti_kernel_candidate *tutti_candidate_find(const char *name, const char *op, tutti_precision precision);

/* --- measured seconds --- */

/* The seconds that a candidate takes for a pass at a shape, on the processor and with the number of threads that the
 * tune file names. The strings contain no blanks. */
typedef struct {
    /* for example "dense", "64x800:units=500", "f32", "forward", "onednn" */
    const char *op, *shape, *precision, *pass, *candidate;
    double seconds; /* seconds of a pass, above 0 */
} tutti_tuned_entry;

/* The entries of a tune file for this processor and this number of threads. Borrowed, and never changed. */
typedef struct tutti_tuned {
    const tutti_tuned_entry *entries; /* sorted by op, shape, precision, pass, candidate, in the order of strcmp */
    int n;
    uint64_t hash; /* hash of the file's text */
    /* the tune file, from which a candidate's rule may read decision trees; may be NULL */
    const struct tutti_tune_file *file;
} tutti_tuned;

/* Writes the text of a request's shape, such as
 * "64x20x12x12/nhwc:out_channels=50,kernel=5,stride=1,pad=0,groups=1,bias,relu/nhwc". The text has the inputs (with
 * order, and with type if that is not the precision's), the attributes, and the wanted order of the output. */
enum { TUTTI_CANDIDATE_SHAPE = 256 };
void tutti_candidate_shape(const tutti_kernel *k, const tutti_kernel_request *r, char out[TUTTI_CANDIDATE_SHAPE]);

/* --- choosing --- */

/* Creates a kernel as tutti_kernel_create does, but chooses from this table. */
tutti_status tutti_kernel_create_from(const tutti_candidate_table *table, const tutti_kernel_request *r,
                                      tutti_kernel *k, tutti_failure *err);
/* Finds all candidates that fit a pass of the request without conversion to f32, including those that the request does
 * not name. `tutti tune kernels` measures them. Writes at most `most` candidates and returns their number. */
int tutti_candidates_that_fit(const tutti_candidate_table *table, const tutti_kernel_request *r, tutti_kernel_pass pass,
                              const tutti_kernel_candidate **out, int most);

/* --- helpers for the rules that estimate seconds --- */

/* Return the floating-point operations of a pass, and the bytes of all values that it reads or writes, each counted
 * once. */
double tutti_candidate_flops(const tutti_kernel *k);
double tutti_candidate_bytes(const tutti_kernel *k);

#endif
