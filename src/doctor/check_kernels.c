/* SPDX-License-Identifier: Apache-2.0 */
/* check_kernels.c: checks of what computes on the processor: instruction set, oneDNN, threads, and the kernels that the
 * chooser takes for one layer of each family. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../kernel/crew.h"
#include "../kernel/kernel.h"
#include "../tensor/isa.h"
#include "doctor_impl.h"

void tutti_doctor_check_instructions(tutti_exam *e)
{
    tutti_isa best = TUTTI_ISA_GENERIC;
    char bf16[96];
    for (int isa = 0; isa < TUTTI_NISAS; isa++)
        if (tutti_isa_runs((tutti_isa)isa)) best = (tutti_isa)isa;
    tutti_kernel_precision_describe("auto", TUTTI_PRECISION_BF16, bf16);
    const char *here = tutti_isa_name(tutti_isa_here());
    if (tutti_isa_here() != best)
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Unset TUTTI_ISA for the fastest loops.",
                         "loops use %s because TUTTI_ISA says so; the processor has %s", here, tutti_isa_name(best));
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "loops use %s; precisions f32, %s", here, bf16);
}

void tutti_doctor_check_onednn(tutti_exam *e)
{
    char words[96];
    tutti_kernel_engine_describe("onednn", words);
    if (words[0])
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "%s", words);
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_NOTE, "Install libdnnl-dev (./dev setup) and build again.",
                         "this build has no oneDNN, so many layers take plain loops");
}

void tutti_doctor_check_threads(tutti_exam *e)
{
    tutti_failure err = {0};
    const double begin = tutti_clock_s();
    if (tutti_crew_prepare(e->ncores, &err))
        tutti_doctor_say_failure(e, TUTTI_FINDING_BAD, err.text,
                                 "Raise ulimit -u and pids.max, or run with --set threads=1.");
    else
        tutti_doctor_say(e, NULL, TUTTI_FINDING_OK, NULL, "a team of %d starts in %s", e->ncores,
                         tutti_time_words(tutti_clock_s() - begin).text);
}

/* --- families: what the chooser takes for a layer of each kind --- */

enum { MOST_ATTRIBUTES = 4 };
typedef struct {
    const char *name, *op, *words;
    tutti_shape shape;
    const char *attributes[MOST_ATTRIBUTES];
} family;

static const family families[] = {
    {"conv 1x1", "conv", "256 to 64 channels of 28x28", {4, {32, 256, 28, 28}}, {"out_channels=64", "kernel=1"}},
    {"conv 3x3", "conv", "64 to 64 channels of 28x28", {4, {32, 64, 28, 28}}, {"out_channels=64", "kernel=3", "pad=1"}},
    {"conv 5x5", "conv", "20 to 50 channels of 12x12", {4, {32, 20, 12, 12}}, {"out_channels=50", "kernel=5"}},
    {"dense", "dense", "1024 to 1000 units", {2, {32, 1024}}, {"units=1000"}},
    {"batch-norm", "batch-norm", "64 channels of 28x28", {4, {32, 64, 28, 28}}, {NULL}},
    {"max-pool", "max-pool", "64 channels of 28x28", {4, {32, 64, 28, 28}}, {"kernel=2"}},
    {"avg-pool", "avg-pool", "64 channels of 28x28", {4, {32, 64, 28, 28}}, {"kernel=2"}},
    {"lrn", "lrn", "64 channels of 28x28", {4, {32, 64, 28, 28}}, {NULL}},
    {"dropout", "dropout", "1024 units", {2, {32, 1024}}, {NULL}},
};

/* Writes "onednn", or "lanes forward, onednn params data" if several candidates share the passes. */
static void list_chosen(const tutti_kernel *k, tutti_strbuf *out)
{
    bool told[TUTTI_NPASSES] = {false};
    const char *first = NULL;
    bool alike = true;
    for (int p = 0; p < TUTTI_NPASSES; p++) {
        const char *name = k->chosen[p].name;
        if (!name) continue;
        if (first && strcmp(first, name) != 0) alike = false;
        if (!first) first = name;
    }
    if (alike) {
        tutti_strbuf_puts(out, first ? first : "reference");
        return;
    }
    for (int p = 0; p < TUTTI_NPASSES; p++) {
        if (told[p] || !k->chosen[p].name) continue;
        tutti_strbuf_printf(out, "%s%s", out->length ? ", " : "", k->chosen[p].name);
        for (int q = p; q < TUTTI_NPASSES; q++) {
            if (!k->chosen[q].name || strcmp(k->chosen[p].name, k->chosen[q].name) != 0) continue;
            told[q] = true;
            tutti_strbuf_printf(out, " %s", tutti_kernel_pass_name((tutti_kernel_pass)q));
        }
    }
}

static tutti_status choose(const family *f, int nthreads, tutti_strbuf *out, tutti_failure *err)
{
    const tutti_op_row *op = tutti_op_find(f->op);
    tutti_arena arena = {0};
    tutti_kernel kernel;
    void *attrs = tutti_alloc(op->attrs_bytes + 1); /* zeroed, so that no ReLU is merged */
    const tutti_value in = tutti_value_plain(&f->shape);
    int nattributes = 0;
    while (nattributes < MOST_ATTRIBUTES && f->attributes[nattributes]) nattributes++;
    tutti_status st = tutti_options_read(&(tutti_options_into){&op->fields, &arena, attrs}, f->name, NULL,
                                         f->attributes, nattributes, err);
    const tutti_kernel_request request = {
        .engine = "auto", .op = op, .attrs = attrs, .in = &in, .nin = 1, .training = true, .nthreads = nthreads};
    if (!st) st = tutti_kernel_create(&request, &kernel, err);
    if (!st) list_chosen(&kernel, out);
    if (!st) tutti_kernel_destroy(&kernel);
    tutti_arena_release(&arena);
    free(attrs);
    return st;
}

void tutti_doctor_check_families(tutti_exam *e)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const family *f = &families[i];
        tutti_strbuf by = {0};
        tutti_failure err = {0};
        if (choose(f, e->ncores, &by, &err))
            tutti_doctor_say(e, f->name, TUTTI_FINDING_BAD, "Ask for plain loops: --set kernels=reference.", "%s",
                             err.text);
        else
            tutti_doctor_say(e, f->name, TUTTI_FINDING_OK, NULL, "%s (32 samples, %s)", by.text, f->words);
        tutti_strbuf_release(&by);
    }
}
