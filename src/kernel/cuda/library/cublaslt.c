/* SPDX-License-Identifier: Apache-2.0 */
/* cublaslt.c: multiplies matrices by cuBLASLt (cublaslt.h). The library's matrices are column-major, so it computes c^T
 * = b^T * a^T. */
#include "cublaslt.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };

/* ---- the handle ---- */

static void destroy(void *kept)
{
    tutti_cublaslt *c = kept;
    if (c->handle) c->call.cublasLtDestroy(c->handle);
    free(c);
}

#define NAME(name, parameters) #name,

static tutti_status find_functions(tutti_cublaslt_functions *call, tutti_failure *err)
{
    static const char *const names[] = {TUTTI_CUBLASLT_FUNCTIONS(NAME) "cublasLtGetVersion", "cublasLtGetStatusString"};
    return tutti_cuda_functions("cublasLt", names, sizeof names / sizeof *names, call, err);
}

static tutti_status fail(const tutti_cublaslt *c, const char *what, int status, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_FAILED, "cuBLASLt %zu: %s: %s", c->call.cublasLtGetVersion(), what,
                      c->call.cublasLtGetStatusString(status));
}

static tutti_status make(tutti_cuda *cuda, void **out, tutti_failure *err)
{
    tutti_cublaslt *c = tutti_alloc(sizeof *c);
    c->cuda = cuda;
    tutti_status st = find_functions(&c->call, err);
    const int status = st ? TUTTI_CUBLAS_SUCCESS : c->call.cublasLtCreate(&c->handle);
    if (status) st = fail(c, "cublasLtCreate", status, err);
    *out = c;
    if (st) destroy(c);
    return st;
}

static const tutti_cuda_kept keeping = {"cublasLt", make, destroy};

tutti_status tutti_cublaslt_of(tutti_cuda *c, const tutti_cublaslt **out, tutti_failure *err)
{
    void *kept = NULL;
    const tutti_status st = tutti_cuda_keep(c, &keeping, &kept, err);
    *out = kept;
    return st;
}

/* ---- descriptions ---- */

static int type_of(tutti_dtype type)
{
    return type == TUTTI_F32 ? TUTTI_CUDA_R_32F : type == TUTTI_BF16 ? TUTTI_CUDA_R_16BF : TUTTI_CUDA_R_16F;
}

static int describe_matrix(const tutti_cublaslt *c, tutti_cublaslt_description *out, tutti_dtype type, int64_t rows,
                           int64_t columns)
{
    return c->call.cublasLtMatrixLayoutCreate(out, type_of(type), (uint64_t)columns, (uint64_t)rows, columns);
}

static int describe(tutti_cublaslt_plan *p, const tutti_cublaslt_product *w)
{
    const tutti_cublaslt *c = p->cublaslt;
    const int32_t first = w->transpose_b ? TUTTI_CUBLAS_OP_T : TUTTI_CUBLAS_OP_N,
                  second = w->transpose_a ? TUTTI_CUBLAS_OP_T : TUTTI_CUBLAS_OP_N;
    int status = c->call.cublasLtMatmulDescCreate(&p->product, TUTTI_CUBLAS_COMPUTE_32F, TUTTI_CUDA_R_32F);
    if (!status)
        status = c->call.cublasLtMatmulDescSetAttribute(p->product, TUTTI_CUBLASLT_DESC_TRANSA, &first, sizeof first);
    if (!status)
        status = c->call.cublasLtMatmulDescSetAttribute(p->product, TUTTI_CUBLASLT_DESC_TRANSB, &second, sizeof second);
    if (!status)
        status = describe_matrix(c, &p->a, w->type, w->transpose_b ? w->n : w->k, w->transpose_b ? w->k : w->n);
    if (!status)
        status = describe_matrix(c, &p->b, w->type, w->transpose_a ? w->k : w->m, w->transpose_a ? w->m : w->k);
    if (!status) status = describe_matrix(c, &p->c, w->type_c, w->m, w->n);
    return status;
}

static int set_bias(const tutti_cublaslt_plan *p, const void *bias)
{
    return p->cublaslt->call.cublasLtMatmulDescSetAttribute(p->product, TUTTI_CUBLASLT_DESC_BIAS_POINTER, &bias,
                                                            sizeof bias);
}

/* Makes the library add the bias and apply the ReLU after the product. */
static int set_epilogue(tutti_cublaslt_plan *p, const tutti_cublaslt_product *w)
{
    const tutti_cublaslt *c = p->cublaslt;
    const bool bias = w->bias, relu = w->relu;
    const uint32_t epilogue = bias && relu ? TUTTI_CUBLASLT_EPILOGUE_RELU_BIAS
                              : bias       ? TUTTI_CUBLASLT_EPILOGUE_BIAS
                              : relu       ? TUTTI_CUBLASLT_EPILOGUE_RELU
                                           : TUTTI_CUBLASLT_EPILOGUE_DEFAULT;
    const int32_t type = type_of(w->type_c);
    p->adds_bias = bias;
    int status =
        c->call.cublasLtMatmulDescSetAttribute(p->product, TUTTI_CUBLASLT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (!status && bias)
        status =
            c->call.cublasLtMatmulDescSetAttribute(p->product, TUTTI_CUBLASLT_DESC_BIAS_DATA_TYPE, &type, sizeof type);
    /* stands for the bias, whose address is not known yet: the library looks only at the alignment here */
    if (!status && bias) status = set_bias(p, (const void *)(uintptr_t)ALIGNMENT);
    return status;
}

/* ---- one product ---- */

static uint32_t alignment_of(int64_t said)
{
    return said > 0 && said < ALIGNMENT ? (uint32_t)said : ALIGNMENT;
}

static int describe_preference(const tutti_cublaslt *c, const tutti_cublaslt_product *w,
                               tutti_cublaslt_description *out)
{
    const uint64_t workspace = TUTTI_CUBLASLT_WORKSPACE;
    const int64_t said[] = {w->alignment_b, w->alignment_a, w->alignment_c,
                            /* in the order of the library's matrices A to D: its A is our b, its B is our a */
                            w->alignment_c};
    int status = c->call.cublasLtMatmulPreferenceCreate(out);
    if (!status)
        status = c->call.cublasLtMatmulPreferenceSetAttribute(*out, TUTTI_CUBLASLT_PREF_WORKSPACE_BYTES, &workspace,
                                                              sizeof workspace);
    for (int matrix = 0; matrix < 4 && !status; matrix++) {
        const uint32_t alignment = alignment_of(said[matrix]);
        status = c->call.cublasLtMatmulPreferenceSetAttribute(*out, TUTTI_CUBLASLT_PREF_ALIGNMENT_A + matrix,
                                                              &alignment, sizeof alignment);
    }
    return status;
}

static bool choose(tutti_cublaslt_plan *p, tutti_cublaslt_description preference)
{
    const tutti_cublaslt *c = p->cublaslt;
    tutti_cublaslt_found found = {0};
    int n = 0;
    const int status = c->call.cublasLtMatmulAlgoGetHeuristic(c->handle, p->product, p->a, p->b, p->c, p->c, preference,
                                                              1, &found, &n);
    if (status || n < 1 || found.status) return false;
    p->algorithm = found.algorithm;
    p->workspace_bytes = found.workspace_bytes;
    return true;
}

tutti_status tutti_cublaslt_begin(const tutti_cublaslt *c, const tutti_cublaslt_product *what, tutti_cublaslt_plan *p,
                                  tutti_failure *err)
{
    tutti_cublaslt_description preference = NULL;
    *p = (tutti_cublaslt_plan){.cublaslt = c};
    int status = describe(p, what);
    if (!status) status = set_epilogue(p, what);
    if (!status) status = describe_preference(c, what, &preference);
    const bool found = !status && choose(p, preference);
    if (preference) c->call.cublasLtMatmulPreferenceDestroy(preference);
    if (status) return fail(c, "describe a product", status, err);
    if (found) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_FAILED, "cuBLASLt %zu has no product of %lld x %lld x %lld in %s%s%s",
                      c->call.cublasLtGetVersion(), (long long)what->m, (long long)what->n, (long long)what->k,
                      tutti_dtype_name(what->type), what->bias ? " with a bias" : "", what->relu ? " and a ReLU" : "");
}

void tutti_cublaslt_end(tutti_cublaslt_plan *p)
{
    if (!p->cublaslt) return;
    const tutti_cublaslt_functions *call = &p->cublaslt->call;
    if (p->product) call->cublasLtMatmulDescDestroy(p->product);
    if (p->a) call->cublasLtMatrixLayoutDestroy(p->a);
    if (p->b) call->cublasLtMatrixLayoutDestroy(p->b);
    if (p->c) call->cublasLtMatrixLayoutDestroy(p->c);
    *p = (tutti_cublaslt_plan){0};
}

void tutti_cublaslt_run(const tutti_cublaslt_plan *p, const tutti_cublaslt_memory *m)
{
    static const float one = 1, zero = 0;
    const tutti_cublaslt *c = p->cublaslt;
    int status = p->adds_bias ? set_bias(p, m->bias) : TUTTI_CUBLAS_SUCCESS;
    if (!status)
        status = c->call.cublasLtMatmul(c->handle, p->product, &one, m->b, p->a, m->a, p->b, &zero, m->c, p->c, m->c,
                                        p->c, &p->algorithm, p->workspace_bytes ? m->workspace : NULL,
                                        p->workspace_bytes, tutti_cuda_stream(c->cuda));
    if (status) tutti_cuda_fail(c->cuda, "cublasLtMatmul", c->call.cublasLtGetStatusString(status));
}
