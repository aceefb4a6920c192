/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_engine.c: describes the library oneDNN 3 (github.com/oneapi-src/oneDNN) on this processor: its version, its
 * instruction set, the types that it multiplies, the requests that its rows fit, and the rates of these rows. */
#include <stdio.h>

#include "../choose/candidate.h"
#include "onednn_impl.h"

static bool has_isa(dnnl_cpu_isa_t isa)
{
    return ((unsigned)dnnl_get_effective_cpu_isa() & (unsigned)isa) == (unsigned)isa;
}

const char *tutti_onednn_multiplies(tutti_precision precision)
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

/* True if the library reads the input and the parameters as they lie. Products of bf16 read only row-major weights;
 * products of f32 read any order that the library has described. */
bool tutti_onednn_fits(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    const bool halves = r->precision != TUTTI_PRECISION_F32;
    (void)pass;
    if (tutti_order_of(&k->in[0]) == TUTTI_ORDER_NONE || (halves && !tutti_onednn_multiplies(r->precision)))
        return false;
    for (int p = 0; p < k->nparams; p++)
        if (k->params[p].layout && (halves || !k->params[p].layout->described)) return false;
    return true;
}

/* Returns the seconds of a pass from its FLOP and the rate of one thread. The rates of AVX-512, for f32 and bf16, were
 * measured with ResNet-50 on an EPYC (Zen 4; order_rule.c). The rate of AMX was measured on a Xeon. The rate of AVX2 is
 * taken as half of that of AVX-512. */
double tutti_onednn_seconds(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    double rate = has_isa(dnnl_cpu_isa_avx512_core) ? 9e10 : 4.5e10;
    (void)pass;
    if (r->precision == TUTTI_PRECISION_BF16) rate = has_isa(dnnl_cpu_isa_avx512_core_amx) ? 6e11 : 2e11;
    return tutti_candidate_flops(k) / rate / (r->nthreads > 1 ? r->nthreads : 1);
}

tutti_order tutti_onednn_prefers(tutti_precision precision)
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

void tutti_onednn_describe(char out[96])
{
    const dnnl_version_t *v = dnnl_version();
    snprintf(out, 96, "oneDNN %d.%d.%d (%s)", v->major, v->minor, v->patch, isa_name(dnnl_get_effective_cpu_isa()));
}
