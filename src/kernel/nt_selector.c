/* SPDX-License-Identifier: Apache-2.0 */
/* nt_selector.c: features of a product, and the tree's or the rule's answer (nt_selector.h). */
#include "nt_selector.h"

#include <math.h>
#include <string.h>

#include "../tensor/isa.h"
#include "gemm.h"

static const char *const names[TUTTI_NT_FEATURES] = {
    "log2_m",    "log2_n",    "log2_k",    "log2_m/n",  "log2_m/k", "log2_n/k", "log2_mnk",
    "log2_a/l2", "log2_b/l2", "log2_b/l3", "log2_c/l2", "twos_n",   "twos_k",
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
                 each = 2; /* log2 of four bytes */
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

/* Means over 520 sizes up to 2^27, times the soonest way's time, one thread: EPYC (Zen 4), three runs under load; Xeon (AMX), one, alone:
 *
 *               EPYC                        Xeon
 *   m           nt     tnn    packed  gemm  nt     tnn    packed  gemm
 *   16          1.31   1.39   1.54    1.04  1.00   1.89   1.43    1.16
 *   17 .. 63    1.24   1.28   1.15    1.02  1.00   1.40   1.24    1.10
 *   64 .. 127   1.13   1.10   1.12    1.03  1.01   1.23   1.12    1.08
 *   128 .. 255  1.09   1.05   1.07    1.05  1.01   1.11   1.07    1.09
 *   256 ..      1.08   1.02   1.04    1.10  1.04   1.05   1.03    1.11
 *
 * Where our products have no AVX-512, of larger ones and on other makers' processors: the library's inner product as it is. */
static const char *rule_of_thumb(const tutti_nt_size *s)
{
    const double measured = 134217728; /* 2^27 */
    if ((double)s->m * (double)s->n * (double)s->k > measured) return "onednn";
    if (!tutti_isa_by_amd() || !tutti_gemm_row_is_here("avx512")) return "onednn";
    return s->m < 256 ? "gemm" : "tnn";
}

const char *tutti_nt_choose(const tutti_tune_tree *t, const tutti_processor *p, const tutti_nt_size *s)
{
    double features[TUTTI_NT_FEATURES];
    if (!t) return rule_of_thumb(s);
    tutti_nt_features(p, s, features);
    return t->way[tutti_choice_tree_ask(&t->tree, features)];
}
