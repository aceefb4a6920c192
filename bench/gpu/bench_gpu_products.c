/* SPDX-License-Identifier: Apache-2.0 */
/* bench_gpu_products.c: three ways to C (m, n) = A (m, k) B (n, k)^T on a card, which is what dense computes forward:
 * by the library with B as it lies (nt), with B transposed first (tnn), and by what is chosen when nobody asks (auto).
 * After Shi, Xu, Chu, arXiv 1702.03192. usage: bench_gpu_products [--device cuda|cpu] [--card N] [--precision P]
 * [--ways NT,TNN] [--least E] [--most E] [--limit-s S] [--json FILE]
 *
 * Sides are all powers of two from 2^7 to 2^13 (--least, --most). Sizes come in a shuffled order that is always the
 * same, so that a limit leaves out sizes of all kinds. The ways take turns, a round of runs behind each other at a
 * time; a way's shortest round counts, by the host's clock. The program prints a line for each size where tnn or auto
 * is sooner than nt by 2 % or more, and a summary. --json writes a line a size; "-" puts these among the others. Exit
 * code 1: ways differ in what they compute, or there is none. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu_program.h"
#include "kernel/kernel_impl.h"
#include "tensor/convert.h"
#include "training/run/step/step_work.h"

enum { NT, TNN, AUTO, NWAYS, MOST = 13, ROUNDS = 6, WARM_ROUNDS = 2, LOOKS = 64, MOST_SIZES = 1000 };

typedef struct {
    const char *device, *json;
    tutti_texts ways;
    int64_t card, least, most;
    double limit_s;
    int precision;
} options;

#define FIELD(name) offsetof(options, name)
static const tutti_field fields[] = {
    {"device", TUTTI_FIELD_TEXT, FIELD(device), "cuda", NULL, 1, 0, "cuda or cpu"},
    {"card", TUTTI_FIELD_INT, FIELD(card), "0", NULL, 0, INT32_MAX, "which card"},
    {"precision", TUTTI_FIELD_CHOICE, FIELD(precision), "f32", "f32|bf16|f16", 1, 0, "of A and C"},
    {"ways", TUTTI_FIELD_TEXTS, FIELD(ways), "", NULL, 1, 0,
     "NT,TNN: names of kernels; by the device where none are given"},
    {"least", TUTTI_FIELD_INT, FIELD(least), "7", NULL, 1, MOST, "exponent of the smallest side"},
    {"most", TUTTI_FIELD_INT, FIELD(most), "13", NULL, 1, MOST, "exponent of the largest side"},
    {"limit-s", TUTTI_FIELD_REAL, FIELD(limit_s), "1e9", NULL, 1e-3, 1e9, "no size is begun after so many seconds"},
    {"json", TUTTI_FIELD_TEXT, FIELD(json), "", NULL, 1, 0, "file for a line a size; -: standard output"},
};

typedef struct {
    int64_t m, n, k;
} size;

typedef struct {
    tutti_kernel kernel[NWAYS];
    bool made[NWAYS];
    double seconds[NWAYS];
    float seen[NWAYS][LOOKS];
    int repeats;
} product;

typedef struct {
    const tutti_device *device;
    const char *engine[NWAYS];
    tutti_precision precision;
    char *a, *b, *c, *scratch; /* memory of the device */
    size_t bytes, scratch_bytes;
    /* Each kernel gets another one: a queue that knows work by its arguments must not take it for an older kernel's. */
    uint32_t layer;
    FILE *json;
    int nsizes, ndifferent;
    double sum[NWAYS], best; /* seconds over sizes that all ways can do; best: of the soonest way of each size */
    double gain;             /* the largest nt / tnn */
} session;

/* ---- memory ---- */

/* Takes s->bytes of the device and fills them with numbers in [-1, 1) of the type. NULL: there is no memory. */
static char *fill(const session *s, tutti_dtype type)
{
    enum { CHUNK = 1 << 20 };
    float *plain = tutti_alloc(CHUNK * sizeof *plain);
    char *own = tutti_alloc(CHUNK * sizeof *plain), *at = s->device->allocate(s->device, s->bytes);
    const size_t chunk = CHUNK * tutti_dtype_bytes(type);
    uint32_t z = 1;
    for (int i = 0; i < CHUNK; i++) z = z * 1664525u + 1013904223u, plain[i] = (float)(int32_t)z * 0x1p-31f;
    tutti_convert_from_f32(type, plain, own, CHUNK);
    for (size_t done = 0; at && done < s->bytes; done += chunk)
        s->device->copy(s->device, &(char *){at + done}, 1, own, s->bytes - done < chunk ? s->bytes - done : chunk,
                        false);
    s->device->finish(s->device);
    free(plain), free(own);
    return at;
}

static bool take_memory(session *s, const options *o)
{
    s->bytes = sizeof(float) << 2 * o->most;
    s->a = fill(s, tutti_precision_dtype(s->precision));
    s->b = fill(s, TUTTI_F32);
    s->c = s->device->allocate(s->device, s->bytes);
    return s->a && s->b && s->c;
}

static bool take_scratch(session *s, size_t nbytes)
{
    if (nbytes <= s->scratch_bytes && s->scratch) return true;
    s->device->release(s->device, s->scratch, s->scratch_bytes);
    s->scratch_bytes = nbytes + 64;
    s->scratch = s->device->allocate(s->device, s->scratch_bytes);
    return s->scratch;
}

static void give_memory_back(session *s)
{
    const tutti_device *d = s->device;
    d->release(d, s->a, s->bytes), d->release(d, s->b, s->bytes), d->release(d, s->c, s->bytes);
    d->release(d, s->scratch, s->scratch_bytes);
}

/* ---- one size ---- */

/* Makes the kernel of a way. false: it cannot be made, or another way's came in its stead. */
static bool make(session *s, const size *at, int way, const tutti_dense_attrs *attrs, tutti_kernel *k)
{
    tutti_value in = tutti_value_plain(&(tutti_shape){2, {at->m, at->k}});
    in.dtype = tutti_precision_dtype(s->precision);
    in.bytes = in.bytes / sizeof(float) * tutti_dtype_bytes(in.dtype);
    const tutti_kernel_request r = {.engine = s->engine[way],
                                    .op = &tutti_op_dense,
                                    .attrs = attrs,
                                    .in = &in,
                                    .nin = 1,
                                    .precision = s->precision,
                                    .nthreads = (int)sysconf(_SC_NPROCESSORS_ONLN),
                                    .device = s->device};
    tutti_failure err = {0};
    if (tutti_kernel_create(&r, k, &err)) return false;
    const bool is_it = way == AUTO || !strcmp(k->chosen[TUTTI_PASS_FORWARD].name, s->engine[way]);
    if (is_it && take_scratch(s, k->scratch_bytes)) return true;
    tutti_kernel_destroy(k);
    return false;
}

static double run(session *s, tutti_kernel *k, uint32_t layer, int repeats)
{
    const tutti_kernel_work work = {k,
                                    {.in = {s->a},
                                     .out = s->c,
                                     .param = {(const float *)(const void *)s->b},
                                     .scratch = s->scratch,
                                     .layer = layer}};
    const double begin = tutti_clock_s();
    for (int i = 0; i < repeats; i++) tutti_work_launch(s->device, TUTTI_WORK_FORWARD, &work);
    s->device->finish(s->device);
    return (tutti_clock_s() - begin) / repeats;
}

/* Reads LOOKS elements of the product that lie evenly over all of it. */
static void look(const session *s, const size *at, float seen[LOOKS])
{
    const tutti_dtype type = tutti_precision_dtype(s->precision);
    for (int64_t i = 0; i < LOOKS; i++) {
        const int64_t element = (at->m * at->n - 1) * i / (LOOKS - 1);
        float there;
        s->device->look(s->device, &there, s->c + (size_t)element * tutti_dtype_bytes(type), tutti_dtype_bytes(type));
        tutti_convert_to_f32(type, &there, &seen[i], 1);
    }
}

/* Whether two ways saw the same but for rounding. Sums of k products of numbers in [-1, 1) are about sqrt(k) / 3
 * large. */
static bool agree(const session *s, const size *at, const float *a, const float *b)
{
    static const double most[TUTTI_NPRECISIONS] = {1e-5, 2e-2, 3e-3};
    for (int i = 0; i < LOOKS; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= most[s->precision] * (fabs((double)a[i]) + sqrt((double)at->k))))
            return false;
    return true;
}

static void measure(session *s, const size *at, product *p)
{
    const double rate = s->device->kind == TUTTI_DEVICE_CUDA ? 2e13 : 5e10, window = 2e-3;
    const double each = 2 * (double)at->m * (double)at->n * (double)at->k / rate + 5e-6;
    const uint32_t first = s->layer;
    p->repeats = each * 50 < window ? 50 : window / each < 2 ? 2 : (int)(window / each);
    s->layer += NWAYS;
    for (int round = 0; round < ROUNDS; round++)
        for (int turn = 0; turn < NWAYS; turn++) {
            const int way = (turn + round) % NWAYS;
            if (!p->made[way]) continue;
            const double seconds = run(s, &p->kernel[way], first + (uint32_t)way, p->repeats);
            if (round == 0) look(s, at, p->seen[way]);
            if (round == WARM_ROUNDS || (round > WARM_ROUNDS && seconds < p->seconds[way])) p->seconds[way] = seconds;
        }
}

static const char *const way_names[NWAYS] = {"nt", "tnn", "auto"};

static void write_json(const session *s, const size *at, const product *p, const char *chosen, bool different)
{
    tutti_strbuf text = {0};
    tutti_json j = {.out = &text};
    if (!s->json) return;
    tutti_json_open(&j, NULL, '{');
    tutti_json_text(&j, "ev", "product");
    tutti_json_int(&j, "m", at->m);
    tutti_json_int(&j, "n", at->n);
    tutti_json_int(&j, "k", at->k);
    tutti_json_text(&j, "precision", tutti_precision_name(s->precision));
    tutti_json_text(&j, "chosen", chosen);
    tutti_json_int(&j, "repeats", p->repeats);
    for (int way = 0; way < NWAYS; way++)
        if (p->made[way]) tutti_json_real(&j, way_names[way], p->seconds[way]);
    if (different) tutti_json_bool(&j, "different", true);
    gpu_write_line(s->json, &j);
}

static void report(const session *s, const size *at, const product *p, bool different)
{
    const double flops = 2 * (double)at->m * (double)at->n * (double)at->k;
    const char *chosen = p->made[AUTO] ? p->kernel[AUTO].chosen[TUTTI_PASS_FORWARD].name : "none";
    write_json(s, at, p, chosen, different);
    const double nt = p->made[NT] ? p->seconds[NT] : 0;
    for (int way = TNN; way < NWAYS; way++)
        if (p->made[way] && nt > 1.02 * p->seconds[way])
            printf("%5lld %5lld %5lld: %s (%s) %.4g us, %.3g TFLOP/s, nt %.4g us: x %.2f\n", (long long)at->m,
                   (long long)at->n, (long long)at->k, way_names[way], way == AUTO ? chosen : s->engine[way],
                   p->seconds[way] * 1e6, flops / p->seconds[way] * 1e-12, nt * 1e6, nt / p->seconds[way]);
    if (different) printf("%5lld %5lld %5lld: ways differ\n", (long long)at->m, (long long)at->n, (long long)at->k);
}

static void add_up(session *s, const product *p)
{
    s->nsizes++;
    if (!p->made[NT] || !p->made[TNN] || !p->made[AUTO]) return;
    const double sooner = fmin(p->seconds[NT], p->seconds[TNN]), gain = p->seconds[NT] / p->seconds[TNN];
    for (int way = 0; way < NWAYS; way++) s->sum[way] += p->seconds[way];
    s->best += fmin(sooner, p->seconds[AUTO]);
    s->gain = fmax(s->gain, gain);
}

static void run_size(session *s, const size *at)
{
    const tutti_dense_attrs attrs = {.units = at->n};
    product p = {.repeats = 0};
    bool different = false;
    int first = -1;
    for (int way = 0; way < NWAYS; way++) p.made[way] = make(s, at, way, &attrs, &p.kernel[way]);
    measure(s, at, &p);
    for (int way = 0; way < NWAYS; way++) {
        if (!p.made[way]) continue;
        if (first < 0) first = way;
        different = different || !agree(s, at, p.seen[first], p.seen[way]);
    }
    s->ndifferent += different || first < 0;
    report(s, at, &p, different);
    add_up(s, &p);
    for (int way = 0; way < NWAYS; way++)
        if (p.made[way]) tutti_kernel_destroy(&p.kernel[way]);
}

/* ---- all sizes ---- */

static int list_sizes(const options *o, size out[MOST_SIZES])
{
    const int64_t each = o->most - o->least + 1;
    int n = 0;
    uint32_t z = 7;
    for (int64_t i = 0; i < each * each * each && n < MOST_SIZES; i++)
        out[n++] = (size){(int64_t)1 << (o->least + i % each), (int64_t)1 << (o->least + i / each % each),
                          (int64_t)1 << (o->least + i / each / each)};
    for (int i = n - 1; i > 0; i--) {
        z = z * 1664525u + 1013904223u;
        const int other = (int)((uint64_t)z * (uint64_t)(i + 1) >> 32);
        const size kept = out[i];
        out[i] = out[other], out[other] = kept;
    }
    return n;
}

static tutti_status run_sizes(session *s, const options *o, tutti_failure *err)
{
    size sizes[MOST_SIZES];
    const int n = list_sizes(o, sizes);
    const double end = tutti_clock_s() + o->limit_s;
    tutti_status st = TUTTI_OK;
    if (!take_memory(s, o))
        return tutti_fail(err, TUTTI_ERR_FAILED, "the device has no memory for products of 2^%d", (int)o->most);
    for (int i = 0; i < n && !st && tutti_clock_s() < end; i++) {
        run_size(s, &sizes[i]);
        st = s->device->check(s->device, err);
    }
    printf("%d of %d sizes; always nt %.4g s, tnn %.4g s, auto %.4g s, the soonest of each %.4g s; largest nt / tnn "
           "%.2f; %d differ or have no way\n",
           s->nsizes, n, s->sum[NT], s->sum[TNN], s->sum[AUTO], s->best, s->gain, s->ndifferent);
    return st;
}

static tutti_status name_ways(session *s, const options *o, tutti_failure *err)
{
    const bool card = s->device->kind == TUTTI_DEVICE_CUDA;
    if (o->ways.n != 0 && o->ways.n != 2) return tutti_fail(err, TUTTI_ERR_USAGE, "--ways wants two names, NT,TNN");
    s->engine[NT] = o->ways.n ? o->ways.values[0] : card ? "cublaslt" : "nt";
    s->engine[TNN] = o->ways.n ? o->ways.values[1] : card ? "cuda-tnn" : "tnn";
    s->engine[AUTO] = "auto";
    return TUTTI_OK;
}

static tutti_status run_all(session *s, const options *o, tutti_failure *err)
{
    if (o->least > o->most) return tutti_fail(err, TUTTI_ERR_USAGE, "--least is more than --most");
    s->precision = (tutti_precision)o->precision;
    tutti_status st = tutti_device_connect(o->device, (int)o->card, &s->device, NULL, err);
    if (st) return st;
    st = name_ways(s, o, err);
    if (!st) st = gpu_open_lines(o->json, &s->json, err);
    if (!st) st = run_sizes(s, o, err);
    gpu_close_lines(s->json);
    give_memory_back(s);
    tutti_device_disconnect(s->device);
    return st;
}

int main(int argc, char **argv)
{
    static const tutti_field_table table = {fields, sizeof fields / sizeof *fields};
    options o;
    session s = {.layer = 1};
    tutti_arena arena = {0};
    tutti_failure err = {0};
    if (gpu_read_options(&table, argc, argv, &arena, &o)) return TUTTI_ERR_USAGE;
    const tutti_status st = run_all(&s, &o, &err);
    if (st) fprintf(stderr, "bench_gpu_products: %s\n", err.text);
    tutti_arena_release(&arena);
    return st ? (int)st : s.ndifferent > 0 || s.nsizes == 0;
}
