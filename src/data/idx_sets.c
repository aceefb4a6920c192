/* SPDX-License-Identifier: Apache-2.0 */
/* idx_sets.c: the sets that are pairs of IDX files in a folder: mnist (28 x 28, ten classes) and idx (any shape of up to
 * three dimensions a sample; as many classes as the largest training label says).
 *
 * File names are MNIST's: {train,t10k}-{images-idx3,labels-idx1}-ubyte, with '.' instead of '-' before "idx" as some
 * mirrors have it, with or without a leading "mnist-", plain or with ".gz"; the first that is there is taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/strbuf.h"
#include "dataset_impl.h"

enum { MNIST_SIDE = 28, MNIST_CLASSES = 10 };

/* The path of the file of `what` ("images-idx3", with idx4 and so on tried too), to be freed, or NULL with the failure set. */
static char *file_find(const char *folder, const char *split, const char *what, tutti_failure *err)
{
    static const char *const prefixes[] = {"", "mnist-"}, *const suffixes[] = {"", ".gz"};
    static const char separators[] = "-.";
    for (int ndims = 1; ndims <= TUTTI_MAX_DIMS; ndims++)
        for (int p = 0; p < 2; p++)
            for (int s = 0; s < 2; s++)
                for (int z = 0; z < 2; z++) {
                    tutti_strbuf path = {0};
                    tutti_strbuf_printf(&path, "%s/%s%s-%s%cidx%d-ubyte%s", folder, prefixes[p], split, what,
                                        separators[s], ndims, suffixes[z]);
                    if (!access(path.text, F_OK)) return tutti_strbuf_detach(&path);
                    tutti_strbuf_release(&path);
                }
    tutti_fail(err, TUTTI_ERR_DATA,
               "%s: no file %s-%s-idx%d-ubyte in it (nor with .gz, with '.idx', or with a leading 'mnist-')", folder,
               split, what, strcmp(what, "labels") ? 3 : 1);
    return NULL;
}

static tutti_status file_read(const char *folder, const char *split, const char *what, tutti_idx *out, char **path,
                              tutti_failure *err)
{
    bool labels = !strcmp(what, "labels");
    *path = file_find(folder, split, what, err);
    if (!*path) return TUTTI_ERR_DATA;
    return tutti_idx_read(*path, labels ? 1 : 2, labels ? 1 : TUTTI_MAX_DIMS, out, err);
}

static tutti_status labels_check(const tutti_idx *labels, const char *path, int nclasses, tutti_failure *err)
{
    for (int64_t i = 0; i < labels->nbytes; i++)
        if (labels->bytes[i] >= nclasses)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte %lld: label %d, but the classes are 0 to %d", path,
                              (long long)(labels->header_bytes + i), labels->bytes[i], nclasses - 1);
    return TUTTI_OK;
}

/* How many classes the training labels have, whichever split is asked for. */
static tutti_status classes_count(const char *folder, int *nclasses, tutti_failure *err)
{
    tutti_idx labels = {0};
    char *path = NULL;
    tutti_status st = file_read(folder, "train", "labels", &labels, &path, err);
    int largest = 0;
    for (int64_t i = 0; i < labels.nbytes; i++) largest = labels.bytes[i] > largest ? labels.bytes[i] : largest;
    *nclasses = largest + 1;
    free(labels.bytes);
    free(path);
    return st;
}

static tutti_status pair_check(const tutti_idx *images, const char *image_path, const tutti_idx *labels,
                               const char *label_path, int nclasses, tutti_failure *err)
{
    if (images->dim[0] != labels->dim[0])
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte 4: %lld labels, but %s has %lld images", label_path,
                          (long long)labels->dim[0], image_path, (long long)images->dim[0]);
    return labels_check(labels, label_path, nclasses, err);
}

/* (N, a) -> (1, 1, a); (N, a, b) -> (1, a, b); (N, a, b, c) -> (a, b, c). */
static tutti_shape sample_shape(const tutti_idx *images)
{
    tutti_shape shape = {.ndims = 3, .dim = {1, 1, 1}};
    for (int i = 1; i < images->ndims; i++) shape.dim[3 - images->ndims + i] = images->dim[i];
    return shape;
}

static tutti_status side_check(const tutti_idx *images, const char *path, int64_t side, tutti_failure *err)
{
    if (images->ndims == 3 && images->dim[1] == side && images->dim[2] == side) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_DATA,
                      "%s: byte 8: %d dimensions, images of %lld x %lld; wanted 3 dimensions and "
                      "images of %lld x %lld (set: idx reads others)",
                      path, images->ndims, (long long)images->dim[1], (long long)images->dim[2], (long long)side,
                      (long long)side);
}

static int32_t *labels_widen(const tutti_idx *labels)
{
    int32_t *wide = tutti_alloc((size_t)labels->nbytes * sizeof *wide);
    for (int64_t i = 0; i < labels->nbytes; i++) wide[i] = labels->bytes[i];
    return wide;
}

/* side 0: any shape. */
static tutti_status pair_open(const tutti_dataset_config *config, tutti_split split, int nclasses, int64_t side,
                              tutti_dataset *d, tutti_failure *err)
{
    const char *name = split == TUTTI_SPLIT_TRAIN ? "train" : "t10k";
    char *image_path = NULL, *label_path = NULL;
    tutti_idx images = {0}, labels = {0};
    tutti_status st = file_read(config->path, name, "images", &images, &image_path, err);
    if (!st && side) st = side_check(&images, image_path, side, err);
    if (!st) st = file_read(config->path, name, "labels", &labels, &label_path, err);
    if (!st) st = pair_check(&images, image_path, &labels, label_path, nclasses, err);
    if (!st) st = tutti_dataset_take(config, split, image_path, images.dim[0], &d->count, err);
    d->shape = sample_shape(&images);
    d->nclasses = nclasses;
    d->pixels = images.bytes;
    d->labels = st ? NULL : labels_widen(&labels);
    free(labels.bytes);
    free(image_path);
    free(label_path);
    return st;
}

static const char mnist_files[] = "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..., plain or .gz";

static tutti_status open_mnist(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                               tutti_failure *err)
{
    return pair_open(config, split, MNIST_CLASSES, MNIST_SIDE, d, err);
}

static tutti_status open_idx(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                             tutti_failure *err)
{
    int nclasses = 0;
    tutti_status st = classes_count(config->path, &nclasses, err);
    return st ? st : pair_open(config, split, nclasses, 0, d, err);
}

const tutti_dataset_row tutti_dataset_mnist = {
    .name = "mnist",
    .help = "the MNIST files in the folder data.path, plain or .gz",
    .mean = {0.1307},
    .std = {0.3081},
    .files = mnist_files,
    .open = open_mnist,
};

const tutti_dataset_row tutti_dataset_idx = {
    .name = "idx",
    .help = "IDX files of bytes under MNIST's names in the folder data.path, any sample shape",
    .mean = {0.5},
    .std = {0.5},
    .files = mnist_files,
    .open = open_idx,
};
