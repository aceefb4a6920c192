/* SPDX-License-Identifier: Apache-2.0 */
/* cifar10.c: CIFAR-10 and CIFAR-100 in their binary form (Krizhevsky 2009): files of records, one label byte or two
 * (coarse, fine) and 3 x 32 x 32 bytes, red, green, blue.
 *
 * Training samples of cifar10 are those of all files data_batch_N.bin, in the order of N, test samples those of
 * test_batch.bin; cifar100 has train.bin and test.bin. The files lie in the folder itself or in the folder that the
 * archive unpacks to. A file may hold any whole number of records. Labels may have any value, because somebody else may
 * have made a set in this form: the largest label then gives the number of classes. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/arena.h"
#include "../../base/file.h"
#include "../../base/text/strbuf.h"
#include "../dataset_impl.h"

enum { SIDE = 32, BYTES = 3 * SIDE * SIDE, NCLASSES = 10, NBATCHES = 5, MAX_FILE = 1 << 30, MAX_NAMES = 1 << 16 };

/* The file format of one of the sets. */
typedef struct {
    const char *name, *inner; /* inner: name of the folder in the archive */
    /* nlabels: number of label bytes before the pixels of a record; label_at: index of the label byte that is used */
    int nlabels, label_at;
    const char *names; /* the archive's file with names of classes */
} form;
static const form ten = {"cifar10", "cifar-10-batches-bin", 1, 0, "batches.meta.txt"},
                  fine = {"cifar100", "cifar-100-binary", 2, 1, "fine_label_names.txt"},
                  coarse = {"cifar100-coarse", "cifar-100-binary", 2, 0, "coarse_label_names.txt"};

/* ---- finding files ---- */

/* Returns N of "data_batch_N.bin"; 0: the name has another form. */
static int batch_of(const char *name)
{
    int n = 0, used = 0;
    if (sscanf(name, "data_batch_%8d.bin%n", &n, &used) != 1 || !used || name[used] ||
        !isdigit((unsigned char)name[11]))
        return 0;
    return n;
}

static int by_batch(const void *a, const void *b)
{
    const int x = batch_of(*(char *const *)a), y = batch_of(*(char *const *)b);
    return (x > y) - (x < y);
}

static bool is_wanted(const form *f, tutti_split split, const char *name)
{
    if (f != &ten) return !strcmp(name, split == TUTTI_SPLIT_TRAIN ? "train.bin" : "test.bin");
    return split == TUTTI_SPLIT_TRAIN ? batch_of(name) > 0 : !strcmp(name, "test_batch.bin");
}

static void list_files(const form *f, const char *folder, tutti_split split, tutti_names *out)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (is_wanted(f, split, e->d_name)) tutti_names_add(out, e->d_name);
    if (dir) closedir(dir);
    if (out->n) qsort(out->name, (size_t)out->n, sizeof *out->name, by_batch);
}

static bool has(const char *folder, const char *name)
{
    tutti_strbuf path = {0};
    tutti_strbuf_printf(&path, "%s/%s", folder, name);
    const bool there = !access(path.text, F_OK);
    tutti_strbuf_release(&path);
    return there;
}

/* Returns a text about CIFAR files of another form in the folder, and what to do with them; "" if there are none. */
static const char *say_other(const form *f, const char *folder)
{
    if (has(folder, "cifar-10-batches-py") || has(folder, "data_batch_1") || has(folder, "cifar-100-python"))
        return "; there is the Python version: fetch the one that is called binary";
    if (has(folder, "cifar-10-binary.tar.gz") || has(folder, "cifar-100-binary.tar.gz"))
        return "; unpack the archive that is there: tar xzf";
    if (f == &ten && (has(folder, "train.bin") || has(folder, "cifar-100-binary")))
        return "; there is CIFAR-100: set: cifar100, or cifar100-coarse for its 20 groups";
    if (f != &ten && (has(folder, "data_batch_1.bin") || has(folder, "cifar-10-batches-bin")))
        return "; there is CIFAR-10: set: cifar10";
    return "";
}

/* Returns the folder that has files of the split; the caller frees it. `out` receives the names of these files. */
static char *find_files(const form *f, const char *path, tutti_split split, tutti_names *out, tutti_failure *err)
{
    tutti_strbuf inner = {0};
    list_files(f, path, split, out);
    if (out->n) return strdup(path);
    tutti_strbuf_printf(&inner, "%s/%s", path, f->inner);
    list_files(f, inner.text, split, out);
    if (out->n) return tutti_strbuf_detach(&inner);
    const char *wanted = f != &ten                    ? split == TUTTI_SPLIT_TRAIN ? "train.bin" : "test.bin"
                         : split == TUTTI_SPLIT_TRAIN ? "data_batch_1.bin or data_batch_N.bin"
                                                      : "test_batch.bin";
    tutti_fail(err, TUTTI_ERR_DATA, "%s: no file %s in it or in %s/%s", path, wanted, f->inner, say_other(f, path));
    tutti_strbuf_release(&inner);
    return NULL;
}

/* ---- reading files ---- */

/* Appends the records of `bytes` to the set. */
static tutti_status add_records(const form *f, tutti_dataset *d, const char *path, const uint8_t *bytes, int64_t nbytes,
                                tutti_failure *err)
{
    const int64_t record = f->nlabels + BYTES, n = nbytes / record;
    const bool is_other = nbytes && nbytes % (record + (f == &ten ? 1 : -1)) == 0;
    if (n == 0 || nbytes % record)
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: byte %lld: the file ends here, %lld bytes early; records have %lld bytes%s", path,
                          (long long)nbytes, (long long)(record - nbytes % record), (long long)record,
                          !is_other   ? ""
                          : f == &ten ? ", those of CIFAR-100 (set: cifar100) would fit"
                                      : ", those of CIFAR-10 (set: cifar10) would fit");
    d->pixels = tutti_realloc(d->pixels, (size_t)((d->count + n) * BYTES));
    d->labels = tutti_realloc(d->labels, (size_t)(d->count + n) * sizeof *d->labels);
    for (int64_t i = 0; i < n; i++, bytes += record) {
        d->labels[d->count] = bytes[f->label_at];
        memcpy(d->pixels + d->count++ * BYTES, bytes + f->nlabels, BYTES);
    }
    return TUTTI_OK;
}

static tutti_status add_file(const form *f, tutti_dataset *d, const char *path, tutti_failure *err)
{
    char *bytes = NULL;
    size_t nbytes = 0;
    tutti_status st = tutti_file_read(path, MAX_FILE, TUTTI_ERR_DATA, &bytes, &nbytes, err);
    if (!st) st = add_records(f, d, path, (const uint8_t *)bytes, (int64_t)nbytes, err);
    free(bytes);
    return st;
}

/* Adds a note if there are more or fewer files than in the archive, or if a number between two files is missing. */
static void note(tutti_dataset *d, const tutti_names *files)
{
    char words[TUTTI_MAX_NOTES];
    const int last = batch_of(files->name[files->n - 1]);
    if (files->n == NBATCHES && last == NBATCHES) return;
    snprintf(words, sizeof words, "%lld samples of %d classes in %lld file%s, data_batch_%d.bin to data_batch_%d.bin%s",
             (long long)d->count, d->nclasses, (long long)files->n, files->n == 1 ? "" : "s", batch_of(files->name[0]),
             last, last == files->n ? "" : ", some between 1 and the last are not there");
    tutti_dataset_note(d, words);
}

static void say_place(const void *file, int64_t i, tutti_strbuf *words)
{
    (void)file;
    tutti_strbuf_printf(words, "record %lld", (long long)i);
}

static tutti_status open_form(const form *f, const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                              tutti_failure *err)
{
    tutti_names files = {0};
    char *folder = find_files(f, config->path, split, &files, err);
    tutti_status st = folder ? TUTTI_OK : TUTTI_ERR_DATA;
    d->shape = (tutti_shape){.ndims = 3, .dim = {3, SIDE, SIDE}};
    for (int64_t i = 0; i < files.n && !st; i++) {
        tutti_strbuf path = {0};
        tutti_strbuf_printf(&path, "%s/%s", folder, files.name[i]);
        st = add_file(f, d, path.text, err);
        tutti_strbuf_release(&path);
    }
    if (!st) st = tutti_dataset_count_labels(config, &(tutti_label_source){folder, NULL, say_place}, d, err);
    if (!st && f == &ten && split == TUTTI_SPLIT_TRAIN) note(d, &files);
    tutti_names_release(&files);
    free(folder);
    return st ? st : tutti_dataset_take(config, split, config->path, d->count, &d->count, err);
}

/* Reads a name from each line; false: no such file. */
static bool read_names(const char *folder, const char *file, tutti_names *out)
{
    tutti_strbuf path = {0};
    char *text = NULL;
    size_t nbytes;
    tutti_strbuf_printf(&path, "%s/%s", folder, file);
    const bool there = !tutti_file_read(path.text, MAX_NAMES, TUTTI_ERR_DATA, &text, &nbytes, NULL);
    for (char *at = text, *line; there && (line = strsep(&at, "\n"));) {
        line[strcspn(line, "\r")] = '\0';
        if (*line) tutti_names_add(out, line);
    }
    free(text);
    tutti_strbuf_release(&path);
    return there;
}

static void read_form_names(const form *f, const tutti_dataset_config *config, tutti_names *out)
{
    tutti_strbuf inner = {0};
    tutti_strbuf_printf(&inner, "%s/%s", config->path, f->inner);
    if (!read_names(config->path, f->names, out)) read_names(inner.text, f->names, out);
    tutti_strbuf_release(&inner);
}

/* The names are those of batches.meta.txt in the archive. */
static const char *const class_names[NCLASSES] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                  "dog",      "frog",       "horse", "ship", "truck"};

static tutti_status read_ten_names(const tutti_dataset_config *config, tutti_names *out, tutti_failure *err)
{
    (void)err;
    read_form_names(&ten, config, out);
    for (int i = 0; i < NCLASSES && out->n <= i; i++) tutti_names_add(out, class_names[i]);
    return TUTTI_OK;
}

static tutti_status read_fine_names(const tutti_dataset_config *config, tutti_names *out, tutti_failure *err)
{
    (void)err;
    read_form_names(&fine, config, out);
    return TUTTI_OK;
}

static tutti_status read_coarse_names(const tutti_dataset_config *config, tutti_names *out, tutti_failure *err)
{
    (void)err;
    read_form_names(&coarse, config, out);
    return TUTTI_OK;
}

static tutti_status open_ten(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                             tutti_failure *err)
{
    return open_form(&ten, config, split, d, err);
}

static tutti_status open_fine(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                              tutti_failure *err)
{
    return open_form(&fine, config, split, d, err);
}

static tutti_status open_coarse(const tutti_dataset_config *config, tutti_split split, tutti_dataset *d,
                                tutti_failure *err)
{
    return open_form(&coarse, config, split, d, err);
}

const tutti_dataset_row tutti_dataset_cifar10 = {
    .name = "cifar10",
    .help = "CIFAR-10's binary files, any number of them, in the folder data.path",
    .mean = {0.4914, 0.4822, 0.4465},
    .std = {0.2470, 0.2435, 0.2616},
    .files = "data_batch_1.bin and so on, test_batch.bin",
    .labelled = true,
    .open = open_ten,
    .read_class_names = read_ten_names,
};

/* Mean and std are the usual numbers, measured over the training pixels. */
const tutti_dataset_row tutti_dataset_cifar100 = {
    .name = "cifar100",
    .help = "CIFAR-100's binary files in the folder data.path, 100 classes",
    .mean = {0.5071, 0.4867, 0.4408},
    .std = {0.2675, 0.2565, 0.2761},
    .files = "train.bin, test.bin",
    .labelled = true,
    .open = open_fine,
    .read_class_names = read_fine_names,
};

const tutti_dataset_row tutti_dataset_cifar100_coarse = {
    .name = "cifar100-coarse",
    .help = "the same by its 20 groups of classes",
    .mean = {0.5071, 0.4867, 0.4408},
    .std = {0.2675, 0.2565, 0.2761},
    .files = "train.bin, test.bin",
    .labelled = true,
    .open = open_coarse,
    .read_class_names = read_coarse_names,
};
