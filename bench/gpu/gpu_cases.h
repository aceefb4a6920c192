/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_cases.h: every op on a device against the CPU: the shapes, what a shape is run as, and how a device's numbers are judged.
 *
 * A case is an op with attributes and the shape of its first input. A setting says how it is run: type of activations, memory order, training,
 * what is merged into it. A device computes a case by the rows that are chosen for it; the CPU computes it in f32, row-major, on the same numbers:
 * those are rounded to the type of activations first. Backward passes that read the output read the device's on both sides, so that a
 * ReLU masks alike.
 *
 * Memory that a pass must write holds NaN before, and so does what lies around each vector: what is not written, or read from outside, is found.
 * Threads: one. Errors: what is wrong with a device's numbers is an outcome, not an error. */
#ifndef TUTTI_BENCH_GPU_CASES_H
#define TUTTI_BENCH_GPU_CASES_H

#include "device/device_row.h"
#include "kernel/kernel_impl.h"

enum { GPU_RELU_NO = 1, GPU_RELU = 2, GPU_ADDEND = 4 }; /* what may be merged into an op; 0: all that it has */

typedef struct {
    const char *op, *what; /* what: "LeNet, first" */
    const void *attrs;
    tutti_shape in;
    int nmore; /* inputs beside the first: as `in`, with so many channels; 0 = as many as `in` */
    int64_t channels[TUTTI_MAX_OP_INPUTS - 1];
    unsigned merged;
    bool image; /* its input is f32 and row-major in every setting: nobody computed it */
    bool quick; /* small: an interpreter runs it too */
} gpu_case;
const gpu_case *gpu_case_at(int i); /* NULL = no more */

typedef struct {
    tutti_precision precision;
    tutti_order order; /* of all inputs of four dims, and of what a convolution leaves: NCHW or NHWC */
    bool training, relu, addend;
} gpu_setting;
/* The settings of a case, by number; false = no more. */
bool gpu_setting_at(const gpu_case *c, int i, gpu_setting *out);
/* "bf16 nhwc training relu addend" */
void gpu_setting_text(const gpu_setting *at, char out[64]);

typedef struct {
    const tutti_device *device;
    const char *engine; /* of the device's kernels: "auto" */
    int nthreads;       /* of the CPU, and of the device if that is one */
    int repeats;        /* runs of a pass that are timed; 0 = none */
    uint32_t
        layer; /* of random numbers; below 2^20. Another one each time, lest a device takes a kernel for one that is gone */
} gpu_bench;

typedef struct {
    bool failed;
    tutti_kernel_pass pass; /* where it failed */
    char why[240];
    double error[TUTTI_NPASSES],
        l2[TUTTI_NPASSES];         /* largest |a - b| / largest |b|; relative L2. Below 0: no such pass */
    double seconds[TUTTI_NPASSES]; /* of a pass; 0 = not timed */
    double flops[TUTTI_NPASSES],
        bytes[TUTTI_NPASSES];   /* of the op as it is defined; values that a pass must read or write, once */
    char engine[64], order[16]; /* candidates of the passes, "cudnn", "lanes onednn"; order of the output */
} gpu_outcome;
/* TUTTI_OK also where the numbers are wrong. TUTTI_ERR_*, with words: a kernel could not be made, or the device has failed. */
tutti_status gpu_check(const gpu_bench *b, const gpu_case *c, const gpu_setting *at, gpu_outcome *out,
                       tutti_failure *err);

#endif
