/* SPDX-License-Identifier: Apache-2.0 */
/* immintrin.h: the compiler's header, and instructions of AVX-512, AVX512-BF16 and AMX in C, for processors that have
 * AVX2 alone. Found before the compiler's in the build of libtutti that CMakeLists.txt here makes: so all loops of ours
 * run anywhere, if slowly, to the same bits. Only what they use is there. */
#ifndef TUTTI_EMULATED_IMMINTRIN_H
#define TUTTI_EMULATED_IMMINTRIN_H

#pragma GCC system_header /* so that macros may be defined once more */
#include_next <immintrin.h>

#include "emulated_bf16.h"
#include "emulated_tiles.h"

/* The names of the instructions, some of which the compiler has as macros already. */
#define _mm512_loadu_si512(p)                     emulated_loadu_si512(p)
#define _mm512_storeu_si512(p, v)                 emulated_storeu_si512(p, v)
#define _mm512_storeu_ps(p, v)                    emulated_storeu_si512(p, (__m512i)(v))
#define _mm512_store_si512(p, v)                  emulated_store_si512(p, v)
#define _mm512_stream_ps(p, v)                    emulated_store_si512(p, (__m512i)(v))
#define _mm512_stream_si512(p, v)                 emulated_store_si512(p, v)
#define _mm512_maskz_loadu_ps(m, p)               emulated_load_16_floats(m, p)
#define _mm512_mask_storeu_ps(p, m, v)            emulated_store_16_floats(p, m, v)
#define _mm512_maskz_loadu_epi16(m, p)            emulated_load_32_halves(m, p)
#define _mm512_mask_storeu_epi16(p, m, v)         emulated_store_32_halves(p, m, v)
#define _mm256_maskz_loadu_ps(m, p)               emulated_load_8_floats(m, p)
#define _mm256_mask_storeu_ps(p, m, v)            emulated_store_8_floats(p, m, v)
#define _mm256_maskz_loadu_epi16(m, p)            emulated_load_16_halves(m, p)
#define _mm256_mask_storeu_epi16(p, m, v)         emulated_store_16_halves(p, m, v)
#define _mm_mask_storeu_epi16(p, m, v)            emulated_store_8_halves(p, m, v)
#define _mm512_set1_epi32(x)                      emulated_set1_epi32(x)
#define _mm512_set1_epi64(x)                      emulated_set1_epi64((int64_t)(x))
#define _mm512_setr_epi32(...)                    ((__m512i)(emulated_words){__VA_ARGS__})
#define _mm512_setzero_ps()                       ((__m512){0})
#define _mm512_setzero_pd()                       ((__m512d){0})
#define _mm512_setzero_si512()                    ((__m512i){0})
#define _mm512_castps_pd(v)                       ((__m512d)(v))
#define _mm512_castpd_ps(v)                       ((__m512)(v))
#define _mm512_castsi512_ps(v)                    ((__m512)(v))
#define _mm512_castps512_ps256(v)                 ((__m256)emulated_half((__m512i)(v), 0))
#define _mm512_castpd512_pd256(v)                 ((__m256d)emulated_half((__m512i)(v), 0))
#define _mm512_castsi512_si256(v)                 emulated_half(v, 0)
#define _mm512_castsi256_si512(v)                 emulated_join(v, _mm256_setzero_si256())
#define _mm512_inserti64x4(v, half, upper)        emulated_inserti64x4(v, half, upper)
#define _mm512_extracti64x4_epi64(v, upper)       emulated_half(v, upper)
#define _mm512_extractf64x4_pd(v, upper)          ((__m256d)emulated_half((__m512i)(v), upper))
#define _mm512_fmadd_ps(a, b, c)                  emulated_fmadd_ps(a, b, c)
#define _mm512_fmadd_pd(a, b, c)                  emulated_fmadd_pd(a, b, c)
#define _mm512_sqrt_ps(v)                         emulated_sqrt_ps(v)
#define _mm512_max_ps(a, b)                       emulated_max_ps(a, b)
#define _mm512_max_pd(a, b)                       emulated_max_pd(a, b)
#define _mm512_min_pd(a, b)                       emulated_min_pd(a, b)
#define _mm512_mul_epu32(a, b)                    emulated_mul_epu32(a, b)
#define _mm512_reduce_add_ps(v)                   emulated_reduce_add_ps(v)
#define _mm512_add_epi32(a, b)                    ((__m512i)((emulated_words)(a) + (emulated_words)(b)))
#define _mm512_and_si512(a, b)                    ((__m512i)((a) & (b)))
#define _mm512_or_si512(a, b)                     ((__m512i)((a) | (b)))
#define _mm512_slli_epi32(v, n)                   ((__m512i)((emulated_words)(v) << (n)))
#define _mm512_srli_epi32(v, n)                   ((__m512i)((emulated_words)(v) >> (n)))
#define _mm512_ternarylogic_epi32(a, b, c, table) emulated_ternarylogic_epi32(a, b, c, table)
#define _mm512_cmp_ps_mask(a, b, how)             emulated_cmp_ps_mask(a, b, how)
#define _mm512_cmp_pd_mask(a, b, how)             emulated_cmp_pd_mask(a, b, how)
#define _mm_cmpeq_epi8_mask(a, b)                 emulated_cmpeq_epi8_mask(a, b)
#define _mm512_mask_mov_ps(w, m, v)               emulated_mask_mov_ps(w, m, v)
#define _mm512_mask_mov_pd(w, m, v)               emulated_mask_mov_pd(w, m, v)
#define _mm512_maskz_mov_ps(m, v)                 emulated_mask_mov_ps((__m512){0}, m, v)
#define _mm512_mask_or_epi32(w, m, a, b)          emulated_mask_or_epi32(w, m, a, b)
#define _mm512_maskz_compress_epi32(m, v)         emulated_maskz_compress_epi32(m, v)
#define _mm512_maskz_compress_ps(m, v)            ((__m512)emulated_maskz_compress_epi32(m, (__m512i)(v)))
#define _mm512_cvtepu16_epi32(v)                  emulated_cvtepu16_epi32(v)
#define _mm512_cvtepi32_epi16(v)                  emulated_cvtepi32_epi16(v)
#define _mm512_cvtepi32_epi8(v)                   emulated_cvtepi32_epi8(v)
#define _mm512_cvtps_pd(v)                        emulated_cvtps_pd(v)
#define _mm512_cvtph_ps(v)                        emulated_cvtph_ps(v)
#define _mm512_cvtps_ph(v, how)                   emulated_cvtps_ph(v)
// clang-format off
#define _mm512_unpacklo_ps(a, b) \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
// clang-format on
#define _mm512_unpackhi_ps(a, b)                                                                                       \
    __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define _mm512_unpacklo_pd(a, b)        __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define _mm512_unpackhi_pd(a, b)        __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define _mm512_shuffle_f32x4(a, b, how) emulated_shuffle_f32x4(a, b, how)
#define _mm512_dpbf16_ps(sum, a, b)     emulated_dpbf16_ps(sum, (__m512)(a), (__m512)(b))
#define _mm256_dpbf16_ps(sum, a, b)     emulated_dpbf16_ps256(sum, (__m256)(a), (__m256)(b))
#define _mm512_cvtneps_pbh(v)           emulated_cvtneps_pbh(v)
#define _mm256_cvtneps_pbh(v)           emulated_cvtneps_pbh256(v)
#define _tile_loadconfig(config)        emulated_loadconfig(config)
#define _tile_storeconfig(config)       emulated_storeconfig(config)
#define _tile_zero(n)                   emulated_tile_zero(n)
#define _tile_loadd(n, from, apart)     emulated_tile_loadd(n, from, (size_t)(apart))
#define _tile_stored(n, to, apart)      emulated_tile_stored(n, to, (size_t)(apart))
#define _tile_dpbf16ps(c, a, b)         emulated_tile_dpbf16ps(c, a, b)

#endif
