/* SPDX-License-Identifier: Apache-2.0 */
/* dense_ways.c: the candidates nt and tnn for the forward pass of dense, C (m, n) = A (m, k) B (n, k)^T. Both call the
 * library's sgemm. They follow Shi, Xu, Chu: Supervised Learning Based Algorithm Selection for Deep Neural Networks
 * (arXiv 1702.03192), who compared them on GPUs:
 *
 *   nt   sgemm reads B as it lies
 *   tnn  B is transposed into scratch first, and sgemm reads the copy: this costs a pass over B, but then sgemm reads
 *        rows that follow each other
 *
 * GFLOP/s of the product alone on one thread of an EPYC (Zen 4), first with B as it lies, then with B transposed
 * before: 48 and 92 for m 64, n 2048, k 26752 (fcn5); 68 and 105 for 64, 500, 800 (LeNet); 99 and 100 for 1024, 1024,
 * 1024. A tree that `tutti tune kernels` grows (nt_selector.h) predicts which way is faster.
 *
 * The input gradient is dout B, and the weight gradient is dout^T A. Neither product contains B^T, so these rows have
 * only a forward pass. */
#include "dense_ways.h"

#include <string.h>

#include "../../tensor/isa.h"
#include "../gemm/gemm.h"
#include "../gemm/transpose.h"
#include "../lanes/lane_value.h"
#include "../library/library_product.h"
#include "nt_selector.h"

typedef struct {
    int64_t m, n, k;
    int nthreads;
    bool turns; /* true for tnn: B is transposed first */
} dense_way;

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, bool turns, tutti_failure *err)
{
    const tutti_dense_attrs *at = k->attrs;
    if (!tutti_dense_ways_fit(k, r, TUTTI_PASS_FORWARD))
        return tutti_fail(err, TUTTI_ERR_USAGE,
                          "op dense has this way with oneDNN, for row-major matrices of f32 alone");
    dense_way *w = tutti_alloc(sizeof *w);
    *w = (dense_way){.m = k->out.shape.dim[0],
                     .n = k->out.shape.dim[1],
                     .k = k->params[0].shape.dim[1],
                     .nthreads = r->nthreads < 1 ? 1 : r->nthreads,
                     .turns = turns};
    k->state = w;
    k->scratch_bytes = turns ? (size_t)(w->n * w->k) * sizeof(float) : 0;
    /* the same values as in the rows that compute the backward passes, so that joined_adapter.c can join both */
    k->backward_reads = TUTTI_READS_INPUT | (at->relu ? TUTTI_READS_OUTPUT : 0u);
    k->writes_dout = k->feeds_data = at->relu;
    return TUTTI_OK;
}

static tutti_status create_nt(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create(k, r, false, err);
}

static tutti_status create_tnn(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    return create(k, r, true, err);
}

/* Writes the bias to each row of C. The product is added to it afterwards. */
static void fill_bias(const dense_way *w, const float *bias, float *c)
{
    for (int64_t i = 0; i < w->m; i++) memcpy(c + i * w->n, bias, (size_t)w->n * sizeof *c);
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    const dense_way *w = k->state;
    const tutti_dense_attrs *at = k->attrs;
    const float *b = a->param[0];
    if (w->turns) {
        tutti_transpose(&(tutti_transposition){TUTTI_F32, TUTTI_F32, b, a->scratch, w->n, w->k}, w->nthreads);
        b = a->scratch;
    }
    if (at->bias) fill_bias(w, a->param[1], a->out);
    tutti_library_multiply(&(tutti_library_product){.m = w->m,
                                                    .n = w->n,
                                                    .k = w->k,
                                                    .a = a->in[0],
                                                    .b = b,
                                                    .c = a->out,
                                                    .b_turned = !w->turns,
                                                    .adds = at->bias,
                                                    .nthreads = w->nthreads});
    if (at->relu)
        tutti_lane_map(tutti_lane_here()->map.relu, &(tutti_map_call){.x = a->out, .to = a->out}, w->m * w->n,
                       w->nthreads);
}

#define WAY(way)                                                                                                       \
    {                                                                                                                  \
        .fuses = true, .create = create_##way, .destroy = tutti_lane_free_state, .forward = forward,                   \
    }
const tutti_kernel_row tutti_dense_nt = WAY(nt);
const tutti_kernel_row tutti_dense_tnn = WAY(tnn);

/* ---- as candidates ---- */

bool tutti_dense_ways_fit(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)pass;
    return tutti_library_multiplies() && r->precision == TUTTI_PRECISION_F32 && k->in[0].dtype == TUTTI_F32 &&
           !k->in[0].layout && !k->params[0].layout;
}

/* Returns the seconds of the library's inner product, or of plain products if there is no library. */
static double usual_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    static const double rate = 4.5e10;
    const double library = tutti_onednn_seconds(k, r, pass);
    return library >= 0 ? library : tutti_candidate_flops(k) / rate / (r->nthreads > 1 ? r->nthreads : 1);
}

/* Estimates the seconds of a way. The selector (nt_selector.h) says which way is the fastest, but not by how much. So
 * the fastest way gets a little less time than the library's inner product, and each other way a little more. If sums
 * must be canonical, measurements are ignored. */
static double seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass, const char *way)
{
    const tutti_nt_size size = {k->in[0].shape.dim[0], k->params[0].shape.dim[0], k->params[0].shape.dim[1]};
    const tutti_tune_file *f = r->tuned && !r->canonical ? r->tuned->file : NULL;
    const tutti_tune_tree *t = f ? tutti_tune_file_tree(f, TUTTI_NT_TREE, "f32") : NULL;
    const char *chosen = tutti_nt_choose(t, f ? &f->place.processor : NULL, &size);
    return usual_seconds(k, r, pass) * (strcmp(chosen, way) == 0 ? 0.95 : 1.05);
}

double tutti_dense_nt_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    return seconds(k, r, pass, "nt");
}

double tutti_dense_tnn_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    return seconds(k, r, pass, "tnn");
}

/* True if gemm computes a gradient faster than the library on a processor with AVX2 but no AVX-512. The library reads
 * weights with a stride. If the stride is a multiple of 2 KiB, the weights compete for the same cache sets. The library
 * is also slow with 256 or 512 inputs, and with few outputs. Each pair of numbers is the speed of the library's inner
 * product, then of gemm, as a part of the peak (16 multiply-adds a cycle), on one thread of an EPYC (Zen 3). A line is
 * a number of rows (m); a column is inputs, outputs:
 *
 *   d weights   256, 256   512, 512   4096, 100   300, 300   1000, 1000   4096, 1024   784, 128
 *   8           0.47 0.55  0.34 0.52                                      0.44 0.37    0.61 0.50
 *   16          0.56 0.72  0.46 0.72  0.35 0.61   0.65 0.66  0.73 0.76    0.64 0.62    0.75 0.64
 *   32          0.56 0.80  0.50 0.82              0.74 0.78  0.83 0.87    0.77 0.79    0.82 0.71
 *   64          0.60 0.83  0.54 0.87  0.41 0.80   0.77 0.81  0.88 0.89    0.86 0.86    0.84 0.75
 *   512         0.62 0.82  0.53 0.88  0.43 0.80   0.78 0.81  0.91 0.91    0.89 0.92    0.83 0.74
 *
 *   d input     256, 256   512, 512   4096, 1024  1024, 4096  1536, 512   25088, 4096  1000, 1000
 *   8           0.68 0.60  0.49 0.58  0.32 0.28   0.34 0.32
 *   16          0.83 0.81  0.61 0.74  0.40 0.46   0.42 0.50   0.62 0.70   0.51 0.35    0.86 0.70
 *   32          0.84 0.73  0.59 0.75  0.39 0.58   0.40 0.62   0.64 0.73   0.54 0.45
 *   64          0.89 0.87  0.63 0.76  0.42 0.74   0.42 0.73   0.63 0.72   0.58 0.70    0.92 0.82
 *   256         0.89 0.89  0.62 0.90  0.44 0.86   0.43 0.84   0.63 0.90                0.91 0.89
 *   384         0.88 0.90  0.62 0.90  0.91 0.88               0.93 0.92                0.92 0.90
 *
 * If the input is planes in blocks or with channels last, the library may choose a weight order in which outputs lie
 * side by side. Then its forward pass is slow. From 256 x 6 x 6 to 4096, forward, d weights, d input of the library |
 * of gemm: 16 rows 0.40 0.66 0.44 | 0.74 0.60 0.48, 32 0.39 0.79 0.58 | 0.76 0.83 0.60, 64 0.42 0.87 0.71 | 0.78 0.88
 * 0.72, 128 0.43 0.92 0.79 | 0.79 0.92 0.80. With 1000 outputs it is fast (0.90 0.86 0.77 | 0.77 0.88 0.75). */
static bool gemm_beats_the_library(const tutti_kernel *k, tutti_kernel_pass pass)
{
    enum { LEAST = 16, ENOUGH = 20, SOME = 64, MANY = 384 }; /* numbers of rows (m) at which the rule changes */
    /* limits on the stride of rows, in elements, and on the number of outputs */
    enum { CLOSE = 256, APART = 512, PAGE = 1024, FAR = 16384, FEW_OUTPUTS = 100 };
    const int64_t rows = k->in[0].shape.dim[0], out = k->params[0].shape.dim[0], in = k->params[0].shape.dim[1];
    if (rows < LEAST) return false;
    if (k->in[0].layout && in % PAGE == 0) return out % APART == 0;
    if (pass == TUTTI_PASS_DATA) return in % APART == 0 && (in <= FAR || rows >= SOME) && (rows < MANY || in == APART);
    if (in % CLOSE == 0 && in <= APART) return out >= FEW_OUTPUTS;
    return rows >= ENOUGH && (out >= CLOSE || (out >= FEW_OUTPUTS && in % APART == 0));
}

double tutti_dense_gemm_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    static const double SOONER = 0.95;
    if (r->precision != TUTTI_PRECISION_F32) return -1;
    if (pass == TUTTI_PASS_FORWARD) return seconds(k, r, pass, "gemm");
    if (!tutti_library_multiplies()) return usual_seconds(k, r, pass);
    const bool by_eight = tutti_gemm_row_is_here("avx2") && !tutti_gemm_row_is_here("avx512");
    const bool is_sooner = tutti_isa_by_amd() && by_eight && gemm_beats_the_library(k, pass);
    return is_sooner ? SOONER * usual_seconds(k, r, pass) : -1;
}
