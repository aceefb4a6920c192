/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_engine.c: the engine that computes with oneDNN 3 (github.com/oneapi-src/oneDNN): which ops it has, and which
 * library and instruction set it met. What it has no row for runs on the reference row. */
#include <stdio.h>
#include <string.h>

#include "onednn_impl.h"

static const struct {
    const char *op;
    const tutti_kernel_row *row;
} rows[] = {
    {"conv", &tutti_onednn_conv},         {"dense", &tutti_onednn_dense},
    {"relu", &tutti_onednn_relu},         {"sigmoid", &tutti_onednn_sigmoid},
    {"tanh", &tutti_onednn_tanh},         {"max-pool", &tutti_onednn_max_pool},
    {"avg-pool", &tutti_onednn_avg_pool}, {"global-avg-pool", &tutti_onednn_global_avg_pool},
    {"lrn", &tutti_onednn_lrn},           {"batch-norm", &tutti_onednn_batch_norm},
    {"add", &tutti_onednn_add_row},       {"concat", &tutti_onednn_concat},
};

static const tutti_kernel_row *find(const char *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].op, op) == 0) return rows[i].row;
    return NULL;
}

static bool has_isa(dnnl_cpu_isa_t isa)
{
    return ((unsigned)dnnl_get_effective_cpu_isa() & (unsigned)isa) == (unsigned)isa;
}

static const char *multiplies(tutti_precision precision)
{
    if (precision != TUTTI_PRECISION_BF16) return NULL;
    if (has_isa(dnnl_cpu_isa_avx512_core_amx)) return "AMX";
    return has_isa(dnnl_cpu_isa_avx512_core_bf16) ? "AVX512-BF16" : NULL;
}

static const tutti_kernel_row *find_half(const char *op, tutti_precision precision, bool imitated)
{
    if (strcmp(op, "batch-norm") == 0) return &tutti_lane_norm;
    if (precision != TUTTI_PRECISION_BF16 || !(imitated || multiplies(precision))) return NULL;
    if (strcmp(op, "conv") == 0) return &tutti_onednn_bf16_conv;
    return strcmp(op, "dense") == 0 ? &tutti_onednn_bf16_dense : NULL;
}

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    switch (isa) {
    case dnnl_cpu_isa_sse41: return "sse41";
    case dnnl_cpu_isa_avx: return "avx";
    case dnnl_cpu_isa_avx2: return "avx2";
    case dnnl_cpu_isa_avx2_vnni: return "avx2_vnni";
    case dnnl_cpu_isa_avx2_vnni_2: return "avx2_vnni_2";
    case dnnl_cpu_isa_avx512_core: return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni: return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16: return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_fp16: return "avx512_core_fp16";
    case dnnl_cpu_isa_avx512_core_amx: return "avx512_core_amx";
    case dnnl_cpu_isa_avx512_core_amx_fp16: return "avx512_core_amx_fp16";
    default: return "other";
    }
}

static void describe(char out[96])
{
    const dnnl_version_t *v = dnnl_version();
    snprintf(out, 96, "oneDNN %d.%d.%d (%s)", v->major, v->minor, v->patch, isa_name(dnnl_get_effective_cpu_isa()));
}

const tutti_kernel_engine tutti_kernel_engine_onednn = {"onednn", find, find_half, multiplies, describe};
