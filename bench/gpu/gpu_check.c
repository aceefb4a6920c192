/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_check.c: one case in one setting on a device and on the CPU, and whether the numbers agree.
 *
 * The device's passes are run twice and must give the same bits. Then they are run in the other ways that a plan may
 * use: in place and with a gradient in parts they must give the same bits again; without gradients of parameters or of
 * inputs they must agree with the CPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_side.h"
#include "kernel/choose/candidate.h"
#include "kernel/choose/memory_order.h"

/* A result is a vector that a run has left, as the host sees it. */
enum { MAX_RESULTS = 1 + TUTTI_MAX_OP_INPUTS + TUTTI_MAX_OP_PARAMS };
typedef struct {
    gpu_vector v;
    float *x;
    int64_t n;
} result;
typedef struct {
    result of[MAX_RESULTS];
    int n;
} results;

static void release_results(results *r)
{
    for (int i = 0; i < r->n; i++) free(r->of[i].x);
    *r = (results){0};
}

static const result *find_result(const results *r, gpu_vector v)
{
    for (int i = 0; i < r->n; i++)
        if (r->of[i].v.kind == v.kind && r->of[i].v.which == v.which) return &r->of[i];
    return NULL;
}

/* ---- running ---- */

/* Appends the results of the forward pass, or else those of the backward passes, to r. Outputs are read before
 * backward, because they may be replaced then. */
static void read_results(const gpu_side *s, gpu_way way, bool of_forward, results *r)
{
    gpu_vector v;
    for (int i = 0; gpu_side_vector_at(s, way, i, &v); i++) {
        if ((v.kind == GPU_OUT || v.kind == GPU_LOSS) != of_forward) continue;
        result *to = &r->of[r->n++];
        to->v = v;
        to->x = gpu_side_read(s, way, v, &to->n);
    }
}

/* Runs forward and, in training, backward. other: a run whose output backward reads; NULL: backward reads its own. */
static results run_passes(gpu_side *s, gpu_way way, const results *other)
{
    results r = {0};
    const result *out = other ? find_result(other, (gpu_vector){GPU_OUT, 0}) : NULL;
    gpu_side_forward(s, way);
    read_results(s, way, true, &r);
    if (!s->work.args.training) return r;
    if (out && s->k.backward_reads & TUTTI_READS_OUTPUT) gpu_side_replace_out(s, out->x);
    gpu_side_backward(s, way);
    read_results(s, way, false, &r);
    return r;
}

/* ---- judging ---- */

typedef struct {
    const gpu_side *side;
    const gpu_setting *at;
    gpu_outcome *out;
    bool is_quick;
} judge;

/* The number of terms of the longest sum of a pass. */
static double terms_of(const tutti_kernel *k, tutti_kernel_pass pass)
{
    const double plane = k->out.shape.ndims == 4 ? (double)(k->out.shape.dim[2] * k->out.shape.dim[3]) : 1,
                 outputs = (double)k->in[0].shape.dim[0] * plane;
    return pass == TUTTI_PASS_PARAMS && k->nparams ? outputs : tutti_candidate_flops(k) / 2 / outputs;
}

static bool is_winograd(const tutti_kernel *k, tutti_kernel_pass pass)
{
    const char *name = k->chosen[pass].name;
    return name && !strncmp(name, "winograd", strlen("winograd"));
}

/* Sets the bounds of error and L2 for a pass. f32 keeps 24 bits: a sum of n terms in any order is off by some sqrt(n)
 * roundings of 6e-8, which is 6e-5 beyond a million terms. LRN takes a power of a sum, batch norm divides by a root of
 * a difference of sums, and Winograd's factors are no small integers: these have the wider bound. In 16 bits the output
 * is rounded once, by at most half of the last place: 2e-3 (bf16) and 2.5e-4 (f16) of the largest; roundings between
 * passes add to that. */
static void find_bounds(const judge *j, tutti_kernel_pass pass, double *most, double *most_l2)
{
    static const double bounds[TUTTI_NPRECISIONS] = {2e-5, 2e-2, 3e-3}, l2[TUTTI_NPRECISIONS] = {2e-5, 5e-3, 1e-3};
    const tutti_kernel *k = &j->side->k;
    const bool is_long = k->op == &tutti_op_lrn || k->op == &tutti_op_batch_norm || terms_of(k, pass) > 1e6;
    *most = bounds[j->at->precision], *most_l2 = l2[j->at->precision];
    if (j->at->precision == TUTTI_PRECISION_F32 && (is_long || is_winograd(k, pass))) *most = *most_l2 = 1e-4;
}

static void name_vector(const judge *j, gpu_vector v, char out[48])
{
    if (v.kind == GPU_OUT) snprintf(out, 48, "output");
    if (v.kind == GPU_LOSS) snprintf(out, 48, "loss");
    if (v.kind == GPU_DIN) snprintf(out, 48, "gradient of input %d", v.which + 1);
    if (v.kind == GPU_DPARAM) snprintf(out, 48, "gradient of %s", j->side->k.params[v.which].name);
}

static const char *way_text(gpu_way way)
{
    static const char *const texts[GPU_NWAYS] = {"", ", in place", ", without gradients of parameters",
                                                 ", without gradients of inputs", ", with a gradient in parts"};
    return texts[way];
}

/* The first failure stands. */
static void fail_with(const judge *j, tutti_kernel_pass pass, const char *why)
{
    if (j->out->failed) return;
    j->out->failed = true, j->out->pass = pass;
    snprintf(j->out->why, sizeof j->out->why, "%s", why);
}

/* A distance is infinite where an element is not a number, or where all wanted elements are 0 and others are not. */
typedef struct {
    double most; /* largest difference by the largest wanted element */
    double l2;   /* norm of the difference by the norm of what is wanted */
    int64_t at;  /* element of the largest difference */
} distance;

static distance measure(const float *want, const float *got, int64_t n)
{
    double largest = 0, apart = -1, squares = 0, norm = 0;
    distance d = {0};
    for (int64_t i = 0; i < n; i++) {
        const double error = fabs((double)got[i] - (double)want[i]);
        if (!isfinite(got[i]) || !isfinite(want[i])) return (distance){HUGE_VAL, HUGE_VAL, i};
        if (error > apart) apart = error, d.at = i;
        if (fabs((double)want[i]) > largest) largest = fabs((double)want[i]);
        squares += error * error, norm += (double)want[i] * (double)want[i];
    }
    if (apart <= 0) return d;
    d.most = largest > 0 ? apart / largest : HUGE_VAL, d.l2 = norm > 0 ? sqrt(squares / norm) : HUGE_VAL;
    return d;
}

/* Holds numbers of the device against the CPU's. The number of right samples is counted, not rounded: it must be
 * equal. */
static void judge_numbers(const judge *j, gpu_way way, const result *want, const result *got)
{
    char name[48], why[240];
    double most, most_l2;
    const tutti_kernel_pass pass = gpu_side_pass_of(j->side, got->v);
    const bool is_loss = got->v.kind == GPU_LOSS;
    const distance d = measure(want->x, got->x, is_loss ? 1 : got->n);
    gpu_outcome *o = j->out;
    find_bounds(j, pass, &most, &most_l2);
    name_vector(j, got->v, name);
    if (d.most > o->error[pass]) o->error[pass] = d.most;
    if (d.l2 > o->l2[pass]) o->l2[pass] = d.l2;
    if (is_loss && want->x[1] != got->x[1]) {
        snprintf(why, sizeof why, "%g samples are right, not %g", (double)got->x[1], (double)want->x[1]);
        fail_with(j, pass, why);
    }
    if (d.most <= most && d.l2 <= most_l2) return;
    snprintf(why, sizeof why,
             "%s%s: off by %.2g of the largest (at most %.0e), %.2g in L2 (%.0e); [%lld] is %.9g, not %.9g", name,
             way_text(way), d.most, most, d.l2, most_l2, (long long)d.at, (double)got->x[d.at], (double)want->x[d.at]);
    fail_with(j, pass, why);
}

static void judge_bits(const judge *j, const char *how, const result *want, const result *got)
{
    char name[48], why[240];
    int64_t i = 0;
    while (i < got->n && !memcmp(&want->x[i], &got->x[i], sizeof *got->x)) i++;
    if (i == got->n) return;
    name_vector(j, got->v, name);
    snprintf(why, sizeof why, "%s%s: other bits; [%lld] is %.9g, not %.9g", name, how, (long long)i, (double)got->x[i],
             (double)want->x[i]);
    fail_with(j, gpu_side_pass_of(j->side, got->v), why);
}

static void judge_way(const judge *j, gpu_way way, const results *device, const results *cpu, results *got)
{
    const bool same_bits = way == GPU_IN_PLACE || way == GPU_IN_PARTS;
    for (int i = 0; i < got->n; i++) {
        const result *r = &got->of[i], *want = find_result(same_bits ? device : cpu, r->v);
        if (same_bits)
            judge_bits(j, way_text(way), want, r);
        else
            judge_numbers(j, way, want, r);
    }
    release_results(got);
}

/* ---- a case ---- */

/* Chooses who computes on the CPU: plain loops where they are fast enough, else kernels that other tests compare with
 * plain loops. */
static const char *cpu_engine(const gpu_side *device)
{
    const bool product = device->k.op == &tutti_op_conv || device->k.op == &tutti_op_dense;
    if (product) return tutti_candidate_flops(&device->k) < 1e8 ? "reference" : "onednn";
    return tutti_shape_count(&device->k.in[0].shape) < 300000 ? "reference" : "auto";
}

static double value_bytes(const tutti_kernel *k, bool read_again)
{
    double bytes = 0;
    for (int i = 0; i < k->ninputs; i++)
        if (!read_again || tutti_kernel_reads_again(k, i)) bytes += (double)k->in[i].bytes;
    if (!read_again || k->backward_reads & TUTTI_READS_OUTPUT) bytes += (double)k->out.bytes;
    for (int p = 0; p < k->nparams; p++) bytes += (double)k->params[p].elements * sizeof(float);
    return bytes;
}

static void measure_passes(gpu_side *s, int repeats, gpu_outcome *o)
{
    const tutti_kernel *k = &s->k;
    double gradients = (double)k->out.bytes;
    for (int i = 0; i < k->ninputs; i++)
        if (!(k->passes_gradient >> i & 1)) gradients += (double)k->in[i].bytes;
    gpu_side_forward(s, GPU_ALL);
    for (int p = 0; p < TUTTI_NPASSES; p++) {
        if (p != TUTTI_PASS_FORWARD && !s->work.args.training) continue;
        o->seconds[p] = gpu_side_time(s, (tutti_kernel_pass)p, repeats);
        const bool joint = p == TUTTI_PASS_PARAMS && k->joint_backward;
        o->flops[p] = tutti_candidate_flops(k) * (joint ? 2 : 1);
        o->bytes[p] = p == TUTTI_PASS_FORWARD  ? value_bytes(k, false)
                      : p == TUTTI_PASS_PARAMS ? value_bytes(k, true) + (joint ? gradients : (double)k->out.bytes)
                                               : value_bytes(k, true) + gradients;
    }
}

static void run_ways(const judge *j, gpu_side *device, const results *first, const results *cpu)
{
    results again = run_passes(device, GPU_ALL, NULL);
    for (int i = 0; i < again.n; i++) judge_bits(j, ", run again", &first->of[i], &again.of[i]);
    release_results(&again);
    for (int way = GPU_ALL + 1; way < GPU_NWAYS; way++) {
        const bool is_long = !j->is_quick && (way == GPU_DATA_ONLY || way == GPU_PARAMS_ONLY);
        if (!gpu_side_has(device, j->at, (gpu_way)way) || (is_long && j->at->precision != TUTTI_PRECISION_BF16))
            continue;
        results got = run_passes(device, (gpu_way)way, NULL);
        judge_way(j, (gpu_way)way, first, cpu, &got);
    }
}

static void compare_sides(const judge *j, gpu_side *device, gpu_side *cpu)
{
    char where[32], why[80];
    results got = run_passes(device, GPU_ALL, NULL), want = run_passes(cpu, GPU_ALL, &got);
    for (int i = 0; i < want.n; i++) judge_numbers(j, GPU_ALL, &want.of[i], find_result(&got, want.of[i].v));
    run_ways(j, device, &got, &want);
    if (!gpu_side_guards_hold(device, where)) {
        snprintf(why, sizeof why, "writes outside of '%s'", where);
        fail_with(j, TUTTI_PASS_FORWARD, why);
    }
    release_results(&got), release_results(&want);
}

static void name_rows(const tutti_kernel *k, gpu_outcome *out)
{
    const char *last = "";
    for (int p = 0; p < TUTTI_NPASSES; p++) {
        const char *name = k->chosen[p].name;
        const size_t n = strlen(out->engine);
        if (name && strcmp(name, last) != 0)
            snprintf(out->engine + n, sizeof out->engine - n, "%s%s", n ? " " : "", name);
        if (name) last = name;
    }
    snprintf(out->order, sizeof out->order, "%s", tutti_order_name(tutti_order_of(&k->out)));
}

tutti_status gpu_check(const gpu_bench *b, const gpu_case *c, const gpu_setting *at, gpu_outcome *out,
                       tutti_failure *err)
{
    gpu_side device, cpu = {0};
    const judge j = {&device, at, out, c->quick};
    const gpu_place own = {b->device, b->engine, b->nthreads, at->precision, at->order, b->layer};
    gpu_place plain = {tutti_device_cpu(), NULL, b->nthreads, TUTTI_PRECISION_F32, TUTTI_ORDER_NCHW, b->layer};
    *out = (gpu_outcome){.error = {-1, -1, -1}, .l2 = {-1, -1, -1}};
    tutti_status st = gpu_side_open(&device, &own, c, at, err);
    if (st == TUTTI_OK) {
        name_rows(&device.k, out);
        plain.engine = cpu_engine(&device);
        st = gpu_side_open(&cpu, &plain, c, at, err);
    }
    if (st == TUTTI_OK) {
        compare_sides(&j, &device, &cpu);
        if (b->repeats) measure_passes(&device, b->repeats, out);
        st = b->device->check(b->device, err);
    }
    gpu_side_close(&device), gpu_side_close(&cpu);
    return st;
}
