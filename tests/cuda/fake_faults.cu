// SPDX-License-Identifier: Apache-2.0
// Kernels that each do one thing wrong, and some that look as if they did.
extern "C" __global__ void no_barrier(const float *a, float *out)
{
    __shared__ float s[64];
    s[threadIdx.x] = 0;
    __syncthreads();
    s[threadIdx.x] = a[threadIdx.x];
    out[threadIdx.x] = s[threadIdx.x ^ 63];
}

// Lanes of one warp need a barrier too, but its own will do.
extern "C" __global__ void in_a_warp(const float *a, float *out, int syncs)
{
    __shared__ float s[32];
    s[threadIdx.x] = a[threadIdx.x];
    if (syncs) __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}

extern "C" __global__ void wrong_bound(const float *a, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = a[i < n ? i : 0];
}

extern "C" __global__ void unwritten_shared(float *out)
{
    __shared__ float s[32];
    if (threadIdx.x != 5) s[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void swapped_index(const float *a, float *out, int rows, int columns)
{
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) out[i] = a[(i % columns) * columns + i / columns];
}

extern "C" __global__ void beyond_shared(float *out, int at)
{
    extern __shared__ float dyn[];
    dyn[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = dyn[threadIdx.x + at];
}

extern "C" __global__ void some_wait(float *out, int n)
{
    if (threadIdx.x < n) __syncthreads();
    out[threadIdx.x] = 1;
}

extern "C" __global__ void misaligned(const float *a, float *out)
{
    float4 v = *(const float4 *)(a + 1 + threadIdx.x);
    out[threadIdx.x] = v.x + v.w;
}

extern "C" __global__ void missing_lane(float *out)
{
    if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffff, (float)threadIdx.x, 20);
}

extern "C" __global__ void ended_by_a_trap(int n)
{
    if (threadIdx.x == n) __trap();
}

extern "C" __global__ void slow_copy(const float *a, float *out)
{
    out[threadIdx.x] = a[threadIdx.x] + 1;
}

// Blocks that read what others write, and threads that write one place.
extern "C" __global__ void between_blocks(float *v)
{
    if (!threadIdx.x) v[blockIdx.x] = v[(blockIdx.x + 1) % gridDim.x] + 1;
}

extern "C" __global__ void one_place(int *v, int same)
{
    *v = same ? 7 : (int)threadIdx.x;
}

extern "C" __global__ void last_block_sums(float *parts, unsigned *tickets, float *out)
{
    __shared__ bool last;
    if (!threadIdx.x) {
        parts[blockIdx.x] = (float)blockIdx.x;
        __threadfence();
        last = atomicAdd(tickets, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && !threadIdx.x) {
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += parts[b];
        *out = sum;
    }
}
