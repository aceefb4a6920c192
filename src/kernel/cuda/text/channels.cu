// channels.cu: converts activations into the form that a library multiplies, channels last and filled up, and back;
// adds bias and ReLU; sums columns, which are gradients of a bias, with the ReLU's mask.

enum { FILL = 8 }; // channels of a thread; filled channels are a multiple of it

// A value: (batch, groups of so many channels, positions). In the library's form each group is filled up with zeros.
struct channels_form {
    i64 batch, groups, channels, filled, plane;
    int is_nhwc; // the value has channels last
};

DEVICE i64 value_at(const channels_form &f, i64 sample, i64 channel, i64 position)
{
    return number_at({sample, channel, position}, f.groups * f.channels, f.plane, f.is_nhwc);
}

// Neighbouring threads go along the positions of a row-major value, and along the channels of a value with channels
// last.
ENTRY channels_fill(const void *from, int type, void *to, int to_type, const __grid_constant__ channels_form f)
{
    const i64 i = thread_number(), pieces = f.groups * f.filled / FILL;
    const division inner = divided(i, f.is_nhwc ? pieces : f.plane);
    const division outer = divided(inner.quotient, f.is_nhwc ? f.plane : pieces);
    const i64 sample = outer.quotient, piece = f.is_nhwc ? inner.rest : outer.rest;
    const i64 position = f.is_nhwc ? outer.rest : inner.rest;
    if (sample >= f.batch) return;
    const division group = divided(piece * FILL, f.filled);
    float x[FILL];
#pragma unroll
    for (int c = 0; c < FILL; c++)
        x[c] = group.rest + c < f.channels
                   ? load(from, type, value_at(f, sample, group.quotient * f.channels + group.rest + c, position))
                   : 0;
    const i64 first = (sample * f.plane + position) * pieces * FILL + piece * FILL;
    store4(to, to_type, first, {{x[0], x[1], x[2], x[3]}});
    store4(to, to_type, first + 4, {{x[4], x[5], x[6], x[7]}});
}

ENTRY channels_unfill(const void *from, int type, void *to, int to_type, const __grid_constant__ channels_form f)
{
    const i64 i = thread_number();
    const place p = place_of(i, f.groups * f.channels, f.plane, f.is_nhwc);
    if (p.sample >= f.batch) return;
    const division group = divided(p.channel, f.channels);
    const i64 channel = group.quotient * f.filled + group.rest;
    store(to, to_type, i, load(from, type, (p.sample * f.plane + p.position) * f.groups * f.filled + channel));
}

// ---- bias (NULL: none) and ReLU; NaN stays NaN ----

DEVICE float rectified(float x, int relu)
{
    return relu && x <= 0 ? 0 : x;
}

// Converts the library's form into the value; both are rows of channels. The two may be the same memory if nothing is
// filled up.
ENTRY finish(const void *from, int type, void *to, int to_type, const float *bias, int relu,
             const __grid_constant__ channels_form f)
{
    const i64 i = thread_number(), channels = f.groups * f.channels;
    const division row = divided(i, channels);
    if (row.quotient >= f.batch * f.plane) return;
    const division group = divided(row.rest, f.channels);
    const i64 at = row.quotient * f.groups * f.filled + group.quotient * f.filled + group.rest;
    const float x = load(from, type, at);
    store(to, to_type, i, rectified(bias ? x + bias[row.rest] : x, relu));
}

// finish in place, 16 bytes a thread: channels are a multiple of T::lanes.
template <class T> DEVICE void finish_lanes(void *at, const float *bias, int relu, i64 n, i64 channels)
{
    const i64 i = thread_number() * T::lanes;
    if (i >= n) return;
    lanes_of<T> x = load16<T>(at, i);
    const i64 channel = divided(i, channels).rest;
    float b[T::lanes] = {};
    if (bias)
#pragma unroll
        for (int q = 0; q < T::lanes; q += 4) {
            const quad four = load4(bias, F32, channel + q);
#pragma unroll
            for (int j = 0; j < 4; j++) b[q + j] = four.x[j];
        }
#pragma unroll
    for (int j = 0; j < T::lanes; j++) x.x[j] = rectified(bias ? x.x[j] + b[j] : x.x[j], relu);
    store16<T>(at, i, x);
}

ENTRY finish_f32(void *at, const float *bias, int relu, i64 n, i64 channels)
{
    finish_lanes<f32>(at, bias, relu, n, channels);
}

ENTRY finish_bf16(void *at, const float *bias, int relu, i64 n, i64 channels)
{
    finish_lanes<bf16>(at, bias, relu, n, channels);
}

ENTRY finish_f16(void *at, const float *bias, int relu, i64 n, i64 channels)
{
    finish_lanes<f16>(at, bias, relu, n, channels);
}

// ---- sums of columns ----

// d has rows of columns. Where out is not above zero, d becomes zero (out NULL: no mask). sums takes a row of sums for
// each stretch of `stretch` rows (sums NULL: none); blockIdx.y is the number of the stretch. A thread has LANES
// columns. Blocks have 256 threads, x across the columns.
struct column_sums {
    const void *out;
    void *d;
    float *sums;
    i64 rows, columns, stretch;
    int type; // for columns_any
};

enum { AHEAD = 4, THREADS = 256 };

template <int LANES> struct some {
    float x[LANES];
};

template <class T, int LANES> DEVICE some<LANES> load_some(const void *at, i64 i, int type)
{
    some<LANES> s;
    if constexpr (LANES == 1) {
        s.x[0] = load(at, type, i);
    } else {
        const lanes_of<T> v = load16<T>(at, i);
#pragma unroll
        for (int j = 0; j < LANES; j++) s.x[j] = v.x[j];
    }
    return s;
}

template <class T, int LANES> DEVICE void store_some(void *at, i64 i, int type, const some<LANES> &s)
{
    if constexpr (LANES == 1) {
        store(at, type, i, s.x[0]);
    } else {
        lanes_of<T> v;
#pragma unroll
        for (int j = 0; j < LANES; j++) v.x[j] = s.x[j];
        store16<T>(at, i, v);
    }
}

// Adds AHEAD rows of a thread: all are read before one is written.
template <class T, int LANES> DEVICE void add_rows(const column_sums &c, i64 row, i64 end, i64 column, float *sum)
{
    some<LANES> d[AHEAD], y[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        const i64 r = row + k * blockDim.y;
        if (r < end) d[k] = load_some<T, LANES>(c.d, r * c.columns + column, c.type);
        if (r < end && c.out) y[k] = load_some<T, LANES>(c.out, r * c.columns + column, c.type);
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        const i64 r = row + k * blockDim.y;
        if (r >= end) continue;
#pragma unroll
        for (int j = 0; j < LANES; j++) {
            if (c.out && y[k].x[j] <= 0) d[k].x[j] = 0;
            sum[j] += d[k].x[j];
        }
        if (c.out) store_some<T, LANES>(c.d, r * c.columns + column, c.type, d[k]);
    }
}

template <class T, int LANES> DEVICE void sum_columns(const column_sums &c)
{
    __shared__ float shared[THREADS * LANES];
    const int me = threadIdx.y * blockDim.x + threadIdx.x, across = blockDim.x * LANES;
    const i64 first_column = (i64)blockIdx.x * across, column = first_column + threadIdx.x * LANES;
    const i64 first = blockIdx.y * c.stretch, end = first + c.stretch < c.rows ? first + c.stretch : c.rows;
    float sum[LANES] = {};
    if (column < c.columns)
        for (i64 row = first + threadIdx.y; row < end; row += AHEAD * blockDim.y)
            add_rows<T, LANES>(c, row, end, column, sum);
    if (!c.sums) return;
#pragma unroll
    for (int j = 0; j < LANES; j++) shared[me * LANES + j] = sum[j];
    __syncthreads();
    if (me >= across || first_column + me >= c.columns) return;
    float all = 0;
    for (int y = 0; y < blockDim.y; y++) all += shared[y * across + me];
    c.sums[blockIdx.y * c.columns + first_column + me] = all;
}

ENTRY __launch_bounds__(THREADS) columns_f32(const __grid_constant__ column_sums c)
{
    sum_columns<f32, f32::lanes>(c);
}

ENTRY __launch_bounds__(THREADS) columns_bf16(const __grid_constant__ column_sums c)
{
    sum_columns<bf16, bf16::lanes>(c);
}

ENTRY __launch_bounds__(THREADS) columns_f16(const __grid_constant__ column_sums c)
{
    sum_columns<f16, f16::lanes>(c);
}

ENTRY __launch_bounds__(THREADS) columns_any(const __grid_constant__ column_sums c)
{
    sum_columns<f32, 1>(c);
}

// Adds the sums of all stretches to one row. Blocks of 32 columns by 8 threads.
ENTRY columns_gather(const float *sums, i64 stretches, i64 columns, float *to)
{
    __shared__ float shared[8][32];
    const i64 column = (i64)blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    if (column < columns)
        for (i64 s = threadIdx.y; s < stretches; s += 8) sum += sums[s * columns + column];
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y || column >= columns) return;
#pragma unroll
    for (int y = 1; y < 8; y++) sum += shared[y][threadIdx.x];
    to[column] = sum;
}
