/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_impl.h: the row of the table of data sets: functions that a set fills in, private to src/data.
 *
 * There are three kinds of sets. A set holds bytes (count samples of C*H*W unsigned bytes and one label each; MNIST: 47
 * MB), or it holds floats, or its row has `read`, which reads a sample when it is needed. Loading a batch turns bytes
 * into floats through a table of 256 entries for each channel, so that a byte gives the same float everywhere. */
#ifndef TUTTI_DATASET_IMPL_H
#define TUTTI_DATASET_IMPL_H

#include "../base/hash.h"
#include "../base/text/strbuf.h"
#include "dataset.h"
#include "picture/pictures.h"

enum { TUTTI_MAX_CHANNELS = 16, TUTTI_MAX_NOTES = 512 };

typedef struct tutti_dataset_row tutti_dataset_row;
struct tutti_dataset {
    const tutti_dataset_row *row;
    tutti_shape shape; /* shape of one sample */
    int64_t count;
    int nclasses, nchannels;
    /* crop: true if samples of this split are cropped at random; flip: true if they are mirrored at random */
    bool crop, flip;
    double mean[TUTTI_MAX_CHANNELS], std[TUTTI_MAX_CHANNELS];
    bool skip_bad;
    int64_t nstored; /* number of samples in memory; in a set of bytes, sample i is the stored sample i % nstored */
    void *own;       /* private data of the set, which its `open` stores for its `read` */
    char notes[TUTTI_MAX_NOTES];      /* text of tutti_dataset_notes; may be empty */
    char largest_at[TUTTI_MAX_NOTES]; /* text of tutti_dataset_largest_label; may be empty */
    /* bytes of one channel of a sample. This field and the next two are for sets of bytes */
    int64_t channel_bytes;
    float (*normal)[256]; /* for each channel, the float of each byte: (byte / 255 - mean) / std */
    uint8_t *pixels;      /* bytes of the stored samples; freed with free(), unless they lie in a block; NULL for sets
                           * of floats */
    float *numbers;       /* for sets of floats, in place of `pixels`: (C, H, W) of each sample; freed like `pixels` */
    int32_t *labels;      /* a label for each stored sample; freed like `pixels` */
    bool in_block;
};

struct tutti_dataset_row {
    const char *name;
    const char *help;
    /* default mean and standard deviation of byte / 255, by channel; a single number is for all channels */
    double mean[3], std[3];
    /* text that names the files which the folder data.path must have; NULL: the set reads no files */
    const char *files;
    bool shaped;   /* true if data.shape and data.classes define the samples */
    bool reshaped; /* true if data.shape may change the shape of a sample */
    bool labelled; /* true if labels are numbers in the files, so that data.first_label applies */
    bool tabled;   /* true if the set is a table of text, so that data.label and data.header apply */
    /* true for pictures of any size: data.size and data.on_bad_sample apply, and the usual augmentation is crop-flip */
    bool pictures;
    /* Fills in shape, count, nclasses, and for a set of bytes pixels and labels. d is zeroed before. After a failure
     * the caller destroys d. */
    tutti_status (*open)(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d, tutti_failure *err);
    /* The following functions are for sets that hold no bytes; other sets have NULL. A reader's state belongs to one
     * thread. */
    void (*close)(tutti_dataset *d);
    void *(*reader_open)(const tutti_dataset *d);
    void (*reader_close)(void *reader);
    /* Reads stored sample number `stored`, augmented by the random numbers of sample `index`. */
    tutti_status (*read)(const tutti_dataset *d, void *reader, tutti_pass pass, int64_t index, int64_t stored,
                         float *sample, tutti_failure *err);
    int32_t (*label)(const tutti_dataset *d, int64_t stored);
    /* Hashes the bytes of stored sample number `stored`; hashes nothing if it cannot be read. NULL: samples are hashed
     * as floats (identity.h). */
    void (*hash_stored)(const tutti_dataset *d, int64_t stored, tutti_hasher *h);
    /* Reads a picture file that belongs to no set, as a test sample. NULL: the picture must have the size of the set's
     * samples and is taken as bytes. */
    tutti_status (*read_picture)(const tutti_dataset *d, void *reader, const char *path, float *sample,
                                 tutti_failure *err);
    /* class_names: names of the classes, ended by NULL. The next function reads the names from data.path instead. If
     * both are NULL, classes have only numbers. */
    const char *const *class_names;
    tutti_status (*read_class_names)(const tutti_dataset_config *config, tutti_names *out, tutti_failure *err);
};

/* Completes a set after its `open`: fills in all fields that follow from shape and count. d->row must be set. */
tutti_status tutti_dataset_complete(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                                    tutti_failure *err);
/* Checks the config with tutti_dataset_check, then makes an empty set with the config's row. */
tutti_status tutti_dataset_begin(const tutti_dataset_config *config, tutti_dataset **out, tutti_failure *err);

/* Appends words to the set's notes, after "; ". */
void tutti_dataset_note(tutti_dataset *d, const char *words);
/* Tells where labels were read from, for messages. */
typedef struct {
    const char *path;
    const void *file;
    /* appends the place of label i in the file, such as "byte 9" */
    void (*place)(const void *file, int64_t i, tutti_strbuf *words);
} tutti_label_source;
/* Changes d->labels so that they count from 0 instead of config->first_label. Sets nclasses to the largest label +
 * 1. */
tutti_status tutti_dataset_count_labels(const tutti_dataset_config *config, const tutti_label_source *source,
                                        tutti_dataset *d, tutti_failure *err);

/* Computes how many of the `have` samples in the files are used. If the config asks for more samples, it fails and
 * names `path`. */
tutti_status tutti_dataset_take(const tutti_dataset_config *config, tutti_split split, const char *path, int64_t have,
                                int64_t *count, tutti_failure *err);

/* Converts stored sample `index` of a set of bytes to floats, augmented by the random numbers of this pass. */
void tutti_bytes_read(const tutti_dataset *d, tutti_pass pass, int64_t index, float *sample);

/* A set that is generated (drawn.c). The set has ten classes, and all samples are in memory. */
typedef struct {
    tutti_shape shape;
    int64_t train, test; /* default numbers of samples */
    /* Generates the bytes of sample `index`, and its label: a pure function of (seed, split, index). */
    uint8_t (*draw)(uint64_t seed, tutti_split split, int64_t index, uint8_t *bytes);
} tutti_drawn_set;
uint8_t tutti_drawn_label(uint64_t seed, tutti_split split, int64_t index);
tutti_status tutti_drawn_open(const tutti_drawn_set *set, const tutti_dataset_config *config, tutti_split split,
                              tutti_dataset *d, tutti_failure *err);

/* digits: generates the 28 x 28 bytes of sample `index` and its label, a pure function of (seed, split, index). */
enum { TUTTI_DIGIT_SIDE = 28, TUTTI_DIGIT_PIXELS = TUTTI_DIGIT_SIDE * TUTTI_DIGIT_SIDE };
uint8_t tutti_digit_draw(uint64_t seed, tutti_split split, int64_t index, uint8_t pixels[TUTTI_DIGIT_PIXELS]);

/* A style: the pen's movements of one way to write a digit. They are x, y pairs in 0..100, with a smooth curve through
 * all points; PEN_UP starts a new stroke. */
enum { TUTTI_PEN_UP = -1, TUTTI_PEN_END = -2, TUTTI_DIGIT_WEIGHTS = 16 };
typedef struct {
    const int8_t *path;
    /* weight: how often the style is used; the weights of a digit's styles sum to TUTTI_DIGIT_WEIGHTS */
    uint8_t digit, weight;
} tutti_digit_style;
extern const tutti_digit_style tutti_digit_styles[];
extern const int tutti_ndigit_styles;

/* shapes: generates the 3 x 32 x 32 bytes of sample `index` and its label, a pure function of (seed, split, index). */
enum { TUTTI_SHAPE_SIDE = 32, TUTTI_SHAPE_BYTES = 3 * TUTTI_SHAPE_SIDE * TUTTI_SHAPE_SIDE, TUTTI_NSHAPES = 10 };
uint8_t tutti_shape_draw(uint64_t seed, tutti_split split, int64_t index, uint8_t bytes[TUTTI_SHAPE_BYTES]);

/* Outlines of shapes: x, y pairs in -100..100. NEXT ends a ring and starts another one, END ends the outline. */
enum { TUTTI_OUTLINE_NEXT = -127, TUTTI_OUTLINE_END = -128 };
extern const char *const tutti_shape_names[TUTTI_NSHAPES + 1]; /* names of the shapes, ended by NULL */
extern const int8_t *const tutti_shape_outlines[TUTTI_NSHAPES];

/* The content of one IDX file of unsigned bytes, plain or packed by gzip (idx.c). */
typedef struct {
    int ndims;
    int64_t dim[TUTTI_MAX_DIMS];
    int64_t header_bytes; /* offset of `bytes` in the file, for messages */
    uint8_t *bytes;       /* the file's bytes; the caller frees them */
    int64_t nbytes;
} tutti_idx;
/* Reads a file. TUTTI_ERR_DATA, with path and offset, if it is not exactly one whole IDX file of unsigned bytes with
 * min_dims to max_dims non-empty dimensions. The function never allocates more memory than a file of that size can
 * fill. */
tutti_status tutti_idx_read(const char *path, int min_dims, int max_dims, tutti_idx *out, tutti_failure *err);

#endif
