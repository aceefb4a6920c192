/* SPDX-License-Identifier: Apache-2.0 */
/* convert_loops.h: the loops of every row of convert_impl.h, included once by each row file after it has defined
 *   vector, WIDTH (floats in it), load(), store(), add(), leave_vectors() as for elementwise_loops.h, and
 *   load_bf16(), load_f16(), store_bf16(), store_f16(): WIDTH 16-bit numbers from and to memory.
 * and includes convert_sum_loops.h behind this.
 * What is left over at the end is computed one by one in plain C, with the same result. */

#define INLINE static inline __attribute__((always_inline))

INLINE void widen(const uint16_t *from, float *to, int64_t n, vector (*take)(const uint16_t *), float (*one)(uint16_t))
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) store(to + i, take(from + i));
    leave_vectors();
    for (; i < n; i++) to[i] = one(from[i]);
}

INLINE void narrow(const float *from, uint16_t *to, int64_t n, void (*put)(uint16_t *, vector), uint16_t (*one)(float))
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) put(to + i, load(from + i));
    leave_vectors();
    for (; i < n; i++) to[i] = one(from[i]);
}

static void widen_bf16(const uint16_t *from, float *to, int64_t n)
{
    widen(from, to, n, load_bf16, tutti_f32_of_bf16);
}

static void widen_f16(const uint16_t *from, float *to, int64_t n)
{
    widen(from, to, n, load_f16, tutti_f32_of_f16);
}

static void narrow_bf16(const float *from, uint16_t *to, int64_t n)
{
    narrow(from, to, n, store_bf16, tutti_bf16_of_f32);
}

static void narrow_f16(const float *from, uint16_t *to, int64_t n)
{
    narrow(from, to, n, store_f16, tutti_f16_of_f32);
}

static void add_bf16(uint16_t *y, const uint16_t *x, int64_t n)
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) store_bf16(y + i, add(load_bf16(y + i), load_bf16(x + i)));
    leave_vectors();
    for (; i < n; i++) y[i] = tutti_bf16_of_f32(tutti_f32_of_bf16(y[i]) + tutti_f32_of_bf16(x[i]));
}

static void add_f16(uint16_t *y, const uint16_t *x, int64_t n)
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) store_f16(y + i, add(load_f16(y + i), load_f16(x + i)));
    leave_vectors();
    for (; i < n; i++) y[i] = tutti_f16_of_f32(tutti_f32_of_f16(y[i]) + tutti_f32_of_f16(x[i]));
}
