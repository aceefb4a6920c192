/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublaslt_run.c: d = epilogue(alpha * op(a) * op(b) + beta * c + bias), in f32, d rounded at the end. */
#include <stdlib.h>
#include <string.h>

#include "fake_cublaslt.h"

size_t fake_cublaslt_span(const fake_cublaslt_matrix *m)
{
    return (size_t)((m->columns - 1) * m->step + m->rows) * fakelib_bytes(fake_cublaslt_type(m->type));
}

/* Touches a matrix at `at`, but not what lies between the columns. */
static bool touch(const fake_cublaslt_matrix *m, const void *at, bool writes)
{
    const size_t each = fakelib_bytes(fake_cublaslt_type(m->type));
    const bool is_dense = m->rows == m->step;
    const size_t nbytes = is_dense ? fake_cublaslt_span(m) : (size_t)m->rows * each;
    for (int64_t j = 0; j < (is_dense ? 1 : m->columns); j++) {
        char *column = (char *)(uintptr_t)at + (size_t)(j * m->step) * each;
        if (!(writes ? fakelib_writes(column, nbytes) : fakelib_reads(column, nbytes))) return false;
    }
    return true;
}

static bool touch_all(const fake_cublaslt_work *k)
{
    const fake_cublaslt_problem *p = &k->problem;
    if (!fakelib_spoil(k->workspace, k->workspace_bytes)) return false;
    if (!touch(&p->a, k->a, false) || !touch(&p->b, k->b, false)) return false;
    if (k->beta != 0 && !touch(&p->c, k->c, false)) return false;
    if (fake_cublaslt_has_bias(p) && !fakelib_reads(k->bias, fake_cublaslt_bias_bytes(p))) return false;
    return touch(&p->d, k->d, true);
}

/* Loads a matrix as rows of memory: to[major][minor], where minor is what stands together in the result. */
static float *load(const fake_cublaslt_matrix *m, const void *from, bool turns)
{
    const fakelib_type type = fake_cublaslt_type(m->type);
    float *to = fakelib_alloc((size_t)(m->rows * m->columns) * sizeof *to);
    for (int64_t j = 0; j < m->columns; j++)
        for (int64_t i = 0; i < m->rows; i++)
            to[turns ? i * m->columns + j : j * m->rows + i] = fakelib_get(type, from, j * m->step + i);
    return to;
}

static float finished(const fake_cublaslt_work *k, float sum, int64_t i, int64_t j)
{
    const fake_cublaslt_problem *p = &k->problem;
    float value = k->alpha * sum;
    if (k->beta != 0) value += k->beta * fakelib_get(fake_cublaslt_type(p->c.type), k->c, j * p->c.step + i);
    if (fake_cublaslt_has_bias(p)) value += fakelib_get(fake_cublaslt_type(p->d.type), k->bias, i);
    if (p->product.epilogue & TUTTI_CUBLASLT_EPILOGUE_RELU && value < 0) value = 0;
    return value;
}

void fake_cublaslt_run(void *args)
{
    fake_cublaslt_work k;
    memcpy(&k, args, sizeof k);
    const fake_cublaslt_problem *p = &k.problem;
    if (!touch_all(&k)) return;
    /* d^T = op(b)^T * op(a)^T, by rows: op(b)^T[n][k], op(a)^T[k][m] */
    float *first = load(&p->b, k.b, p->product.transpose_b == TUTTI_CUBLAS_OP_T),
          *second = load(&p->a, k.a, p->product.transpose_a == TUTTI_CUBLAS_OP_T);
    const int64_t m = p->d.rows, n = p->d.columns;
    float *sums = fakelib_alloc((size_t)(m * n) * sizeof *sums);
    fakelib_product((int64_t[]){n, m, fake_cublaslt_inner(p)}, first, second, sums);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            fakelib_put(fake_cublaslt_type(p->d.type), k.d, j * p->d.step + i, finished(&k, sums[j * m + i], i, j));
    free(first);
    free(second);
    free(sums);
}
