/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_impl.h: what rows of the table of sets fill in, private to src/data.
 *
 * A set is bytes: count samples of C*H*W unsigned bytes and one label byte each, held in memory whole (MNIST: 47 MB).
 * Floats are made when a batch is loaded, through a table of 256 entries, so that a byte has one float on every path. */
#ifndef TUTTI_DATASET_IMPL_H
#define TUTTI_DATASET_IMPL_H

#include "dataset.h"

struct tutti_dataset {
    tutti_shape shape; /* one sample */
    int64_t count, sample_bytes;
    int nclasses;
    float normal[256]; /* (byte / 255 - mean) / std */
    const uint8_t *pixels, *labels;
    void *storage, *label_storage; /* own pixels and labels; free() */
};

typedef struct {
    const char *name;
    const char *help;
    double mean, std;  /* of byte / 255 */
    bool reads_folder; /* config.path is needed */
    /* Fills shape, count, nclasses, pixels, labels and their storage; d is zeroed and is destroyed by the caller on failure. */
    tutti_status (*open)(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d, tutti_failure *err);
} tutti_dataset_row;

tutti_status tutti_digits_open(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                               tutti_failure *err);
tutti_status tutti_mnist_open(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                              tutti_failure *err);
tutti_status tutti_idx_open(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                            tutti_failure *err);

/* digits: 28 x 28 bytes of sample `index` and its label, a pure function of (seed, split, index). */
enum { TUTTI_DIGIT_SIDE = 28, TUTTI_DIGIT_PIXELS = TUTTI_DIGIT_SIDE * TUTTI_DIGIT_SIDE };
uint8_t tutti_digit_draw(uint64_t seed, tutti_split split, int64_t index, uint8_t pixels[TUTTI_DIGIT_PIXELS]);

/* Pen movements of a way to write a digit: x, y pairs in 0..100, smooth through all points; PEN_UP starts a new stroke. */
enum { TUTTI_PEN_UP = -1, TUTTI_PEN_END = -2, TUTTI_DIGIT_WEIGHTS = 16 };
typedef struct {
    const int8_t *path;
    uint8_t digit, weight; /* the weights of a digit's styles sum to TUTTI_DIGIT_WEIGHTS */
} tutti_digit_style;
extern const tutti_digit_style tutti_digit_styles[];
extern const int tutti_ndigit_styles;

/* One IDX file of unsigned bytes, plain or gzip (idx.c). */
typedef struct {
    int ndims;
    int64_t dim[TUTTI_MAX_DIMS];
    int64_t header_bytes; /* bytes start here in the file: for failures */
    uint8_t *bytes;       /* the caller's (free()) */
    int64_t nbytes;
} tutti_idx;
/* Refuses with TUTTI_ERR_DATA, naming path and offset, whatever is not exactly one whole IDX file of unsigned bytes with
 * min_dims to max_dims non-empty dimensions. Never allocates more than a file of that size can hold. */
tutti_status tutti_idx_read(const char *path, int min_dims, int max_dims, tutti_idx *out, tutti_failure *err);

#endif
