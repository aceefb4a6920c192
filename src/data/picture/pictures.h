/* SPDX-License-Identifier: Apache-2.0 */
/* pictures.h: pictures that belong to no data set, for `tutti infer`: found, decoded, made samples; names of classes.
 *
 * For `images` a picture of any size is decoded, resized and cut as a test sample is. For sets of bytes it must have
 * their size; a coloured one becomes grey where they have one channel (Pillow's "L"), a grey one has three alike where
 * they have three. No file of the set itself is opened, but for names of classes. Threads: owner. */
#ifndef TUTTI_DATA_PICTURES_H
#define TUTTI_DATA_PICTURES_H

#include "../../base/text/strbuf.h"
#include "../dataset.h"

typedef struct tutti_pictures tutti_pictures;
/* sample: the shape that the network reads. TUTTI_ERR_USAGE: the set's samples are no pictures, or not of this
 * shape. */
tutti_status tutti_pictures_create(const tutti_dataset_config *config, const tutti_shape *sample, tutti_pictures **out,
                                   tutti_failure *err);
void tutti_pictures_destroy(tutti_pictures *p); /* NULL is accepted */
/* TUTTI_ERR_DATA, naming the file: it is no whole JPEG or PNG, or not of the size that is wanted. */
tutti_status tutti_pictures_read(tutti_pictures *p, const char *path, float *sample, tutti_failure *err);

typedef struct {
    char **name; /* in the order that they were added */
    int64_t n, room;
} tutti_names; /* zero-initialise */
void tutti_names_add(tutti_names *l, const char *name);
void tutti_names_release(tutti_names *l);

/* Adds the path; of a folder instead the pictures in it and below it, sorted by folder, then by name (image_folder.h
 * says which files are). words: grows by what was left out, if anything was. TUTTI_ERR_DATA: a folder without any, or
 * one that cannot be read. */
tutti_status tutti_pictures_find(const char *path, tutti_names *out, tutti_strbuf *words, tutti_failure *err);

/* What the classes of a set are called, by their numbers; none where it has numbers alone. TUTTI_ERR_DATA: its folder
 * cannot be read. */
tutti_status tutti_class_names(const tutti_dataset_config *config, tutti_names *out, tutti_failure *err);

#endif
