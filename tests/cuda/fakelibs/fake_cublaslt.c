/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublaslt.c: the fake libcublasLt.so.13: its handle, descriptions, preferences. See fakelib.h. */
#include <string.h>

#include "fake_cublaslt_calls.h"

#define DECLARE(name, parameters) FAKELIB_EXPORT int name parameters;
TUTTI_CUBLASLT_FUNCTIONS(DECLARE)
FAKELIB_EXPORT size_t cublasLtGetVersion(void);
FAKELIB_EXPORT const char *cublasLtGetStatusString(int status);

const fakelib_library fakelib_self = {
    "cublasLt",
    FAKE_CUBLAS_EXECUTION_FAILED,
    {"handle", "matmul descriptor", "matrix layout", "matmul preference"},
};

enum { DEFAULT_ALIGNMENT = 256 };

/* ---- the library ---- */

size_t cublasLtGetVersion(void)
{
    return 130000;
}

const char *cublasLtGetStatusString(int status)
{
    switch (status) {
    case FAKE_CUBLAS_OK: return "CUBLAS_STATUS_SUCCESS";
    case FAKE_CUBLAS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case FAKE_CUBLAS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case FAKE_CUBLAS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case FAKE_CUBLAS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_UNKNOWN";
    }
}

int cublasLtCreate(tutti_cublaslt_handle *handle)
{
    FAKELIB_CALL();
    if (!handle) return FAKE_CUBLAS_INVALID_VALUE;
    if (!fakelib_has_context()) return FAKE_CUBLAS_NOT_INITIALIZED;
    *handle = fakelib_new(FAKELIB_HANDLE, 1);
    return FAKE_CUBLAS_OK;
}

static int destroyed(void *object, int kind, const char *call)
{
    return fakelib_destroy(object, kind, call) ? FAKE_CUBLAS_OK : FAKE_CUBLAS_INVALID_VALUE;
}

int cublasLtDestroy(tutti_cublaslt_handle handle)
{
    FAKELIB_CALL();
    return destroyed(handle, FAKELIB_HANDLE, __func__);
}

/* ---- products ---- */

int cublasLtMatmulDescCreate(tutti_cublaslt_description *product, int compute_type, int scale_type)
{
    FAKELIB_CALL();
    if (!product) return FAKE_CUBLAS_INVALID_VALUE;
    fake_cublaslt_described *p = fakelib_new(FAKE_CUBLASLT_PRODUCT, sizeof *p);
    p->product.compute_type = compute_type;
    p->product.scale_type = scale_type;
    p->product.bias_type = -1;
    p->product.epilogue = TUTTI_CUBLASLT_EPILOGUE_DEFAULT;
    *product = p;
    return FAKE_CUBLAS_OK;
}

int cublasLtMatmulDescDestroy(tutti_cublaslt_description product)
{
    FAKELIB_CALL();
    return destroyed(product, FAKE_CUBLASLT_PRODUCT, __func__);
}

/* An attribute that the fake does not know is one that tutti's declarations do not name. */
static int put(void *to, size_t size, const void *value, size_t nbytes)
{
    if (!to || !value || nbytes != size) return FAKE_CUBLAS_INVALID_VALUE;
    memcpy(to, value, size);
    return FAKE_CUBLAS_OK;
}

int cublasLtMatmulDescSetAttribute(tutti_cublaslt_description product, int attribute, const void *value, size_t nbytes)
{
    FAKELIB_CALL();
    fake_cublaslt_described *p = fakelib_of(product, FAKE_CUBLASLT_PRODUCT, __func__);
    if (!p) return FAKE_CUBLAS_INVALID_VALUE;
    switch (attribute) {
    case TUTTI_CUBLASLT_DESC_TRANSA: return put(&p->product.transpose_a, sizeof p->product.transpose_a, value, nbytes);
    case TUTTI_CUBLASLT_DESC_TRANSB: return put(&p->product.transpose_b, sizeof p->product.transpose_b, value, nbytes);
    case TUTTI_CUBLASLT_DESC_EPILOGUE: return put(&p->product.epilogue, sizeof p->product.epilogue, value, nbytes);
    case TUTTI_CUBLASLT_DESC_BIAS_POINTER: return put(&p->bias, sizeof p->bias, value, nbytes);
    case TUTTI_CUBLASLT_DESC_BIAS_DATA_TYPE:
        return put(&p->product.bias_type, sizeof p->product.bias_type, value, nbytes);
    default: return FAKE_CUBLAS_INVALID_VALUE;
    }
}

/* ---- matrices ---- */

int cublasLtMatrixLayoutCreate(tutti_cublaslt_description *matrix, int type, uint64_t rows, uint64_t columns,
                               int64_t column_step)
{
    FAKELIB_CALL();
    if (!matrix) return FAKE_CUBLAS_INVALID_VALUE;
    fake_cublaslt_matrix *m = fakelib_new(FAKE_CUBLASLT_MATRIX, sizeof *m);
    m->type = type;
    m->rows = (int64_t)rows;
    m->columns = (int64_t)columns;
    m->step = column_step;
    *matrix = m;
    return FAKE_CUBLAS_OK;
}

int cublasLtMatrixLayoutDestroy(tutti_cublaslt_description matrix)
{
    FAKELIB_CALL();
    return destroyed(matrix, FAKE_CUBLASLT_MATRIX, __func__);
}

/* ---- preferences ---- */

int cublasLtMatmulPreferenceCreate(tutti_cublaslt_description *preference)
{
    FAKELIB_CALL();
    if (!preference) return FAKE_CUBLAS_INVALID_VALUE;
    fake_cublaslt_preference *p = fakelib_new(FAKE_CUBLASLT_PREFERENCE, sizeof *p);
    for (int i = 0; i < FAKE_CUBLASLT_OPERANDS; i++) p->alignment[i] = DEFAULT_ALIGNMENT;
    *preference = p;
    return FAKE_CUBLAS_OK;
}

int cublasLtMatmulPreferenceDestroy(tutti_cublaslt_description preference)
{
    FAKELIB_CALL();
    return destroyed(preference, FAKE_CUBLASLT_PREFERENCE, __func__);
}

int cublasLtMatmulPreferenceSetAttribute(tutti_cublaslt_description preference, int attribute, const void *value,
                                         size_t nbytes)
{
    FAKELIB_CALL();
    fake_cublaslt_preference *p = fakelib_of(preference, FAKE_CUBLASLT_PREFERENCE, __func__);
    const int operand = attribute - TUTTI_CUBLASLT_PREF_ALIGNMENT_A;
    if (!p) return FAKE_CUBLAS_INVALID_VALUE;
    if (attribute == TUTTI_CUBLASLT_PREF_WORKSPACE_BYTES)
        return put(&p->workspace_bytes, sizeof p->workspace_bytes, value, nbytes);
    if (operand < 0 || operand >= FAKE_CUBLASLT_OPERANDS) return FAKE_CUBLAS_INVALID_VALUE;
    return put(&p->alignment[operand], sizeof p->alignment[operand], value, nbytes);
}
