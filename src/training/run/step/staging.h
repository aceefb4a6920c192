/* SPDX-License-Identifier: Apache-2.0 */
/* staging.h: what a network reads and says beside its vectors, where a device finds it: samples and labels, which a
 * loader or a reader has left in the host's memory, and the figures of a loss. A device that shares the host's memory
 * reads samples where they are. Threads: owner. */
#ifndef TUTTI_STAGING_H
#define TUTTI_STAGING_H

#include "../../../device/device_row.h"
#include "../../../tensor/tensor.h"

/* Memory of the device. */
typedef struct {
    const tutti_device *device;
    float *loss;      /* where nobody wants it elsewhere */
    int32_t *correct; /* how many the loss has counted */
    float *samples;   /* NULL: it reads the host's */
    int32_t *labels;
    float *next_samples; /* of a batch that is brought while another one is computed; NULL: none is */
    int32_t *next_labels;
    int64_t nsamples, sample_floats;
} tutti_staging;

/* For up to nsamples. TUTTI_ERR_FAILED; released in any case. */
tutti_status tutti_staging_make(const tutti_device *d, int64_t nsamples, const tutti_shape *sample, tutti_staging *out,
                                tutti_failure *err);
void tutti_staging_release(tutti_staging *s);
/* Makes room for a batch ahead, on a device to which samples are brought. TUTTI_ERR_FAILED. */
tutti_status tutti_staging_make_ahead(tutti_staging *s, tutti_failure *err);
/* Begins to bring n samples, which stay where they are until the device has brought them. tutti_staging_take: they are
 * the ones that the device is to compute with, found where tutti_staging_show would say. */
void tutti_staging_bring(tutti_staging *s, const float *samples, const int32_t *labels, int64_t n);
void tutti_staging_take(tutti_staging *s, const float **samples_at, const int32_t **labels_at);
/* Where the device finds these n samples, until the next call; nothing that was launched reads the ones before any
 * more. */
void tutti_staging_show(const tutti_staging *s, const float *samples, const int32_t *labels, int64_t n,
                        const float **samples_at, const int32_t **labels_at);

#endif
