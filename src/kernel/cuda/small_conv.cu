// small_conv.cu: gradients of weights of small convolutions in f32, channels last. A product over all positions of the output: rows are filters, columns
// are what one filter has (window, channels). Each block takes a tile of 64 x 64 and a slab of positions; the slabs' sums are added up in their order.

enum { TILE = 64, STEP = 16, SIDE = 4, THREADS = 256, OF_THREAD = 4 };

// As cuda_small_conv.c has it.
struct shape {
    int in_channels, in_height, in_width, out_channels, out_height, out_width, kernel, stride, pad;
    int positions, slab, columns; // of the output; of a block; kernel * kernel * in_channels
};

// A position of the output.
struct position {
    int sample, y, x;
};

DEVICE position position_of(const shape &s, int m)
{
    const int row = m / s.out_width;
    return {row / s.out_height, row % s.out_height, m % s.out_width};
}

DEVICE void advance(const shape &s, position &p, int by)
{
    p.x += by;
    while (p.x >= s.out_width) {
        p.x -= s.out_width;
        if (++p.y == s.out_height) p.y = 0, p.sample++;
    }
}

// What a column sees: a place in the window, and a channel.
struct column {
    int dy, dx, channel;
    bool is_there;
};

DEVICE column column_of(const shape &s, int n)
{
    const int place = n / s.in_channels;
    return {place / s.kernel - s.pad, place % s.kernel - s.pad, n % s.in_channels, n < s.columns};
}

DEVICE float see(const shape &s, const float *x, const position &p, const column &c)
{
    const int y = p.y * s.stride + c.dy, column_x = p.x * s.stride + c.dx;
    const bool inside = c.is_there && (unsigned)y < (unsigned)s.in_height && (unsigned)column_x < (unsigned)s.in_width;
    if (!inside) return 0;
    return x[(((i64)p.sample * s.in_height + y) * s.in_width + column_x) * s.in_channels + c.channel];
}

// What a thread brings of a step: of OF_THREAD positions one column of the input and one filter of the gradient.
struct bringing {
    float x[OF_THREAD], d[OF_THREAD];
};

DEVICE bringing bring(const shape &s, const float *x, const float *d, int m, int end, position &p, const column &c,
                      int filter)
{
    bringing b;
#pragma unroll
    for (int j = 0; j < OF_THREAD; j++) {
        const bool is_there = m + j < end;
        b.x[j] = is_there ? see(s, x, p, c) : 0;
        b.d[j] = is_there && filter < s.out_channels ? d[(i64)(m + j) * s.out_channels + filter] : 0;
        advance(s, p, 1);
    }
    advance(s, p, STEP - OF_THREAD);
    return b;
}

// Grid: tiles of columns, tiles of filters, slabs. partial: of each slab, filters x columns.
ENTRY __launch_bounds__(THREADS) weights_gradient(const float *x, const float *d, float *partial,
                                                  const __grid_constant__ shape s)
{
    __shared__ float xs[STEP][TILE], ds[STEP][TILE];
    const int thread = threadIdx.x, across = thread % TILE, first = thread / TILE * OF_THREAD;
    const int left = blockIdx.x * TILE, top = blockIdx.y * TILE, begin = blockIdx.z * s.slab;
    const int end = begin + s.slab < s.positions ? begin + s.slab : s.positions;
    const column c = column_of(s, left + across);
    position p = position_of(s, begin + first);
    float sum[SIDE][SIDE] = {};
    bringing b = bring(s, x, d, begin + first, end, p, c, top + across);
    for (int m = begin; m < end; m += STEP) {
        __syncthreads();
#pragma unroll
        for (int j = 0; j < OF_THREAD; j++) xs[first + j][across] = b.x[j], ds[first + j][across] = b.d[j];
        __syncthreads();
        if (m + STEP < end) b = bring(s, x, d, m + STEP + first, end, p, c, top + across);
#pragma unroll
        for (int k = 0; k < STEP; k++) {
            const float4 u = *(const float4 *)&ds[k][thread / 16 * SIDE], v = *(const float4 *)&xs[k][thread % 16 * SIDE];
            const float a[SIDE] = {u.x, u.y, u.z, u.w}, e[SIDE] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < SIDE; i++)
#pragma unroll
                for (int j = 0; j < SIDE; j++) sum[i][j] = fmaf(a[i], e[j], sum[i][j]);
        }
    }
    float *to = partial + (i64)blockIdx.z * s.out_channels * s.columns;
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            const int filter = top + thread / 16 * SIDE + i, at = left + thread % 16 * SIDE + j;
            if (filter < s.out_channels && at < s.columns) to[(i64)filter * s.columns + at] = sum[i][j];
        }
}

// out[i] = the slabs' sums, in a fixed order: of every PARTS-th slab first. Block: 32 numbers x PARTS.
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

// ---- outputs, and gradients of inputs: the same sum over a window, which looks forward or back ----

// to[position][filter] = sum over window and channels of from[position + direction * (place - pad)][channel] * weight. Strides are of the weights, in
// numbers. bias NULL: none.
struct window_sum {
    const float *from, *weights, *bias;
    float *to;
    int batch, from_height, from_width, channels, to_height, to_width, filters, kernel, stride, pad;
    int direction, of_filter, of_place, of_channel, relu;
};

// What a thread brings of the input in a step: N numbers that one position sees from number k on.
template <int N> DEVICE void bring_row(const window_sum &s, const float *sample, int y, int x, int k, float (&to)[N])
{
    const int place = k / s.channels;
    int channel = k % s.channels, down = place / s.kernel, across = place % s.kernel;
#pragma unroll
    for (int j = 0; j < N; j++) {
        const int row = y + s.direction * (down - s.pad), column = x + s.direction * (across - s.pad);
        const bool inside = down < s.kernel && (unsigned)row < (unsigned)s.from_height && (unsigned)column < (unsigned)s.from_width;
        to[j] = inside ? sample[((i64)row * s.from_width + column) * s.channels + channel] : 0;
        if (++channel < s.channels) continue;
        channel = 0;
        if (++across == s.kernel) across = 0, down++;
    }
}

DEVICE float weight_at(const window_sum &s, int k, int filter)
{
    const int place = k / s.channels;
    if (place >= s.kernel * s.kernel || filter >= s.filters) return 0;
    return s.weights[(i64)filter * s.of_filter + (i64)place * s.of_place + (i64)(k % s.channels) * s.of_channel];
}

// A block: WIDE filters and 16 * THREADS / WIDE positions; a thread 4 x 4 of them. Grid: tiles of positions, tiles of filters.
template <int WIDE> DEVICE void sum_windows(const window_sum &s)
{
    enum { HIGH = 16 * THREADS / WIDE, ACROSS = WIDE / SIDE };
    enum { PART = STEP * HIGH / THREADS, MOST = WIDE * STEP / THREADS }; // numbers that a thread brings in a step: of the input, of the weights
    __shared__ __align__(16) float xs[STEP][HIGH + 4], ws[STEP][WIDE];
    const int thread = threadIdx.x, of_tile = thread % HIGH, part = thread / HIGH * PART, top = blockIdx.x * HIGH, left = blockIdx.y * WIDE;
    const int position = top + of_tile, plane = s.to_height * s.to_width, total = s.kernel * s.kernel * s.channels;
    const bool is_there = position < s.batch * plane;
    const int at = is_there ? position % plane : 0;
    const float *sample = s.from + (i64)(is_there ? position / plane : 0) * s.from_height * s.from_width * s.channels;
    const int y = is_there ? at / s.to_width * s.stride : -(1 << 20), x = at % s.to_width * s.stride;
    float sum[SIDE][SIDE] = {};
    for (int k = 0; k < total; k += STEP) {
        float row[PART], weight[MOST];
        bring_row<PART>(s, sample, y, x, k + part, row);
#pragma unroll
        for (int j = 0; j < MOST; j++) {
            const int i = thread + j * THREADS;
            weight[j] = weight_at(s, k + i / WIDE, left + i % WIDE);
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < PART; j++) xs[part + j][of_tile] = row[j];
#pragma unroll
        for (int j = 0; j < MOST; j++) {
            const int i = thread + j * THREADS;
            ws[i / WIDE][i % WIDE] = weight[j];
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < STEP; j++) {
            const float4 u = *(const float4 *)&xs[j][thread / ACROSS * SIDE], v = *(const float4 *)&ws[j][thread % ACROSS * SIDE];
            const float a[SIDE] = {u.x, u.y, u.z, u.w}, e[SIDE] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < SIDE; i++)
#pragma unroll
                for (int l = 0; l < SIDE; l++) sum[i][l] = fmaf(a[i], e[l], sum[i][l]);
        }
    }
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int l = 0; l < SIDE; l++) {
            const int row = top + thread / ACROSS * SIDE + i, filter = left + thread % ACROSS * SIDE + l;
            if (row >= s.batch * plane || filter >= s.filters) continue;
            float value = sum[i][l];
            if (s.bias) value += s.bias[filter];
            s.to[(i64)row * s.filters + filter] = s.relu && value <= 0 ? 0 : value;
        }
}

#define SUM_WINDOWS(wide)                                                                                              \
    ENTRY __launch_bounds__(THREADS) sum_windows_##wide(const __grid_constant__ window_sum s)                          \
    {                                                                                                                  \
        sum_windows<wide>(s);                                                                                          \
    }
SUM_WINDOWS(16)
SUM_WINDOWS(32)
SUM_WINDOWS(64)
