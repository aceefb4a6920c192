/* SPDX-License-Identifier: Apache-2.0 */
/* nt_selector.c: computes the features of a dense product's size and chooses the way to compute it, by a decision tree
 * or a rule (nt_selector.h). */
#include "nt_selector.h"

#include <math.h>
#include <string.h>

#include "../../tensor/isa.h"
#include "../gemm/gemm.h"

static const char *const names[TUTTI_NT_FEATURES] = {
    "log2_m",    "log2_n",    "log2_k",    "log2_m/n",  "log2_m/k", "log2_n/k", "log2_mnk",
    "log2_a/l2", "log2_b/l2", "log2_b/l3", "log2_c/l2", "twos_n",   "twos_k",   "log2_mn/(m+n)",
};

const char *tutti_nt_feature_name(int i)
{
    return names[i];
}

static double twos(int64_t n)
{
    return n ? __builtin_ctzll((unsigned long long)n) : 0;
}

void tutti_nt_features(const tutti_processor *p, const tutti_nt_size *s, double out[TUTTI_NT_FEATURES])
{
    const double m = log2((double)s->m), n = log2((double)s->n), k = log2((double)s->k),
                 each = 2; /* log2 of the bytes of an element (4 bytes) */
    const double l2 = p->cache[1] > 0 ? log2((double)p->cache[1]) : 0,
                 l3 = p->cache[2] > 0 ? log2((double)p->cache[2]) : l2;
    const double features[TUTTI_NT_FEATURES] = {
        m,
        n,
        k,
        m - n,
        m - k,
        n - k,
        m + n + k,
        m + k + each - l2,
        n + k + each - l2,
        n + k + each - l3,
        m + n + each - l2,
        twos(s->n),
        twos(s->k),
        m + n - log2((double)(s->m + s->n)),
    };
    memcpy(out, features, sizeof features);
}

tutti_status tutti_nt_check_tree(const tutti_tune_tree *t, tutti_failure *err)
{
    for (int i = 0; i < t->tree.nfeatures; i++)
        if (i >= TUTTI_NT_FEATURES || strcmp(t->feature[i], names[i]) != 0)
            return tutti_fail(err, TUTTI_ERR_DATA,
                              "tree %s %s asks for '%s', which this tutti does not know there; measure again with "
                              "'tutti tune kernels --out FILE'",
                              t->name, t->precision, t->feature[i]);
    return TUTTI_OK;
}

/* Chooses between nt and gemm by this table. An entry is a way's time divided by the time of the fastest way, as a mean
 * over random sizes (1,120 in all) with m n k up to 2^33, on one thread of an EPYC (Zen 4). `packed` was a candidate
 * that has been removed:
 *
 *                                       sizes   nt     tnn    packed  gemm
 *   m n / (m + n) < 510                  954    1.226  1.194  1.092   1.005
 *   above, and n > 1024                  136    1.005  1.033  1.109   1.044
 *   above, and n <= 1024                  30    1.030  1.046  1.071   1.009
 *
 * The limits were found on these sizes. Later gemm learned to prefetch. On 670 new random sizes, the fastest ways of
 * the three lines were then gemm 1.006, nt 1.006 (gemm 1.010) and gemm 1.000.
 *
 * m n / (m + n) says how often the library multiplies each element that it packs. If this number is large, packing
 * pays. On processors of other makers (a Xeon with AMX: nt 1.00 to 1.04, gemm 1.08 to 1.16) the library's inner product
 * is used. */
static const char *by_vectors_of_sixteen(const tutti_nt_size *s)
{
    enum { OFTEN = 510, WIDE = 1024 };
    return s->n > WIDE && (double)s->m * (double)s->n >= OFTEN * (double)(s->m + s->n) ? "nt" : "gemm";
}

/* Chooses between the library and gemm on a processor with AVX2 but no AVX-512. gemm is faster for few rows that fill
 * panels (it then computes the transposed product), and for rows of weights that lie whole memory pages apart. Each
 * pair of numbers is the speed of the library, then of gemm, as a part of the peak (16 multiply-adds a cycle), in
 * counted cycles of an EPYC (Zen 3). A line is a number of rows (m); a column is k, n:
 *
 *         300, 300   512, 512   1000, 1000   1024, 1024   3072, 768   4096, 1024   1024, 4096   25088, 4096
 *   16    0.63 0.74  0.67 0.78  0.67 0.83    0.51 0.82    0.50 0.76   0.49 0.74    0.48 0.81    0.51 0.72
 *   24    0.70 0.61             0.73 0.58                 0.59 0.56
 *   32               0.77 0.81               0.64 0.83                0.63 0.77    0.61 0.84    0.65 0.76
 *   48    0.81 0.76             0.82 0.85                 0.73 0.78
 *   64    0.83 0.75  0.85 0.81  0.85 0.83    0.78 0.82    0.78 0.75   0.76 0.77    0.73 0.79    0.77 0.79
 *   128              0.87 0.81               0.82 0.80                0.82 0.79    0.80 0.79
 *
 * With k and n 256: 0.69 0.52 at 16 rows, 0.86 0.72 at 64. */
static const char *by_vectors_of_eight(const tutti_nt_size *s)
{
    enum { PANEL = 16, DEEP = 256, FEW = 32, SOME = 64, PAGE = 1024, WIDE = 1000 };
    if (s->m > SOME || s->m % PANEL || s->k <= DEEP) return "onednn";
    return s->m <= FEW || (s->k % PAGE == 0 && s->n >= WIDE) ? "gemm" : "onednn";
}

static const char *rule_of_thumb(const tutti_nt_size *s)
{
    if (!tutti_isa_by_amd()) return "onednn";
    if (tutti_gemm_row_is_here("avx512")) return by_vectors_of_sixteen(s);
    return tutti_gemm_row_is_here("avx2") ? by_vectors_of_eight(s) : "onednn";
}

const char *tutti_nt_choose(const tutti_tune_tree *t, const tutti_processor *p, const tutti_nt_size *s)
{
    double features[TUTTI_NT_FEATURES];
    if (!t) return rule_of_thumb(s);
    tutti_nt_features(p, s, features);
    return t->way[tutti_choice_tree_ask(&t->tree, features)];
}
