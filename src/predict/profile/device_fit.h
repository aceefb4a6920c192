/* SPDX-License-Identifier: Apache-2.0 */
/* device_fit.h: the figures of a device from times of kernels that were measured on it.
 *
 * Peaks are the fastest products, rates the fastest passes over more bytes than caches hold and over fewer. For each class and pass, apart for
 * other precisions than f32 and for each candidate where several compute the class, launch, overlap and the three efficiencies are those with the least
 * sum of |log(predicted / measured)| over its samples: launches and overlaps of a grid, efficiencies that single samples imply, one after the other until
 * none is better. What samples do not say is as for the device: its launch is the one that would have the least sum over all classes.
 * Cost: 1e6 times the samples of a class and pass, some seconds for 3,000. Threads: shared (pure). */
#ifndef TUTTI_DEVICE_FIT_H
#define TUTTI_DEVICE_FIT_H

#include "device.h"

typedef struct {
    const char *layer; /* the profile's */
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
