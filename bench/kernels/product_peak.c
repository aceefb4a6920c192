/* SPDX-License-Identifier: Apache-2.0 */
/* product_peak.c: product_peak.h by twelve chains, which hide the latency of any of these instructions; of tiles by the
 * six of eight that are not factors. */
#include "product_peak.h"

#include <immintrin.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CHAINS = 12, STEPS = 400000, TRIES = 40, TILE_STEPS = 20000 };

double product_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* STEPS times CHAINS instructions; the sums are kept alive by an empty instruction that takes them all. */
#define PEAK_LOOP(name, isa, type, zero, instruction)                                                                  \
    __attribute__((target(isa))) static void name(void)                                                                \
    {                                                                                                                  \
        type s0 = zero, s1 = zero, s2 = zero, s3 = zero, s4 = zero, s5 = zero;                                         \
        type s6 = zero, s7 = zero, s8 = zero, s9 = zero, s10 = zero, s11 = zero, x = zero;                             \
        for (int i = 0; i < STEPS; i++)                                                                                \
            __asm__ volatile(instruction " %12, %12, %0\n\t" instruction " %12, %12, %1\n\t" instruction               \
                                         " %12, %12, %2\n\t" instruction " %12, %12, %3\n\t" instruction               \
                                         " %12, %12, %4\n\t" instruction " %12, %12, %5\n\t" instruction               \
                                         " %12, %12, %6\n\t" instruction " %12, %12, %7\n\t" instruction               \
                                         " %12, %12, %8\n\t" instruction " %12, %12, %9\n\t" instruction               \
                                         " %12, %12, %10\n\t" instruction " %12, %12, %11"                             \
                             : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5), "+v"(s6), "+v"(s7),         \
                               "+v"(s8), "+v"(s9), "+v"(s10), "+v"(s11)                                                \
                             : "v"(x));                                                                                \
    }
PEAK_LOOP(peak_avx512, "avx512f", __m512, _mm512_setzero_ps(), "vfmadd231ps")
PEAK_LOOP(peak_bf16, "avx512f,avx512bf16", __m512, _mm512_setzero_ps(), "vdpbf16ps")
PEAK_LOOP(peak_avx2, "avx2,fma", __m256, _mm256_setzero_ps(), "vfmadd231ps")

/* Twelve products of whole tiles a step. Linux gives tiles to who asks; their state is left unused again. */
static void peak_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
    for (int i = 0; i < 8; i++) config.rows[i] = 16, config.row_bytes[i] = 64;
    __asm__ volatile("ldtilecfg %0" : : "m"(config));
    for (int i = 0; i < TILE_STEPS; i++)
        __asm__ volatile("tdpbf16ps %tmm7, %tmm6, %tmm0\n\ttdpbf16ps %tmm7, %tmm6, %tmm1\n\t"
                         "tdpbf16ps %tmm7, %tmm6, %tmm2\n\ttdpbf16ps %tmm7, %tmm6, %tmm3\n\t"
                         "tdpbf16ps %tmm7, %tmm6, %tmm4\n\ttdpbf16ps %tmm7, %tmm6, %tmm5\n\t"
                         "tdpbf16ps %tmm7, %tmm6, %tmm0\n\ttdpbf16ps %tmm7, %tmm6, %tmm1\n\t"
                         "tdpbf16ps %tmm7, %tmm6, %tmm2\n\ttdpbf16ps %tmm7, %tmm6, %tmm3\n\t"
                         "tdpbf16ps %tmm7, %tmm6, %tmm4\n\ttdpbf16ps %tmm7, %tmm6, %tmm5");
    __asm__ volatile("tilerelease");
}

static const struct {
    const char *row;
    void (*loop)(void);
    int steps, each; /* multiplications and additions of an instruction */
} loops[] = {{"avx512", peak_avx512, STEPS, 32},
             {"avx512-bf16", peak_bf16, STEPS, 64},
             {"avx2", peak_avx2, STEPS, 16},
             {"amx", peak_tiles, TILE_STEPS, 2 * 16 * 16 * 32}};

double product_peak(const char *row)
{
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        if (strcmp(loops[i].row, row)) continue;
        double best = 1e9;
        for (int try = 0; try < TRIES; try++) {
            const double start = product_clock();
            loops[i].loop();
            const double taken = product_clock() - start;
            if (taken < best) best = taken;
        }
        return (double)loops[i].steps * CHAINS * loops[i].each / best;
    }
    return 0;
}
