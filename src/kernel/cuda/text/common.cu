// common.cu: the text that the build puts before each other text of this folder: number types, vectors of 16 bytes,
// sums of warps and blocks.
//
// Arithmetic is f32. Numbers of 16 bits are widened when they are read and rounded to nearest even when they are
// written, with the bits of src/tensor/convert_one.h, NaNs included. Sums of warps and blocks have one order, so the
// same inputs give the same bits.

// These are the values of tutti_dtype. Types are parameters of a kernel: all threads branch alike, which costs nothing
// beside memory.
enum { F32, BF16, F16 };

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define DEVICE static __device__ __forceinline__
#define ENTRY  extern "C" __global__ void

// ---- one number ----

DEVICE float float_of_bf16(u16 half)
{
    return __uint_as_float((u32)half << 16);
}

DEVICE float float_of_f16(u16 half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    const u32 magnitude = half & 0x7fffu;
    if (magnitude > 0x7c00u) value = __uint_as_float((half & 0x8000u) << 16 | 0x7fc00000u | (magnitude & 0x3ffu) << 13);
    return value;
}

DEVICE u16 bf16_of_float(float value)
{
    u16 half;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return value == value ? half : (u16)(__float_as_uint(value) >> 16 | 0x40u);
}

DEVICE u16 f16_of_float(float value)
{
    u16 half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    const u32 bits = __float_as_uint(value);
    return value == value ? half : (u16)((bits >> 16 & 0x8000u) | 0x7e00u | (bits >> 13 & 0x3ffu));
}

DEVICE float float_of_half(u16 half, int type)
{
    return type == BF16 ? float_of_bf16(half) : float_of_f16(half);
}

DEVICE u16 half_of_float(float value, int type)
{
    return type == BF16 ? bf16_of_float(value) : f16_of_float(value);
}

// fetch reads the bits of a number; widen converts them to f32.
DEVICE u32 fetch(const void *at, int type, i64 i)
{
    return type == F32 ? ((const u32 *)at)[i] : ((const u16 *)at)[i];
}

DEVICE float widen(u32 raw, int type)
{
    return type == F32 ? __uint_as_float(raw) : float_of_half((u16)raw, type);
}

DEVICE float load(const void *at, int type, i64 i)
{
    return widen(fetch(at, type, i), type);
}

DEVICE void store(void *at, int type, i64 i, float value)
{
    if (type == F32)
        ((float *)at)[i] = value;
    else
        ((u16 *)at)[i] = half_of_float(value, type);
}

// Returns the number rounded to the type, as if it was written and read again.
DEVICE float rounded(float value, int type)
{
    return type == F32 ? value : float_of_half(half_of_float(value, type), type);
}

// ---- the same for types that are known when the text is compiled: load<bf16>(at, i) ----

template <int TYPE> struct number {
    enum { type = TYPE, bytes = TYPE == F32 ? 4 : 2, lanes = 16 / bytes }; // numbers in 16 bytes
};
typedef number<F32> f32;
typedef number<BF16> bf16;
typedef number<F16> f16;

template <class T> DEVICE float load(const void *at, i64 i)
{
    return load(at, (int)T::type, i);
}

template <class T> DEVICE void store(void *at, i64 i, float value)
{
    store(at, (int)T::type, i, value);
}

// ---- vectors ----

// Four numbers from a multiple of four on, at an address that is a multiple of their bytes (16 or 8).
struct quad {
    float x[4];
};

DEVICE bool has_nan(float a, float b, float c, float d)
{
    return a != a || b != b || c != c || d != d;
}

// Four numbers of 16 bits, two in a word, the first in its lower half. Only NaNs are looked at one by one, because the
// card's own conversion changes their bits.
DEVICE quad quad_of_halves(uint2 v, int type)
{
    quad q;
    if (type == BF16)
        return {{__uint_as_float(v.x << 16), __uint_as_float(v.x & 0xffff0000u), __uint_as_float(v.y << 16),
                 __uint_as_float(v.y & 0xffff0000u)}};
    const u16 h[4] = {(u16)v.x, (u16)(v.x >> 16), (u16)v.y, (u16)(v.y >> 16)};
#pragma unroll
    for (int j = 0; j < 4; j++) asm("cvt.f32.f16 %0, %1;" : "=f"(q.x[j]) : "h"(h[j]));
    if (has_nan(q.x[0], q.x[1], q.x[2], q.x[3]))
#pragma unroll
        for (int j = 0; j < 4; j++) q.x[j] = float_of_f16(h[j]);
    return q;
}

DEVICE u32 two_halves(float low, float high, int type)
{
    u32 two;
    if (type == BF16)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    else
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
}

DEVICE uint2 halves_of_quad(const quad &q, int type)
{
    const float *x = q.x;
    if (!has_nan(x[0], x[1], x[2], x[3])) return make_uint2(two_halves(x[0], x[1], type), two_halves(x[2], x[3], type));
    u32 h[4];
#pragma unroll
    for (int j = 0; j < 4; j++) h[j] = half_of_float(x[j], type);
    return make_uint2(h[0] | h[1] << 16, h[2] | h[3] << 16);
}

// Four numbers as they lie in memory: f32 in a word each, 16 bits in the first two. A thread that wants several fetches
// all of them before it widens one; else each waits for the one before it.
struct raw4 {
    u32 word[4];
};

DEVICE raw4 fetch4(const void *at, int type, i64 i)
{
    if (type == F32) {
        const uint4 v = *(const uint4 *)((const float *)at + i);
        return {{v.x, v.y, v.z, v.w}};
    }
    const uint2 v = *(const uint2 *)((const u16 *)at + i);
    return {{v.x, v.y, 0, 0}};
}

DEVICE quad widen4(const raw4 &r, int type)
{
    if (type != F32) return quad_of_halves(make_uint2(r.word[0], r.word[1]), type);
    return {{__uint_as_float(r.word[0]), __uint_as_float(r.word[1]), __uint_as_float(r.word[2]),
             __uint_as_float(r.word[3])}};
}

DEVICE quad load4(const void *at, int type, i64 i)
{
    return widen4(fetch4(at, type, i), type);
}

DEVICE void store4(void *at, int type, i64 i, const quad &q)
{
    if (type == F32)
        *(float4 *)((float *)at + i) = make_float4(q.x[0], q.x[1], q.x[2], q.x[3]);
    else
        *(uint2 *)((u16 *)at + i) = halves_of_quad(q, type);
}

// Four of n numbers that are all there, at a multiple of their bytes.
DEVICE bool is_whole(const void *at, int type, i64 i, i64 n)
{
    return i + 4 <= n && ((u64)at + i * (type == F32 ? 4 : 2)) % (type == F32 ? 16 : 8) == 0;
}

// Four of n numbers, of which the last ones may be missing, at any address: zeros stand for what is missing.
DEVICE raw4 fetch_up_to_4(const void *at, int type, i64 i, i64 n)
{
    if (is_whole(at, type, i, n)) return fetch4(at, type, i);
    raw4 r = {{0, 0, 0, 0}};
#pragma unroll
    for (int j = 0; j < 4; j++) {
        if (i + j >= n) continue;
        if (type == F32)
            r.word[j] = ((const u32 *)at)[i + j];
        else
            r.word[j / 2] |= (u32)((const u16 *)at)[i + j] << j % 2 * 16;
    }
    return r;
}

DEVICE quad load_up_to_4(const void *at, int type, i64 i, i64 n)
{
    return widen4(fetch_up_to_4(at, type, i, n), type);
}

DEVICE void store_up_to_4(void *at, int type, i64 i, i64 n, const quad &q)
{
    if (is_whole(at, type, i, n)) {
        store4(at, type, i, q);
        return;
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (i + j < n) store(at, type, i + j, q.x[j]);
}

// T::lanes numbers (4 of f32, 8 of 16 bits) from a multiple of that on, 16 bytes at an address that is a multiple of
// 16.
template <class T> struct lanes_of {
    float x[T::lanes];
};

template <class T> DEVICE lanes_of<T> load16(const void *at, i64 i)
{
    const uint4 v = *(const uint4 *)((const char *)at + i * T::bytes);
    lanes_of<T> out;
    quad q = {{__uint_as_float(v.x), __uint_as_float(v.y), __uint_as_float(v.z), __uint_as_float(v.w)}};
    if (T::type != F32) q = quad_of_halves(make_uint2(v.x, v.y), T::type);
#pragma unroll
    for (int j = 0; j < 4; j++) out.x[j] = q.x[j];
    if (T::type == F32) return out;
    q = quad_of_halves(make_uint2(v.z, v.w), T::type);
#pragma unroll
    for (int j = 0; j < 4; j++) out.x[(4 + j) % T::lanes] = q.x[j];
    return out;
}

template <class T> DEVICE void store16(void *at, i64 i, const lanes_of<T> &v)
{
    const float *x = v.x;
    uint4 words =
        make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(x[2]), __float_as_uint(x[3]));
    if (T::type != F32) {
        const quad more = {{x[4 % T::lanes], x[5 % T::lanes], x[6 % T::lanes], x[7 % T::lanes]}};
        const uint2 first = halves_of_quad({{x[0], x[1], x[2], x[3]}}, T::type), last = halves_of_quad(more, T::type);
        words = make_uint4(first.x, first.y, last.x, last.y);
    }
    *(uint4 *)((char *)at + i * T::bytes) = words;
}

// Eight numbers from a multiple of eight on, at an address that is a multiple of 16.
enum { EIGHT = 8 };

template <class T> DEVICE void load8(const void *at, i64 i, float *x)
{
#pragma unroll
    for (int w = 0; w < EIGHT; w += T::lanes) {
        const lanes_of<T> q = load16<T>(at, i + w);
#pragma unroll
        for (int j = 0; j < T::lanes; j++) x[w + j] = q.x[j];
    }
}

template <class T> DEVICE void store8(void *at, i64 i, const float *x)
{
#pragma unroll
    for (int w = 0; w < EIGHT; w += T::lanes) {
        lanes_of<T> q;
#pragma unroll
        for (int j = 0; j < T::lanes; j++) q.x[j] = x[w + j];
        store16<T>(at, i + w, q);
    }
}

// ---- threads, places ----

DEVICE i64 thread_number()
{
    return (i64)blockIdx.x * blockDim.x + threadIdx.x;
}

// Kernels that map numbers take QUADS times four of them a thread, `4 * blockDim.x` apart: a warp reads 512 bytes of
// f32 at a time.
enum { QUADS = 2 };

DEVICE i64 first_of_thread()
{
    return (i64)blockIdx.x * (QUADS * 4 * blockDim.x) + 4 * threadIdx.x;
}

// out = ((in[0] + in[1]) + in[2]) + ..., in f32, rounded once: this thread's of n numbers in one order. S: the
// parameters of a kernel. out may be one of the inputs.
template <class S> DEVICE void add_inputs(const S &s)
{
    const i64 first = first_of_thread();
    quad sum[QUADS];
    raw4 next[QUADS];
#pragma unroll
    for (int k = 0; k < QUADS; k++) next[k] = fetch_up_to_4(s.in[0], s.type_of(0), first + k * 4 * blockDim.x, s.n);
    for (int p = 0; p < s.ninputs; p++) {
        raw4 now[QUADS];
#pragma unroll
        for (int k = 0; k < QUADS; k++) {
            now[k] = next[k];
            if (p + 1 < s.ninputs) // the next part is on its way while this one is added
                next[k] = fetch_up_to_4(s.in[p + 1], s.type_of(p + 1), first + k * 4 * blockDim.x, s.n);
        }
#pragma unroll
        for (int k = 0; k < QUADS; k++) {
            const quad more = widen4(now[k], s.type_of(p));
#pragma unroll
            for (int j = 0; j < 4; j++) sum[k].x[j] = p == 0 ? more.x[j] : __fadd_rn(sum[k].x[j], more.x[j]);
        }
    }
#pragma unroll
    for (int k = 0; k < QUADS; k++) store_up_to_4(s.out, s.out_type, first + k * 4 * blockDim.x, s.n, sum[k]);
}

// Divides i by `by`, with remainder; neither is negative. Mostly both have 32 bits, for which division is quick.
struct division {
    i64 quotient, rest;
};

DEVICE division divided(i64 i, i64 by)
{
    if (((u64)i | (u64)by) >> 32 == 0) return {(u32)i / (u32)by, (u32)i % (u32)by};
    return {i / by, i % by};
}

// Returns where number i of a value lies (`channels` at `plane` positions a sample; is_nhwc: channels lie side by
// side).
struct place {
    i64 sample, channel, position;
};

DEVICE place place_of(i64 i, i64 channels, i64 plane, bool is_nhwc)
{
    const division inner = divided(i, is_nhwc ? channels : plane);
    const division outer = divided(inner.quotient, is_nhwc ? plane : channels);
    if (is_nhwc) return {outer.quotient, inner.rest, outer.rest};
    return {outer.quotient, outer.rest, inner.rest};
}

DEVICE i64 number_at(const place &p, i64 channels, i64 plane, bool is_nhwc)
{
    return is_nhwc ? (p.sample * plane + p.position) * channels + p.channel
                   : (p.sample * channels + p.channel) * plane + p.position;
}

// ---- sums, and other operations that do not care for the order of their two operands: each has one tree ----

struct adds {
    template <class V> static __device__ __forceinline__ V of(V a, V b)
    {
        return a + b;
    }
};

struct larger_of {
    template <class V> static __device__ __forceinline__ V of(V a, V b)
    {
        return a < b ? b : a;
    }
};

// All 32 lanes get the OP of all 32 values; V has 4 or 8 bytes.
template <class OP, class V> DEVICE V warp_all(V value)
{
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) value = OP::of(value, __shfl_xor_sync(0xffffffffu, value, apart));
    return value;
}

// All threads of a block, which has x alone, get the OP of all their values. scratch: shared memory of 32 V, which is
// free again afterwards.
template <class OP, class V> DEVICE V block_all(V value, V nothing, V *scratch)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, nwarps = (blockDim.x + 31) / 32;
    value = warp_all<OP>(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();
    value = warp_all<OP>(lane < nwarps ? scratch[lane] : nothing);
    __syncthreads();
    return value;
}

template <class V> DEVICE V warp_sum(V value)
{
    return warp_all<adds>(value);
}

template <class V> DEVICE V block_sum(V value, V *scratch)
{
    return block_all<adds>(value, (V)0, scratch);
}
