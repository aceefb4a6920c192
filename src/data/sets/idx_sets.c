/* SPDX-License-Identifier: Apache-2.0 */
/* idx_sets.c: the sets that are pairs of IDX files in a folder: mnist (28 x 28, ten classes) and idx (samples of any
 * shape of up to three dimensions; as many classes as the largest label says). idx_find.h says where they lie. EMNIST's
 * PREFIX-mapping.txt beside them has names of classes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/text/strbuf.h"
#include "../dataset_impl.h"
#include "idx_find.h"

enum { MNIST_SIDE = 28, MNIST_CLASSES = 10, MAX_MAPPING = 1 << 16 };

static tutti_status file_read(const char *folder, const char *split, const char *what, tutti_idx *out, char **path,
                              tutti_failure *err)
{
    bool labels = !strcmp(what, "labels");
    *path = tutti_idx_find(folder, split, what, err);
    if (!*path) return TUTTI_ERR_DATA;
    return tutti_idx_read(*path, labels ? 1 : 2, labels ? 1 : TUTTI_MAX_DIMS, out, err);
}

static void say_place(const void *file, int64_t i, tutti_strbuf *words)
{
    tutti_strbuf_printf(words, "byte %lld", (long long)(((const tutti_idx *)file)->header_bytes + i));
}

/* Checks the labels of a file. nclasses 0: the labels give the number of classes. */
static tutti_status labels_check(const tutti_idx *labels, const char *path, int nclasses, tutti_failure *err)
{
    for (int64_t i = 0; i < labels->nbytes && nclasses; i++)
        if (labels->bytes[i] >= nclasses)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte %lld: label %d, but the classes are 0 to %d", path,
                              (long long)(labels->header_bytes + i), labels->bytes[i], nclasses - 1);
    return TUTTI_OK;
}

static tutti_status pair_check(const tutti_idx *images, const char *image_path, const tutti_idx *labels,
                               const char *label_path, int nclasses, tutti_failure *err)
{
    if (images->dim[0] != labels->dim[0])
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte 4: %lld labels, but %s has %lld images", label_path,
                          (long long)labels->dim[0], image_path, (long long)images->dim[0]);
    return labels_check(labels, label_path, nclasses, err);
}

/* Returns the shape of a sample: (N, a) -> (1, 1, a); (N, a, b) -> (1, a, b); (N, a, b, c) -> (a, b, c). */
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

/* Opens a pair of files, images and labels. side: height and width of a sample; 0: samples may have any shape. nclasses
 * 0: the labels give the number of classes. */
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
    d->pixels = images.bytes;
    d->labels = st ? NULL : labels_widen(&labels);
    if (!st) st = tutti_dataset_count_labels(config, &(tutti_label_source){label_path, &labels, say_place}, d, err);
    if (nclasses) d->nclasses = nclasses;
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
    return pair_open(config, split, 0, 0, d, err);
}

/* Reads names of classes from `text`. Each line belongs to a class, in the order of their labels. The line has the
 * label and the codes of one letter or several: "1 65 97". */
static tutti_status read_mapping(const char *path, const char *text, int64_t first_label, tutti_names *out,
                                 tutti_failure *err)
{
    const char *at = text;
    for (int64_t line = 1; *at; line++) {
        int label = -1, code = 0, used = 0;
        if (sscanf(at, "%d %d%n", &label, &code, &used) != 2 || label != out->n + first_label || code < 32 ||
            code > 126)
            return tutti_fail(err, TUTTI_ERR_DATA,
                              "%s: line %lld: wanted label %lld and the code of a letter (labels count from "
                              "data.first_label)",
                              path, (long long)line, (long long)(out->n + first_label));
        tutti_names_add(out, (char[]){(char)code, '\0'});
        at += strcspn(at, "\n");
        at += strspn(at, "\r\n ");
    }
    return TUTTI_OK;
}

/* Reads PREFIX-mapping.txt beside PREFIX-train-labels-...; without that file classes have only numbers. */
static tutti_status read_class_names(const tutti_dataset_config *config, tutti_names *out, tutti_failure *err)
{
    char *labels = tutti_idx_find(config->path, "train", "labels", NULL), *text = NULL;
    size_t nbytes;
    tutti_status st = TUTTI_OK;
    char *end = labels ? strstr(strrchr(labels, '/'), "train-labels") : NULL;
    tutti_strbuf path = {0};
    if (end) tutti_strbuf_printf(&path, "%.*smapping.txt", (int)(end - labels), labels);
    if (end && !tutti_file_read(path.text, MAX_MAPPING, TUTTI_ERR_DATA, &text, &nbytes, NULL))
        st = read_mapping(path.text, text, config->first_label, out, err);
    free(text);
    free(labels);
    tutti_strbuf_release(&path);
    return st;
}

const tutti_dataset_row tutti_dataset_mnist = {
    .name = "mnist",
    .help = "the MNIST files in or below the folder data.path, plain or .gz",
    .mean = {0.1307},
    .std = {0.3081},
    .files = mnist_files,
    .labelled = true,
    .open = open_mnist,
};

const tutti_dataset_row tutti_dataset_idx = {
    .name = "idx",
    .help = "IDX files of bytes under MNIST's or EMNIST's names, any sample shape",
    .mean = {0.5},
    .std = {0.5},
    .files = mnist_files,
    .labelled = true,
    .open = open_idx,
    .read_class_names = read_class_names,
};
