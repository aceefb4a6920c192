/* SPDX-License-Identifier: Apache-2.0 */
/* bench_gpu_ops.c: every op on a card against the CPU, in every type and order, and how long its passes take.
 * usage: bench_gpu_ops [--device cuda|cpu] [--card N] [--engine NAME] [--ops conv,dense] [--precisions f32,bf16]
 * [--quick] [--all]
 *                      [--repeats N] [--limit-s S] [--json FILE]
 *
 * The program prints a line for each case that fails; with --all a line for each case. Then it prints a table with a
 * row an op and type: cases, failures, the worst error of each pass, and times of passes in training, summed over
 * cases, with their rate in TFLOP/s (conv, dense) or GB/s (others). --json writes a line a case; "-" puts these among
 * the others. --device cpu compares the rows that are chosen for the CPU with plain loops. --limit-s: no case is begun
 * after that. Exit code 1: a case failed. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu_cases.h"
#include "gpu_program.h"
#include "kernel/choose/memory_order.h"

enum { MAX_OPS = 32 };

typedef struct {
    const char *device, *engine, *json;
    tutti_texts ops, precisions;
    int64_t card, repeats;
    double limit_s;
    bool quick, all;
} options;

#define FIELD(name) offsetof(options, name)
static const tutti_field fields[] = {
    {"device", TUTTI_FIELD_TEXT, FIELD(device), "cuda", NULL, 1, 0, "cuda or cpu: whose rows are compared"},
    {"card", TUTTI_FIELD_INT, FIELD(card), "0", NULL, 0, INT32_MAX, "which card"},
    {"engine", TUTTI_FIELD_TEXT, FIELD(engine), "auto", NULL, 1, 0, "who computes, as the key kernels.name of a job"},
    {"ops", TUTTI_FIELD_TEXTS, FIELD(ops), "", NULL, 1, 0, "conv,dense: these alone"},
    {"precisions", TUTTI_FIELD_TEXTS, FIELD(precisions), "", NULL, 1, 0, "f32,bf16: these alone"},
    {"quick", TUTTI_FIELD_BOOL, FIELD(quick), "false", NULL, 1, 0, "small cases alone"},
    {"all", TUTTI_FIELD_BOOL, FIELD(all), "false", NULL, 1, 0, "a line a case"},
    {"repeats", TUTTI_FIELD_INT, FIELD(repeats), "20", NULL, 0, INT32_MAX, "runs of a pass that are timed; 0: none"},
    {"limit-s", TUTTI_FIELD_REAL, FIELD(limit_s), "1e9", NULL, 1e-3, 1e9, "no case is begun after so many seconds"},
    {"json", TUTTI_FIELD_TEXT, FIELD(json), "", NULL, 1, 0, "file for a line a case; -: standard output"},
};

/* Sums over the cases of an op in a type; errors are the worst. */
typedef struct {
    int ncases, nfailed;
    double error[TUTTI_NPASSES], seconds[TUTTI_NPASSES], flops[TUTTI_NPASSES], bytes[TUTTI_NPASSES];
} total;

typedef struct {
    const options *o;
    gpu_bench bench;
    FILE *json;
    total totals[MAX_OPS][TUTTI_NPRECISIONS];
    int nrun, nfailed, nskipped;
    double end; /* time by tutti_clock_s after which no case is begun */
} session;

/* An empty list names all. */
static bool is_listed(const tutti_texts *list, const char *name)
{
    bool listed = list->n == 0;
    for (int i = 0; i < list->n; i++) listed = listed || !strcmp(list->values[i], name);
    return listed;
}

static int op_number(const char *name)
{
    int i = 0;
    while (i < tutti_op_count() && strcmp(tutti_op_at(i)->name, name) != 0) i++;
    return i;
}

static void write_pass(tutti_json *j, int pass, const gpu_outcome *r)
{
    tutti_json_open(j, tutti_kernel_pass_name((tutti_kernel_pass)pass), '{');
    if (isfinite(r->error[pass])) {
        tutti_json_real(j, "error", r->error[pass]);
        tutti_json_real(j, "l2", r->l2[pass]);
    }
    tutti_json_real(j, "seconds", r->seconds[pass]);
    tutti_json_real(j, "flops", r->flops[pass]);
    tutti_json_real(j, "bytes", r->bytes[pass]);
    tutti_json_close(j, '}');
}

static void write_json(session *s, const gpu_case *c, const gpu_setting *at, const gpu_outcome *r)
{
    char shape[96];
    tutti_strbuf text = {0};
    tutti_json j = {.out = &text};
    if (!s->json) return;
    tutti_shape_text(&c->in, shape);
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "ev", "op");
    tutti_json_text(&j, "op", c->op);
    tutti_json_text(&j, "case", c->what);
    tutti_json_text(&j, "shape", shape);
    tutti_json_text(&j, "precision", tutti_precision_name(at->precision));
    tutti_json_text(&j, "order", tutti_order_name(at->order));
    tutti_json_bool(&j, "training", at->training);
    tutti_json_bool(&j, "relu", at->relu);
    tutti_json_bool(&j, "addend", at->addend);
    tutti_json_text(&j, "engine", r->engine);
    tutti_json_text(&j, "out_order", r->order);
    tutti_json_bool(&j, "failed", r->failed);
    if (r->failed) {
        tutti_json_text(&j, "pass", tutti_kernel_pass_name(r->pass));
        tutti_json_text(&j, "why", r->why);
    }
    for (int p = 0; p < TUTTI_NPASSES; p++)
        if (r->error[p] >= 0 || r->seconds[p] > 0) write_pass(&j, p, r);
    gpu_write_line(s->json, &j);
}

static void print_case(const gpu_case *c, const gpu_setting *at, const gpu_outcome *r)
{
    char setting[64], shape[96];
    gpu_setting_text(at, setting);
    tutti_shape_text(&c->in, shape);
    printf("%s %s, %s %s, %s (%s, out %s)", r->failed ? "FAILED" : "ok    ", c->op, c->what, shape, setting, r->engine,
           r->order);
    if (r->failed) printf(": %s: %s", tutti_kernel_pass_name(r->pass), r->why);
    for (int p = 0; p < TUTTI_NPASSES; p++)
        if (r->seconds[p] > 0)
            printf("; %s %.2f us, %.2f TFLOP/s, %.0f GB/s", tutti_kernel_pass_name((tutti_kernel_pass)p),
                   r->seconds[p] * 1e6, r->flops[p] / r->seconds[p] * 1e-12, r->bytes[p] / r->seconds[p] * 1e-9);
    printf("\n");
}

static void add_to(total *t, const gpu_setting *at, const gpu_outcome *r)
{
    t->ncases++, t->nfailed += r->failed;
    for (int p = 0; p < TUTTI_NPASSES; p++) {
        if (r->error[p] > t->error[p]) t->error[p] = r->error[p];
        if (!at->training || r->seconds[p] <= 0) continue;
        t->seconds[p] += r->seconds[p], t->flops[p] += r->flops[p], t->bytes[p] += r->bytes[p];
    }
}

/* A compiler's words have several lines; they become one. */
static void keep_words(const char *text, char *out, size_t nbytes)
{
    snprintf(out, nbytes, "%.230s", text);
    for (char *at = out; *at; at++)
        if ((unsigned char)*at < ' ') *at = ' ';
}

/* A kernel that cannot be made is a failure of the case; a device that has failed ends the program. */
static tutti_status run_setting(session *s, const gpu_case *c, const gpu_setting *at)
{
    gpu_outcome r;
    tutti_failure err = {0}, dead = {0};
    const tutti_status st = gpu_check(&s->bench, c, at, &r, &err);
    if (st) r.failed = true, keep_words(err.text, r.why, sizeof r.why);
    s->nrun++, s->nfailed += r.failed, s->bench.layer++;
    add_to(&s->totals[op_number(c->op)][at->precision], at, &r);
    write_json(s, c, at, &r);
    if (r.failed || s->o->all) print_case(c, at, &r);
    fflush(stdout);
    return s->bench.device->check(s->bench.device, &dead);
}

static tutti_status run_cases(session *s)
{
    const gpu_case *c;
    gpu_setting at;
    tutti_status st = TUTTI_OK;
    for (int i = 0; (c = gpu_case_at(i)) && !st; i++) {
        if (!is_listed(&s->o->ops, c->op) || (s->o->quick && !c->quick)) continue;
        for (int n = 0; gpu_setting_at(c, n, &at) && !st; n++) {
            if (!is_listed(&s->o->precisions, tutti_precision_name(at.precision))) continue;
            if (tutti_clock_s() >= s->end)
                s->nskipped++;
            else
                st = run_setting(s, c, &at);
        }
    }
    return st;
}

static void print_pass(const total *t, int p, bool product)
{
    printf(" %9.2g", t->error[p]);
    if (t->seconds[p] > 0)
        printf(" %9.1f %8.4g", t->seconds[p] * 1e6,
               product ? t->flops[p] / t->seconds[p] * 1e-12 : t->bytes[p] / t->seconds[p] * 1e-9);
    else
        printf(" %9s %8s", "-", "-");
}

static void print_table(const session *s)
{
    printf("%-22s %-5s %5s %6s", "op", "type", "cases", "failed");
    for (int p = 0; p < TUTTI_NPASSES; p++)
        printf(" %9s %9s %8s", tutti_kernel_pass_name((tutti_kernel_pass)p), "us", "rate");
    printf("\n");
    for (int i = 0; i < tutti_op_count() && i < MAX_OPS; i++)
        for (int type = 0; type < TUTTI_NPRECISIONS; type++) {
            const total *t = &s->totals[i][type];
            const tutti_op_row *op = tutti_op_at(i);
            if (!t->ncases) continue;
            printf("%-22s %-5s %5d %6d", op->name, tutti_precision_name((tutti_precision)type), t->ncases, t->nfailed);
            for (int p = 0; p < TUTTI_NPASSES; p++) print_pass(t, p, op == &tutti_op_conv || op == &tutti_op_dense);
            printf("\n");
        }
    printf("%d cases, %d failed, %d not run: no time was left\n", s->nrun, s->nfailed, s->nskipped);
}

static tutti_status run_all(session *s, tutti_failure *err)
{
    const options *o = s->o;
    const tutti_status st = tutti_device_connect(o->device, (int)o->card, &s->bench.device, NULL, err);
    if (st) return st;
    tutti_status ran = gpu_open_lines(o->json, &s->json, err);
    if (!ran) {
        s->end = tutti_clock_s() + o->limit_s;
        ran = run_cases(s);
        if (ran) s->bench.device->check(s->bench.device, err);
        print_table(s);
    }
    gpu_close_lines(s->json);
    tutti_device_disconnect(s->bench.device);
    return ran;
}

int main(int argc, char **argv)
{
    static const tutti_field_table table = {fields, sizeof fields / sizeof *fields};
    options o;
    tutti_arena arena = {0};
    tutti_failure err = {0};
    if (gpu_read_options(&table, argc, argv, &arena, &o)) return TUTTI_ERR_USAGE;
    session s = {
        .o = &o,
        .bench = {.engine = o.engine, .nthreads = (int)sysconf(_SC_NPROCESSORS_ONLN), .repeats = (int)o.repeats}};
    const tutti_status st = run_all(&s, &err);
    if (st) fprintf(stderr, "bench_gpu_ops: %s\n", err.text);
    tutti_arena_release(&arena);
    return st ? (int)st : s.nfailed > 0 || s.nrun == 0;
}
