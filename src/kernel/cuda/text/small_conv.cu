// small_conv.cu: convolutions of f32 by products with the patches of an input: a matrix with a row for each position of
// the output and a column for each number of the window, channels last. Patches are read from the input and never
// written. These kernels are for few channels and filters, where a library's tiles stay empty.
//
// A block computes a tile of A by B numbers: A filters by B patch columns for gradients of weights, by B positions
// else. It sums over the third dimension in chunks of ROWS. A thread has 8 by 4 numbers. If the tile needs fewer
// threads than a block has, groups of threads take different rows of a chunk, and their sums are added in order.

enum { ROWS = 32, THREADS = 256, DOWN = 8, ACROSS = 4, SUMS = THREADS * DOWN * ACROSS, MOST_COLUMNS = 1280 };
enum { NOWHERE = 1 << 20 }; // larger than any height

// Sizes of a group's channels and filters; all numbers of a value are counted in 31 bits.
struct patches_form {
    const float *in; // (batch, height, width, groups * channels)
    int positions;   // positions of all samples' outputs
    int height, width, out_height, out_width, groups, channels, filters, window, stride, pad, columns;
};

// Where a position's window begins in the input; rows above the input are negative.
struct origin {
    int at, y, x;
};

DEVICE origin origin_of(const patches_form &f, int position, int end)
{
    if (position >= end) return {0, -2 * NOWHERE, 0};
    const u32 row = (u32)position / f.out_width, sample = row / f.out_height;
    const int y = (int)(row % f.out_height) * f.stride - f.pad,
              x = (int)((u32)position % f.out_width) * f.stride - f.pad;
    return {(((int)sample * f.height + y) * f.width + x) * f.groups * f.channels, y, x};
}

// A column of the patches, from the window's begin.
DEVICE origin column_of(const patches_form &f, int group, int column)
{
    if (column >= f.columns) return {0, NOWHERE, 0};
    const u32 place = (u32)column / f.channels;
    const int y = (int)(place / f.window), x = (int)(place % f.window), channel = (int)((u32)column % f.channels);
    return {(y * f.width + x) * f.groups * f.channels + group * f.channels + channel, y, x};
}

// LANES neighbours of a patch; zeros beside the input.
template <int LANES> DEVICE void read_patch(const patches_form &f, const origin &p, const origin &c, float *to)
{
    const bool is_there = (u32)(p.y + c.y) < (u32)f.height && (u32)(p.x + c.x) < (u32)f.width;
    if constexpr (LANES == 4) {
        const float4 v = is_there ? *(const float4 *)(f.in + p.at + c.at) : make_float4(0, 0, 0, 0);
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    } else {
        to[0] = is_there ? f.in[p.at + c.at] : 0;
    }
}

// Adds a chunk's products to a thread's sums. a: rows of A numbers and 4 unused ones; b: rows of B.
template <int A, int B> struct tile {
    enum { PITCH = A + 4, ACROSS_ALL = B / ACROSS, EACH = A / DOWN * ACROSS_ALL, GROUPS = THREADS / EACH };

    static __device__ __forceinline__ void multiply(const float *a, const float *b, float (&sum)[DOWN][ACROSS])
    {
        const int u = threadIdx.x % EACH, down = u / ACROSS_ALL * DOWN, across = u % ACROSS_ALL * ACROSS;
#pragma unroll
        for (int i = 0; i < ROWS / GROUPS; i++) {
            const int row = threadIdx.x / EACH + i * GROUPS;
            const quad low = load4(a, F32, row * PITCH + down), high = load4(a, F32, row * PITCH + down + 4),
                       right = load4(b, F32, row * B + across);
#pragma unroll
            for (int k = 0; k < DOWN; k++)
#pragma unroll
                for (int j = 0; j < ACROSS; j++) sum[k][j] += (k < 4 ? low.x[k % 4] : high.x[k % 4]) * right.x[j];
        }
    }

    // Where the number of a filter is among the sums of a group: quads are exchanged so that rows as well as columns
    // spread over the banks.
    static __device__ __forceinline__ int at(int filter, int number)
    {
        return filter * B + ((number / ACROSS ^ filter % DOWN) * ACROSS) + number % ACROSS;
    }

    static __device__ __forceinline__ void put(float *all, const float (&sum)[DOWN][ACROSS])
    {
        const int u = threadIdx.x % EACH, down = u / ACROSS_ALL * DOWN, across = u % ACROSS_ALL * ACROSS;
        all += threadIdx.x / EACH * A * B;
#pragma unroll
        for (int k = 0; k < DOWN; k++)
            store4(all, F32, at(down + k, across), {{sum[k][0], sum[k][1], sum[k][2], sum[k][3]}});
    }

    static __device__ __forceinline__ float total(const float *all, int filter, int number)
    {
        float sum = all[at(filter, number)];
#pragma unroll
        for (int g = 1; g < GROUPS; g++) sum += all[g * A * B + at(filter, number)];
        return sum;
    }
};

// ---- gradients of weights: filters by patch columns, summed over positions ----

// Grid: tiles of columns, tiles of filters of all groups, slabs of positions (a multiple of ROWS each). to: one copy of
// the weights' gradient for each slab.
template <int A, int LANES> struct weights_tile {
    enum { B = 64, WIDE = B / LANES, NA = A * ROWS / THREADS, NB = B * ROWS / THREADS / LANES };
    float a[NA], b[NB * LANES];

    __device__ __forceinline__ void fetch(const patches_form &f, const float *dout, int first_row, int nrows,
                                          int nfilters, const origin *places, const origin &column)
    {
        const int t = threadIdx.x, pitch = f.groups * f.filters;
#pragma unroll
        for (int i = 0; i < NA; i++) {
            const int row = t / A + i * (THREADS / A);
            a[i] = row < nrows && t % A < nfilters ? dout[(first_row + row) * pitch + t % A] : 0;
        }
#pragma unroll
        for (int i = 0; i < NB; i++)
            read_patch<LANES>(f, places[t / WIDE + i * (THREADS / WIDE)], column, b + i * LANES);
    }

    __device__ __forceinline__ void share(float *to_a, float *to_b) const
    {
        const int t = threadIdx.x;
#pragma unroll
        for (int i = 0; i < NA; i++) to_a[(t / A + i * (THREADS / A)) * tile<A, B>::PITCH + t % A] = a[i];
#pragma unroll
        for (int i = 0; i < NB; i++)
#pragma unroll
            for (int j = 0; j < LANES; j++)
                to_b[(t / WIDE + i * (THREADS / WIDE)) * B + t % WIDE * LANES + j] = b[i * LANES + j];
    }
};

template <int A, int LANES> DEVICE void weights_of(const patches_form &f, const float *dout, float *to, int slab)
{
    enum { B = 64 };
    typedef tile<A, B> sums;
    __shared__ __align__(16) float shared[SUMS];
    __shared__ origin places[2][ROWS];
    float *a = shared, *b = shared + ROWS * sums::PITCH;
    const int t = threadIdx.x, tiles = (f.filters + A - 1) / A, group = blockIdx.y / tiles;
    const int filter = blockIdx.y % tiles * A, first = blockIdx.z * slab, first_column = blockIdx.x * B;
    const int end = min(first + slab, f.positions);
    const origin column = column_of(f, group, first_column + t % (B / LANES) * LANES);
    weights_tile<A, LANES> next;
    float sum[DOWN][ACROSS] = {};
    dout += group * f.filters + filter;
    if (t < ROWS) places[0][t] = origin_of(f, first + t, end);
    __syncthreads();
    next.fetch(f, dout, first, end - first, f.filters - filter, places[0], column);
    for (int row = first, side = 1; row < end; row += ROWS, side ^= 1) {
        next.share(a, b);
        if (t < ROWS) places[side][t] = origin_of(f, row + ROWS + t, end);
        __syncthreads();
        if (row + ROWS < end)
            next.fetch(f, dout, row + ROWS, end - row - ROWS, f.filters - filter, places[side], column);
        sums::multiply(a, b, sum);
        __syncthreads();
    }
    sums::put(shared, sum);
    __syncthreads();
    to += ((i64)(blockIdx.z * f.groups + group) * f.filters + filter) * f.columns + first_column;
    for (int i = t; i < A * B; i += THREADS)
        if (filter + i / B < f.filters && first_column + i % B < f.columns)
            to[(i64)(i / B) * f.columns + i % B] = sums::total(shared, i / B, i % B);
}

// out[i] = the slabs' sums, in a fixed order: every PARTS-th slab is summed first. Block: 32 numbers x PARTS.
enum { PARTS = 8 };

ENTRY slabs_sum(const float *partial, float *out, int n, int slabs)
{
    __shared__ float sums[PARTS][32];
    const int i = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    if (i < n)
#pragma unroll 4
        for (int k = threadIdx.y; k < slabs; k += PARTS) sum += partial[(i64)k * n + i];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y || i >= n) return;
    for (int k = 1; k < PARTS; k++) sum += sums[k][threadIdx.x];
    out[i] = sum;
}

// ---- outputs, and gradients of inputs: filters by positions, summed over patch columns ----

// weights: number (filter, column) lies at the column's place and `step` further for each filter. flipped: the weights
// are those of the convolution whose gradients of inputs are computed; that one's filters are the channels here. bias:
// NULL, none.
struct patches_filters {
    const float *weights, *bias;
    float *to; // (positions, groups * filters)
    int flipped, relu;
};

DEVICE int weight_at(const patches_form &f, int flipped, int column)
{
    if (!flipped) return column;
    const int all = f.window * f.window, place = (int)((u32)column / f.channels),
              channel = (int)((u32)column % f.channels);
    return (channel * all + all - 1 - place) * f.filters;
}

struct column_table {
    int at[MOST_COLUMNS], place[MOST_COLUMNS], weight[MOST_COLUMNS];

    __device__ __forceinline__ origin get(const patches_form &f, int column) const
    {
        if (column >= f.columns) return {0, NOWHERE, 0};
        return {at[column], place[column] >> 16, place[column] & 0xffff};
    }
};

template <int A, int B, int LANES> struct outputs_tile {
    enum { NA = A * ROWS / THREADS, NB = B * ROWS / THREADS / LANES };
    float a[NA], b[NB * LANES];

    // Weights are read along their memory.
    static __device__ __forceinline__ int filter_of(int flipped, int i)
    {
        return flipped ? threadIdx.x % A : threadIdx.x / ROWS + i * (THREADS / ROWS);
    }

    static __device__ __forceinline__ int row_of(int flipped, int i)
    {
        return flipped ? threadIdx.x / A + i * (THREADS / A) : threadIdx.x % ROWS;
    }

    __device__ __forceinline__ void fetch(const patches_form &f, const patches_filters &w, const float *weights,
                                          int first_column, int nfilters, const column_table &table, const origin &p)
    {
        const int step = w.flipped ? 1 : f.columns;
#pragma unroll
        for (int i = 0; i < NA; i++) {
            const int filter = filter_of(w.flipped, i), column = first_column + row_of(w.flipped, i);
            a[i] = filter < nfilters && column < f.columns ? weights[table.weight[column] + filter * step] : 0;
        }
#pragma unroll
        for (int i = 0; i < NB; i++)
            read_patch<LANES>(f, p, table.get(f, first_column + (threadIdx.x / B + i * (THREADS / B)) * LANES),
                              b + i * LANES);
    }

    __device__ __forceinline__ void share(int flipped, float *to_a, float *to_b) const
    {
#pragma unroll
        for (int i = 0; i < NA; i++) to_a[row_of(flipped, i) * tile<A, B>::PITCH + filter_of(flipped, i)] = a[i];
#pragma unroll
        for (int i = 0; i < NB; i++)
#pragma unroll
            for (int j = 0; j < LANES; j++)
                to_b[((threadIdx.x / B + i * (THREADS / B)) * LANES + j) * B + threadIdx.x % B] = b[i * LANES + j];
    }
};

template <int A, int B>
DEVICE void finish_outputs(const patches_form &f, const patches_filters &w, int group, int filter, const float *shared)
{
    const int position = blockIdx.x * B, first = group * f.filters + filter;
    for (int i = threadIdx.x; i < A * B; i += THREADS) {
        if (filter + i % A >= f.filters || position + i / A >= f.positions) continue;
        float x = tile<A, B>::total(shared, i % A, i / A);
        if (w.bias) x += w.bias[first + i % A];
        w.to[(position + i / A) * f.groups * f.filters + first + i % A] = w.relu && x <= 0 ? 0 : x;
    }
}

// Grid: tiles of positions, tiles of filters of all groups.
template <int A, int B, int LANES> DEVICE void outputs_of(const patches_form &f, const patches_filters &w)
{
    typedef tile<A, B> sums;
    __shared__ __align__(16) float shared[SUMS];
    __shared__ column_table table;
    float *a = shared, *b = shared + ROWS * sums::PITCH;
    const int tiles = (f.filters + A - 1) / A, group = blockIdx.y / tiles, filter = blockIdx.y % tiles * A;
    const float *weights = w.weights + group * f.filters * f.columns + filter * (w.flipped ? 1 : f.columns);
    const origin place = origin_of(f, blockIdx.x * B + threadIdx.x % B, f.positions);
    outputs_tile<A, B, LANES> next;
    float sum[DOWN][ACROSS] = {};
    for (int column = threadIdx.x; column < f.columns; column += THREADS) {
        const origin c = column_of(f, group, column);
        table.at[column] = c.at;
        table.place[column] = c.y << 16 | c.x;
        table.weight[column] = weight_at(f, w.flipped, column);
    }
    __syncthreads();
    next.fetch(f, w, weights, 0, f.filters - filter, table, place);
    for (int column = 0; column < f.columns; column += ROWS) {
        next.share(w.flipped, a, b);
        __syncthreads();
        if (column + ROWS < f.columns) next.fetch(f, w, weights, column + ROWS, f.filters - filter, table, place);
        sums::multiply(a, b, sum);
        __syncthreads();
    }
    sums::put(shared, sum);
    __syncthreads();
    finish_outputs<A, B>(f, w, group, filter, shared);
}

#define WEIGHTS(a, lanes)                                                                                              \
    ENTRY __launch_bounds__(THREADS, 2)                                                                                \
        weights_##a##_##lanes(const __grid_constant__ patches_form f, const float *dout, float *to, int slab)          \
    {                                                                                                                  \
        weights_of<a, lanes>(f, dout, to, slab);                                                                       \
    }
WEIGHTS(16, 1)
WEIGHTS(16, 4)
WEIGHTS(32, 1)
WEIGHTS(32, 4)
WEIGHTS(64, 1)
WEIGHTS(64, 4)

#define OUTPUTS(a, b, lanes)                                                                                           \
    ENTRY __launch_bounds__(THREADS, 2)                                                                                \
        outputs_##a##_##lanes(const __grid_constant__ patches_form f, const __grid_constant__ patches_filters w)       \
    {                                                                                                                  \
        outputs_of<a, b, lanes>(f, w);                                                                                 \
    }
OUTPUTS(16, 64, 1)
OUTPUTS(16, 64, 4)
OUTPUTS(32, 32, 1)
OUTPUTS(32, 32, 4)
OUTPUTS(64, 32, 1)
OUTPUTS(64, 32, 4)
