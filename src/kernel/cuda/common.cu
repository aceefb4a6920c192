// common.cu: what the kernels' texts of this folder share: number types, vectors of 16 bytes, sums of warps and blocks. It stands before each of them.
//
// Arithmetic is f32. Numbers of 16 bits are widened when they are read and rounded to nearest even when they are written, with the bits of
// src/tensor/convert_one.h, NaNs included. Sums of warps and blocks have one order, so the same inputs give the same bits.

// As tutti_dtype has them. Types are parameters of a kernel: all threads go the same way, which costs nothing beside memory.
enum { F32, BF16, F16 };

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define DEVICE static __device__ __forceinline__
#define ENTRY extern "C" __global__ void

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

DEVICE float load(const void *at, int type, i64 i)
{
    return type == F32 ? ((const float *)at)[i] : float_of_half(((const u16 *)at)[i], type);
}

DEVICE void store(void *at, int type, i64 i, float value)
{
    if (type == F32)
        ((float *)at)[i] = value;
    else
        ((u16 *)at)[i] = half_of_float(value, type);
}

// The number as it is after it was written and read.
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

DEVICE quad load4(const void *at, int type, i64 i)
{
    if (type == F32) {
        const float4 v = *(const float4 *)((const float *)at + i);
        return {{v.x, v.y, v.z, v.w}};
    }
    const uint2 v = *(const uint2 *)((const u16 *)at + i);
    return {{float_of_half((u16)v.x, type), float_of_half((u16)(v.x >> 16), type), float_of_half((u16)v.y, type),
             float_of_half((u16)(v.y >> 16), type)}};
}

DEVICE u32 two_halves(float low, float high, int type)
{
    return (u32)half_of_float(low, type) | (u32)half_of_float(high, type) << 16;
}

DEVICE void store4(void *at, int type, i64 i, const quad &q)
{
    if (type == F32)
        *(float4 *)((float *)at + i) = make_float4(q.x[0], q.x[1], q.x[2], q.x[3]);
    else
        *(uint2 *)((u16 *)at + i) = make_uint2(two_halves(q.x[0], q.x[1], type), two_halves(q.x[2], q.x[3], type));
}

// Four of n numbers, of which the last ones may be missing, at any address: zeros stand for what is missing.
DEVICE bool is_whole(const void *at, int type, i64 i, i64 n)
{
    return i + 4 <= n && ((u64)at + i * (type == F32 ? 4 : 2)) % (type == F32 ? 16 : 8) == 0;
}

DEVICE quad load_up_to_4(const void *at, int type, i64 i, i64 n)
{
    if (is_whole(at, type, i, n)) return load4(at, type, i);
    quad q = {{0, 0, 0, 0}};
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (i + j < n) q.x[j] = load(at, type, i + j);
    return q;
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

// T::lanes numbers (4 of f32, 8 of 16 bits) from a multiple of that on, 16 bytes at an address that is a multiple of 16.
template <class T> struct lanes_of {
    float x[T::lanes];
};

template <class T> DEVICE lanes_of<T> load16(const void *at, i64 i)
{
    const uint4 v = *(const uint4 *)((const char *)at + i * T::bytes);
    const u32 words[4] = {v.x, v.y, v.z, v.w};
    lanes_of<T> out;
#pragma unroll
    for (int w = 0; w < 4; w++) {
        if (T::type == F32) {
            out.x[w] = __uint_as_float(words[w]);
        } else {
            out.x[2 * w % T::lanes] = float_of_half((u16)words[w], T::type);
            out.x[(2 * w + 1) % T::lanes] = float_of_half((u16)(words[w] >> 16), T::type);
        }
    }
    return out;
}

template <class T> DEVICE void store16(void *at, i64 i, const lanes_of<T> &q)
{
    u32 words[4];
#pragma unroll
    for (int w = 0; w < 4; w++)
        words[w] = T::type == F32 ? __float_as_uint(q.x[w])
                                  : two_halves(q.x[2 * w % T::lanes], q.x[(2 * w + 1) % T::lanes], T::type);
    *(uint4 *)((char *)at + i * T::bytes) = make_uint4(words[0], words[1], words[2], words[3]);
}

// ---- threads, places ----

DEVICE i64 thread_number()
{
    return (i64)blockIdx.x * blockDim.x + threadIdx.x;
}

// i / by and what is left, both not negative: mostly by 32 bits, which are quick.
struct division {
    i64 quotient, rest;
};

DEVICE division divided(i64 i, i64 by)
{
    if (((u64)i | (u64)by) >> 32 == 0) return {(u32)i / (u32)by, (u32)i % (u32)by};
    return {i / by, i % by};
}

// Where number i of a value of one order (of `channels` at `plane` positions a sample; is_nhwc: channels lie side by side) lies.
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

// Of all 32 lanes, to all of them; V has 4 or 8 bytes.
template <class OP, class V> DEVICE V warp_all(V value)
{
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) value = OP::of(value, __shfl_xor_sync(0xffffffffu, value, apart));
    return value;
}

// Of all threads of a block of so many warps, x alone, to all of them. scratch: shared memory of 32 V, which is free again after it.
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
