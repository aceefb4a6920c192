/* SPDX-License-Identifier: Apache-2.0 */
/* device.c: files of devices: their keys, and what is not said taken from what is. */
#include "device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/file.h"
#include "../base/options.h"

enum { MAX_BYTES = 1 << 16 };
extern const tutti_embedded_text tutti_shipped_devices[]; /* made by the build */

/* A class and the one whose figures it takes where it has none; of itself: it begins at 1, the device's peak and rate. */
static const struct {
    const char *name;
    tutti_device_class like;
} classes[TUTTI_DEVICE_NCLASSES] = {
    [TUTTI_DEVICE_CONV] = {"conv", TUTTI_DEVICE_CONV},       [TUTTI_DEVICE_CONV3X3] = {"conv3x3", TUTTI_DEVICE_CONV},
    [TUTTI_DEVICE_CONV1X1] = {"conv1x1", TUTTI_DEVICE_CONV}, [TUTTI_DEVICE_STEM] = {"stem", TUTTI_DEVICE_CONV},
    [TUTTI_DEVICE_DENSE] = {"dense", TUTTI_DEVICE_DENSE},    [TUTTI_DEVICE_PASS] = {"pass", TUTTI_DEVICE_PASS},
    [TUTTI_DEVICE_NORM] = {"norm", TUTTI_DEVICE_PASS},       [TUTTI_DEVICE_LRN] = {"lrn", TUTTI_DEVICE_PASS},
    [TUTTI_DEVICE_POOL] = {"pool", TUTTI_DEVICE_PASS},       [TUTTI_DEVICE_LOSS] = {"loss", TUTTI_DEVICE_PASS},
};

const char *tutti_device_class_name(tutti_device_class c)
{
    return classes[c].name;
}

const char *tutti_device_shipped_at(int i)
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
    {"peak.f32", "FLOP/s", offsetof(tutti_device, peak[TUTTI_PRECISION_F32]), true},
    {"peak.bf16", "FLOP/s", offsetof(tutti_device, peak[TUTTI_PRECISION_BF16]), false},
    {"peak.f16", "FLOP/s", offsetof(tutti_device, peak[TUTTI_PRECISION_F16]), false},
    {"memory", "B/s", offsetof(tutti_device, rate), true},
    {"memory_bytes", "B", offsetof(tutti_device, memory_bytes), false},
    {"cache", "B", offsetof(tutti_device, cache_bytes), false},
    {"cache.rate", "B/s", offsetof(tutti_device, cache_rate), false},
    {"launch", "s", offsetof(tutti_device, launch_s), true},
    {"load", "s/B", offsetof(tutti_device, load_s_per_byte), false},
};
enum { NNUMBERS = sizeof numbers / sizeof numbers[0] };

static int number_find(const char *key)
{
    for (int i = 0; i < NNUMBERS; i++)
        if (strcmp(numbers[i].key, key) == 0) return i;
    return -1;
}

/* "conv.compute", "conv.memory.data": the class, and the pass or -1 for all. */
static bool efficiency_find(const char *key, tutti_device_class *class, bool *is_memory, int *pass)
{
    char word[40];
    for (int c = 0; c < TUTTI_DEVICE_NCLASSES; c++)
        for (int m = 0; m < 2; m++)
            for (int p = -1; p < TUTTI_NPASSES; p++) {
                snprintf(word, sizeof word, "%s.%s%s%s", classes[c].name, m ? "memory" : "compute", p < 0 ? "" : ".",
                         p < 0 ? "" : tutti_kernel_pass_name((tutti_kernel_pass)p));
                if (strcmp(word, key) != 0) continue;
                *class = (tutti_device_class)c;
                *is_memory = m;
                *pass = p;
                return true;
            }
    return false;
}

static tutti_status line_unknown(const tutti_device *d, const tutti_sourced_line *l, tutti_failure *err)
{
    return tutti_fail(
        err, TUTTI_ERR_DATA,
        "%s: line %d: no device has '%.40s'; there are peak.f32, peak.bf16, peak.f16, memory, memory_bytes, cache, "
        "cache.rate, launch, load, CLASS.compute and CLASS.memory (with .forward, .params or .data), and the "
        "texts about, kernels and ranks; docs/devices.md",
        d->file.name, l->line, l->key);
}

static tutti_status text_take(tutti_device *d, const tutti_sourced_line *l, tutti_failure *err)
{
    if (strcmp(l->key, "about") == 0) {
        d->about = l->value;
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

/* Of a class in one pass or, with pass -1, in all: what the file says, 0 where it says nothing. */
static tutti_status said(const tutti_device *d, tutti_device_class class, bool is_memory, int pass, double *out,
                         tutti_failure *err)
{
    char key[40];
    snprintf(key, sizeof key, "%s.%s%s%s", classes[class].name, is_memory ? "memory" : "compute", pass < 0 ? "" : ".",
             pass < 0 ? "" : tutti_kernel_pass_name((tutti_kernel_pass)pass));
    const tutti_sourced_line *l = tutti_sourced_get(&d->file, key);
    *out = 0;
    if (!l) return TUTTI_OK;
    tutti_status st = tutti_sourced_number(&d->file, l, "", out, err);
    if (!st && !(*out >= 1e-6 && *out <= 100))
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: %s: an efficiency is from 1e-6 to 100, not %.40s",
                        d->file.name, l->line, l->key, l->value);
    return st;
}

/* The most special that is said: of the class in the pass, of the class, of the class that it belongs to. */
static tutti_status efficiency_take(const tutti_device *d, tutti_device_class class, bool is_memory, int pass,
                                    double *out, tutti_failure *err)
{
    const tutti_device_class from[] = {class, class, classes[class].like, classes[class].like};
    const int of[] = {pass, -1, pass, -1};
    tutti_status st = TUTTI_OK;
    *out = 0;
    for (int i = 0; i < 4 && *out == 0 && !st; i++) st = said(d, from[i], is_memory, of[i], out, err);
    if (*out == 0) *out = 1;
    return st;
}

static tutti_status efficiencies_take(tutti_device *d, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int c = 0; c < TUTTI_DEVICE_NCLASSES; c++)
        for (int p = 0; p < TUTTI_NPASSES; p++) {
            tutti_device_efficiency *e = &d->efficiency[c][p];
            if (!st) st = efficiency_take(d, (tutti_device_class)c, false, p, &e->compute, err);
            if (!st) st = efficiency_take(d, (tutti_device_class)c, true, p, &e->memory, err);
        }
    return st;
}

static tutti_status lines_take(tutti_device *d, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    for (int i = 0; i < d->file.n && !st; i++) {
        const tutti_sourced_line *l = &d->file.lines[i];
        const int n = number_find(l->key);
        tutti_device_class class;
        bool is_memory;
        int pass;
        if (!l->from)
            st = text_take(d, l, err);
        else if (n >= 0)
            st = tutti_sourced_number(&d->file, l, numbers[n].unit, (double *)((char *)d + numbers[n].offset), err);
        else if (!efficiency_find(l->key, &class, &is_memory, &pass))
            st = line_unknown(d, l, err);
    }
    return st;
}

/* What must be there, and be more than nothing. */
static tutti_status whole_check(const tutti_device *d, tutti_failure *err)
{
    for (int i = 0; i < NNUMBERS; i++)
        if (numbers[i].is_wanted && !tutti_sourced_get(&d->file, numbers[i].key))
            return tutti_fail(err, TUTTI_ERR_DATA, "%s: no line '%s'; a device has peak.f32, memory and launch",
                              d->file.name, numbers[i].key);
    if (d->peak[TUTTI_PRECISION_F32] <= 0 || d->rate <= 0)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: peak.f32 and memory must be above 0", d->file.name);
    if ((d->cache_bytes > 0) != (d->cache_rate > 0))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: cache and cache.rate go together, both above 0", d->file.name);
    return TUTTI_OK;
}

tutti_status tutti_device_parse(const char *name, const char *text, tutti_device *out, tutti_failure *err)
{
    tutti_device d = {.about = "", .kernels = "reference"};
    tutti_status st = tutti_sourced_parse(name, text, &d.file, err);
    if (st) return st;
    st = lines_take(&d, err);
    if (!st) st = whole_check(&d, err);
    if (!st) st = efficiencies_take(&d, err);
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
    while (n < 64 && tutti_device_shipped_at(n)) known[n] = tutti_device_shipped_at(n), n++;
    const char *nearest = tutti_options_nearest(name, known, n);
    char *names = tutti_embedded_names(tutti_shipped_devices);
    tutti_fail(err, TUTTI_ERR_USAGE,
               "no device '%.60s';%s%s%s there are %s, and files (their names have a '/' or a '.'); 'tutti devices' "
               "lists them",
               name, nearest ? " did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", names);
    free(names);
    return TUTTI_ERR_USAGE;
}

tutti_status tutti_device_open(const char *name, tutti_device *out, tutti_failure *err)
{
    const char *shipped = tutti_embedded_find(tutti_shipped_devices, name);
    char *text = NULL;
    size_t nbytes = 0;
    if (shipped) return tutti_device_parse(name, shipped, out, err);
    if (!strpbrk(name, "/.")) return name_unknown(name, err);
    tutti_status st = tutti_file_read(name, MAX_BYTES, TUTTI_ERR_USAGE, &text, &nbytes, err);
    if (st) return st;
    if (strlen(text) != nbytes) st = tutti_fail(err, TUTTI_ERR_DATA, "%s: no text: it has bytes of value 0", name);
    if (!st) st = tutti_device_parse(name, text, out, err);
    free(text);
    return st;
}

void tutti_device_release(tutti_device *d)
{
    tutti_sourced_release(&d->file);
    *d = (tutti_device){0};
}
