/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h: which data a run was trained on, in a few lines: numbers and labels of samples, what classes are called,
 * how bytes become floats, and a look at some samples as they are stored. Two sets of one identity may differ in
 * samples that were not looked at.
 *
 * Text form (data.yaml of a checkpoint): YAML, `format: 1` first; names of classes with bytes that are no letters or
 * digits as %XX. Threads: owner. */
#ifndef TUTTI_DATA_IDENTITY_H
#define TUTTI_DATA_IDENTITY_H

#include "dataset.h"
#include "picture/pictures.h"

enum { TUTTI_IDENTITY_CHANNELS = 16, TUTTI_IDENTITY_LOOKS = 64 };

typedef struct {
    int64_t nsamples; /* -1: this split was not looked at */
    uint64_t labels;  /* hash of all, in the order of the set */
    uint64_t
        bytes; /* hash of TUTTI_IDENTITY_LOOKS samples, spread over the set, as they are stored: without augmentation */
} tutti_split_identity;

typedef struct {
    tutti_split_identity split[2]; /* by tutti_split */
    int64_t nclasses;
    tutti_names names; /* of classes; none: they have numbers alone */
    int nchannels;
    double mean[TUTTI_IDENTITY_CHANNELS], std[TUTTI_IDENTITY_CHANNELS];
} tutti_data_identity; /* zero-initialise */

/* Of sets that were opened with this config; one of the two may be NULL. A sample that cannot be read counts as none.
 * TUTTI_ERR_DATA: names of classes cannot be read. */
tutti_status tutti_data_identity_of(const tutti_dataset_config *config, const tutti_dataset *train,
                                    const tutti_dataset *test, tutti_data_identity *out, tutti_failure *err);
void tutti_data_identity_release(tutti_data_identity *d);

char *tutti_data_identity_print(const tutti_data_identity *d); /* the caller frees */
/* TUTTI_ERR_DATA: it is no such text. */
tutti_status tutti_data_identity_parse(const char *text, tutti_data_identity *out, tutti_failure *err);

/* What is compared. */
enum {
    TUTTI_IDENTITY_CLASSES = 1, /* names, where both have some; else their number */
    TUTTI_IDENTITY_TRAIN = 2,
    TUTTI_IDENTITY_TEST = 4,
    TUTTI_IDENTITY_NORMAL = 8, /* mean and std */
    TUTTI_IDENTITY_ALL = 15
};
/* In which of these the data now differ from those before, in words; NULL: in none. The caller frees. */
char *tutti_data_identity_differ(const tutti_data_identity *before, const tutti_data_identity *now, unsigned parts);

#endif
