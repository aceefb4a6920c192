// loops.cu: sums of vectors, divisions and conversions on a card. Each step of the expression is one operation an
// element and rounded by itself, so that the bits are those of src/tensor/reduce.h at any offset and in any cut.

enum { MOST_INPUTS = 64, MOST_OUTPUTS = 8, MOST_STACK = 16 };
enum { F32, BF16, F16 };

struct expression {
    const char *in[MOST_INPUTS];
    char *out[MOST_OUTPUTS];
    unsigned char folds[MOST_INPUTS];
    int nin, nout, in_type, out_type;
    long long n;
};

__device__ float from_f16(unsigned short h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

__device__ unsigned short to_f16(float f)
{
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

__device__ unsigned short to_bf16(float f)
{
    unsigned bits = __float_as_uint(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 0x40u);
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

__device__ float load(const char *at, int type, long long i)
{
    if (type == F32) return ((const float *)at)[i];
    const unsigned short bits = ((const unsigned short *)at)[i];
    return type == BF16 ? __uint_as_float((unsigned)bits << 16) : from_f16(bits);
}

__device__ void store(char *at, int type, long long i, float value)
{
    if (type == F32)
        ((float *)at)[i] = value;
    else
        ((unsigned short *)at)[i] = type == BF16 ? to_bf16(value) : to_f16(value);
}

// Sums of any types and any expression: values that wait are on a stack.
extern "C" __global__ void sum(const __grid_constant__ expression e)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= e.n) return;
    float stack[MOST_STACK];
    int depth = 0;
    for (int k = 0; k < e.nin; k++) {
        const float value = load(e.in[k], e.in_type, i);
#pragma unroll
        for (int d = 0; d < MOST_STACK; d++)
            if (d == depth) stack[d] = value;
        depth++;
        for (int f = e.folds[k]; f > 0; f--) {
            depth--;
#pragma unroll
            for (int d = 1; d < MOST_STACK; d++)
                if (d == depth) stack[d - 1] = __fadd_rn(stack[d - 1], stack[d]);
        }
    }
    for (int o = 0; o < e.nout; o++) store(e.out[o], e.out_type, i, stack[0]);
}

// The sum of two vectors of f32, which lie at multiples of 16 bytes, four elements a thread: folds and exchanges of two
// ranks need no more.
extern "C" __global__ void sum_f32(const float *a, const float *b, float *out, long long n)
{
    const long long i = 4 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        const float4 x = *(const float4 *)(a + i), y = *(const float4 *)(b + i);
        *(float4 *)(out + i) =
            make_float4(__fadd_rn(x.x, y.x), __fadd_rn(x.y, y.y), __fadd_rn(x.z, y.z), __fadd_rn(x.w, y.w));
    } else {
        for (long long j = i; j < n; j++) out[j] = __fadd_rn(a[j], b[j]);
    }
}

extern "C" __global__ void divide(char *x, int type, long long n, float by)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(x, type, i, __fdiv_rn(load(x, type, i), by));
}

extern "C" __global__ void convert(const char *from, int type, char *to, int to_type, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(to, to_type, i, load(from, type, i));
}
