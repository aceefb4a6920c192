/* SPDX-License-Identifier: Apache-2.0 */
/* svm_tile_impl.h: declarations that the files of kernel values share: the memory of a tile, and rows by instruction
 * set and number type.
 *
 * Narrow data: a slot for every feature, slot(f) = f. Wide data: slots 1, 2, ... for the features that some source has,
 * found by a hash table with linear probing, at most a quarter full; a feature that is not found has slot 0.
 *
 * Narrow data that are dense enough and larger than the first-level cache are processed in strips of slots: a strip
 * serves a batch of targets before the next strip is touched, and two targets with the same features load it once. */
#ifndef TUTTI_SVM_TILE_IMPL_H
#define TUTTI_SVM_TILE_IMPL_H

#include "../../tensor/isa.h"
#include "svm_tile.h"

enum {
    TUTTI_SVM_F32_LANES = 64, /* lanes of a tile: a slot is four cache lines in both types, which fit registers */
    TUTTI_SVM_F64_LANES = 32,
    TUTTI_SVM_LINE = 64,     /* bytes of a cache line */
    TUTTI_SVM_STRIP = 64,    /* slots of a strip: 16 KiB, a third of a first-level cache that two threads share */
    TUTTI_SVM_NARROW = 4096, /* the most slots without a table: 1 MiB, half of a usual second-level cache */
};

typedef struct {
    int32_t feature; /* number of the feature; -1 for a free place */
    int32_t slot;
} tutti_svm_place;

typedef struct tutti_svm_tile_row tutti_svm_tile_row;

struct tutti_svm_tile {
    const tutti_svm_tile_row *row;
    tutti_svm_kernel kernel;
    int n;                              /* number of sources */
    void *dense;                        /* [nslots][lanes] numbers, aligned to 64 bytes */
    void *square;                       /* [lanes] numbers: |source|^2, 0 without a source; aligned to 64 bytes */
    void *dense_memory, *square_memory; /* the allocations that hold `dense` and `square` */
    int64_t nslots, room;               /* slots in use, and slots in memory */
    tutti_svm_place *table;             /* [1 << bits] hash table of features; NULL if the data are narrow */
    int bits;
    bool strips;            /* true if a tile is narrow, larger than the first-level cache, and half full: targets go
                             * through it strip by strip */
    int64_t nset, set_room; /* count of the numbers that fill() wrote, and room for their places in `set`; the next call
                             * clears only these */
    int64_t *set;
};

struct tutti_svm_tile_row {
    tutti_svm_precision precision;
    int lanes;
    /* does the work of tutti_svm_tile_sum; weight: [lanes], 0 behind the sources */
    void (*sum)(const tutti_svm_tile *tile, const tutti_svm_targets *targets, const double *weight, double *sum);
    void (*values)(const tutti_svm_tile *tile, const tutti_svm_targets *targets, void *out, int64_t stride);
    void (*kept_sum)(const tutti_svm_kept *kept, const double *weight, double *sum);
    double (*square)(const double *value, int64_t n); /* returns |row|^2, added up as the values of a tile are */
    /* returns the kernel's value for u'v = |u|^2 = |v|^2 = square */
    double (*diagonal)(const tutti_svm_tile *tile, double square);
};

TUTTI_ISA_DECLARE(tutti_svm_tile_row, tutti_svm_tile_f32);
TUTTI_ISA_DECLARE(tutti_svm_tile_row, tutti_svm_tile_f64);

static inline const tutti_svm_tile_row *tutti_svm_tile_row_of(tutti_svm_precision precision, tutti_isa isa)
{
    return precision == TUTTI_SVM_F32 ? tutti_svm_tile_f32_rows[isa] : tutti_svm_tile_f64_rows[isa];
}

/* Returns the place of a feature in the table. */
static inline uint32_t tutti_svm_home(const tutti_svm_tile *tile, int32_t feature)
{
    return (uint32_t)feature * 2654435769u >> (32 - tile->bits); /* 2^32 over the golden ratio */
}

#endif
