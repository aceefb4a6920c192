// norm.cu: batch normalisation where positions are rows of channels (channels last, or (batch, channels)), channels a
// multiple of eight, all of one type.
//
// Memory is the bound. A thread reads the same eight channels of many rows, so that the channels' numbers stay in
// registers. A block computes a *tile*, up to eight such vectors of channels side by side (128 bytes of 16-bit
// numbers), of a *slab* of rows. Grid: tiles, slabs. A pass has two kernels. The first sums channels; the last block of
// a tile computes from the sums what the second needs. The second computes each result. It reads each slab from its end
// to its beginning, because the second-level cache still holds what the first kernel read last.
//
// Sums. A thread sums in f32 around the first number that it sees, so that a large mean does not cancel; blocks and
// slabs are combined by means and squares around them, slabs in double. The order is the grid's alone.

enum { VECTOR = EIGHT, THREADS = 320, MOST_TILES = 1024 };

// Number of blocks of a tile that have written their sums. The last block sets it back to zero.
__device__ u32 turns[MOST_TILES];

struct rows_of_channels {
    i64 rows, slab; // rows: of all blocks; slab: of one
    int channels;
};

// Eight numbers as they lie in memory.
template <class T> struct pack {
    enum { words = VECTOR / T::lanes };
    uint4 raw[words];
};

template <class T> DEVICE pack<T> take(const void *at, i64 i)
{
    pack<T> p;
#pragma unroll
    for (int w = 0; w < pack<T>::words; w++) p.raw[w] = ((const uint4 *)((const char *)at + i * T::bytes))[w];
    return p;
}

template <class T> DEVICE float number_of(const pack<T> &p, int j)
{
    const uint4 &v = p.raw[j / T::lanes];
    const int k = j % T::lanes * T::bytes / 4;
    const u32 word = k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w;
    if (T::type == F32) return __uint_as_float(word);
    return float_of_half((u16)(j % 2 ? word >> 16 : word), T::type);
}

// ---- where a thread is ----

struct spot {
    i64 begin, end; // rows of the block
    int channel;    // the thread's first one
    bool is_inside;
};

DEVICE spot find_spot(const rows_of_channels &r)
{
    spot s;
    s.begin = blockIdx.y * r.slab;
    s.end = s.begin + r.slab < r.rows ? s.begin + r.slab : r.rows;
    s.channel = VECTOR * (int)(blockIdx.x * blockDim.x + threadIdx.x);
    s.is_inside = s.channel < r.channels;
    return s;
}

// Returns how many of a block's rows a thread with this y reads.
DEVICE int rows_of(const spot &s, int y)
{
    const u32 n = (u32)(s.end - s.begin), each = n / blockDim.y;
    return (int)(each + (y < n - each * blockDim.y));
}

// ---- sums of a block and of a tile ----

// Two numbers a thread and channel, in shared memory: by y, then by channel of the tile.
struct alignas(16) board {
    float a[THREADS * VECTOR], b[THREADS * VECTOR];
};

DEVICE void write_board(board &s, const float *a, const float *b)
{
    const int at = (threadIdx.y * blockDim.x + threadIdx.x) * VECTOR;
#pragma unroll
    for (int j = 0; j < VECTOR; j += 4) {
        *(float4 *)&s.a[at + j] = make_float4(a[j], a[j + 1], a[j + 2], a[j + 3]);
        *(float4 *)&s.b[at + j] = make_float4(b[j], b[j + 1], b[j + 2], b[j + 3]);
    }
    __syncthreads();
}

// The task of a thread when a block sums up: one channel of the tile, one of `parts` that share the summands.
struct adder {
    int of_tile, width, part, parts, channel;
    bool works;
};

DEVICE adder find_adder(const rows_of_channels &r)
{
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    adder a;
    a.width = VECTOR * blockDim.x;
    a.of_tile = thread % a.width;
    a.part = thread / a.width;
    a.parts = blockDim.y / VECTOR;
    a.channel = blockIdx.x * a.width + a.of_tile;
    a.works = a.part < a.parts && a.channel < r.channels;
    return a;
}

// Sums of all parts' x and y, in the parts' order; part 0 has them. V fits the board twice.
template <class V> DEVICE void add_parts(board &s, const adder &who, V &x, V &y)
{
    V *xs = (V *)s.a, *ys = (V *)s.b;
    __syncthreads();
    if (who.works) xs[who.part * who.width + who.of_tile] = x, ys[who.part * who.width + who.of_tile] = y;
    __syncthreads();
    if (who.part == 0 && who.works)
        for (int p = 1; p < who.parts; p++) x += xs[p * who.width + who.of_tile], y += ys[p * who.width + who.of_tile];
}

// True in the last block of a tile to end. That block sees the sums that the others have written.
DEVICE bool is_last()
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        last = atomicAdd(&turns[blockIdx.x], 1u) == gridDim.y - 1;
        if (last) turns[blockIdx.x] = 0;
    }
    __syncthreads();
    if (last) __threadfence();
    return last;
}

// ---- forward ----

// partial has the mean of each slab and channel, and the squares around that mean.
struct statistics {
    const void *x;
    float2 *partial;
    float *mean, *rstd, *batch_mean, *batch_variance; // of each channel
    double eps;
};

// Mean and squares of a thread's numbers, summed around the first of them.
template <class T>
DEVICE void sum_rows(const void *x, const rows_of_channels &r, const spot &s, float *mean, float *squares)
{
    enum { AHEAD = T::type == F32 ? 2 : 6 };
    const i64 from = s.begin + threadIdx.y, step = (i64)blockDim.y * r.channels;
    const int n = s.is_inside ? rows_of(s, threadIdx.y) : 0;
    float sum[VECTOR] = {}, shift[VECTOR] = {};
    i64 at = from * r.channels + s.channel;
    pack<T> first = {};
    if (n) first = take<T>(x, at);
#pragma unroll
    for (int j = 0; j < VECTOR; j++) shift[j] = number_of<T>(first, j), squares[j] = 0;
    for (int i = 0; i < n; i += AHEAD, at += AHEAD * step) {
        pack<T> p[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) p[u] = i + u < n ? take<T>(x, at + u * step) : first;
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
#pragma unroll
            for (int j = 0; j < VECTOR; j++) {
                const float d = number_of<T>(p[u], j) - shift[j];
                sum[j] += d;
                squares[j] = fmaf(d, d, squares[j]);
            }
    }
    const float part = n ? 1.0f / (float)n : 0;
#pragma unroll
    for (int j = 0; j < VECTOR; j++) {
        mean[j] = shift[j] + sum[j] * part;
        squares[j] = fmaxf(squares[j] - sum[j] * (sum[j] * part), 0.0f);
    }
}

// Combines the means and squares of all threads on the board into those of the block.
DEVICE void leave_slab(const statistics &st, const rows_of_channels &r, board &b, const spot &s, const adder &who)
{
    const float near = who.works ? b.a[who.of_tile] : 0, n = (float)(s.end - s.begin);
    float sum = 0, squares = 0;
    for (int y = who.part; who.works && y < blockDim.y; y += who.parts) {
        const float count = (float)rows_of(s, y), d = count ? b.a[y * who.width + who.of_tile] - near : 0;
        sum = fmaf(count, d, sum);
        squares += b.b[y * who.width + who.of_tile] + count * d * d;
    }
    add_parts<float>(b, who, sum, squares);
    if (who.part == 0 && who.works)
        st.partial[blockIdx.y * (i64)r.channels + who.channel] =
            make_float2(near + sum / n, fmaxf(squares - sum * (sum / n), 0.0f));
}

DEVICE void find_statistics(const statistics &st, const rows_of_channels &r, board &b, const adder &who)
{
    double sum = 0, squares = 0;
    const double near = who.works ? (double)__ldcg(&st.partial[who.channel]).x : 0, n = (double)r.rows;
#pragma unroll 12
    for (int k = who.part; k < gridDim.y; k += who.parts) {
        if (!who.works) continue;
        const float2 p = __ldcg(&st.partial[k * (i64)r.channels + who.channel]);
        const i64 left = r.rows - k * r.slab;
        const double count = (double)(left < r.slab ? left : r.slab), d = (double)p.x - near;
        sum += count * d;
        squares += (double)p.y + count * d * d;
    }
    add_parts<double>(b, who, sum, squares);
    if (who.part || !who.works) return;
    squares -= sum * (sum / n);
    if (squares < 0) squares = 0;
    st.mean[who.channel] = st.batch_mean[who.channel] = (float)(near + sum / n);
    st.rstd[who.channel] = (float)(1 / sqrt(squares / n + st.eps));
    st.batch_variance[who.channel] = (float)(squares / (n - 1));
}

template <class T> DEVICE void statistics_of(const statistics &st, const rows_of_channels &r)
{
    __shared__ board b;
    const spot s = find_spot(r);
    const adder who = find_adder(r);
    float mean[VECTOR], squares[VECTOR];
    sum_rows<T>(st.x, r, s, mean, squares);
    write_board(b, mean, squares);
    leave_slab(st, r, b, s, who);
    if (is_last()) find_statistics(st, r, b, who);
}

// y = relu(weight * (x - mean) * rstd + bias + added). runs: mean and spread are the running mean and variance; eps
// makes the variance an rstd.
struct application {
    const void *x, *added; // added may be NULL
    void *y;
    u8 *bits; // one a number, set where y is not cut to zero, a byte a vector; NULL: not kept
    const float *mean, *spread, *weight, *bias;
    double eps;
    int runs, relu;
};

template <class T>
DEVICE void apply_to_one(const application &a, const rows_of_channels &r, i64 at, const pack<T> &x,
                         const pack<T> &added, const float (*of)[VECTOR])
{
    float y[VECTOR];
    u32 bits = 0;
#pragma unroll
    for (int j = 0; j < VECTOR; j++) {
        y[j] = fmaf(number_of<T>(x, j) - of[0][j], of[1][j], of[2][j]);
        if (a.added) y[j] += number_of<T>(added, j);
        const bool is_cut = a.relu && y[j] <= 0;
        bits |= is_cut ? 0u : 1u << j;
        if (is_cut) y[j] = 0;
    }
    store8<T>(a.y, at, y);
    if (a.bits) a.bits[at / VECTOR] = (u8)bits;
}

template <class T> DEVICE void apply(const application &a, const rows_of_channels &r)
{
    enum { AHEAD = T::type == F32 ? 2 : 4 };
    const spot s = find_spot(r);
    if (!s.is_inside) return;
    float of[3][VECTOR]; // mean, scale, bias
    load8<f32>(a.mean, s.channel, of[0]), load8<f32>(a.weight, s.channel, of[1]), load8<f32>(a.bias, s.channel, of[2]);
#pragma unroll
    for (int j = 0; j < VECTOR; j++) {
        const float spread = a.spread[s.channel + j];
        of[1][j] *= a.runs ? (float)(1 / sqrt((double)spread + a.eps)) : spread;
    }
    const i64 step = (i64)blockDim.y * r.channels;
    i64 at = (s.end - 1 - threadIdx.y) * r.channels + s.channel;
    for (int i = rows_of(s, threadIdx.y); i > 0; i -= AHEAD, at -= AHEAD * step) {
        pack<T> x[AHEAD] = {}, added[AHEAD] = {};
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (u < i) {
                x[u] = take<T>(a.x, at - u * step);
                if (a.added) added[u] = take<T>(a.added, at - u * step);
            }
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (u < i) apply_to_one<T>(a, r, at - u * step, x[u], added[u], of);
    }
}

// ---- backward ----

// Which numbers of the gradient are used: all, those where y's formula is above zero, or those whose bit is set.
enum { ALL, BY_FORMULA, BY_BITS };

struct reduction {
    const void *x, *given, *more; // the gradient is given + more; more may be NULL
    void *dout;                   // BY_BITS: takes the masked sum
    const u8 *bits;
    float2 *partial; // of each slab and channel, sums of gradients and of gradients times (x - mean)
    const float *mean, *rstd, *weight, *bias;
    float *offset, *slope;  // mean gradient, its slope over x
    float *dweight, *dbias; // may be NULL
};

template <class T, int MASK>
DEVICE void reduce_one(const reduction &d, i64 at, const pack<T> &x, const pack<T> &given, const pack<T> &more,
                       u32 bits, const float (*of)[VECTOR], float *sum, float *product)
{
    float g[VECTOR];
#pragma unroll
    for (int j = 0; j < VECTOR; j++) {
        const float apart = number_of<T>(x, j) - of[0][j];
        g[j] = number_of<T>(given, j);
        if (MASK == BY_FORMULA && fmaf(apart, of[1][j], of[2][j]) <= 0) g[j] = 0;
        if (MASK == BY_BITS) {
            if (d.more) g[j] = rounded(g[j] + number_of<T>(more, j), T::type);
            if (!(bits >> j & 1)) g[j] = 0;
        }
        sum[j] += g[j];
        product[j] = fmaf(g[j], apart, product[j]);
    }
    if (MASK == BY_BITS) store8<T>(d.dout, at, g);
}

template <class T, int MASK>
DEVICE void reduce_rows(const reduction &d, const rows_of_channels &r, const spot &s, float *sum, float *product)
{
    enum { AHEAD = T::type == F32 ? 1 : MASK == BY_BITS ? 2 : 3 };
    float of[3][VECTOR] = {}; // mean, scale, bias
    const int n = s.is_inside ? rows_of(s, threadIdx.y) : 0;
    if (n) load8<f32>(d.mean, s.channel, of[0]);
    if (n && MASK == BY_FORMULA) {
        float rstd[VECTOR];
        load8<f32>(d.weight, s.channel, of[1]), load8<f32>(d.rstd, s.channel, rstd),
            load8<f32>(d.bias, s.channel, of[2]);
#pragma unroll
        for (int j = 0; j < VECTOR; j++) of[1][j] *= rstd[j];
    }
#pragma unroll
    for (int j = 0; j < VECTOR; j++) sum[j] = product[j] = 0;
    const i64 step = (i64)blockDim.y * r.channels;
    i64 at = (s.begin + threadIdx.y) * r.channels + s.channel;
    for (int i = 0; i < n; i += AHEAD, at += AHEAD * step) {
        pack<T> x[AHEAD] = {}, given[AHEAD] = {}, more[AHEAD] = {};
        u32 bits[AHEAD] = {};
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (i + u < n) {
                x[u] = take<T>(d.x, at + u * step), given[u] = take<T>(d.given, at + u * step);
                if (MASK == BY_BITS) bits[u] = d.bits[(at + u * step) / VECTOR];
                if (MASK == BY_BITS && d.more) more[u] = take<T>(d.more, at + u * step);
            }
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (i + u < n) reduce_one<T, MASK>(d, at + u * step, x[u], given[u], more[u], bits[u], of, sum, product);
    }
}

DEVICE void find_slopes(const reduction &d, const rows_of_channels &r, board &b, const adder &who)
{
    double sum = 0, product = 0;
#pragma unroll 12
    for (int k = who.part; k < gridDim.y; k += who.parts) {
        if (!who.works) continue;
        const float2 p = __ldcg(&d.partial[k * (i64)r.channels + who.channel]);
        sum += (double)p.x, product += (double)p.y;
    }
    add_parts<double>(b, who, sum, product);
    if (who.part || !who.works) return;
    const double n = (double)r.rows, rstd = (double)d.rstd[who.channel];
    d.offset[who.channel] = (float)(sum / n);
    d.slope[who.channel] = (float)(product * rstd * rstd / n);
    if (d.dbias) d.dbias[who.channel] = (float)sum;
    if (d.dweight) d.dweight[who.channel] = (float)(product * rstd);
}

template <class T, int MASK> DEVICE void reduce(const reduction &d, const rows_of_channels &r)
{
    __shared__ board b;
    const spot s = find_spot(r);
    const adder who = find_adder(r);
    float sum[VECTOR], product[VECTOR];
    reduce_rows<T, MASK>(d, r, s, sum, product);
    write_board(b, sum, product);
    float all = 0, products = 0;
    for (int y = who.part; who.works && y < blockDim.y; y += who.parts)
        all += b.a[y * who.width + who.of_tile], products += b.b[y * who.width + who.of_tile];
    add_parts<float>(b, who, all, products);
    if (who.part == 0 && who.works) d.partial[blockIdx.y * (i64)r.channels + who.channel] = make_float2(all, products);
    if (is_last()) find_slopes(d, r, b, who);
}

// din = scale * (gradient - offset - slope * (x - mean)), scale = weight * rstd.
struct gradient {
    const void *x, *dout;
    void *din;
    const float *mean, *rstd, *weight, *bias, *offset, *slope;
};

template <class T, int MASK> DEVICE void differentiate(const gradient &d, const rows_of_channels &r)
{
    enum { AHEAD = T::type == F32 ? 1 : 3 };
    const spot s = find_spot(r);
    if (!s.is_inside) return;
    float mean[VECTOR], scale[VECTOR], bias[VECTOR], tilt[VECTOR], drop[VECTOR];
    load8<f32>(d.mean, s.channel, mean), load8<f32>(d.weight, s.channel, scale), load8<f32>(d.bias, s.channel, bias);
    load8<f32>(d.slope, s.channel, tilt), load8<f32>(d.offset, s.channel, drop);
#pragma unroll
    for (int j = 0; j < VECTOR; j++) {
        scale[j] *= d.rstd[s.channel + j];
        tilt[j] *= -scale[j], drop[j] *= -scale[j];
    }
    const i64 step = (i64)blockDim.y * r.channels;
    i64 at = (s.end - 1 - threadIdx.y) * r.channels + s.channel;
    for (int i = rows_of(s, threadIdx.y); i > 0; i -= AHEAD, at -= AHEAD * step) {
        pack<T> x[AHEAD] = {}, g[AHEAD] = {};
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (u < i) x[u] = take<T>(d.x, at - u * step), g[u] = take<T>(d.dout, at - u * step);
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            float out[VECTOR];
#pragma unroll
            for (int j = 0; j < VECTOR; j++) {
                const float apart = number_of<T>(x[u], j) - mean[j];
                const bool is_cut = MASK == BY_FORMULA && fmaf(apart, scale[j], bias[j]) <= 0;
                out[j] = fmaf(tilt[j], apart, drop[j]);
                if (!is_cut) out[j] = fmaf(scale[j], number_of<T>(g[u], j), out[j]);
            }
            if (u < i) store8<T>(d.din, at - u * step, out);
        }
    }
}

// ---- entries ----

#define BOUNDS __launch_bounds__(THREADS, 2)
#define ENTRIES(T)                                                                                                     \
    ENTRY BOUNDS statistics_##T(const __grid_constant__ statistics st, const __grid_constant__ rows_of_channels r)     \
    {                                                                                                                  \
        statistics_of<T>(st, r);                                                                                       \
    }                                                                                                                  \
    ENTRY BOUNDS apply_##T(const __grid_constant__ application a, const __grid_constant__ rows_of_channels r)          \
    {                                                                                                                  \
        apply<T>(a, r);                                                                                                \
    }                                                                                                                  \
    ENTRY BOUNDS reduce_##T(const __grid_constant__ reduction d, const __grid_constant__ rows_of_channels r)           \
    {                                                                                                                  \
        reduce<T, ALL>(d, r);                                                                                          \
    }                                                                                                                  \
    ENTRY BOUNDS reduce_by_formula_##T(const __grid_constant__ reduction d,                                            \
                                       const __grid_constant__ rows_of_channels r)                                     \
    {                                                                                                                  \
        reduce<T, BY_FORMULA>(d, r);                                                                                   \
    }                                                                                                                  \
    ENTRY BOUNDS reduce_by_bits_##T(const __grid_constant__ reduction d, const __grid_constant__ rows_of_channels r)   \
    {                                                                                                                  \
        reduce<T, BY_BITS>(d, r);                                                                                      \
    }                                                                                                                  \
    ENTRY BOUNDS gradient_##T(const __grid_constant__ gradient d, const __grid_constant__ rows_of_channels r)          \
    {                                                                                                                  \
        differentiate<T, ALL>(d, r);                                                                                   \
    }                                                                                                                  \
    ENTRY BOUNDS gradient_by_formula_##T(const __grid_constant__ gradient d,                                           \
                                         const __grid_constant__ rows_of_channels r)                                   \
    {                                                                                                                  \
        differentiate<T, BY_FORMULA>(d, r);                                                                            \
    }
ENTRIES(f32)
ENTRIES(bf16)
ENTRIES(f16)
