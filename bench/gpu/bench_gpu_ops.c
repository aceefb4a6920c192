/* SPDX-License-Identifier: Apache-2.0 */
/* bench_gpu_ops.c: every op on a card against the CPU, in every type and order, and how long its passes take.
 * usage: bench_gpu_ops [--device cuda|cpu] [--card N] [--engine NAME] [--ops conv,dense] [--precisions f32,bf16] [--quick] [--all]
 *                      [--repeats N] [--limit-s S] [--json FILE]
 *
 * Prints a line a case that fails, --all: a line a case; then a table of op and type: cases, failures, worst error of each pass, and times of
 * passes in training, summed over cases, with what that is in TFLOP/s (conv, dense) or GB/s (others). --json: a line a case, "-": among the others.
 * --device cpu compares the rows that are
 * chosen for the CPU with plain loops. --limit-s: begins no case after that. Exit 1 if a case fails. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu_cases.h"
#include "kernel/memory_order.h"

enum { MAX_OPS = 32, REPEATS = 20 };

typedef struct {
    const char *device, *engine, *ops, *precisions, *json;
    int card, repeats;
    double limit_s;
    bool quick, all;
} options;

/* Of an op and a type. */
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
    double end; /* by tutti_clock_s */
} session;

/* Is the name one of a list "a,b"? NULL: any is. */
static bool is_listed(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, name, n) && (at[n] == ',' || !at[n])) return true;
    }
    return !list;
}

static int op_number(const char *name)
{
    int i = 0;
    while (i < tutti_op_count() && strcmp(tutti_op_at(i)->name, name) != 0) i++;
    return i;
}

static void write_json(session *s, const gpu_case *c, const gpu_setting *at, const gpu_outcome *r)
{
    char shape[96];
    if (!s->json) return;
    tutti_shape_text(&c->in, shape);
    fprintf(s->json,
            "{\"ev\": \"op\", \"op\": \"%s\", \"case\": \"%s\", \"shape\": \"%s\", \"precision\": \"%s\", \"order\": "
            "\"%s\", "
            "\"training\": %s, "
            "\"relu\": %s, \"addend\": %s, \"engine\": \"%s\", \"out_order\": \"%s\", \"failed\": %s",
            c->op, c->what, shape, tutti_precision_name(at->precision), tutti_order_name(at->order),
            at->training ? "true" : "false", at->relu ? "true" : "false", at->addend ? "true" : "false", r->engine,
            r->order, r->failed ? "true" : "false");
    if (r->failed) fprintf(s->json, ", \"pass\": \"%s\", \"why\": \"%s\"", tutti_kernel_pass_name(r->pass), r->why);
    for (int p = 0; p < TUTTI_NPASSES; p++) {
        if (r->error[p] < 0 && r->seconds[p] <= 0) continue;
        fprintf(s->json, ", \"%s\": {", tutti_kernel_pass_name((tutti_kernel_pass)p));
        if (isfinite(r->error[p])) fprintf(s->json, "\"error\": %.3g, \"l2\": %.3g, ", r->error[p], r->l2[p]);
        fprintf(s->json, "\"seconds\": %.6g, \"flops\": %.6g, \"bytes\": %.6g}", r->seconds[p], r->flops[p],
                r->bytes[p]);
    }
    fprintf(s->json, "}\n");
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

/* A compiler's words have lines and quotes. */
static void keep_words(const char *text, char *out, size_t nbytes)
{
    snprintf(out, nbytes, "%.230s", text);
    for (char *at = out; *at; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ') *at = ' ';
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
        if (!is_listed(s->o->ops, c->op) || (s->o->quick && !c->quick)) continue;
        for (int n = 0; gpu_setting_at(c, n, &at) && !st; n++) {
            if (!is_listed(s->o->precisions, tutti_precision_name(at.precision))) continue;
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

/* A whole number of at least that, or false. */
static bool read_count(const char *text, int least, int *out)
{
    char *end = NULL;
    const long value = strtol(text, &end, 10);
    *out = (int)value;
    return end != text && !*end && value >= least && value <= INT32_MAX;
}

static bool read_seconds(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && !*end && *out > 0;
}

static bool read_options(int argc, char **argv, options *o)
{
    static const struct option longs[] = {{"device", 1, NULL, 'd'},
                                          {"card", 1, NULL, 'c'},
                                          {"engine", 1, NULL, 'e'},
                                          {"ops", 1, NULL, 'o'},
                                          {"precisions", 1, NULL, 'p'},
                                          {"quick", 0, NULL, 'q'},
                                          {"all", 0, NULL, 'a'},
                                          {"repeats", 1, NULL, 'r'},
                                          {"limit-s", 1, NULL, 'l'},
                                          {"json", 1, NULL, 'j'},
                                          {0}};
    *o = (options){.device = "cuda", .engine = "auto", .repeats = REPEATS, .limit_s = 1e9};
    bool good = true;
    for (int opt; good && (opt = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        switch (opt) {
        case 'd': o->device = optarg; break;
        case 'c': good = read_count(optarg, 0, &o->card); break;
        case 'e': o->engine = optarg; break;
        case 'o': o->ops = optarg; break;
        case 'p': o->precisions = optarg; break;
        case 'q': o->quick = true; break;
        case 'a': o->all = true; break;
        case 'r': good = read_count(optarg, 0, &o->repeats); break;
        case 'l': good = read_seconds(optarg, &o->limit_s); break;
        case 'j': o->json = optarg; break;
        default: return false;
        }
    }
    return good && optind == argc;
}

static tutti_status run_all(session *s, tutti_failure *err)
{
    const options *o = s->o;
    const tutti_status st = tutti_device_connect(o->device, o->card, &s->bench.device, NULL, err);
    if (st) return st;
    if (o->json && !(s->json = strcmp(o->json, "-") ? fopen(o->json, "w") : stdout))
        return tutti_fail(err, TUTTI_ERR_USAGE, "cannot write %s", o->json);
    s->end = tutti_clock_s() + o->limit_s;
    const tutti_status ran = run_cases(s);
    if (ran) s->bench.device->check(s->bench.device, err);
    if (s->json && s->json != stdout) fclose(s->json);
    print_table(s);
    tutti_device_disconnect(s->bench.device);
    return ran;
}

int main(int argc, char **argv)
{
    options o;
    tutti_failure err = {0};
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr, "usage: bench_gpu_ops [--device cuda|cpu] [--card N] [--engine NAME] [--ops conv,dense] "
                        "[--precisions f32,bf16] [--quick] [--all] [--repeats N] [--limit-s S] [--json FILE]\n");
        return TUTTI_ERR_USAGE;
    }
    session s = {.o = &o,
                 .bench = {.engine = o.engine, .nthreads = (int)sysconf(_SC_NPROCESSORS_ONLN), .repeats = o.repeats}};
    const tutti_status st = run_all(&s, &err);
    if (st) fprintf(stderr, "bench_gpu_ops: %s\n", err.text);
    return st ? (int)st : s.nfailed > 0 || s.nrun == 0;
}
