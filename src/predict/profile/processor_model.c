/* SPDX-License-Identifier: Apache-2.0 */
/* processor_model.c: reads files of processor models (`--device`, src/predict/devices). */
#include "processor_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/file.h"
#include "../../base/text/options.h"
#include "processor_figures.h"

enum { MAX_BYTES = 1 << 16 };
extern const tutti_embedded_text tutti_shipped_devices[]; /* the files of devices in this repository, which the build
                                                           * embeds */

const char *tutti_processor_model_shipped_at(int i)
{
    for (int n = 0; tutti_shipped_devices[n].name; n++)
        if (n == i) return tutti_shipped_devices[n].name;
    return NULL;
}

/* ---- keys ---- */

static const struct {
    const char *key, *unit;
    size_t offset;
    bool is_wanted;
} numbers[] = {
    {"peak.f32", "FLOP/s", offsetof(tutti_processor_model, peak[TUTTI_PRECISION_F32]), true},
    {"peak.tf32", "FLOP/s", offsetof(tutti_processor_model, peak_tf32), false},
    {"peak.bf16", "FLOP/s", offsetof(tutti_processor_model, peak[TUTTI_PRECISION_BF16]), false},
    {"peak.f16", "FLOP/s", offsetof(tutti_processor_model, peak[TUTTI_PRECISION_F16]), false},
    {"memory", "B/s", offsetof(tutti_processor_model, rate), true},
    {"memory_bytes", "B", offsetof(tutti_processor_model, memory_bytes), false},
    {"cache", "B", offsetof(tutti_processor_model, cache_bytes), false},
    {"cache.rate", "B/s", offsetof(tutti_processor_model, cache_rate), false},
    {"launch", "s", offsetof(tutti_processor_model, launch_s), true},
    {"load", "s/B", offsetof(tutti_processor_model, load_s_per_byte), false},
    {"datasheet.f32", "FLOP/s", offsetof(tutti_processor_model, datasheet[0]), false},
    {"datasheet.tf32", "FLOP/s", offsetof(tutti_processor_model, datasheet[1]), false},
    {"datasheet.bf16", "FLOP/s", offsetof(tutti_processor_model, datasheet[2]), false},
    {"datasheet.f16", "FLOP/s", offsetof(tutti_processor_model, datasheet[3]), false},
    {"datasheet.memory", "B/s", offsetof(tutti_processor_model, datasheet[4]), false},
};
enum { NNUMBERS = sizeof numbers / sizeof numbers[0] };

static int number_find(const char *key)
{
    for (int i = 0; i < NNUMBERS; i++)
        if (strcmp(numbers[i].key, key) == 0) return i;
    return -1;
}

static tutti_status line_unknown(const tutti_processor_model *d, const tutti_sourced_line *l, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_DATA,
                      "%s: line %d: no device has '%.40s'; there are peak.f32, peak.tf32, peak.bf16, peak.f16, memory, "
                      "memory_bytes, cache, "
                      "cache.rate, launch, load, datasheet.f32 and so on, CLASS.compute, CLASS.memory, CLASS.cache, "
                      "CLASS.overlap and CLASS.launch "
                      "(CLASS/KERNEL, "
                      "CLASS/PRECISION and CLASS/KERNEL/PRECISION too, tf32 among precisions; with .forward, .params "
                      "or .data behind them), and the texts "
                      "about, like, kernels and ranks; docs/devices.md",
                      d->file.name, l->line, l->key);
}

static tutti_status text_take(tutti_processor_model *d, const tutti_sourced_line *l, tutti_failure *err)
{
    if (strcmp(l->key, "about") == 0) {
        d->about = l->value;
    } else if (strcmp(l->key, "like") == 0) {
        d->like = l->value;
    } else if (strcmp(l->key, "kernels") == 0) {
        d->kernels = l->value;
    } else if (strcmp(l->key, "ranks") == 0) {
        d->shares_host = strcmp(l->value, "share a host") == 0;
        if (!d->shares_host && strcmp(l->value, "alone") != 0)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: ranks: 'share a host' or 'alone', not '%.40s'",
                              d->file.name, l->line, l->value);
    } else {
        return line_unknown(d, l, err);
    }
    return TUTTI_OK;
}

static tutti_status figure_take(tutti_processor_model *d, const tutti_sourced_line *l, tutti_failure *err)
{
    tutti_processor_model_figure f;
    if (!tutti_processor_model_key_read(l->key, &f)) return line_unknown(d, l, err);
    const bool is_share = f.term < TUTTI_DEVICE_OVERLAP;
    const tutti_status st = tutti_sourced_number(&d->file, l, f.term == TUTTI_DEVICE_LAUNCH ? "s" : "", &f.value, err);
    if (st) return st;
    if (f.term == TUTTI_DEVICE_OVERLAP && f.value > 1)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: %s: an overlap is from 0 to 1, not %.40s", d->file.name,
                          l->line, l->key, l->value);
    if (is_share && !(f.value >= 1e-6 && f.value <= 100))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: %s: an efficiency is from 1e-6 to 100, not %.40s",
                          d->file.name, l->line, l->key, l->value);
    d->figures[d->nfigures++] = f;
    return TUTTI_OK;
}

static tutti_status lines_take(tutti_processor_model *d, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    d->figures = TUTTI_ARENA_NEW(&d->file.arena, tutti_processor_model_figure, d->file.n);
    for (int i = 0; i < d->file.n && !st; i++) {
        const tutti_sourced_line *l = &d->file.lines[i];
        const int n = number_find(l->key);
        if (!l->from)
            st = text_take(d, l, err);
        else if (n >= 0)
            st = tutti_sourced_number(&d->file, l, numbers[n].unit, (double *)((char *)d + numbers[n].offset), err);
        else
            st = figure_take(d, l, err);
    }
    return st;
}

/* Checks that required figures are present and positive, and that no rate is so small that times become infinite. */
static tutti_status whole_check(const tutti_processor_model *d, tutti_failure *err)
{
    for (int i = 0; i < NNUMBERS; i++)
        if (numbers[i].is_wanted && !d->like && !tutti_sourced_get(&d->file, numbers[i].key))
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: no line '%s'; a device has peak.f32, memory and launch",
                              d->file.name, numbers[i].key);
    if (d->peak[TUTTI_PRECISION_F32] <= 0 || d->rate <= 0)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: peak.f32 and memory must be above 0", d->file.name);
    for (int i = 0; i < NNUMBERS; i++) {
        const double value = *(const double *)((const char *)d + numbers[i].offset);
        if (strstr(numbers[i].unit, "/s") && value > 0 && value < 1)
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: %s is %g, and must be 1 %s or more", d->file.name,
                              numbers[i].key, value, numbers[i].unit);
    }
    if ((d->cache_bytes > 0) != (d->cache_rate > 0))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: cache and cache.rate go together, both above 0", d->file.name);
    return TUTTI_OK;
}

/* Copies figures that the file does not give from the device that its key `like` names. */
static tutti_status like_take(tutti_processor_model *d, tutti_failure *err)
{
    tutti_processor_model like;
    const char *text = tutti_embedded_find(tutti_shipped_devices, d->like);
    if (!text || strstr(text, "\nlike:"))
        return tutti_fail(err, TUTTI_ERR_DATA,
                          "%s: like: '%.40s' is not a device that comes along and is like no other ('tutti devices')",
                          d->file.name, d->like);
    const tutti_status st = tutti_processor_model_parse(d->like, text, &like, err);
    if (st) return st;
    for (int i = 0; i < NNUMBERS; i++)
        if (!tutti_sourced_get(&d->file, numbers[i].key))
            *(double *)((char *)d + numbers[i].offset) = *(const double *)((const char *)&like + numbers[i].offset);
    if (!tutti_sourced_get(&d->file, "kernels")) d->kernels = tutti_arena_strdup(&d->file.arena, like.kernels);
    tutti_processor_model_figure *all =
        TUTTI_ARENA_NEW(&d->file.arena, tutti_processor_model_figure, d->nfigures + like.nfigures);
    for (int i = 0; i < d->nfigures; i++) all[i] = d->figures[i];
    for (int i = 0; i < like.nfigures; i++) all[d->nfigures + i] = like.figures[i];
    d->figures = all;
    d->nfigures += like.nfigures;
    tutti_processor_model_release(&like);
    return TUTTI_OK;
}

tutti_status tutti_processor_model_parse(const char *name, const char *text, tutti_processor_model *out,
                                         tutti_failure *err)
{
    tutti_processor_model d = {.about = "", .kernels = "reference"};
    tutti_status st = tutti_sourced_parse(name, text, &d.file, err);
    if (st) return st;
    st = lines_take(&d, err);
    if (!st && d.like) st = like_take(&d, err);
    if (!st) st = whole_check(&d, err);
    if (st)
        tutti_sourced_release(&d.file);
    else
        *out = d;
    return st;
}

static tutti_status name_unknown(const char *name, tutti_failure *err)
{
    const char *known[64];
    int n = 0;
    while (n < 64 && tutti_processor_model_shipped_at(n)) known[n] = tutti_processor_model_shipped_at(n), n++;
    const char *nearest = tutti_options_nearest(name, known, n);
    char *names = tutti_embedded_names(tutti_shipped_devices);
    tutti_fail(err, TUTTI_ERR_USAGE,
               "no device '%.60s';%s%s%s there are %s, and files (their names have a '/' or a '.'); 'tutti devices' "
               "lists them",
               name, nearest ? " did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", names);
    free(names);
    return TUTTI_ERR_USAGE;
}

static tutti_status plain_open(const char *name, tutti_processor_model *out, tutti_failure *err)
{
    const char *shipped = tutti_embedded_find(tutti_shipped_devices, name);
    char *text = NULL;
    size_t nbytes = 0;
    if (shipped) return tutti_processor_model_parse(name, shipped, out, err);
    if (!strpbrk(name, "/.")) return name_unknown(name, err);
    tutti_status st = tutti_file_read(name, MAX_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (st) return st;
    if (strlen(text) != nbytes) st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no text: it has bytes of value 0", name);
    if (!st) st = tutti_processor_model_parse(name, text, out, err);
    free(text);
    return st;
}

tutti_status tutti_processor_model_open(const char *name, tutti_processor_model *out, tutti_failure *err)
{
    static const char suffix[] = ":tf32";
    const size_t n = strlen(name), nsuffix = sizeof suffix - 1;
    if (n < nsuffix || strcmp(name + n - nsuffix, suffix) != 0) return plain_open(name, out, err);
    char *plain = tutti_alloc(n + 1);
    memcpy(plain, name, n - nsuffix);
    tutti_status st = plain_open(plain, out, err);
    if (!st && out->peak_tf32 <= 0) {
        st = tutti_fail(err, TUTTI_ERR_USAGE, "%.100s has no figure peak.tf32: leave ':tf32' out", plain);
        tutti_processor_model_release(out);
    }
    if (!st) out->uses_tf32 = true;
    free(plain);
    return st;
}

void tutti_processor_model_release(tutti_processor_model *d)
{
    tutti_sourced_release(&d->file);
    *d = (tutti_processor_model){0};
}
