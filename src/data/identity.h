/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h: the identity of the data that a run was trained on, in a few lines: numbers and labels of samples, names
 * of classes, how bytes become floats, and hashes of some samples as they are stored. Two sets with the same identity
 * may differ in samples that were not hashed.
 *
 * Text form (data.yaml of a checkpoint): YAML, with `format: 1` as the first line. In names of classes, bytes that are
 * not letters or digits are written as %XX. Threads: one at a time. */
#ifndef TUTTI_DATA_IDENTITY_H
#define TUTTI_DATA_IDENTITY_H

#include "dataset.h"
#include "picture/pictures.h"

enum { TUTTI_IDENTITY_CHANNELS = 16, TUTTI_IDENTITY_LOOKS = 64 };

typedef struct {
    int64_t nsamples; /* number of samples; -1 = the run had no set of this split */
    uint64_t labels;  /* hash of all labels, in the order of the set */
    /* hash of TUTTI_IDENTITY_LOOKS samples, spread over the set, as they are stored: without augmentation */
    uint64_t bytes;
} tutti_split_identity;

typedef struct {
    tutti_split_identity split[2]; /* the identity of each split, indexed by tutti_split */
    int64_t nclasses;
    tutti_names names; /* names of classes; none: classes have only numbers */
    int nchannels;
    double mean[TUTTI_IDENTITY_CHANNELS], std[TUTTI_IDENTITY_CHANNELS];
} tutti_data_identity; /* begin with all bytes zero */

/* Computes the identity of sets that were opened with this config; one of the two may be NULL. A sample that cannot be
 * read is hashed as if it had no bytes. TUTTI_ERR_DATA: the names of classes cannot be read. */
tutti_status tutti_data_identity_of(const tutti_dataset_config *config, const tutti_dataset *train,
                                    const tutti_dataset *test, tutti_data_identity *out, tutti_failure *err);
void tutti_data_identity_release(tutti_data_identity *d);

char *tutti_data_identity_print(const tutti_data_identity *d); /* returns the text form, which the caller frees */
/* Reads the text form. TUTTI_ERR_DATA if the text is no identity. */
tutti_status tutti_data_identity_parse(const char *text, tutti_data_identity *out, tutti_failure *err);

/* The parts of an identity that are compared. */
enum {
    TUTTI_IDENTITY_CLASSES = 1, /* names of the classes, if both sets have names; else the number of classes */
    TUTTI_IDENTITY_TRAIN = 2,
    TUTTI_IDENTITY_TEST = 4,
    TUTTI_IDENTITY_NORMAL = 8, /* mean and standard deviation that normalise samples */
    TUTTI_IDENTITY_ALL = 15
};
/* Compares the given parts (bits TUTTI_IDENTITY_...) of two identities. Returns a text that says which parts differ;
 * NULL if none does. The caller frees the text. */
char *tutti_data_identity_differ(const tutti_data_identity *before, const tutti_data_identity *now, unsigned parts);

#endif
