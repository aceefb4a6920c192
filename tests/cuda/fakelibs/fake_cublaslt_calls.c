/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublaslt_calls.c: which products there are, what a caller was told of them, and the product itself.
 *
 * A product of 16 bits with an epilogue needs columns that begin at multiples of 16 bytes: whoever has others must do
 * without the epilogue. */
#include <string.h>

#include "fake_cublaslt_calls.h"

#define DECLARE(name, parameters) FAKELIB_EXPORT int name parameters;
TUTTI_CUBLASLT_FUNCTIONS(DECLARE)

enum { MOST_ALIGNED = 256, ALIGNMENT = 16 /* of columns behind which an epilogue stands */, WORKSPACE_ALIGNMENT = 256 };
static const uint64_t MAGIC = UINT64_C(0x7475747469206c74);

fakelib_type fake_cublaslt_type(int type)
{
    return type == TUTTI_CUDA_R_32F ? FAKELIB_F32 : type == TUTTI_CUDA_R_16BF ? FAKELIB_BF16 : FAKELIB_F16;
}

bool fake_cublaslt_has_bias(const fake_cublaslt_problem *p)
{
    return (p->product.epilogue & TUTTI_CUBLASLT_EPILOGUE_BIAS) != 0;
}

/* ---- what there is ---- */

static bool is_type(int type)
{
    return type == TUTTI_CUDA_R_32F || type == TUTTI_CUDA_R_16BF || type == TUTTI_CUDA_R_16F;
}

static bool is_matrix(const fake_cublaslt_matrix *m)
{
    return is_type(m->type) && m->rows > 0 && m->columns > 0 && m->step >= m->rows;
}

size_t fake_cublaslt_bias_bytes(const fake_cublaslt_problem *p)
{
    return fake_cublaslt_has_bias(p) ? (size_t)p->d.rows * fakelib_bytes(fake_cublaslt_type(p->d.type)) : 0;
}

int64_t fake_cublaslt_inner(const fake_cublaslt_problem *p)
{
    return p->product.transpose_a == TUTTI_CUBLAS_OP_T ? p->a.rows : p->a.columns;
}

static int check_shapes(const fake_cublaslt_problem *p)
{
    const bool first = p->product.transpose_a == TUTTI_CUBLAS_OP_T,
               second = p->product.transpose_b == TUTTI_CUBLAS_OP_T;
    const bool are_known = (first || p->product.transpose_a == TUTTI_CUBLAS_OP_N) &&
                           (second || p->product.transpose_b == TUTTI_CUBLAS_OP_N);
    if (!are_known || !is_matrix(&p->a) || !is_matrix(&p->b) || !is_matrix(&p->c) || !is_matrix(&p->d))
        return FAKE_CUBLAS_INVALID_VALUE;
    const bool fits = p->d.rows == (first ? p->a.columns : p->a.rows) &&
                      p->d.columns == (second ? p->b.rows : p->b.columns) &&
                      fake_cublaslt_inner(p) == (second ? p->b.columns : p->b.rows) && p->c.rows == p->d.rows &&
                      p->c.columns == p->d.columns;
    return fits ? FAKE_CUBLAS_OK : FAKE_CUBLAS_INVALID_VALUE;
}

static int check_types(const fake_cublaslt_problem *p)
{
    const fake_cublaslt_product *w = &p->product;
    const bool adds = p->d.type == p->a.type || p->d.type == TUTTI_CUDA_R_32F;
    if (w->compute_type != TUTTI_CUBLAS_COMPUTE_32F || w->scale_type != TUTTI_CUDA_R_32F)
        return FAKE_CUBLAS_NOT_SUPPORTED;
    if (p->a.type != p->b.type || p->c.type != p->d.type || !adds) return FAKE_CUBLAS_NOT_SUPPORTED;
    const bool has_type = !fake_cublaslt_has_bias(p) || w->bias_type == -1 || w->bias_type == p->d.type;
    return has_type ? FAKE_CUBLAS_OK : FAKE_CUBLAS_NOT_SUPPORTED;
}

static int check_epilogue(const fake_cublaslt_problem *p)
{
    const uint32_t epilogue = p->product.epilogue;
    if (epilogue == TUTTI_CUBLASLT_EPILOGUE_DEFAULT) return FAKE_CUBLAS_OK;
    const bool is_known = epilogue == TUTTI_CUBLASLT_EPILOGUE_RELU || epilogue == TUTTI_CUBLASLT_EPILOGUE_BIAS ||
                          epilogue == TUTTI_CUBLASLT_EPILOGUE_RELU_BIAS;
    const size_t column = (size_t)p->d.step * fakelib_bytes(fake_cublaslt_type(p->d.type));
    const bool is_half = p->a.type != TUTTI_CUDA_R_32F;
    return is_known && !(is_half && column % ALIGNMENT) ? FAKE_CUBLAS_OK : FAKE_CUBLAS_NOT_SUPPORTED;
}

static int check(const fake_cublaslt_problem *p)
{
    int status = check_shapes(p);
    if (!status) status = check_types(p);
    return status ? status : check_epilogue(p);
}

/* ---- the caller's descriptions ---- */

typedef struct {
    tutti_cublaslt_handle handle;
    tutti_cublaslt_description product, a, b, c, d;
    const char *name;
} call;

/* Copies what the descriptions say now into p, and the address of the bias; returns a status. */
static int read_problem(const call *c, fake_cublaslt_problem *p, const void **bias)
{
    const fake_cublaslt_described *product = fakelib_of(c->product, FAKE_CUBLASLT_PRODUCT, c->name);
    const fake_cublaslt_matrix *a = fakelib_of(c->a, FAKE_CUBLASLT_MATRIX, c->name),
                               *b = fakelib_of(c->b, FAKE_CUBLASLT_MATRIX, c->name),
                               *last = fakelib_of(c->c, FAKE_CUBLASLT_MATRIX, c->name),
                               *d = fakelib_of(c->d, FAKE_CUBLASLT_MATRIX, c->name);
    if (!fakelib_of(c->handle, FAKELIB_HANDLE, c->name)) return FAKE_CUBLAS_NOT_INITIALIZED;
    if (!product || !a || !b || !last || !d) return FAKE_CUBLAS_INVALID_VALUE;
    memset(p, 0, sizeof *p); /* gaps, too */
    memcpy(&p->product, &product->product, sizeof p->product);
    memcpy(&p->a, a, sizeof *a);
    memcpy(&p->b, b, sizeof *b);
    memcpy(&p->c, last, sizeof *last);
    memcpy(&p->d, d, sizeof *d);
    *bias = product->bias;
    return check(p);
}

/* ---- what was told ---- */

typedef struct told {
    struct told *next;
    fake_cublaslt_problem problem;
    uint64_t number;
    size_t workspace_bytes;
    uint32_t alignment[FAKE_CUBLASLT_OPERANDS], bias_alignment;
} told;

static told *all_told;

/* Finds what a caller was told of an algorithm; NULL: nobody was told. */
static const told *told_of(const tutti_cublaslt_algorithm *algorithm)
{
    const told *t = algorithm->data[0] == MAGIC ? all_told : NULL;
    while (t && t->number != algorithm->data[1]) t = t->next;
    return t;
}

static uint32_t alignment_of(const void *at)
{
    uint32_t bytes = MOST_ALIGNED;
    while ((uintptr_t)at % bytes) bytes /= 2;
    return bytes;
}

static void tell(const told *what, tutti_cublaslt_found *out)
{
    told *t = fakelib_alloc(sizeof *t);
    memcpy(t, what, sizeof *t);
    t->number = all_told ? all_told->number + 1 : 1;
    t->next = all_told;
    all_told = t;
    *out = (tutti_cublaslt_found){
        .algorithm = {{MAGIC, t->number}}, .workspace_bytes = t->workspace_bytes, .status = FAKE_CUBLAS_OK, .waves = 1};
}

/* Says the bytes of workspace, an odd size, for the parts of a long sum of few numbers. 0: the sum is computed in
 * one. */
static size_t parts_of(const fake_cublaslt_problem *p)
{
    const int64_t numbers = p->d.rows * p->d.columns, inner = fake_cublaslt_inner(p);
    return inner >= 64 && numbers <= 65536 ? (size_t)numbers * sizeof(float) + 12 : 0;
}

int cublasLtMatmulAlgoGetHeuristic(tutti_cublaslt_handle handle, tutti_cublaslt_description product,
                                   tutti_cublaslt_description a, tutti_cublaslt_description b,
                                   tutti_cublaslt_description c, tutti_cublaslt_description d,
                                   tutti_cublaslt_description preference, int most, tutti_cublaslt_found *found, int *n)
{
    FAKELIB_CALL();
    const call how = {handle, product, a, b, c, d, __func__};
    const fake_cublaslt_preference *wanted = fakelib_of(preference, FAKE_CUBLASLT_PREFERENCE, how.name);
    const void *bias = NULL;
    told t;
    memset(&t, 0, sizeof t);
    if (!wanted || most < 1 || !found || !n) return FAKE_CUBLAS_INVALID_VALUE;
    *n = 0;
    const int status = read_problem(&how, &t.problem, &bias);
    if (status) return status;
    const int types[] = {t.problem.a.type, t.problem.b.type, t.problem.c.type, t.problem.d.type};
    for (int i = 0; i < FAKE_CUBLASLT_OPERANDS; i++) {
        t.alignment[i] = wanted->alignment[i];
        if (t.alignment[i] == 0 || t.alignment[i] % fakelib_bytes(fake_cublaslt_type(types[i])))
            return FAKE_CUBLAS_NOT_SUPPORTED;
    }
    t.bias_alignment = alignment_of(bias);
    t.workspace_bytes = parts_of(&t.problem);
    if (t.workspace_bytes && t.workspace_bytes <= wanted->workspace_bytes) tell(&t, &found[(*n)++]);
    t.workspace_bytes = 0;
    if (*n < most) tell(&t, &found[(*n)++]);
    return FAKE_CUBLAS_OK;
}

/* ---- the product ---- */

static int check_memory(const fake_cublaslt_work *k, const told *t, const char *name)
{
    const fake_cublaslt_problem *p = &k->problem;
    const fakelib_range ranges[] = {
        {"d", k->d, fake_cublaslt_span(&p->d), true},
        {"a", k->a, fake_cublaslt_span(&p->a), false},
        {"b", k->b, fake_cublaslt_span(&p->b), false},
        {"the bias", k->bias, fake_cublaslt_bias_bytes(p), false},
        {"the workspace", k->workspace, t->workspace_bytes, true},
    };
    const fakelib_range c = {"c", k->c, k->beta != 0 ? fake_cublaslt_span(&p->c) : 0, false};
    const size_t alignments[] = {t->alignment[3], t->alignment[0], t->alignment[1], t->bias_alignment,
                                 WORKSPACE_ALIGNMENT};
    if (!fakelib_is_aligned(&c, t->alignment[2], name)) return FAKE_CUBLAS_INVALID_VALUE;
    for (int i = 0; i < 5; i++)
        if (!fakelib_is_aligned(&ranges[i], alignments[i], name)) return FAKE_CUBLAS_INVALID_VALUE;
    return fakelib_are_apart(ranges, 5, name) ? FAKE_CUBLAS_OK : FAKE_CUBLAS_INVALID_VALUE;
}

/* Finds the algorithm that was named for this problem; NULL: there is none, which was reported. */
static const told *find_told(const fake_cublaslt_problem *p, const tutti_cublaslt_algorithm *algorithm,
                             const char *name)
{
    const told *t = algorithm ? told_of(algorithm) : NULL;
    if (!t) {
        fakelib_report("%s: an algorithm that no heuristic has named", name);
    } else if (memcmp(&t->problem, p, sizeof *p)) {
        fakelib_report("%s: an algorithm that was named for another product", name);
        t = NULL;
    }
    return t;
}

static int compute(const call *how, fake_cublaslt_work *k, const tutti_cublaslt_algorithm *algorithm, void *stream)
{
    const told *t = find_told(&k->problem, algorithm, how->name);
    if (!t) return FAKE_CUBLAS_NOT_SUPPORTED;
    if (t->workspace_bytes && (!k->workspace || k->workspace_bytes < t->workspace_bytes)) {
        fakelib_report("%s: a workspace of %zu bytes, %zu are needed", how->name, k->workspace ? k->workspace_bytes : 0,
                       t->workspace_bytes);
        return FAKE_CUBLAS_INVALID_VALUE;
    }
    const int status = check_memory(k, t, how->name);
    if (status) return status;
    k->workspace_bytes = t->workspace_bytes;
    return fakelib_enqueue(stream, fake_cublaslt_run, k, sizeof *k) ? FAKE_CUBLAS_EXECUTION_FAILED : FAKE_CUBLAS_OK;
}

int cublasLtMatmul(tutti_cublaslt_handle handle, tutti_cublaslt_description product, const void *alpha, const void *a,
                   tutti_cublaslt_description a_of, const void *b, tutti_cublaslt_description b_of, const void *beta,
                   const void *c, tutti_cublaslt_description c_of, void *d, tutti_cublaslt_description d_of,
                   const tutti_cublaslt_algorithm *algorithm, void *workspace, size_t workspace_bytes, void *stream)
{
    FAKELIB_CALL();
    const call how = {handle, product, a_of, b_of, c_of, d_of, __func__};
    fake_cublaslt_work k;
    memset(&k, 0, sizeof k);
    const int status = read_problem(&how, &k.problem, &k.bias);
    if (status) return status;
    if (!alpha || !beta || !a || !b || !d) return FAKE_CUBLAS_INVALID_VALUE;
    memcpy(&k.alpha, alpha, sizeof k.alpha);
    memcpy(&k.beta, beta, sizeof k.beta);
    if ((k.beta != 0 && !c) || (fake_cublaslt_has_bias(&k.problem) && !k.bias)) return FAKE_CUBLAS_INVALID_VALUE;
    k.a = a;
    k.b = b;
    k.c = c;
    k.d = d;
    k.workspace = workspace;
    k.workspace_bytes = workspace_bytes;
    return compute(&how, &k, algorithm, stream);
}
