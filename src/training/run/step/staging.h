/* SPDX-License-Identifier: Apache-2.0 */
/* staging.h: brings a network's inputs to a device and its results back. Inputs are samples and labels that a loader or
 * a reader has left in the host's memory; results are the loss and its counts. A device that shares the host's memory
 * reads samples where they are. Threads: one at a time. */
#ifndef TUTTI_STAGING_H
#define TUTTI_STAGING_H

#include "../../../device/device_row.h"
#include "../../../tensor/tensor.h"

/* The device's memory for batches and for the results of their losses. */
typedef struct {
    const tutti_device *device;
    float *loss;      /* where the loss is written if the caller names no other place */
    int32_t *correct; /* right answers that the loss has counted */
    float *samples;   /* the device's copy of the samples; NULL = the device reads the host's memory */
    int32_t *labels;
    float *next_samples; /* the next batch, which is brought while the current batch is computed; NULL = batches are not
                          * brought ahead */
    int32_t *next_labels;
    int64_t nsamples, sample_floats;
} tutti_staging;

/* Makes the memory for up to `nsamples` samples. TUTTI_ERR_FAILED; the caller releases *out in any case. */
tutti_status tutti_staging_make(const tutti_device *d, int64_t nsamples, const tutti_shape *sample, tutti_staging *out,
                                tutti_failure *err);
void tutti_staging_release(tutti_staging *s);
/* Makes room for the next batch, on a device that needs a copy of each batch in its own memory. TUTTI_ERR_FAILED. */
tutti_status tutti_staging_make_ahead(tutti_staging *s, tutti_failure *err);
/* tutti_staging_bring begins to bring n samples; the caller leaves them unchanged until the device has brought them.
 * tutti_staging_take makes these samples the batch that the device computes with, and returns their addresses as
 * tutti_staging_show does. */
void tutti_staging_bring(tutti_staging *s, const float *samples, const int32_t *labels, int64_t n);
void tutti_staging_take(tutti_staging *s, const float **samples_at, const int32_t **labels_at);
/* Writes the addresses at which the device finds these n samples, valid until the next call. No launched work may still
 * read the samples of the call before. */
void tutti_staging_show(const tutti_staging *s, const float *samples, const int32_t *labels, int64_t n,
                        const float **samples_at, const int32_t **labels_at);

#endif
