/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_table.c: the sets, one row each, and what all of them share: names, normalisation, reading a sample.
 *
 * The constants of a row are part of the set's definition: mnist has the usual 0.1307 and 0.3081; those of digits were
 * measured over its 60,000 training samples of seed 1 (a test measures them again); idx maps bytes to [-1, 1]. */
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "dataset_impl.h"

static const tutti_dataset_row rows[] = {
    {"digits", "handwritten-looking 28x28 digits that the program draws itself", 0.1335, 0.2361, false,
     tutti_digits_open},
    {"mnist", "the MNIST files in the folder data.path, plain or .gz", 0.1307, 0.3081, true, tutti_mnist_open},
    {"idx", "IDX files of bytes under MNIST's names in the folder data.path, any sample shape", 0.5, 0.5, true,
     tutti_idx_open},
};
enum { NROWS = sizeof rows / sizeof rows[0] };

const char *tutti_dataset_name_at(int i)
{
    return i >= 0 && i < NROWS ? rows[i].name : NULL;
}

static const tutti_dataset_row *row_find(const char *name)
{
    for (int i = 0; i < NROWS; i++)
        if (name && !strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

tutti_status tutti_dataset_check(const tutti_dataset_config *config, tutti_failure *err)
{
    const tutti_dataset_row *row = row_find(config->set);
    if (!row)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.set: no set '%s'; there are digits, mnist, idx", config->set);
    if (config->train_samples < 0 || config->test_samples < 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data: a set of %lld training and %lld test samples cannot be",
                          (long long)config->train_samples, (long long)config->test_samples);
    if (row->reads_folder && (!config->path || !*config->path))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "data.path: %s needs the folder of its files (train-images-idx3-ubyte, "
                          "train-labels-idx1-ubyte, t10k-..., plain or .gz)",
                          row->name);
    if (!row->reads_folder && config->path && *config->path)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.path: %s reads no files; leave it out, or name another set",
                          row->name);
    return TUTTI_OK;
}

tutti_status tutti_dataset_open(const tutti_dataset_config *config, tutti_split split, tutti_dataset **out,
                                tutti_failure *err)
{
    const tutti_dataset_row *row = row_find(config->set);
    tutti_status status = tutti_dataset_check(config, err);
    if (status) return status;
    tutti_dataset *d = tutti_alloc(sizeof *d);
    for (int byte = 0; byte < 256; byte++) d->normal[byte] = (float)((byte / 255.0 - row->mean) / row->std);
    status = row->open(config, split, d, err);
    if (status) {
        tutti_dataset_destroy(d);
        return status;
    }
    d->sample_bytes = tutti_shape_count(&d->shape);
    *out = d;
    return TUTTI_OK;
}

void tutti_dataset_destroy(tutti_dataset *d)
{
    if (!d) return;
    free(d->storage);
    free(d->label_storage);
    free(d);
}

int64_t tutti_dataset_count(const tutti_dataset *d)
{
    return d->count;
}

tutti_shape tutti_dataset_shape(const tutti_dataset *d)
{
    return d->shape;
}

int tutti_dataset_nclasses(const tutti_dataset *d)
{
    return d->nclasses;
}

const uint8_t *tutti_dataset_bytes(const tutti_dataset *d, int64_t index)
{
    return d->pixels + index * d->sample_bytes;
}

void tutti_dataset_read(const tutti_dataset *d, int64_t index, float *sample, int32_t *label)
{
    const uint8_t *bytes = tutti_dataset_bytes(d, index);
    for (int64_t i = 0; i < d->sample_bytes; i++) sample[i] = d->normal[bytes[i]];
    *label = d->labels[index];
}
