/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_engine.c: the engine that multiplies with oneDNN 3 (github.com/oneapi-src/oneDNN) and does what memory bounds by loops of our own:
 * which ops it has, and which library and instruction set it met. What it has no row for runs on the reference row. */
#include <stdio.h>
#include <string.h>

#include "onednn_impl.h"

static const struct {
    const char *op;
    const tutti_kernel_row *row;
} rows[] = {
    {"conv", &tutti_onednn_conv},     {"dense", &tutti_onednn_dense},
    {"relu", &tutti_lane_eltwise},    {"sigmoid", &tutti_lane_eltwise},
    {"tanh", &tutti_lane_eltwise},    {"max-pool", &tutti_lane_pool},
    {"avg-pool", &tutti_lane_pool},   {"global-avg-pool", &tutti_lane_global_pool},
    {"lrn", &tutti_lane_lrn},         {"batch-norm", &tutti_lane_norm},
    {"add", &tutti_lane_add_row},     {"concat", &tutti_lane_concat},
    {"dropout", &tutti_lane_dropout},
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

bool tutti_onednn_multiplies_pairs(void)
{
    return has_isa(dnnl_cpu_isa_avx512_core_bf16) && !has_isa(dnnl_cpu_isa_avx512_core_amx);
}

bool tutti_onednn_multiplies_tiles(void)
{
    return has_isa(dnnl_cpu_isa_avx512_core_amx);
}

static const tutti_kernel_row *find_half(const char *op, tutti_precision precision, bool imitated)
{
    if (precision != TUTTI_PRECISION_BF16 || !(imitated || multiplies(precision))) return NULL;
    if (strcmp(op, "conv") == 0) return &tutti_onednn_bf16_conv;
    return strcmp(op, "dense") == 0 ? &tutti_onednn_bf16_dense : NULL;
}

static tutti_order prefers(tutti_precision precision)
{
    if (precision == TUTTI_PRECISION_BF16 && has_isa(dnnl_cpu_isa_avx512_core_amx)) return TUTTI_ORDER_NHWC;
    return has_isa(dnnl_cpu_isa_avx512_core) ? TUTTI_ORDER_NCHW16C : TUTTI_ORDER_NCHW8C;
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

const tutti_kernel_engine tutti_kernel_engine_onednn = {"onednn", find, find_half, multiplies, prefers, describe};
