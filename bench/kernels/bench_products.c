/* SPDX-License-Identifier: Apache-2.0 */
/* bench_products.c: matrix products of our own against those of libraries, one thread, sizes of networks. usage:
 * bench_products ROW [--only WORD] [--rounds N] [--openblas LIBRARY.so]
 *
 * A line a size: name, turned or not, whether B is a weight, m, n, k, batch; microseconds of ours with B as it lies and
 * with B packed before, of dnnl_sgemm, oneDNN's matmul, matmul with B in the order that it likes, OpenBLAS; 0: it has
 * none. Ours and theirs run in turn; the least CPU time of this thread counts. First line: the peak of a loop of
 * multiply-adds, in 10^9 a second. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "kernel/gemm/gemm.h"
#include "product_peak.h"
#include "tensor/convert.h"

enum { MOST_ARGS = 3 };
/* Seconds: of what is timed at once, because clocks of CPU time are coarse; of a round of a size. */
static const double LEAST_S = 1e-3, ROUND_S = 0.02;

extern void omp_set_num_threads(int n); /* of libgomp, which oneDNN computes with */

typedef struct {
    const char *name;
    int64_t m, n, k;
    bool ta, tb;
    int64_t batch;
    bool is_weight; /* B, which changes once a step */
} size;

/* ResNet-50 at batch 16: rows are positions, columns output channels; d weights: (out, in) over positions; d input as
 * forward with weights turned. Weights lie (out, in). */
static const size sizes[] = {
    {"resnet50 2a 64-64", 50176, 64, 64, false, true, 1, true},
    {"resnet50 2c 64-256", 50176, 256, 64, false, true, 1, true},
    {"resnet50 2b 256-64", 50176, 64, 256, false, true, 1, true},
    {"resnet50 3c 128-512", 12544, 512, 128, false, true, 1, true},
    {"resnet50 3b 512-128", 12544, 128, 512, false, true, 1, true},
    {"resnet50 4c 256-1024", 3136, 1024, 256, false, true, 1, true},
    {"resnet50 4b 1024-256", 3136, 256, 1024, false, true, 1, true},
    {"resnet50 5c 512-2048", 784, 2048, 512, false, true, 1, true},
    {"resnet50 5b 2048-512", 784, 512, 2048, false, true, 1, true},
    {"resnet50 3c d weights", 512, 128, 12544, true, false, 1, false},
    {"resnet50 4c d weights", 1024, 256, 3136, true, false, 1, false},
    {"resnet50 5c d weights", 2048, 512, 784, true, false, 1, false},
    {"resnet50 3c d input", 12544, 128, 512, false, false, 1, true},
    {"resnet50 4c d input", 3136, 256, 1024, false, false, 1, true},
    {"resnet50 5c d input", 784, 512, 2048, false, false, 1, true},
    {"alexnet fc6, b64", 64, 4096, 9216, false, true, 1, true},
    {"alexnet fc7, b64", 64, 4096, 4096, false, true, 1, true},
    {"alexnet fc8, b64", 64, 1000, 4096, false, true, 1, true},
    {"alexnet fc7 d weights", 4096, 4096, 64, true, false, 1, false},
    {"alexnet fc7 d input", 64, 4096, 4096, false, false, 1, true},
    {"lenet ip1, b64", 64, 500, 800, false, true, 1, true},
    {"lenet ip2, b64", 64, 10, 500, false, true, 1, true},
    {"lenet ip1 d weights", 500, 800, 64, true, false, 1, false},
    {"fcn5 2048, b64", 64, 2048, 2048, false, true, 1, true},
    {"fcn5 2048 d weights", 2048, 2048, 64, true, false, 1, false},
    {"attention q k, 64 heads", 128, 128, 64, false, true, 64, false},
    {"attention p v, 64 heads", 128, 64, 128, false, false, 64, false},
    {"square 128", 128, 128, 128, false, false, 1, false},
    {"square 256", 256, 256, 256, false, false, 1, false},
    {"square 512", 512, 512, 512, false, false, 1, false},
    {"square 1024", 1024, 1024, 1024, false, false, 1, false},
    {"square 2048", 2048, 2048, 2048, false, false, 1, false},
};

typedef void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                         const float *b, int ldb, float beta, float *c, int ldc);
typedef void cblas_sgemm64(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                           int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

typedef struct {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    cblas_sgemm *blas;
    cblas_sgemm64 *blas64;
} libraries;

/* One product and all that can compute it. */
typedef struct {
    const size *s;
    const libraries *libraries;
    tutti_dtype type;
    tutti_gemm_plan plan, plan_packed;
    tutti_gemm_operands operands, operands_packed;
    void *workspace, *packed;
    dnnl_primitive_t matmul, matmul_packed;
    dnnl_exec_arg_t args[MOST_ARGS], args_packed[MOST_ARGS];
} work;

static void *numbers(int64_t n, tutti_dtype type)
{
    const size_t nbytes = ((size_t)n * sizeof(float) + 127) / 64 * 64;
    float *x = aligned_alloc(64, nbytes);
    void *halves = aligned_alloc(64, nbytes);
    for (int64_t i = 0; i < n; i++) x[i] = (float)((int)((uint32_t)i * 2654435761u >> 8) % 2001 - 1000) * 1e-3f;
    if (type == TUTTI_F32) {
        free(halves);
        return x;
    }
    tutti_convert_from_f32(type, x, halves, n);
    free(x);
    return halves;
}

/* ---- ours ---- */

static void run_ours(const work *w)
{
    tutti_gemm_run(&w->plan, &w->operands, w->workspace);
}

static void run_packed(const work *w)
{
    tutti_gemm_run(&w->plan_packed, &w->operands_packed, w->workspace);
}

static int make_ours(work *w, const char *row)
{
    const size *s = w->s;
    tutti_failure err = {0};
    tutti_gemm g = {
        .m = s->m, .n = s->n, .k = s->k, .transpose_a = s->ta, .transpose_b = s->tb, .row = row, .nthreads = 1};
    g.type_a = g.type_b = g.multiplied = w->type;
    g.batch = s->batch;
    if (s->batch > 1) g.apart_a = s->m * s->k, g.apart_b = s->k * s->n, g.apart_c = s->m * s->n;
    if (tutti_gemm_plan_make(&g, &w->plan, &err)) {
        fprintf(stderr, "bench_products: %s\n", err.text);
        return (int)err.status;
    }
    g.packed_b = true;
    tutti_gemm_plan_make(&g, &w->plan_packed, &err);
    w->workspace = aligned_alloc(64, (w->plan.workspace_bytes + w->plan_packed.workspace_bytes + 127) / 64 * 64);
    w->operands = (tutti_gemm_operands){.a = numbers(s->batch * s->m * s->k, w->type),
                                        .b = numbers(s->batch * s->k * s->n, w->type),
                                        .c = numbers(s->batch * s->m * s->n, TUTTI_F32)};
    w->packed = aligned_alloc(64, w->plan_packed.packed_b_bytes * (size_t)s->batch);
    for (int64_t i = 0; i < s->batch; i++)
        tutti_gemm_pack(&w->plan_packed, TUTTI_GEMM_B,
                        (const char *)w->operands.b + (size_t)(i * s->k * s->n) * tutti_dtype_bytes(w->type),
                        (char *)w->packed + (size_t)i * w->plan_packed.packed_b_bytes);
    w->operands_packed = w->operands;
    w->operands_packed.b = w->packed;
    return 0;
}

/* ---- theirs ---- */

static void run_sgemm(const work *w)
{
    const size *s = w->s;
    const int64_t lda = s->ta ? s->m : s->k, ldb = s->tb ? s->k : s->n;
    for (int64_t i = 0; i < s->batch; i++)
        dnnl_sgemm(s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', s->m, s->n, s->k, 1,
                   (const float *)w->operands.a + i * s->m * s->k, lda, (const float *)w->operands.b + i * s->k * s->n,
                   ldb, 0, (float *)w->operands.c + i * s->m * s->n, s->n);
}

static void run_blas(const work *w)
{
    enum { ROW_MAJOR = 101, AS_IS = 111, TURNED = 112 };
    const size *s = w->s;
    const int64_t lda = s->ta ? s->m : s->k, ldb = s->tb ? s->k : s->n;
    const int ta = s->ta ? TURNED : AS_IS, tb = s->tb ? TURNED : AS_IS;
    for (int64_t i = 0; i < s->batch; i++) {
        const float *a = (const float *)w->operands.a + i * s->m * s->k,
                    *b = (const float *)w->operands.b + i * s->k * s->n;
        float *c = (float *)w->operands.c + i * s->m * s->n;
        if (w->libraries->blas64)
            w->libraries->blas64(ROW_MAJOR, ta, tb, s->m, s->n, s->k, 1, a, lda, b, ldb, 0, c, s->n);
        else
            w->libraries->blas(ROW_MAJOR, ta, tb, (int)s->m, (int)s->n, (int)s->k, 1, a, (int)lda, b, (int)ldb, 0, c,
                               (int)s->n);
    }
}

static void run_matmul(const work *w)
{
    dnnl_primitive_execute(w->matmul, w->libraries->stream, MOST_ARGS, w->args);
    dnnl_stream_wait(w->libraries->stream);
}

static void run_matmul_packed(const work *w)
{
    dnnl_primitive_execute(w->matmul_packed, w->libraries->stream, MOST_ARGS, w->args_packed);
    dnnl_stream_wait(w->libraries->stream);
}

static dnnl_memory_desc_t describe(const size *s, int64_t rows, int64_t columns, bool turned, dnnl_data_type_t type)
{
    dnnl_memory_desc_t d = NULL;
    const dnnl_dims_t dims = {s->batch, rows, columns},
                      strides = {rows * columns, turned ? 1 : columns, turned ? rows : 1};
    dnnl_memory_desc_create_with_strides(&d, 3, dims, type, strides);
    return d;
}

/* NULL = it has none. likes: B in the order that it likes, into which it is brought before. */
static dnnl_primitive_t make_matmul(const work *w, bool likes, dnnl_exec_arg_t args[MOST_ARGS])
{
    const size *s = w->s;
    const dnnl_data_type_t type = w->type == TUTTI_BF16 ? dnnl_bf16 : dnnl_f32;
    dnnl_memory_desc_t a = describe(s, s->m, s->k, s->ta, type), b = describe(s, s->k, s->n, s->tb, type),
                       c = describe(s, s->m, s->n, false, dnnl_f32), any = NULL;
    const dnnl_dims_t dims = {s->batch, s->k, s->n};
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t made = NULL;
    dnnl_memory_desc_create_with_tag(&any, 3, dims, type, dnnl_format_tag_any);
    if (dnnl_matmul_primitive_desc_create(&pd, w->libraries->engine, a, likes ? any : b, NULL, c, NULL)) return NULL;
    dnnl_primitive_create(&made, pd);
    dnnl_memory_t ma, mb, mc, lying;
    dnnl_memory_create(&ma, a, w->libraries->engine, (void *)(uintptr_t)w->operands.a);
    dnnl_memory_create(&mc, c, w->libraries->engine, w->operands.c);
    dnnl_memory_create(&lying, b, w->libraries->engine, (void *)(uintptr_t)w->operands.b);
    mb = lying;
    if (likes) {
        dnnl_primitive_desc_t turn = NULL;
        dnnl_primitive_t reorder = NULL;
        const_dnnl_memory_desc_t liked = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
        dnnl_memory_create(&mb, liked, w->libraries->engine, DNNL_MEMORY_ALLOCATE);
        dnnl_reorder_primitive_desc_create(&turn, b, w->libraries->engine, liked, w->libraries->engine, NULL);
        dnnl_primitive_create(&reorder, turn);
        const dnnl_exec_arg_t both[] = {{DNNL_ARG_FROM, lying}, {DNNL_ARG_TO, mb}};
        dnnl_primitive_execute(reorder, w->libraries->stream, 2, both);
        dnnl_stream_wait(w->libraries->stream);
    }
    args[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, ma};
    args[1] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, mb};
    args[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, mc};
    return made;
}

/* ---- measuring ---- */

typedef void runner(const work *w);
enum { NWAYS = 6 };

/* Seconds of one of n. */
static double time_of(runner *way, const work *w, int n)
{
    const double start = product_clock();
    for (int i = 0; i < n; i++) way(w);
    return (product_clock() - start) / n;
}

static int as_often(double seconds, double each)
{
    return seconds > each ? (int)(seconds / each) + 1 : 1;
}

static void measure(const work *w, runner *const *ways, int rounds, double best[NWAYS])
{
    int together[NWAYS], repeats[NWAYS];
    for (int i = 0; i < NWAYS; i++) {
        best[i] = 0;
        if (!ways[i]) continue;
        ways[i](w);
        const double first = time_of(ways[i], w, 1);
        together[i] = as_often(LEAST_S, first);
        best[i] = time_of(ways[i], w, together[i]);
        repeats[i] = as_often(ROUND_S, best[i] * together[i]);
    }
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < NWAYS; i++)
            for (int n = 0; ways[i] && n < repeats[i]; n++) {
                const double taken = time_of(ways[i], w, together[i]);
                if (taken < best[i]) best[i] = taken;
            }
}

static int bench(const size *s, const char *row, const libraries *l, int rounds)
{
    work w = {.s = s, .libraries = l, .type = tutti_gemm_row_type(row)};
    double best[NWAYS];
    const int failed = make_ours(&w, row);
    if (failed) return failed;
    const bool wide = w.type == TUTTI_F32;
    w.matmul = make_matmul(&w, false, w.args);
    w.matmul_packed = make_matmul(&w, true, w.args_packed);
    runner *const ways[NWAYS] = {run_ours,
                                 run_packed,
                                 wide ? run_sgemm : NULL,
                                 w.matmul ? run_matmul : NULL,
                                 w.matmul_packed ? run_matmul_packed : NULL,
                                 wide && (l->blas || l->blas64) ? run_blas : NULL};
    measure(&w, ways, rounds, best);
    printf("%s;%c%c%c;%ld;%ld;%ld;%ld", s->name, s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', s->is_weight ? 'W' : '-',
           (long)s->m, (long)s->n, (long)s->k, (long)s->batch);
    for (int i = 0; i < NWAYS; i++) printf(";%.2f", best[i] * 1e6);
    printf("\n");
    fflush(stdout);
    free((void *)(uintptr_t)w.operands.a), free((void *)(uintptr_t)w.operands.b), free(w.operands.c);
    free(w.workspace), free(w.packed);
    return 0;
}

static bool find_blas(const char *path, libraries *l)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    *(void **)&l->blas = dlsym(library, "cblas_sgemm");
    *(void **)&l->blas64 = dlsym(library, "scipy_cblas_sgemm64_");
    return l->blas || l->blas64;
}

int main(int argc, char **argv)
{
    const char *only = "";
    int rounds = 5;
    libraries l = {0};
    if (argc < 2 || !tutti_gemm_row_is_here(argv[1])) {
        fprintf(stderr, "usage: bench_products ROW [--only WORD] [--rounds N] [--openblas LIBRARY.so]; rows here:");
        for (int i = 0; tutti_gemm_row_name(i); i++)
            if (tutti_gemm_row_is_here(tutti_gemm_row_name(i))) fprintf(stderr, " %s", tutti_gemm_row_name(i));
        fprintf(stderr, "\n");
        return TUTTI_ERR_USAGE;
    }
    for (int i = 2; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--only") == 0)
            only = argv[i + 1];
        else if (strcmp(argv[i], "--rounds") == 0)
            rounds = (int)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--openblas") || !find_blas(argv[i + 1], &l)) {
            fprintf(stderr, "bench_products: %s %s: not an option, or no library with cblas_sgemm\n", argv[i],
                    argv[i + 1]);
            return TUTTI_ERR_USAGE;
        }
    omp_set_num_threads(1);
    dnnl_engine_create(&l.engine, dnnl_cpu, 0);
    dnnl_stream_create(&l.stream, l.engine, dnnl_stream_default_flags);
    printf("peak;%.2f\n", product_peak(argv[1]) * 1e-9);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int failed = strstr(sizes[i].name, only) ? bench(&sizes[i], argv[1], &l, rounds) : 0;
        if (failed) return failed;
    }
    return 0;
}
