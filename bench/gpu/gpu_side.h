/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_side.h: one kernel on one device, with memory for all its arguments. gpu_check.c has two of these: on a card and
 * on the CPU. */
#ifndef TUTTI_BENCH_GPU_SIDE_H
#define TUTTI_BENCH_GPU_SIDE_H

#include "gpu_cases.h"
#include "training/run/step/step_work.h"

enum { GPU_PARTS = 2, GPU_GUARD = 256 };

/* A vector in memory of the device, with a guard of NaN before and behind. */
typedef struct {
    char *base; /* the guard before the vector; NULL: there is no vector */
    size_t nbytes;
} gpu_room;

typedef struct {
    const tutti_device *device;
    tutti_kernel k;
    tutti_kernel trained;   /* the kernel in training, whose parameters k reads where k evaluates; zeros elsewhere */
    tutti_kernel_work work; /* its args are addresses of the device */
    tutti_layout layout[TUTTI_MAX_OP_INPUTS];
    char attrs[128]; /* the attributes of the case, with what is merged */
    gpu_room in[TUTTI_MAX_OP_INPUTS], din[TUTTI_MAX_OP_INPUTS], out, dout, part[GPU_PARTS], param[TUTTI_MAX_OP_PARAMS],
        dparam[TUTTI_MAX_OP_PARAMS], saved, scratch, labels, loss, correct, drawn;
    /* Copies of these set `in`, `dout` and `part` before each run. */
    gpu_room images[TUTTI_MAX_OP_INPUTS], gradient, parts[GPU_PARTS];
    gpu_room nan; /* NaN all over, without guards: poison is copied from here */
} gpu_side;

/* How the passes are run. */
typedef enum {
    GPU_ALL,         /* all gradients, each in memory of its own */
    GPU_IN_PLACE,    /* the output lies in the input's memory */
    GPU_DATA_ONLY,   /* nobody wants gradients of parameters */
    GPU_PARAMS_ONLY, /* nobody wants gradients of inputs */
    GPU_IN_PARTS,    /* the output's gradient comes in parts */
    GPU_NWAYS
} gpu_way;
/* Whether the kernel of s can be run that way in setting `at`. */
bool gpu_side_has(const gpu_side *s, const gpu_setting *at, gpu_way way);

/* Where and how a side computes. */
typedef struct {
    const tutti_device *device;
    const char *engine;
    int nthreads;
    tutti_precision precision; /* this and the order: of the side's values */
    tutti_order order;
    uint32_t layer; /* as in gpu_bench */
} gpu_place;
/* Makes the kernel of case c and its memory on the device of `as`, and fills the memory with numbers that are rounded
 * to the type of setting `at`. After a failure s is to be closed, too. */
tutti_status gpu_side_open(gpu_side *s, const gpu_place *as, const gpu_case *c, const gpu_setting *at,
                           tutti_failure *err);
/* Gives everything back; s may be zeros, or part-made. */
void gpu_side_close(gpu_side *s);

/* Makes the memory as it was before the first run, and runs the forward pass. */
void gpu_side_forward(gpu_side *s, gpu_way way);
/* Puts `out`, row-major, in the place of this side's own output, for backward to read. */
void gpu_side_replace_out(gpu_side *s, const float *out);
/* Runs the backward passes that the way has; forward has been run the same way. */
void gpu_side_backward(gpu_side *s, gpu_way way);
/* Runs a pass `repeats` times behind each other, and returns the seconds of one run. Forward and backward have been run
 * by GPU_ALL. 0: there is no such pass. */
double gpu_side_time(gpu_side *s, tutti_kernel_pass pass, int repeats);
/* Whether all guards still hold NaN; where not, `where` is the name of a vector. */
bool gpu_side_guards_hold(const gpu_side *s, char where[32]);

/* A vector that a kernel leaves. */
typedef enum {
    GPU_OUT,
    GPU_DIN,
    GPU_DPARAM,
    GPU_LOSS, /* two numbers: the sum, and how many samples are right */
    GPU_NKINDS
} gpu_kind;
typedef struct {
    gpu_kind kind;
    int which; /* number of the input or the parameter; else 0 */
} gpu_vector;
/* Sets *out to vector number i that a run that way leaves; false: there are no more. Vectors that nobody wants are none
 * of them. */
bool gpu_side_vector_at(const gpu_side *s, gpu_way way, int i, gpu_vector *out);
/* Returns a copy of vector v, row-major f32, of *n numbers; the caller frees it. */
float *gpu_side_read(const gpu_side *s, gpu_way way, gpu_vector v, int64_t *n);
/* The pass that writes vector v. */
tutti_kernel_pass gpu_side_pass_of(const gpu_side *s, gpu_vector v);

#endif
