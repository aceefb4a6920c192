/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h: samples with labels, their order, and batches that are loaded ahead of compute.
 *
 * One row a set (dataset_table.c): `digits` draws itself in fixed-point arithmetic (the same bytes for a seed on every
 * machine), `mnist`, `idx` read IDX files, plain or .gz. Order is a pure function of (seed, epoch). Failures are
 * TUTTI_ERR_DATA and name file and offset. Threads: a dataset is frozen after open; a loader is owner. */
#ifndef TUTTI_DATASET_H
#define TUTTI_DATASET_H

#include "../tensor/tensor.h"
#include "tutti/failure.h"

typedef struct tutti_dataset tutti_dataset;

typedef struct {
    const char *set;  /* "digits", "mnist", ... */
    const char *path; /* folder of files, or NULL */
    uint64_t seed;    /* drawn sets */
    int64_t train_samples,
        test_samples; /* drawn sets: how many to draw (0 = 60,000 and 10,000); read sets: use the first so many (0 = all) */
} tutti_dataset_config;

typedef enum { TUTTI_SPLIT_TRAIN, TUTTI_SPLIT_TEST } tutti_split;

tutti_status tutti_dataset_open(const tutti_dataset_config *config, tutti_split split, tutti_dataset **out,
                                tutti_failure *err);
void tutti_dataset_destroy(tutti_dataset *d);
int64_t tutti_dataset_count(const tutti_dataset *d);
tutti_shape tutti_dataset_shape(const tutti_dataset *d); /* one sample: (C, H, W) */
int tutti_dataset_nclasses(const tutti_dataset *d);
/* What can be said without opening a file: TUTTI_ERR_USAGE for an unknown set, a count below 0, a path that is
 * missing or would have no effect. */
tutti_status tutti_dataset_check(const tutti_dataset_config *config, tutti_failure *err);
/* Names of the rows, for errors and --help; NULL past the end. */
const char *tutti_dataset_name_at(int i);

/* Sample `index`, normalised: (byte / 255 - mean) / std with the set's constants (see each row). */
void tutti_dataset_read(const tutti_dataset *d, int64_t index, float *sample, int32_t *label);
/* The bytes as stored, for pictures and tests. */
const uint8_t *tutti_dataset_bytes(const tutti_dataset *d, int64_t index);

/* Index of the sample at `position` of epoch `epoch`: a permutation of [0, count) that is a pure function of (seed, epoch)
 * (a Feistel network with cycle walking: O(1), nothing stored). shuffle false: position itself. */
int64_t tutti_order_at(uint64_t seed, int64_t epoch, int64_t count, bool shuffle, int64_t position);

/* Loader: a thread fills a ring of batches ahead of compute. The batch of step s (0-based, of the whole run) has global
 * size `batch`; its samples are positions [s % steps_per_epoch * batch, ...) of epoch s / steps_per_epoch with
 * steps_per_epoch = count / batch (the rest of an epoch is dropped). This rank gets samples [first, first + n) of it. */
typedef struct tutti_loader tutti_loader;
typedef struct {
    int64_t step;
    const float *samples;        /* (n, C, H, W) */
    const int32_t *labels;       /* (n) */
    int64_t began_ns, filled_ns; /* clock_ns: when the loader made it */
} tutti_batch;
tutti_status tutti_loader_create(const tutti_dataset *d, uint64_t seed, int64_t batch, int64_t first, int64_t n,
                                 int64_t first_step, int64_t end_step, tutti_loader **out, tutti_failure *err);
/* Blocks until the next batch is there; valid until the next call. Steps come in order from first_step. */
const tutti_batch *tutti_loader_next(tutti_loader *l);
void tutti_loader_destroy(tutti_loader *l);

#endif
