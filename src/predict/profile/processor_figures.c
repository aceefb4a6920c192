/* SPDX-License-Identifier: Apache-2.0 */
/* processor_figures.c: reads the keys of a processor model's file, and fills figures that it does not give from those
 * that it gives. */
#include "processor_figures.h"

#include <stdio.h>
#include <string.h>

/* A class, and the class whose figures it uses if it has none of its own. A class that names itself begins with figures
 * of 1: the device's peak and rate. */
static const struct {
    const char *name;
    tutti_processor_model_class like;
} classes[TUTTI_DEVICE_NCLASSES] = {
    [TUTTI_DEVICE_CONV] = {"conv", TUTTI_DEVICE_CONV},       [TUTTI_DEVICE_CONV3X3] = {"conv3x3", TUTTI_DEVICE_CONV},
    [TUTTI_DEVICE_CONV1X1] = {"conv1x1", TUTTI_DEVICE_CONV}, [TUTTI_DEVICE_STEM] = {"stem", TUTTI_DEVICE_CONV},
    [TUTTI_DEVICE_DENSE] = {"dense", TUTTI_DEVICE_DENSE},    [TUTTI_DEVICE_PASS] = {"pass", TUTTI_DEVICE_PASS},
    [TUTTI_DEVICE_NORM] = {"norm", TUTTI_DEVICE_PASS},       [TUTTI_DEVICE_DROPOUT] = {"dropout", TUTTI_DEVICE_PASS},
    [TUTTI_DEVICE_LRN] = {"lrn", TUTTI_DEVICE_PASS},         [TUTTI_DEVICE_POOL] = {"pool", TUTTI_DEVICE_PASS},
    [TUTTI_DEVICE_AVGPOOL] = {"avgpool", TUTTI_DEVICE_POOL}, [TUTTI_DEVICE_LOSS] = {"loss", TUTTI_DEVICE_PASS},
};
static const char *const terms[TUTTI_DEVICE_NTERMS] = {"compute", "memory", "cache", "overlap", "launch"};

const char *tutti_processor_model_class_name(tutti_processor_model_class c)
{
    return classes[c].name;
}

/* ---- keys ---- */

static const char *precision_name(int precision)
{
    return precision == TUTTI_DEVICE_TF32 ? "tf32" : tutti_precision_name((tutti_precision)precision);
}

void tutti_processor_model_key_write(const tutti_processor_model_figure *f, char out[TUTTI_DEVICE_KEY])
{
    snprintf(out, TUTTI_DEVICE_KEY, "%s%s%s%s%s.%s%s%s", classes[f->class].name, f->kernel ? "/" : "",
             f->kernel ? f->kernel : "", f->precision < 0 ? "" : "/",
             f->precision < 0 ? "" : precision_name(f->precision), terms[f->term], f->pass < 0 ? "" : ".",
             f->pass < 0 ? "" : tutti_kernel_pass_name((tutti_kernel_pass)f->pass));
}

/* Copies the next word, up to one of `ends`. Returns the text behind that end, or NULL if the key has no further
 * word. */
static const char *word_next(const char *at, const char *ends, char out[TUTTI_DEVICE_KEY])
{
    const size_t n = strcspn(at, ends);
    snprintf(out, TUTTI_DEVICE_KEY, "%.*s", (int)n, at);
    return at[n] ? at + n : NULL;
}

/* Reads the word behind a slash as a kernel's or a precision's name. */
static bool qualifier_take(const char *word, tutti_processor_model_figure *f)
{
    for (int p = 0; p <= TUTTI_DEVICE_TF32 && f->precision < 0; p++)
        if (strcmp(word, precision_name(p)) == 0) {
            f->precision = p;
            return true;
        }
    for (int i = 0; tutti_candidate_name_at(i) && !f->kernel && f->precision < 0; i++)
        if (strcmp(word, tutti_candidate_name_at(i)) == 0) {
            f->kernel = tutti_candidate_name_at(i);
            return true;
        }
    return false;
}

static int find(const char *word, const char *(*name_at)(int), int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, name_at(i)) == 0) return i;
    return -1;
}

static const char *class_at(int i)
{
    return classes[i].name;
}

static const char *term_at(int i)
{
    return terms[i];
}

static const char *pass_at(int i)
{
    return tutti_kernel_pass_name((tutti_kernel_pass)i);
}

bool tutti_processor_model_key_read(const char *key, tutti_processor_model_figure *out)
{
    tutti_processor_model_figure f = {.precision = -1, .pass = -1};
    char word[TUTTI_DEVICE_KEY];
    if (strlen(key) >= TUTTI_DEVICE_KEY) return false;
    const char *at = word_next(key, "/.", word);
    const int class = find(word, class_at, TUTTI_DEVICE_NCLASSES);
    while (at && *at == '/') {
        at = word_next(at + 1, "/.", word);
        if (!qualifier_take(word, &f)) return false;
    }
    if (class < 0 || !at) return false;
    at = word_next(at + 1, "/.", word);
    const int term = find(word, term_at, TUTTI_DEVICE_NTERMS);
    if (term < 0 || (at && *at != '.')) return false;
    if (at && (f.pass = find(at + 1, pass_at, TUTTI_NPASSES)) < 0) return false;
    f.class = (tutti_processor_model_class) class;
    f.term = (tutti_processor_model_term)term;
    *out = f;
    return true;
}

/* ---- figures ---- */

/* Returns true if a figure of precision `said` serves for `precision`: those of bf16 serve for f16, and for products in
 * TF32, which run on the same units. */
static bool stands_in(int said, int precision, bool is_product)
{
    return said == TUTTI_PRECISION_BF16 &&
           (precision == TUTTI_PRECISION_F16 || (precision == TUTTI_DEVICE_TF32 && is_product));
}

/* Returns how well a figure fits a kernel: larger is more specific; 0: the figure is for something else. */
static int fit_of(const tutti_processor_model_figure *f, tutti_processor_model_class class, int precision,
                  tutti_kernel_pass pass, const tutti_processor_model_work *w)
{
    enum { HAS_KERNEL = 8, HAS_PRECISION = 4, HAS_OWN = 2, HAS_PASS = 1 };
    int fit = 1;
    if (f->class != class || (f->pass >= 0 && f->pass != (int)pass)) return 0;
    if (f->precision >= 0 && f->precision != precision && !stands_in(f->precision, precision, w->is_product)) return 0;
    if (f->kernel && (!w->by || strcmp(f->kernel, w->by) != 0)) return 0;
    if (f->kernel) fit += HAS_KERNEL;
    if (f->precision >= 0 && f->precision == precision) fit += HAS_OWN;
    if (f->precision >= 0) fit += HAS_PRECISION;
    return fit + (f->pass >= 0 ? HAS_PASS : 0);
}

static const tutti_processor_model_figure *figure_find(const tutti_processor_model *d, tutti_processor_model_term term,
                                                       tutti_precision precision, tutti_kernel_pass pass,
                                                       const tutti_processor_model_work *w)
{
    const int by = precision == TUTTI_PRECISION_F32 && d->uses_tf32 ? (int)TUTTI_DEVICE_TF32 : (int)precision;
    const tutti_processor_model_figure *best = NULL;
    tutti_processor_model_class class = w->class;
    for (bool is_last = false; !best && !is_last; class = classes[class].like) {
        int most = 0;
        for (int i = 0; i < d->nfigures; i++) {
            const tutti_processor_model_figure *f = &d->figures[i];
            const int fit = f->term == term ? fit_of(f, class, by, pass, w) : 0;
            if (fit > most) best = f, most = fit;
        }
        is_last = classes[class].like == class;
    }
    return best;
}

double tutti_processor_model_figure_of(const tutti_processor_model *d, tutti_processor_model_term term,
                                       tutti_precision precision, tutti_kernel_pass pass,
                                       const tutti_processor_model_work *w)
{
    const tutti_processor_model_figure *f = figure_find(d, term, precision, pass, w);
    if (!f && term == TUTTI_DEVICE_CACHE) f = figure_find(d, TUTTI_DEVICE_MEMORY, precision, pass, w);
    if (f) return f->value;
    return term == TUTTI_DEVICE_LAUNCH ? d->launch_s : 1;
}
