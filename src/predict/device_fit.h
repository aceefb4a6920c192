/* SPDX-License-Identifier: Apache-2.0 */
/* device_fit.h: the figures of a device from times of kernels that were measured on it.
 *
 * The peak is the fastest product, the rate the fastest pass over more bytes than caches hold; launch, the cache's rate and, for each
 * class and pass, the two efficiencies are those with the least sum of |log(predicted / measured)| over the f32 samples, tried among the
 * values that single samples imply. Peaks of other precisions are medians with the efficiencies of f32.
 * Cost: samples of a class and pass to the third power. Threads: shared (pure). */
#ifndef TUTTI_DEVICE_FIT_H
#define TUTTI_DEVICE_FIT_H

#include "device.h"

typedef struct {
    tutti_device_work work;
    tutti_kernel_pass pass;
    tutti_precision precision;
    double seconds; /* above 0 */
} tutti_device_sample;

/* Of all passes of a graph that are run and took time; out has room for TUTTI_NPASSES a layer. How many. */
int tutti_device_samples(const tutti_graph *graph, const tutti_profile *profile, tutti_device_sample *out);
/* Adds the lines of a device's file, all but its texts. TUTTI_ERR_FAILED: no sample is a product, or none is a pass over memory. */
tutti_status tutti_device_fit(const tutti_device_sample *samples, int n, double cache_bytes, tutti_strbuf *out,
                              tutti_failure *err);
/* |predicted / measured - 1| of each sample that the device has a peak for; how many. */
int tutti_device_errors(const tutti_device *d, const tutti_device_sample *samples, int n, double *out);

#endif
