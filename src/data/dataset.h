/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h: data sets: samples with labels, their order, and batches that are loaded ahead of compute.
 *
 * One row a set (dataset_table.c). A set holds bytes in memory (`digits`, `shapes`, `noise` draw them in whole numbers:
 * the same bytes for a seed on every machine; `mnist`, `idx`, `cifar10`, `npy`, `csv` read files, the last two of
 * numbers as well), or reads each sample when it is asked for (`images`). Order and augmentation are pure functions of
 * (seed, epoch, sample): they are the same on any number of ranks and threads. Failures are TUTTI_ERR_DATA and name
 * file and offset. Threads: a dataset is frozen after open; a reader and a loader are owner. */
#ifndef TUTTI_DATASET_H
#define TUTTI_DATASET_H

#include "../base/text/options.h"
#include "../tensor/tensor.h"
#include "tutti/failure.h"

typedef struct tutti_dataset tutti_dataset;

/* What changes a training sample from epoch to epoch: a crop somewhere else, its mirror image. auto: as the set is
 * usually trained on. The order is that of the job key data.augment. */
typedef enum {
    TUTTI_AUGMENT_AUTO,
    TUTTI_AUGMENT_NONE,
    TUTTI_AUGMENT_FLIP,
    TUTTI_AUGMENT_CROP,
    TUTTI_AUGMENT_CROP_FLIP
} tutti_augment;

/* Whether the first line of a file of text says names of columns; auto: if none of its cells is a number. */
typedef enum { TUTTI_HEADER_AUTO, TUTTI_HEADER_YES, TUTTI_HEADER_NO } tutti_header;

typedef struct {
    const char *set;  /* "digits", "mnist", ... */
    const char *path; /* folder of files, or NULL */
    uint64_t seed;    /* drawn sets */
    int64_t train_samples,
        test_samples;    /* drawn sets: how many to draw (0 = the row's); read sets: use the first so many (0 = all) */
    tutti_shape shape;   /* noise: of a sample */
    int64_t classes;     /* noise */
    int64_t size;        /* images: side of the square, pixels; 0 = 224 */
    int augment;         /* tutti_augment, of the training split */
    int64_t first_label; /* read sets but images: the label of class 0 in the files */
    bool skip_bad;       /* images: a file that cannot be read is replaced instead of ending the run */
    tutti_reals mean,
        std;         /* of byte / 255, or of the set's numbers; one for all channels or one each; none = the row's */
    bool label_last; /* csv: the label is the last column, not the first */
    int header;      /* csv: tutti_header */
} tutti_dataset_config;

typedef enum { TUTTI_SPLIT_TRAIN, TUTTI_SPLIT_TEST } tutti_split;

tutti_status tutti_dataset_open(const tutti_dataset_config *config, tutti_split split, tutti_dataset **out,
                                tutti_failure *err);
void tutti_dataset_destroy(tutti_dataset *d);
/* A set of bytes as one block, for the processes of a host to read where it lies: how many bytes (0: the set holds
 * none), written, and as the set that it was written from, opened with the same config and split. The block is borrowed
 * until destroy; one that does not fit is TUTTI_ERR_DATA. */
size_t tutti_dataset_block_bytes(const tutti_dataset *d);
void tutti_dataset_block_write(const tutti_dataset *d, void *block);
tutti_status tutti_dataset_open_block(const tutti_dataset_config *config, tutti_split split, const void *block,
                                      size_t nbytes, tutti_dataset **out, tutti_failure *err);
int64_t tutti_dataset_count(const tutti_dataset *d);
tutti_shape tutti_dataset_shape(const tutti_dataset *d); /* one sample: (C, H, W) */
int tutti_dataset_nclasses(const tutti_dataset *d);
/* What a user should know of what was found, without an end: "21 pictures of 3 classes; 3 files left out (...)"; ""
 * where nothing is odd. */
const char *tutti_dataset_notes(const tutti_dataset *d);
/* The numbers that samples are normalised by, one a channel; how many. */
int tutti_dataset_normal(const tutti_dataset *d, const double **mean, const double **std);
/* A sample's numbers are those of the file, not bytes: (number - mean) / std. */
bool tutti_dataset_holds_numbers(const tutti_dataset *d);
/* The smallest label that occurs, if the set holds its samples; else 0. */
int tutti_dataset_first_label(const tutti_dataset *d);
/* Where the largest label stands in the files, "PATH: byte 9: label 26"; "" where the set is drawn or its classes are
 * folders. */
const char *tutti_dataset_largest_label(const tutti_dataset *d);
/* What can be said without opening a file: TUTTI_ERR_USAGE for an unknown set, a count below 0, a key that is missing
 * or would have no effect. The words begin with the job's key: "data.path: ...". */
tutti_status tutti_dataset_check(const tutti_dataset_config *config, tutti_failure *err);
bool tutti_dataset_reads_files(const char *set); /* false also for a set that there is not */
/* Names of the rows, for errors and --help; NULL past the end. */
const char *tutti_dataset_name_at(int i);

/* The bytes of a sample as stored, for pictures and tests; NULL where the set holds none. */
const uint8_t *tutti_dataset_bytes(const tutti_dataset *d, int64_t index);

/* A pass over the set: the random numbers of a sample's augmentation are a function of (seed, epoch, index). */
typedef struct {
    uint64_t seed;
    int64_t epoch;
} tutti_pass;

/* One thread's way to samples: keeps what reading one leaves for the next (a decoder, its buffers). Threads: owner. */
typedef struct tutti_reader tutti_reader;
tutti_reader *tutti_reader_create(const tutti_dataset *d);
void tutti_reader_destroy(tutti_reader *r); /* NULL is accepted */
/* Sample `index`, augmented if it is one to train on, normalised: (byte / 255 - mean) / std. */
tutti_status tutti_reader_read(tutti_reader *r, tutti_pass pass, int64_t index, float *sample, int32_t *label,
                               tutti_failure *err);
/* How many samples this reader replaced so far, and the words of the latest: with skip_bad, the next sample of the set
 * that can be read stands in the place of one that cannot. */
int64_t tutti_reader_nreplaced(const tutti_reader *r, const char **why);

/* Index of the sample at `position` of epoch `epoch`: a permutation of [0, count) that is a pure function of (seed,
 * epoch) (a Feistel network with cycle walking: O(1), nothing stored). shuffle false: position itself. */
int64_t tutti_sample_order_at(uint64_t seed, int64_t epoch, int64_t count, bool shuffle, int64_t position);

/* Loader: threads fill a ring of batches ahead of compute, several of them one batch together; what a batch holds
 * depends on neither their number nor their speed. The batch of step s (0-based, of the whole run) has global size
 * `batch`; its samples are positions [s % steps_per_epoch * batch, ...) of epoch s / steps_per_epoch with
 * steps_per_epoch = count / batch (the rest of an epoch is dropped). This rank gets samples [first, first + n) of
 * it. */
/* Batches that the loader fills beyond the one that the caller holds: no share is asked for before all but so many have
 * been taken. */
enum { TUTTI_LOADER_AHEAD = 2 };
typedef struct tutti_loader tutti_loader;
typedef struct {
    const tutti_dataset *data;
    uint64_t seed;
    int64_t batch, first, n;
    int64_t first_step, end_step;
    int nthreads; /* 0 = 1 */
    /* NULL, or what comes next is for somebody else to say, in place of first, first_step and end_step: share k of the
     * run, samples [k % P * n, + n) of the batch of step k / P, with P = batch / n; below 0 there is none, and it is
     * not asked again. Called by the loader's threads, one at a time, ahead of what is taken. */
    int64_t (*deal)(void *arg);
    void *deal_arg;
} tutti_loader_config;
typedef struct {
    int64_t step, first;         /* its first sample's place in the batch of that step */
    const float *samples;        /* (n, C, H, W) */
    const int32_t *labels;       /* (n) */
    int64_t began_ns, filled_ns; /* clock_ns: when the loader made it */
    int64_t nreplaced;           /* samples that could not be read */
    const char *why;             /* words of the first of them */
} tutti_batch;
tutti_status tutti_loader_create(const tutti_loader_config *config, tutti_loader **out, tutti_failure *err);
/* Blocks until the next batch is there; valid until the next call; NULL past the last step. Steps come in order from
 * first_step. Fails with the words of the first sample of the batch that could not be read, whoever read it. */
tutti_status tutti_loader_next(tutti_loader *l, const tutti_batch **out, tutti_failure *err);
void tutti_loader_destroy(tutti_loader *l); /* NULL is accepted */
/* Where the samples of its batches lie, i from 0 on, whole pages of *nbytes each; NULL: there are no more. For a device
 * that copies faster what it was shown. */
void *tutti_loader_memory(const tutti_loader *l, int i, size_t *nbytes);

#endif
