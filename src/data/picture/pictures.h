/* SPDX-License-Identifier: Apache-2.0 */
/* pictures.h: finds and decodes pictures that belong to no data set and makes samples of them, for `tutti infer`; reads
 * names of classes.
 *
 * For the set `images`, a picture of any size is decoded, resized and cropped as a test sample is. For a set of bytes,
 * the picture must have the size of the set's samples. A coloured picture becomes grey if the samples have one channel
 * (Pillow's "L"); a grey picture gets three equal channels if they have three. No file of the set itself is opened,
 * except for names of classes. Threads: one at a time. */
#ifndef TUTTI_DATA_PICTURES_H
#define TUTTI_DATA_PICTURES_H

#include "../../base/text/strbuf.h"
#include "../dataset.h"

typedef struct tutti_pictures tutti_pictures;
/* sample: the shape of a sample that the network reads. TUTTI_ERR_USAGE: the set's samples are not pictures, or have
 * another shape. */
tutti_status tutti_pictures_create(const tutti_dataset_config *config, const tutti_shape *sample, tutti_pictures **out,
                                   tutti_failure *err);
void tutti_pictures_destroy(tutti_pictures *p); /* p may be NULL */
/* Reads a picture as a sample. TUTTI_ERR_DATA, with the file's name: it is no complete JPEG or PNG, or has the wrong
 * size. */
tutti_status tutti_pictures_read(tutti_pictures *p, const char *path, float *sample, tutti_failure *err);

typedef struct {
    char **name; /* the names, in the order that they were added */
    int64_t n, room;
} tutti_names; /* begin with all bytes zero */
void tutti_names_add(tutti_names *l, const char *name);
void tutti_names_release(tutti_names *l);

/* Adds the path; for a folder, the pictures in it and below it, sorted by folder, then by name (image_folder.h says
 * which files). words: receives a text that says which files were left out, if any. TUTTI_ERR_DATA: a folder has none,
 * or cannot be read. */
tutti_status tutti_pictures_find(const char *path, tutti_names *out, tutti_strbuf *words, tutti_failure *err);

/* Writes the names of a set's classes to *out, in the order of the classes' numbers; no names if classes have only
 * numbers. TUTTI_ERR_DATA: the set's folder cannot be read. */
tutti_status tutti_class_names(const tutti_dataset_config *config, tutti_names *out, tutti_failure *err);

#endif
