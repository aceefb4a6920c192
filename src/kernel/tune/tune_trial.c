/* SPDX-License-Identifier: Apache-2.0 */
/* tune_trial.c: runs passes of kernels on memory of their own and measures their time (tune_trial.h). */
#include "tune_trial.h"

#include <math.h>
#include <stdlib.h>

#include "../../base/clock.h"
#include "../../base/host/pages.h"
#include "../../tensor/convert.h"

enum { BLOCK = 4096, APART = 64 * 73 };
static const double LEAST_S = 5e-4;

void tutti_trial_memory_release(tutti_trial_memory *m)
{
    for (int i = 0; i < TUTTI_TRIAL_BUFFERS; i++) tutti_pages_give_back(m->pages[i], m->mapped[i]);
    *m = (tutti_trial_memory){0};
}

/* Fills memory with elements of a type, between -0.1 and 0.1, none of them subnormal. */
static void fill(void *memory, size_t nbytes, tutti_dtype type)
{
    float wide[BLOCK];
    const size_t each = tutti_dtype_bytes(type), n = nbytes / each;
    for (size_t i = 0; i < BLOCK; i++) wide[i] = (float)((int)(i * 2654435761u >> 8 & 0xffff) % 2001 - 1000) * 1e-4f;
    for (size_t i = 0; i < n; i += BLOCK)
        tutti_convert_from_f32(type, wide, (char *)memory + i * each, (int64_t)(n - i < BLOCK ? n - i : BLOCK));
}

/* Returns buffer number i, with at least nbytes, in huge pages, as in training. Buffers begin at different places of a
 * page, as in training; otherwise they would compete for the same sets of the caches. */
static void *take(tutti_trial_memory *m, int i, size_t nbytes, tutti_dtype type)
{
    const size_t apart = (size_t)i * APART;
    if (nbytes <= m->nbytes[i]) return m->at[i];
    tutti_pages_give_back(m->pages[i], m->mapped[i]);
    m->nbytes[i] = (nbytes + 63) / 64 * 64;
    m->mapped[i] = m->nbytes[i] + apart;
    m->pages[i] = tutti_pages_take(m->mapped[i]);
    if (!m->pages[i]) tutti_no_memory(m->mapped[i]);
    m->at[i] = (char *)m->pages[i] + apart;
    fill(m->at[i], m->nbytes[i], type);
    return m->at[i];
}

typedef struct {
    tutti_kernel_args args;
    float loss;
    int32_t correct;
} trial;

/* Prepares a trial: sets the memory of the kernel's values. Gradients get memory only for a backward pass. */
static void trial_begin(trial *t, const tutti_kernel *k, tutti_kernel_pass pass, tutti_trial_memory *m)
{
    int at = 0;
    const bool back = pass != TUTTI_PASS_FORWARD;
    *t = (trial){.args = {.training = true, .loss_scale = 1}};
    tutti_kernel_args *a = &t->args;
    for (int i = 0; i < k->ninputs; i++, at += 2) {
        a->in[i] = take(m, at, k->in[i].bytes, k->in[i].dtype);
        a->din[i] = !back || k->passes_gradient >> i & 1 ? NULL : take(m, at + 1, k->in[i].bytes, k->in[i].dtype);
    }
    at = 2 * TUTTI_MAX_OP_INPUTS;
    for (int p = 0; p < k->nparams; p++, at += 2) {
        const size_t nbytes = (size_t)k->params[p].elements * sizeof(float);
        a->param[p] = take(m, at, nbytes, TUTTI_F32);
        if (back || k->params[p].kind == TUTTI_PARAM_STATISTIC) a->dparam[p] = take(m, at + 1, nbytes, TUTTI_F32);
    }
    at = 2 * TUTTI_MAX_OP_INPUTS + 2 * TUTTI_MAX_OP_PARAMS;
    a->out = take(m, at, k->out.bytes, k->out.dtype);
    if (back) a->dout = take(m, at + 1, k->out.bytes, k->out.dtype);
    a->saved = take(m, at + 2, k->saved_bytes, TUTTI_F32);
    a->scratch = take(m, at + 3, k->scratch_bytes, TUTTI_F32);
    a->loss = &t->loss;
    a->correct = &t->correct;
}

static void run(tutti_kernel *k, const trial *t, tutti_kernel_pass pass)
{
    switch (pass) {
    case TUTTI_PASS_FORWARD: k->row->forward(k, &t->args); break;
    case TUTTI_PASS_PARAMS: k->row->backward_params(k, &t->args); break;
    default: k->row->backward_data(k, &t->args); break;
    }
}

/* Makes a kernel by a candidate. A row that computes all passes is made with the adapters that it needs. A row that
 * computes only some passes is made without adapters. */
static tutti_status make(const tutti_kernel_candidate *c, const tutti_kernel_request *r, tutti_kernel *k)
{
    const tutti_kernel_rows rows = {.of = {c->row, c->row, c->row}};
    tutti_kernel_request by = *r;
    by.by = &rows;
    return c->passes == TUTTI_DOES_ALL ? tutti_kernel_create(&by, k, NULL) : tutti_kernel_create_by(c->row, r, k, NULL);
}

int tutti_trial_contenders(const tutti_kernel_request *r, tutti_kernel_pass pass,
                           tutti_trial_contender out[TUTTI_TRIAL_CONTENDERS])
{
    const tutti_kernel_candidate *fitting[TUTTI_TRIAL_CONTENDERS];
    const tutti_candidate_table table = tutti_candidates();
    const int nfitting = tutti_candidates_that_fit(&table, r, pass, fitting, TUTTI_TRIAL_CONTENDERS);
    int n = 0;
    for (int i = 0; i < nfitting; i++)
        if (fitting[i]->row && make(fitting[i], r, &out[n].kernel) == TUTTI_OK) out[n++].of = fitting[i];
    return n;
}

static double clock_s(int nthreads)
{
    return nthreads > 1 ? tutti_clock_s() : tutti_clock_thread_s();
}

/* Returns the mean seconds of one run over `repeats` runs in a row. */
static double run_time(tutti_kernel *k, const trial *t, tutti_kernel_pass pass, int nthreads, int repeats)
{
    const double begin = clock_s(nthreads);
    for (int i = 0; i < repeats; i++) run(k, t, pass);
    return (clock_s(nthreads) - begin) / repeats;
}

void tutti_trial_measure(const tutti_trial *t, tutti_trial_memory *memory, double *seconds)
{
    const tutti_kernel_pass pass = t->pass;
    const int n = t->n, nthreads = t->nthreads;
    trial *trials = tutti_alloc((size_t)n * sizeof *trials);
    int repeats = 1;
    for (int i = 0; i < n; i++) /* only now, because the buffers have their final sizes now */
        trial_begin(&trials[i], t->kernels[i], pass, memory);
    for (int i = 0; i < n; i++) {
        trial_begin(&trials[i], t->kernels[i], pass, memory);
        if (pass != TUTTI_PASS_FORWARD) run(t->kernels[i], &trials[i], TUTTI_PASS_FORWARD);
        seconds[i] = run_time(t->kernels[i], &trials[i], pass, nthreads, 1);
        if (seconds[i] * repeats < LEAST_S) repeats = (int)fmin(ceil(LEAST_S / fmax(seconds[i], 1e-8)), 1e4);
    }
    for (int round = 0; round < t->rounds; round++)
        for (int turn = 0; turn < n; turn++) {
            /* the kernels take turns, so that each finds the caches as another kernel has left them */
            const int i = (round + turn) % n;
            seconds[i] = fmin(seconds[i], run_time(t->kernels[i], &trials[i], pass, nthreads, repeats));
        }
    free(trials);
}
