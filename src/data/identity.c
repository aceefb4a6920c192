/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c: hashes labels and samples of a data set, so that a later run can check that its data are the same. This
 * file reads 64 samples of a set of any size, which costs next to nothing compared with opening the set. Data are
 * unlikely to change without a change in one of these 64 samples, in a label, in the count or in a name. */
#include "identity.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/hash.h"
#include "../base/text/strbuf.h"
#include "../base/text/yaml.h"
#include "dataset_impl.h"

enum { FORMAT = 1 };

static const char *const split_names[] = {"train", "test"};
static const char *const split_words[] = {"training", "test"};

/* ---- computing an identity ---- */

static int64_t stored_at(const tutti_dataset *d, int64_t index)
{
    return d->row->read ? index * d->nstored / d->count : index % d->nstored;
}

static int32_t label_at(const tutti_dataset *d, int64_t index)
{
    const int64_t stored = stored_at(d, index);
    return d->row->label ? d->row->label(d, stored) : d->labels[stored];
}

static uint64_t hash_labels(const tutti_dataset *d)
{
    tutti_hasher *h = tutti_hasher_create();
    for (int64_t i = 0; i < d->count; i++) {
        const int32_t label = label_at(d, i);
        tutti_hasher_add(h, &label, sizeof label);
    }
    return tutti_hasher_finish(h);
}

/* Hashes a sample of a set that has no hash_stored: the floats that it has as a test sample, without augmentation. */
static void hash_floats(const tutti_dataset *d, int64_t index, tutti_hasher *h)
{
    tutti_dataset plain = *d;
    plain.crop = plain.flip = false;
    const size_t n = (size_t)tutti_shape_count(&d->shape);
    float *sample = tutti_alloc(sizeof *sample * n);
    int32_t label;
    tutti_reader *reader = tutti_reader_create(&plain);
    if (!tutti_reader_read(reader, (tutti_pass){0}, index, sample, &label, NULL))
        tutti_hasher_add(h, sample, sizeof *sample * n);
    tutti_reader_destroy(reader);
    free(sample);
}

static uint64_t hash_samples(const tutti_dataset *d)
{
    tutti_hasher *h = tutti_hasher_create();
    for (int64_t i = 0; i < TUTTI_IDENTITY_LOOKS; i++) {
        const int64_t index = i * d->count / TUTTI_IDENTITY_LOOKS;
        const uint8_t *bytes = tutti_dataset_bytes(d, index);
        if (bytes)
            tutti_hasher_add(h, bytes, (size_t)tutti_shape_count(&d->shape));
        else if (d->row->hash_stored)
            d->row->hash_stored(d, stored_at(d, index), h);
        else
            hash_floats(d, index, h);
    }
    return tutti_hasher_finish(h);
}

tutti_status tutti_data_identity_of(const tutti_dataset_config *config, const tutti_dataset *train,
                                    const tutti_dataset *test, tutti_data_identity *out, tutti_failure *err)
{
    const tutti_dataset *of[2] = {train, test}, *any = train ? train : test;
    *out = (tutti_data_identity){.nclasses = any->nclasses, .nchannels = any->nchannels};
    memcpy(out->mean, any->mean, sizeof out->mean);
    memcpy(out->std, any->std, sizeof out->std);
    for (int s = 0; s < 2; s++)
        out->split[s] = of[s] ? (tutti_split_identity){of[s]->count, hash_labels(of[s]), hash_samples(of[s])}
                              : (tutti_split_identity){.nsamples = -1};
    return tutti_class_names(config, &out->names, err);
}
_Static_assert((int)TUTTI_IDENTITY_CHANNELS == (int)TUTTI_MAX_CHANNELS, "a mean each");

void tutti_data_identity_release(tutti_data_identity *d)
{
    tutti_names_release(&d->names);
    *d = (tutti_data_identity){0};
}

/* ---- the text form ---- */

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) && (unsigned char)c < 0x80;
}

static void print_name(const char *name, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "  - \"");
    for (const char *c = name; *c; c++)
        if (is_plain(*c))
            tutti_strbuf_add(out, c, 1);
        else
            tutti_strbuf_printf(out, "%%%02X", (unsigned)(unsigned char)*c);
    tutti_strbuf_puts(out, "\"\n");
}

static void print_reals(const char *key, const double *x, int n, tutti_strbuf *out)
{
    tutti_strbuf_printf(out, "%s: [", key);
    for (int i = 0; i < n; i++) tutti_strbuf_printf(out, "%s%.17g", i ? ", " : "", x[i]);
    tutti_strbuf_puts(out, "]\n");
}

char *tutti_data_identity_print(const tutti_data_identity *d)
{
    tutti_strbuf out = {0};
    tutti_strbuf_printf(&out, "format: %d\nclasses: %" PRId64 "\n", FORMAT, d->nclasses);
    if (d->names.n) tutti_strbuf_puts(&out, "names:\n");
    for (int64_t i = 0; i < d->names.n; i++) print_name(d->names.name[i], &out);
    print_reals("mean", d->mean, d->nchannels, &out);
    print_reals("std", d->std, d->nchannels, &out);
    for (int s = 0; s < 2; s++) {
        const tutti_split_identity *one = &d->split[s];
        if (one->nsamples >= 0)
            tutti_strbuf_printf(
                &out, "%s:\n  samples: %" PRId64 "\n  labels: \"%016" PRIx64 "\"\n  bytes: \"%016" PRIx64 "\"\n",
                split_names[s], one->nsamples, one->labels, one->bytes);
    }
    return tutti_strbuf_detach(&out);
}

static const char *scalar_of(const tutti_yaml_node *map, const char *key)
{
    const tutti_yaml_node *n = map && map->kind == TUTTI_YAML_MAP ? tutti_yaml_get(map, key) : NULL;
    return n && n->kind == TUTTI_YAML_SCALAR ? n->scalar : NULL;
}

static bool read_count(const tutti_yaml_node *map, const char *key, int64_t *out)
{
    const char *text = scalar_of(map, key);
    char *end = NULL;
    *out = text ? strtoll(text, &end, 10) : -1;
    return text && *text && !*end && *out >= 0;
}

static bool read_hash(const tutti_yaml_node *map, const char *key, uint64_t *out)
{
    const char *text = scalar_of(map, key);
    char *end = NULL;
    *out = text && strlen(text) == 16 ? strtoull(text, &end, 16) : 0;
    return end && !*end;
}

static bool read_reals(const tutti_yaml_node *map, const char *key, double *out, int *n)
{
    const tutti_yaml_node *list = tutti_yaml_get(map, key);
    *n = 0;
    if (!list || list->kind != TUTTI_YAML_LIST || list->nchildren > TUTTI_IDENTITY_CHANNELS) return false;
    for (const tutti_yaml_node *c = list->child; c; c = c->next) {
        char *end = NULL;
        if (c->kind != TUTTI_YAML_SCALAR) return false;
        out[(*n)++] = strtod(c->scalar, &end);
        if (!*c->scalar || *end) return false;
    }
    return true;
}

static bool read_names(const tutti_yaml_node *list, tutti_names *out)
{
    if (list && list->kind != TUTTI_YAML_LIST) return false;
    for (const tutti_yaml_node *c = list ? list->child : NULL; c; c = c->next) {
        tutti_strbuf name = {0};
        if (c->kind != TUTTI_YAML_SCALAR) return false;
        tutti_strbuf_puts(&name, "");
        for (const char *at = c->scalar; *at; at++) {
            char byte = *at;
            if (*at == '%' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2])) {
                const char hex[3] = {at[1], at[2], '\0'};
                byte = (char)strtol(hex, NULL, 16);
                at += 2;
            }
            if (byte) tutti_strbuf_add(&name, &byte, 1);
        }
        tutti_names_add(out, name.text);
        tutti_strbuf_release(&name);
    }
    return true;
}

static bool read_split(const tutti_yaml_node *root, int s, tutti_split_identity *out)
{
    const tutti_yaml_node *map = tutti_yaml_get(root, split_names[s]);
    *out = (tutti_split_identity){.nsamples = -1};
    return !map || (read_count(map, "samples", &out->nsamples) && read_hash(map, "labels", &out->labels) &&
                    read_hash(map, "bytes", &out->bytes));
}

static bool read_all(const tutti_yaml_node *root, tutti_data_identity *out)
{
    int nstd = 0;
    return read_count(root, "classes", &out->nclasses) && read_reals(root, "mean", out->mean, &out->nchannels) &&
           read_reals(root, "std", out->std, &nstd) && nstd == out->nchannels &&
           read_names(tutti_yaml_get(root, "names"), &out->names) && read_split(root, 0, &out->split[0]) &&
           read_split(root, 1, &out->split[1]);
}

tutti_status tutti_data_identity_parse(const char *text, tutti_data_identity *out, tutti_failure *err)
{
    tutti_yaml *yaml = NULL;
    int64_t format = 0;
    *out = (tutti_data_identity){0};
    if (tutti_yaml_parse("data.yaml", text, strlen(text), &yaml, err)) {
        if (err) err->status = TUTTI_ERR_DATA;
        return TUTTI_ERR_DATA;
    }
    const tutti_yaml_node *root = tutti_yaml_root(yaml);
    tutti_status st = TUTTI_OK;
    if (!read_count(root, "format", &format) || format != FORMAT)
        st = tutti_fail(err, TUTTI_ERR_DATA, "data.yaml: of format %" PRId64 "; this version of tutti reads format %d",
                        format, FORMAT);
    else if (!read_all(root, out))
        st = tutti_fail(err, TUTTI_ERR_DATA, "data.yaml: does not say what data they were");
    tutti_yaml_destroy(yaml);
    if (st) tutti_data_identity_release(out);
    return st;
}

/* ---- comparing two identities ---- */

static void begin(tutti_strbuf *words)
{
    if (words->length) tutti_strbuf_puts(words, "; ");
}

static void compare_classes(const tutti_data_identity *a, const tutti_data_identity *b, tutti_strbuf *words)
{
    int64_t n = 0, first = -1;
    if (a->nclasses != b->nclasses) {
        begin(words);
        tutti_strbuf_printf(words, "there are %" PRId64 " classes now, %" PRId64 " before", b->nclasses, a->nclasses);
    }
    for (int64_t i = 0; i < a->names.n && i < b->names.n; i++)
        if (strcmp(a->names.name[i], b->names.name[i]) != 0 && n++ == 0) first = i;
    if (!n) return;
    begin(words);
    tutti_strbuf_printf(words, "class %" PRId64 " is called '%s' now, '%s' before", first, b->names.name[first],
                        a->names.name[first]);
    if (n > 1) tutti_strbuf_printf(words, ", and %" PRId64 " more have other names", n - 1);
}

static void compare_splits(const tutti_data_identity *x, const tutti_data_identity *y, int s, tutti_strbuf *words)
{
    const tutti_split_identity *a = &x->split[s], *b = &y->split[s];
    if (a->nsamples < 0 || b->nsamples < 0) return;
    if (a->nsamples != b->nsamples) {
        begin(words);
        tutti_strbuf_printf(words, "there are %" PRId64 " %s samples now, %" PRId64 " before", b->nsamples,
                            split_words[s], a->nsamples);
        return;
    }
    if (a->labels != b->labels) {
        begin(words);
        tutti_strbuf_printf(words, "labels of %s samples are other ones", split_words[s]);
    }
    if (a->bytes != b->bytes) {
        begin(words);
        tutti_strbuf_printf(words, "of %d %s samples that are looked at some are other ones", TUTTI_IDENTITY_LOOKS,
                            split_words[s]);
    }
}

static bool has_other(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i]) return true;
    return false;
}

static void compare_normal(const tutti_data_identity *a, const tutti_data_identity *b, tutti_strbuf *words)
{
    if (a->nchannels != b->nchannels) {
        begin(words);
        tutti_strbuf_printf(words, "samples have %d channels now, %d before", b->nchannels, a->nchannels);
        return;
    }
    const bool mean = has_other(a->mean, b->mean, a->nchannels), std = has_other(a->std, b->std, a->nchannels);
    if (!mean && !std) return;
    begin(words);
    tutti_strbuf_printf(words, "%s are other ones",
                        mean && std ? "data.mean and data.std"
                        : mean      ? "numbers of data.mean"
                                    : "numbers of data.std");
}

char *tutti_data_identity_differ(const tutti_data_identity *before, const tutti_data_identity *now, unsigned parts)
{
    tutti_strbuf words = {0};
    if (parts & TUTTI_IDENTITY_CLASSES) compare_classes(before, now, &words);
    if (parts & TUTTI_IDENTITY_TRAIN) compare_splits(before, now, TUTTI_SPLIT_TRAIN, &words);
    if (parts & TUTTI_IDENTITY_TEST) compare_splits(before, now, TUTTI_SPLIT_TEST, &words);
    if (parts & TUTTI_IDENTITY_NORMAL) compare_normal(before, now, &words);
    return words.length ? tutti_strbuf_detach(&words) : NULL;
}
