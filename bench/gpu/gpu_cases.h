/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_cases.h: every op on a device against the CPU: the shapes, how each shape is run, and how a device's numbers are
 * judged.
 *
 * A case is an op with attributes and the shape of its first input. A setting says how a case is run: type of
 * activations, memory order, training, merged ops. A device computes a case by the rows that are chosen for it. The CPU
 * computes the case in f32, row-major, on the same numbers, which are rounded to the type of activations first.
 * Backward passes that read the output read the device's output on both sides, so that a ReLU masks alike.
 *
 * Memory that a pass must write holds NaN before the pass, and so does the memory around each vector. So the check
 * finds elements that a pass did not write, and reads from outside a vector. Threads: one. Errors: wrong numbers of a
 * device are an outcome, not an error. */
#ifndef TUTTI_BENCH_GPU_CASES_H
#define TUTTI_BENCH_GPU_CASES_H

#include "device/device_row.h"
#include "kernel/kernel_impl.h"

enum { GPU_RELU_NO = 1, GPU_RELU = 2, GPU_ADDEND = 4 }; /* bits of gpu_case.merged */

typedef struct {
    const char *op, *what; /* what: the case in words, "LeNet, first" */
    const void *attrs;
    tutti_shape in;
    int nmore; /* inputs beside the first; each has the shape `in`, but for its channels */
    int64_t channels[TUTTI_MAX_OP_INPUTS - 1]; /* of input 1 + i; 0: those of `in` */
    unsigned merged;                           /* the settings that are run, as bits GPU_; 0: all that the op has */
    bool image; /* the input is f32 and row-major in every setting: no layer computed it */
    bool quick; /* the case is small: an interpreter runs it too */
} gpu_case;
const gpu_case *gpu_case_at(int i); /* case number i; NULL: there are no more */

typedef struct {
    tutti_precision precision;
    tutti_order order; /* all inputs of four dims and the output of a convolution have it: NCHW or NHWC */
    bool training, relu, addend;
} gpu_setting;
/* Sets *out to setting number i of case c; false: there are no more. */
bool gpu_setting_at(const gpu_case *c, int i, gpu_setting *out);
/* Writes the setting in words: "bf16 nhwc training relu addend". */
void gpu_setting_text(const gpu_setting *at, char out[64]);

typedef struct {
    const tutti_device *device;
    const char *engine; /* who chooses the device's kernels: "auto" */
    int nthreads;       /* threads of the CPU, and of the device if that is a CPU */
    int repeats;        /* runs of a pass that are timed; 0: none */
    /* Key of random numbers, below 2^20. Each call gets another one: a device must not take a new kernel for one that
     * is gone. */
    uint32_t layer;
} gpu_bench;

typedef struct {
    bool failed;
    tutti_kernel_pass pass; /* the pass that failed */
    char why[240];
    double error[TUTTI_NPASSES];   /* largest |a - b| / largest |b|; below 0: there is no such pass */
    double l2[TUTTI_NPASSES];      /* relative L2, likewise */
    double seconds[TUTTI_NPASSES]; /* one run of the pass; 0: not timed */
    double flops[TUTTI_NPASSES];   /* the op as it is defined */
    double bytes[TUTTI_NPASSES];   /* values that a pass must read or write, each once */
    char engine[64];               /* candidates of the passes: "cudnn", "lanes onednn" */
    char order[16];                /* order of the output */
} gpu_outcome;
/* Runs case c in setting `at` on b's device and on the CPU, and writes into *out what came of it. TUTTI_OK is returned
 * also where the numbers are wrong. TUTTI_ERR_*, with words in err: a kernel could not be made, or the device has
 * failed. */
tutti_status gpu_check(const gpu_bench *b, const gpu_case *c, const gpu_setting *at, gpu_outcome *out,
                       tutti_failure *err);

#endif
