/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_side.h: one kernel on one device, with memory for all its arguments: what gpu_check.c runs twice, on a card and on the CPU. */
#ifndef TUTTI_BENCH_GPU_SIDE_H
#define TUTTI_BENCH_GPU_SIDE_H

#include "gpu_cases.h"
#include "training/run/step_work.h"

enum { GPU_PARTS = 2, GPU_GUARD = 256 };

/* Memory of the device, with a guard of NaN before and behind. */
typedef struct {
    char *base; /* NULL = none */
    size_t nbytes;
} gpu_room;

typedef struct {
    const tutti_device *device;
    tutti_kernel k,
        trained; /* trained: the kernel in training, whose parameters k reads where it evaluates; zeros else */
    tutti_kernel_work work; /* args: addresses of the device */
    tutti_layout layout[TUTTI_MAX_OP_INPUTS];
    char attrs[128]; /* the case's, with what is merged */
    gpu_room in[TUTTI_MAX_OP_INPUTS], din[TUTTI_MAX_OP_INPUTS], out, dout, part[GPU_PARTS], param[TUTTI_MAX_OP_PARAMS],
        dparam[TUTTI_MAX_OP_PARAMS], saved, scratch, labels, loss, correct, drawn;
    /* On the device, too: what its memory holds before a run, and NaN. */
    gpu_room images[TUTTI_MAX_OP_INPUTS], gradient, parts[GPU_PARTS], nan;
} gpu_side;

/* How the passes are run. */
typedef enum {
    GPU_ALL,         /* all gradients, each in memory of its own */
    GPU_IN_PLACE,    /* where k.in_place */
    GPU_DATA_ONLY,   /* nobody wants gradients of parameters */
    GPU_PARAMS_ONLY, /* nobody wants gradients of inputs */
    GPU_IN_PARTS,    /* the output's gradient comes in parts, where k.max_dout_parts */
    GPU_NWAYS
} gpu_way;
bool gpu_side_has(const gpu_side *s, const gpu_setting *at, gpu_way way);

/* as: the precision and order of this side's values; at: the setting, whose type the numbers are rounded to. */
typedef struct {
    const tutti_device *device;
    const char *engine;
    int nthreads;
    tutti_precision precision;
    tutti_order order;
    uint32_t layer;
} gpu_place;
tutti_status gpu_side_open(gpu_side *s, const gpu_place *as, const gpu_case *c, const gpu_setting *at,
                           tutti_failure *err);
void gpu_side_close(gpu_side *s); /* of zeros, or part-made, too */

/* Everything becomes as it was before the first run; then forward. */
void gpu_side_forward(gpu_side *s, gpu_way way);
/* out: row-major; what backward reads instead of this side's own output. */
void gpu_side_replace_out(gpu_side *s, const float *out);
void gpu_side_backward(gpu_side *s, gpu_way way);
/* One pass, as often as that; returns seconds of one. After forward and backward by GPU_ALL. 0 = there is no such pass. */
double gpu_side_time(gpu_side *s, tutti_kernel_pass pass, int repeats);
bool gpu_side_guards_hold(const gpu_side *s, char where[32]);

/* Numbers that the kernel left, row-major f32, a copy; which: of which input or parameter. NULL = there are none. */
typedef enum {
    GPU_OUT,
    GPU_DIN,
    GPU_DPARAM,
    GPU_LOSS,
    GPU_NKINDS
} gpu_kind; /* loss: the sum, and how many are right */
typedef struct {
    gpu_kind kind;
    int which;
} gpu_vector;
/* Those that a kernel leaves, by number; false = no more. way: not those that nobody wants. */
bool gpu_side_vector_at(const gpu_side *s, gpu_way way, int i, gpu_vector *out);
float *gpu_side_read(const gpu_side *s, gpu_way way, gpu_vector v, int64_t *n);
/* Of which pass. */
tutti_kernel_pass gpu_side_pass_of(const gpu_side *s, gpu_vector v);

#endif
