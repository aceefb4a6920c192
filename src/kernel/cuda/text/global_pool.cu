// global_pool.cu: the mean of each plane, and its gradient. Channels last, a multiple of eight of one type: a thread
// takes eight channels (entries with a type's name). All else: a warp takes a plane, or a thread a number (entries with
// _any).

struct planes {
    void *in, *out; // out: (batch, channels); backward reads it and writes in
    int in_type, out_type;
    i64 batch, channels, plane;
    int side_by_side; // 1: the channels of a position lie side by side
};

enum { WIDE = 32, HIGH = 8 }; // a block: vectors of channels, parts of a plane

// Grid: tiles of channels, samples.
template <class T> DEVICE void mean_of_planes(const planes &p)
{
    __shared__ float sums[HIGH][EIGHT][WIDE];
    const i64 channel = EIGHT * ((i64)blockIdx.x * WIDE + threadIdx.x);
    const bool is_inside = channel < p.channels;
    float sum[EIGHT] = {};
    for (i64 sample = blockIdx.y; sample < p.batch; sample += gridDim.y) {
#pragma unroll
        for (int j = 0; j < EIGHT; j++) sum[j] = 0;
#pragma unroll 4
        for (i64 e = threadIdx.y; e < p.plane; e += HIGH) {
            if (!is_inside) continue;
            float x[EIGHT];
            load8<T>(p.in, (sample * p.plane + e) * p.channels + channel, x);
#pragma unroll
            for (int j = 0; j < EIGHT; j++) sum[j] += x[j];
        }
#pragma unroll
        for (int j = 0; j < EIGHT; j++) sums[threadIdx.y][j][threadIdx.x] = sum[j];
        __syncthreads();
        if (threadIdx.y == 0 && is_inside) {
#pragma unroll
            for (int j = 0; j < EIGHT; j++) {
                for (int y = 1; y < HIGH; y++) sum[j] += sums[y][j][threadIdx.x];
                sum[j] = __fdiv_rn(sum[j], (float)p.plane);
            }
            store8<T>(p.out, sample * p.channels + channel, sum);
        }
        __syncthreads();
    }
}

template <class T> DEVICE void spread(const planes &p)
{
    const i64 vectors = p.channels / EIGHT, at = thread_number(), position = at / vectors, sample = position / p.plane;
    const i64 channel = EIGHT * (at - position * vectors);
    if (sample >= p.batch) return;
    float x[EIGHT];
    load8<T>(p.out, sample * p.channels + channel, x);
#pragma unroll
    for (int j = 0; j < EIGHT; j++) x[j] = __fdiv_rn(x[j], (float)p.plane);
    store8<T>(p.in, position * p.channels + channel, x);
}

ENTRY mean_of_planes_any(const __grid_constant__ planes p)
{
    const i64 at = thread_number() / 32, sample = at / p.channels, channel = at % p.channels;
    const i64 from = sample * p.channels * p.plane + channel * (p.side_by_side ? 1 : p.plane);
    const i64 step = p.side_by_side ? p.channels : 1;
    if (sample >= p.batch) return;
    float sum = 0;
    for (i64 e = threadIdx.x % 32; e < p.plane; e += 32) sum += load(p.in, p.in_type, from + e * step);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) store(p.out, p.out_type, at, __fdiv_rn(sum, (float)p.plane));
}

ENTRY spread_any(const __grid_constant__ planes p)
{
    const i64 at = thread_number(), sample = at / (p.channels * p.plane);
    const i64 channel = p.side_by_side ? at % p.channels : at / p.plane % p.channels;
    if (sample >= p.batch) return;
    const float mean = load(p.out, p.out_type, sample * p.channels + channel);
    store(p.in, p.in_type, at, __fdiv_rn(mean, (float)p.plane));
}

#define ENTRIES(T)                                                                                                     \
    ENTRY mean_of_planes_##T(const __grid_constant__ planes p)                                                         \
    {                                                                                                                  \
        mean_of_planes<T>(p);                                                                                          \
    }                                                                                                                  \
    ENTRY spread_##T(const __grid_constant__ planes p)                                                                 \
    {                                                                                                                  \
        spread<T>(p);                                                                                                  \
    }
ENTRIES(f32)
ENTRIES(bf16)
ENTRIES(f16)
