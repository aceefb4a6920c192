/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_table.c: the table of data sets, and what is checked and filled in for all of them. To add a set, write its
 * file, which ends with its row, and add its name to SETS.
 *
 * A row's mean and std are part of the set's definition, unless the job gives others. mnist has the usual 0.1307 and
 * 0.3081, cifar10 the usual six numbers, images the numbers of ImageNet. For digits and shapes both were measured over
 * the training samples of seed 1 (tests measure them again). idx, npy and noise map bytes to [-1, 1]; floats are not
 * changed. */
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/text/strbuf.h"
#include "dataset_impl.h"

#define SETS(row)                                                                                                      \
    row(digits) row(mnist) row(idx) row(cifar10) row(cifar100) row(cifar100_coarse) row(npy) row(csv) row(shapes)      \
        row(images) row(noise)

#define DECLARE(name) extern const tutti_dataset_row tutti_dataset_##name;
SETS(DECLARE)

#define ROW(name) &tutti_dataset_##name,
static const tutti_dataset_row *const rows[] = {SETS(ROW)};
enum { NROWS = sizeof rows / sizeof rows[0] };

const char *tutti_dataset_name_at(int i)
{
    return i >= 0 && i < NROWS ? rows[i]->name : NULL;
}

static const tutti_dataset_row *row_find(const char *name)
{
    for (int i = 0; i < NROWS; i++)
        if (name && !strcmp(rows[i]->name, name)) return rows[i];
    return NULL;
}

bool tutti_dataset_reads_files(const char *set)
{
    const tutti_dataset_row *row = row_find(set);
    return row && row->files;
}

static tutti_status unknown_set(const char *name, tutti_failure *err)
{
    tutti_strbuf list = {0};
    for (int i = 0; i < NROWS; i++) tutti_strbuf_printf(&list, "%s%s", i ? ", " : "", rows[i]->name);
    tutti_status st =
        tutti_fail(err, TUTTI_ERR_USAGE, "data.set: no set '%s'; there are %s", name ? name : "", list.text);
    tutti_strbuf_release(&list);
    return st;
}

static tutti_status path_check(const tutti_dataset_row *row, const tutti_dataset_config *config, tutti_failure *err)
{
    const bool given = config->path && *config->path;
    if (row->files && !given)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.path: %s needs the folder of its files (%s)", row->name,
                          row->files);
    if (!row->files && given)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.path: %s reads no files; leave it out, or name another set",
                          row->name);
    return TUTTI_OK;
}

static tutti_status shape_check(const tutti_dataset_row *row, const tutti_dataset_config *config, tutti_failure *err)
{
    if (!row->shaped && !row->reshaped && config->shape.ndims)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.shape: %s has a shape of its own; leave it out", row->name);
    if (!row->shaped && config->classes)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.classes: %s has classes of its own; leave it out", row->name);
    if (!row->shaped) return TUTTI_OK;
    if (!config->shape.ndims)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.shape: %s needs that of a sample, such as [3, 224, 224]",
                          row->name);
    if (config->classes < 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.classes: %s needs their number, such as 1000", row->name);
    return TUTTI_OK;
}

static tutti_status labels_check(const tutti_dataset_row *row, const tutti_dataset_config *config, tutti_failure *err)
{
    if (!row->labelled && config->first_label)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.first_label: %s has no numbers of classes in files; leave it out",
                          row->name);
    if (!row->tabled && config->label_last)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.label: %s has no columns; leave it out", row->name);
    if (!row->tabled && config->header)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.header: %s has no lines; leave it out", row->name);
    return TUTTI_OK;
}

static tutti_status pictures_check(const tutti_dataset_row *row, const tutti_dataset_config *config, tutti_failure *err)
{
    if (!row->pictures && config->size)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.size: %s has a size of its own; leave it out", row->name);
    if (!row->pictures && config->skip_bad)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.on_bad_sample: %s is accepted whole or not at all; leave it out",
                          row->name);
    return TUTTI_OK;
}

static tutti_status normal_check(const tutti_dataset_config *config, tutti_failure *err)
{
    if (config->mean.n > TUTTI_MAX_CHANNELS || config->std.n > TUTTI_MAX_CHANNELS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data.%s: more than %d numbers",
                          config->mean.n > TUTTI_MAX_CHANNELS ? "mean" : "std", TUTTI_MAX_CHANNELS);
    for (int i = 0; i < config->std.n; i++)
        if (!(config->std.values[i] > 0))
            return tutti_fail(err, TUTTI_ERR_USAGE, "data.std: %g: samples are divided by it; it must be above 0",
                              config->std.values[i]);
    return TUTTI_OK;
}

tutti_status tutti_dataset_check(const tutti_dataset_config *config, tutti_failure *err)
{
    const tutti_dataset_row *row = row_find(config->set);
    if (!row) return unknown_set(config->set, err);
    if (config->train_samples < 0 || config->test_samples < 0)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data: a set of %lld training and %lld test samples cannot be",
                          (long long)config->train_samples, (long long)config->test_samples);
    tutti_status st = path_check(row, config, err);
    if (!st) st = shape_check(row, config, err);
    if (!st) st = labels_check(row, config, err);
    if (!st) st = pictures_check(row, config, err);
    return st ? st : normal_check(config, err);
}

tutti_status tutti_dataset_take(const tutti_dataset_config *config, tutti_split split, const char *path, int64_t have,
                                int64_t *count, tutti_failure *err)
{
    const int64_t wanted = split == TUTTI_SPLIT_TRAIN ? config->train_samples : config->test_samples;
    if (wanted > have)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: %lld samples, but the job asks for %lld", path, (long long)have,
                          (long long)wanted);
    *count = wanted ? wanted : have;
    return TUTTI_OK;
}

/* Checks the number n of values that the job gives for a key. n may be 0 (the set's default), 1 (for all channels), or
 * the number of channels. */
static tutti_status count_check(const char *key, int n, int nchannels, tutti_failure *err)
{
    if (n <= 1 || n == nchannels) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "data.%s: %d numbers, but samples have %d channels: give one, or one each",
                      key, n, nchannels);
}

/* Writes to `out` the given numbers (one, or one for each channel); if none are given, the set's default (one or three
 * numbers). */
static void normal_pick(const tutti_reals *given, const double row[3], int nchannels, double *out)
{
    const int nrow = row[1] > 0 ? 3 : 1;
    for (int c = 0; c < nchannels; c++)
        out[c] = given->n ? given->values[given->n == 1 ? 0 : c] : row[nrow == 1 || c >= nrow ? 0 : c];
}

static tutti_status normal_fill(tutti_dataset *d, const tutti_dataset_config *c, tutti_failure *err)
{
    if (d->nchannels > TUTTI_MAX_CHANNELS)
        return tutti_fail(err, TUTTI_ERR_USAGE, "data: samples of %d channels; at most %d", d->nchannels,
                          TUTTI_MAX_CHANNELS);
    static const double none[3] = {0}, one[3] = {1};
    tutti_status st = count_check("mean", c->mean.n, d->nchannels, err);
    if (!st) st = count_check("std", c->std.n, d->nchannels, err);
    if (st) return st;
    normal_pick(&c->mean, d->numbers ? none : d->row->mean, d->nchannels, d->mean);
    normal_pick(&c->std, d->numbers ? one : d->row->std, d->nchannels, d->std);
    if (!d->pixels) return TUTTI_OK;
    d->normal = tutti_alloc(sizeof *d->normal * (size_t)d->nchannels);
    for (int k = 0; k < d->nchannels; k++)
        for (int byte = 0; byte < 256; byte++) d->normal[k][byte] = (float)((byte / 255.0 - d->mean[k]) / d->std[k]);
    return TUTTI_OK;
}

static tutti_status augment_pick(tutti_dataset *d, const tutti_dataset_config *config, tutti_split split,
                                 tutti_failure *err)
{
    const int usual = d->row->pictures ? TUTTI_AUGMENT_CROP_FLIP : TUTTI_AUGMENT_NONE;
    const int a = config->augment == TUTTI_AUGMENT_AUTO ? usual : config->augment;
    if (a != TUTTI_AUGMENT_NONE && d->shape.ndims != 3)
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "data.augment: samples of %d dimensions are not pictures; it must be none", d->shape.ndims);
    if (split != TUTTI_SPLIT_TRAIN) return TUTTI_OK;
    d->crop = a == TUTTI_AUGMENT_CROP || a == TUTTI_AUGMENT_CROP_FLIP;
    d->flip = a == TUTTI_AUGMENT_FLIP || a == TUTTI_AUGMENT_CROP_FLIP;
    return TUTTI_OK;
}

tutti_status tutti_dataset_begin(const tutti_dataset_config *config, tutti_dataset **out, tutti_failure *err)
{
    tutti_status st = tutti_dataset_check(config, err);
    if (st) return st;
    *out = tutti_alloc(sizeof **out);
    (*out)->row = row_find(config->set);
    (*out)->skip_bad = config->skip_bad;
    return TUTTI_OK;
}

tutti_status tutti_dataset_complete(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                                    tutti_failure *err)
{
    if (!d->nstored) d->nstored = d->count;
    d->nchannels = d->shape.ndims == 3 ? (int)d->shape.dim[0] : 1;
    d->channel_bytes = tutti_shape_count(&d->shape) / d->nchannels;
    tutti_status st = augment_pick(d, config, split, err);
    return st ? st : normal_fill(d, config, err);
}

tutti_status tutti_dataset_open(const tutti_dataset_config *config, tutti_split split, tutti_dataset **out,
                                tutti_failure *err)
{
    tutti_dataset *d;
    tutti_status st = tutti_dataset_begin(config, &d, err);
    if (st) return st;
    st = d->row->open(config, split, d, err);
    if (!st) st = tutti_dataset_complete(config, split, d, err);
    if (st)
        tutti_dataset_destroy(d);
    else
        *out = d;
    return st;
}

void tutti_dataset_destroy(tutti_dataset *d)
{
    if (!d) return;
    if (d->row->close) d->row->close(d);
    if (!d->in_block) free(d->pixels), free(d->numbers), free(d->labels);
    free(d->normal);
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

int tutti_dataset_normal(const tutti_dataset *d, const double **mean, const double **std)
{
    *mean = d->mean;
    *std = d->std;
    return d->nchannels;
}

bool tutti_dataset_holds_numbers(const tutti_dataset *d)
{
    return d->numbers != NULL;
}

const char *tutti_dataset_notes(const tutti_dataset *d)
{
    return d->notes;
}

const uint8_t *tutti_dataset_bytes(const tutti_dataset *d, int64_t index)
{
    return d->pixels ? d->pixels + index % d->nstored * d->channel_bytes * d->nchannels : NULL;
}
