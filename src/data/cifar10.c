/* SPDX-License-Identifier: Apache-2.0 */
/* cifar10.c: CIFAR-10 in its binary form (Krizhevsky 2009): files of records, a label byte and 3 x 32 x 32 bytes, red, green, blue.
 *
 * Training samples are those of data_batch_1.bin to data_batch_5.bin, in this order, test samples those of test_batch.bin, in the
 * folder itself or in its cifar-10-batches-bin, which is what the archive unpacks to. A file may hold any whole number of records. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/file.h"
#include "../base/strbuf.h"
#include "dataset_impl.h"

enum { SIDE = 32, BYTES = 3 * SIDE * SIDE, RECORD = 1 + BYTES, NCLASSES = 10, MAX_FILE = 1 << 30 };

/* DIR/name or DIR/cifar-10-batches-bin/name, to be freed. */
static char *file_path(const char *folder, const char *name)
{
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/%s", folder, name);
    if (access(path.text, F_OK)) {
        path.length = 0;
        tutti_strbuf_printf(&path, "%s/cifar-10-batches-bin/%s", folder, name);
    }
    return tutti_strbuf_detach(&path);
}

/* Appends the records of `bytes` to the set. */
static tutti_status records_add(tutti_dataset *d, const char *path, const uint8_t *bytes, int64_t nbytes,
                                tutti_failure *err)
{
    const int64_t n = nbytes / RECORD;
    if (n == 0 || nbytes % RECORD)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: byte %lld: the file ends here, %lld bytes early; records have %d bytes", path,
                          (long long)nbytes, (long long)(RECORD - nbytes % RECORD), RECORD);
    d->pixels = tutti_realloc(d->pixels, (size_t)((d->count + n) * BYTES));
    d->labels = tutti_realloc(d->labels, (size_t)(d->count + n) * sizeof *d->labels);
    for (int64_t i = 0; i < n; i++, bytes += RECORD) {
        if (bytes[0] >= NCLASSES)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: byte %lld: label %d, but the classes are 0 to %d", path,
                              (long long)(i * RECORD), bytes[0], NCLASSES - 1);
        d->labels[d->count] = bytes[0];
        memcpy(d->pixels + d->count++ * BYTES, bytes + 1, BYTES);
    }
    return TUTTI_OK;
}

static tutti_status file_add(tutti_dataset *d, const char *path, tutti_failure *err)
{
    char *bytes = NULL;
    size_t nbytes = 0;
    tutti_status st = tutti_file_read(path, MAX_FILE, TUTTI_ERR_DATA, &bytes, &nbytes, err);
    if (!st) st = records_add(d, path, (const uint8_t *)bytes, (int64_t)nbytes, err);
    free(bytes);
    return st;
}

static tutti_status open_cifar10(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                                 tutti_failure *err)
{
    static const char *const names[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                        "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
    const int first = split == TUTTI_SPLIT_TRAIN ? 0 : 5, end = split == TUTTI_SPLIT_TRAIN ? 5 : 6;
    tutti_status st = TUTTI_OK;
    d->shape = (tutti_shape){.ndims = 3, .dim = {3, SIDE, SIDE}};
    d->nclasses = NCLASSES;
    for (int i = first; i < end && !st; i++) {
        char *path = file_path(config->path, names[i]);
        st = file_add(d, path, err);
        free(path);
    }
    return st ? st : tutti_dataset_take(config, split, config->path, d->count, &d->count, err);
}

/* As batches.meta.txt of the archive has them. */
static const char *const class_names[NCLASSES + 1] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                      "dog",      "frog",       "horse", "ship", "truck"};

const tutti_dataset_row tutti_dataset_cifar10 = {
    .name = "cifar10",
    .help = "the CIFAR-10 binary files in the folder data.path",
    .mean = {0.4914, 0.4822, 0.4465},
    .std = {0.2470, 0.2435, 0.2616},
    .files = "data_batch_1.bin to data_batch_5.bin, test_batch.bin",
    .open = open_cifar10,
    .class_names = class_names,
};
