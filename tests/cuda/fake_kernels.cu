// SPDX-License-Identifier: Apache-2.0
// Kernels that tests of the fake card run.
typedef unsigned long long u64;
typedef unsigned short u16;

extern "C" __global__ void add(const float *a, const float *b, float *c, long n)
{
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__device__ __forceinline__ float warp_sum(float v)
{
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

extern "C" __global__ void block_sum(const float *a, float *out, int n)
{
    __shared__ float parts[32];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += a[i];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
        v = warp_sum(v);
        if (!threadIdx.x) out[blockIdx.x] = v;
    }
}

__device__ int counter = 5;

extern "C" __global__ void count(int *out, unsigned *most, u64 *wide, unsigned *ring)
{
    __shared__ int inner;
    if (!threadIdx.x) inner = 0;
    __syncthreads();
    atomicAdd(&inner, (int)threadIdx.x);
    __syncthreads();
    if (!threadIdx.x) out[blockIdx.x] = inner;
    atomicAdd(&counter, 1);
    atomicMax(most, threadIdx.x * 7 % 61);
    atomicAdd(wide, (u64)threadIdx.x << 33);
    atomicInc(ring, 9);
    unsigned seen = atomicCAS(most + 1, 0u, 1u);
    if (seen == 0) out[gridDim.x] = (int)blockIdx.x;
    __syncthreads();
    if (!threadIdx.x && blockIdx.x == gridDim.x - 1) out[gridDim.x + 1] = atomicAdd(&counter, 0);
}

extern "C" __global__ void to_halves(const float *a, u16 *b, u16 *h, u16 *rounded, float *back, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u16 x, y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x) : "f"(a[i]));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(a[i]));
    b[i] = x;
    h[i] = y;
    unsigned bits = __float_as_uint(a[i]);
    rounded[i] = (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    float f;
    asm("{ .reg .b32 t; cvt.f32.f16 %0, %1; }" : "=f"(f) : "h"(y));
    back[i] = f;
}

extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x % 32, y = blockIdx.y * 32;
    for (int k = threadIdx.x / 32; k < 32; k += blockDim.x / 32)
        if (x < columns && y + k < rows) tile[k][threadIdx.x % 32] = in[(long)(y + k) * columns + x];
    __syncthreads();
    int u = blockIdx.y * 32 + threadIdx.x % 32, v = blockIdx.x * 32;
    for (int k = threadIdx.x / 32; k < 32; k += blockDim.x / 32)
        if (u < rows && v + k < columns) out[(long)(v + k) * rows + u] = tile[threadIdx.x % 32][k];
}

extern "C" __global__ void integers(const u64 *a, const u64 *b, u64 *out, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    u64 x = a[i], y = b[i] | 1, *o = out + (long)i * 16;
    long long sx = (long long)x, sy = (long long)y;
    unsigned lx = (unsigned)x, ly = (unsigned)y | 1;
    int ix = (int)lx, iy = (int)ly;
    o[0] = x / y;
    o[1] = x % y;
    o[2] = (u64)(sx / (sy | 3));
    o[3] = (u64)(sx % (sy | 3));
    o[4] = __umul64hi(x, y);
    o[5] = (u64)__mul64hi(sx, sy);
    o[6] = lx / ly * 3ull + lx % ly;
    o[7] = (u64)(long long)(ix / (iy | 2)) ^ (u64)(ix % (iy | 2));
    o[8] = __popcll(x) + 100 * __clzll(x) + 10000 * __popc(lx) + 1000000 * __clz(lx);
    o[9] = __brevll(x) ^ __brev(lx);
    o[10] = (u64)(sx >> (y & 63)) ^ (x << (y & 63));
    o[11] = __funnelshift_l(lx, ly, 7) + ((u64)__byte_perm(lx, ly, 0x3517) << 32);
    o[12] = x + y < x ? 1 : 2;
    o[13] = (u64)__mulhi(ix, iy) ^ __umulhi(lx, ly);
    o[14] = (lx & ly) | (~lx & (unsigned)(y >> 32));
    o[15] = (u64)(ix < iy ? min(ix, 77) : max(ix, -5)) + (u64)__sad(ix, iy, 9u);
}

extern "C" __global__ void functions(const float *a, float *e, float *t, float *l, float *s, float *q, float *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], m = fabsf(x) + 0.001f;
    e[i] = expf(x);
    t[i] = tanhf(x);
    l[i] = logf(m);
    s[i] = sinf(x * 1e5f); // the slow way: a table in memory of the thread
    q[i] = sqrtf(m) / (m + 3) - 1 / m;
    p[i] = powf(m, 1.5f) + erff(x);
}

extern "C" __global__ void doubles(const double *a, double *out, int n)
{
    int i = threadIdx.x;
    if (i < n) out[i] = exp(a[i]) + sin(a[i] * 1e9) / (2 + a[i] * a[i]); // sin calls a function
}

extern "C" __global__ void paths(int *out, int n)
{
    int i = threadIdx.x, r = 0;
    switch (i % 7) {
    case 0: r = 10 + n; break;
    case 1: r = i * i; break;
    case 2: for (int k = 0; k < i; k++) r += k ^ n; break;
    case 3: r = -i; break;
    case 4: r = i << 3; break;
    case 5: r = __popc(i); break;
    }
    int odd = __ballot_sync(~0u, i & 1), any = __any_sync(~0u, r > 1000), all = __all_sync(~0u, i < 1024);
    out[i] = r + (odd == (int)0xaaaaaaaa) * 1000 + any * 10000 + all * 20000;
    int c = __syncthreads_count(i % 3 == 0);
    out[blockDim.x + i] = c + __shfl_up_sync(~0u, i, 3) + __shfl_down_sync(~0u, i, 5) + __shfl_sync(~0u, i, 7, 16);
    int half = i & 16 ? __reduce_add_sync(0xffff0000u, i) : __reduce_add_sync(0x0000ffffu, i);
    out[2 * blockDim.x + i] = half;
}

extern "C" __global__ void busy(float *out, int rounds)
{
    float x = threadIdx.x * 0.001f, y = 1;
    int k = threadIdx.x;
    for (int i = 0; i < rounds; i++) {
        x = x * 0.999f + y;
        y = y * 0.5f + 0.25f;
        k = (k << 1) ^ (k + i);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + y + k;
}

extern "C" __global__ void advance(float *v, const u64 *step, int n)
{
    int i = threadIdx.x;
    if (i < n) v[i] = v[i] * 2 + (float)*step;
}
