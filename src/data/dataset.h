/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h: data sets: samples with labels, their order, and batches that are loaded ahead of compute.
 *
 * Each set is a row of a table (dataset_table.c). A set holds bytes in memory or reads each sample when it is asked for
 * (`images`). `digits`, `shapes` and `noise` generate their bytes with whole numbers, so that a seed gives the same
 * bytes on every machine. `mnist`, `idx`, `cifar10`, `npy` and `csv` read files; the last two may hold floats instead
 * of bytes. Order and augmentation are pure functions of (seed, epoch, sample): they are the same on any number of
 * ranks and threads. Failures are TUTTI_ERR_DATA and name file and offset. Threads: any may read an open set; one at a
 * time uses a reader or a loader. */
#ifndef TUTTI_DATASET_H
#define TUTTI_DATASET_H

#include "../base/text/options.h"
#include "../tensor/tensor.h"
#include "tutti/failure.h"

typedef struct tutti_dataset tutti_dataset;

/* How a training sample changes from epoch to epoch. The sample may be cropped at another place, or mirrored. AUTO: the
 * augmentation that is usual for the set. The values are in the order of the words of the job key data.augment. */
typedef enum {
    TUTTI_AUGMENT_AUTO,
    TUTTI_AUGMENT_NONE,
    TUTTI_AUGMENT_FLIP,
    TUTTI_AUGMENT_CROP,
    TUTTI_AUGMENT_CROP_FLIP
} tutti_augment;

/* Whether the first line of a text file has names of columns. AUTO: it has if none of its cells is a number. */
typedef enum { TUTTI_HEADER_AUTO, TUTTI_HEADER_YES, TUTTI_HEADER_NO } tutti_header;

typedef struct {
    const char *set;  /* name of the set: "digits", "mnist", ... */
    const char *path; /* folder of files, or NULL */
    uint64_t seed;    /* seed of generated sets */
    /* numbers of samples. A generated set gets this number of samples (0 = the set's default). A set from files uses
     * its first samples, up to this number (0 = all) */
    int64_t train_samples, test_samples;
    tutti_shape shape;   /* for the set `noise`: shape of a sample */
    int64_t classes;     /* for the set `noise`: number of classes */
    int64_t size;        /* for the set `images`: side of the square sample, in pixels; 0 = 224 */
    int augment;         /* a tutti_augment; changes only training samples */
    int64_t first_label; /* sets from files except images: the label of class 0 in the files */
    /* images: true if a sample that cannot be read is replaced by another one; false if it ends the run */
    bool skip_bad;
    /* mean and standard deviation by which byte / 255, or the set's floats, are normalised: one number, or one for each
     * channel; none = the set's default */
    tutti_reals mean, std;
    bool label_last; /* csv: true if the label is the last column, false if it is the first */
    int header;      /* csv: a tutti_header, which says whether the first line has names of columns */
} tutti_dataset_config;

typedef enum { TUTTI_SPLIT_TRAIN, TUTTI_SPLIT_TEST } tutti_split;

tutti_status tutti_dataset_open(const tutti_dataset_config *config, tutti_split split, tutti_dataset **out,
                                tutti_failure *err);
void tutti_dataset_destroy(tutti_dataset *d);
/* A set's samples and labels as one block of memory, which all processes of a host can map. tutti_dataset_block_bytes
 * returns the block's size (0: the set keeps nothing in memory). tutti_dataset_block_write fills a block.
 * tutti_dataset_open_block opens the set from it, with the same config and split. The block must stay until the set is
 * destroyed. A block that does not fit the config is TUTTI_ERR_DATA. */
size_t tutti_dataset_block_bytes(const tutti_dataset *d);
void tutti_dataset_block_write(const tutti_dataset *d, void *block);
tutti_status tutti_dataset_open_block(const tutti_dataset_config *config, tutti_split split, const void *block,
                                      size_t nbytes, tutti_dataset **out, tutti_failure *err);
int64_t tutti_dataset_count(const tutti_dataset *d);
tutti_shape tutti_dataset_shape(const tutti_dataset *d); /* Returns the shape of a sample: (C, H, W). */
int tutti_dataset_nclasses(const tutti_dataset *d);
/* Returns a note about the files for the user, without a newline: "21 pictures of 3 classes; 3 files left out (...)";
 * "" if there is nothing unusual. */
const char *tutti_dataset_notes(const tutti_dataset *d);
/* Sets *mean and *std to the numbers that normalise samples, one for each channel. Returns the number of channels. */
int tutti_dataset_normal(const tutti_dataset *d, const double **mean, const double **std);
/* True if the set's files hold floats instead of bytes. Then a sample is (float - mean) / std. */
bool tutti_dataset_holds_numbers(const tutti_dataset *d);
/* Returns the smallest label that occurs, if the set holds its samples; else 0. */
int tutti_dataset_first_label(const tutti_dataset *d);
/* Returns the largest label and where it stands in the files, as "PATH: byte 9: label 26"; "" if the set is generated
 * or its classes are folders. */
const char *tutti_dataset_largest_label(const tutti_dataset *d);
/* Checks a config without opening a file. TUTTI_ERR_USAGE for an unknown set, a count below 0, a key that is missing,
 * or a key that has no effect for this set. The message begins with the job's key: "data.path: ...". */
tutti_status tutti_dataset_check(const tutti_dataset_config *config, tutti_failure *err);
bool tutti_dataset_reads_files(const char *set); /* true if the set reads files; false also for an unknown set */
/* Returns the name of data set number i, for messages and --help; NULL past the end. */
const char *tutti_dataset_name_at(int i);

/* Returns the bytes of a sample as stored, for pictures and tests; NULL if the set holds none. */
const uint8_t *tutti_dataset_bytes(const tutti_dataset *d, int64_t index);

/* One epoch's pass over the set. The random numbers of a sample's augmentation are a function of (seed, epoch, index of
 * the sample). */
typedef struct {
    uint64_t seed;
    int64_t epoch;
} tutti_pass;

/* Reads samples for one thread; it keeps a decoder and buffers from one sample to the next. Threads: one at a time. */
typedef struct tutti_reader tutti_reader;
tutti_reader *tutti_reader_create(const tutti_dataset *d);
void tutti_reader_destroy(tutti_reader *r); /* r may be NULL */
/* Reads sample `index`, normalised, (byte / 255 - mean) / std, and augmented if it is a training sample. */
tutti_status tutti_reader_read(tutti_reader *r, tutti_pass pass, int64_t index, float *sample, int32_t *label,
                               tutti_failure *err);
/* Returns how many samples this reader has replaced so far. *why: the message for the latest one. With skip_bad, a
 * sample that cannot be read is replaced by the next sample of the set that can be read. */
int64_t tutti_reader_nreplaced(const tutti_reader *r, const char **why);

/* Returns the index of the sample at `position` of epoch `epoch`. For each epoch this is a permutation of [0, count), a
 * pure function of (seed, epoch). A Feistel network with cycle walking computes it, which costs O(1) and stores
 * nothing. shuffle false: returns position. */
int64_t tutti_sample_order_at(uint64_t seed, int64_t epoch, int64_t count, bool shuffle, int64_t position);

/* The loader: threads fill a ring of batches ahead of compute; several threads fill one batch together. The content of
 * a batch does not depend on their number or speed. The batch of step s (0-based, in the whole run) has `batch` samples
 * over all ranks; these are the `batch` positions from s % steps_per_epoch * batch on, of epoch s / steps_per_epoch.
 * steps_per_epoch is count / batch, and the rest of an epoch is dropped. This rank gets samples [first, first + n) of
 * that batch. */
/* Number of batches that the loader fills ahead of the batch that the caller holds. The loader asks `deal` for a share
 * only when the caller has taken all but this number of the batches before. */
enum { TUTTI_LOADER_AHEAD = 2 };
typedef struct tutti_loader tutti_loader;
typedef struct {
    const tutti_dataset *data;
    uint64_t seed;
    int64_t batch, first, n;
    int64_t first_step, end_step;
    int nthreads; /* number of threads that fill batches; 0 means 1 */
    /* NULL, or a function that says which share comes next, in place of first, first_step and end_step. Share k of the
     * run is the n samples from k % P * n on in the batch of step k / P, with P = batch / n. A number below 0 means
     * that no share is left; then the function is not called again. The loader's threads call it, one thread at a time,
     * before the caller asks for the batch. */
    int64_t (*deal)(void *arg);
    void *deal_arg;
} tutti_loader_config;
typedef struct {
    int64_t step, first;   /* step: the batch's step; first: index of its first sample in the batch of all ranks */
    const float *samples;  /* the samples, with shape (n, C, H, W) */
    const int32_t *labels; /* the n labels of the samples */
    int64_t began_ns, filled_ns; /* times at which the loader began and ended filling the batch, by tutti_clock_ns */
    int64_t nreplaced;           /* number of samples that could not be read and were replaced */
    const char *why;             /* message about the first sample that could not be read */
} tutti_batch;
tutti_status tutti_loader_create(const tutti_loader_config *config, tutti_loader **out, tutti_failure *err);
/* Waits for the next batch; it is valid until the next call; NULL past the last step. Steps come in order from
 * first_step. Fails with the message of the first sample of the batch that could not be read, whichever thread read
 * it. */
tutti_status tutti_loader_next(tutti_loader *l, const tutti_batch **out, tutti_failure *err);
void tutti_loader_destroy(tutti_loader *l); /* l may be NULL */
/* Returns a part of the memory that the batches use, for i = 0, 1, ..: whole pages, *nbytes in all; NULL past the last
 * part. A device that copies faster from registered memory registers these pages. */
void *tutti_loader_memory(const tutti_loader *l, int i, size_t *nbytes);

#endif
