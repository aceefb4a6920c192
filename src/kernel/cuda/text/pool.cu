// pool.cu: max and average pools. Channels last, a multiple of eight of one type: a thread takes eight channels of one
// position (entries with a type's name). All else: a thread takes one number (entries with _any).
//
// A gradient is gathered: each number of the input adds up the windows that cover it, in their order. So no two threads
// add to one number, and nothing need be zero before. The winner of a window is saved as its index in the window: a
// byte, or four bytes if windows have more than 256 places.

struct pool {
    void *in, *out; // forward reads in; backward reads out (gradients) and writes in
    void *winners;  // NULL: not saved
    int in_type, out_type;
    int batch, channels, height, width, out_height, out_width, kernel, stride, pad;
    int side_by_side; // 1: the channels of a position lie side by side
    int wide;         // winners have four bytes
};

// ---- windows ----

struct window {
    int top, left; // may lie in the padding
    int y0, y1, x0, x1;
};

DEVICE window find_window(const pool &p, int kernel, int oy, int ox)
{
    window w;
    w.top = oy * p.stride - p.pad, w.left = ox * p.stride - p.pad;
    w.y0 = w.top < 0 ? 0 : w.top, w.x0 = w.left < 0 ? 0 : w.left;
    w.y1 = min(w.top + kernel, p.height), w.x1 = min(w.left + kernel, p.width);
    return w;
}

// Counts the places inside input and padding, by which an average divides.
DEVICE float area_of(const pool &p, int kernel, const window &w)
{
    return (float)min(kernel, p.height + p.pad - w.top) * (float)min(kernel, p.width + p.pad - w.left);
}

// Finds the windows that cover a place of one dimension.
struct span {
    int first, end;
};

DEVICE span covering(int at, int kernel, int stride, int pad, int nout)
{
    const int from = at + pad - kernel + 1;
    span s;
    s.first = from > 0 ? (from + stride - 1) / stride : 0;
    s.end = min((at + pad) / stride + 1, nout);
    return s;
}

// ---- eight channels ----

// Where a thread is in a plane of channels side by side. The thread's number is below 2^31.
struct spot {
    int sample, y, x, channel;
    bool is_inside;
};

DEVICE spot find_spot(const pool &p, int height, int width)
{
    const u32 vectors = (u32)p.channels / EIGHT, at = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 position = at / vectors, row = position / (u32)width;
    spot s;
    s.channel = (int)(EIGHT * (at - position * vectors));
    s.x = (int)(position - row * (u32)width);
    s.sample = (int)(row / (u32)height);
    s.y = (int)(row - (u32)s.sample * (u32)height);
    s.is_inside = s.sample < p.batch;
    return s;
}

// How many elements lie before eight channels at a position.
DEVICE i64 place_of(const pool &p, const spot &s, int height, int width, int y, int x)
{
    return (((i64)s.sample * height + y) * width + x) * p.channels + s.channel;
}

// kernel: 0 means p's kernel size, else the size is known when the text is compiled.
template <class T, int KERNEL> DEVICE void max_forward(const pool &p)
{
    const int kernel = KERNEL ? KERNEL : p.kernel;
    const spot s = find_spot(p, p.out_height, p.out_width);
    if (!s.is_inside) return;
    const window w = find_window(p, kernel, s.y, s.x);
    float best[EIGHT] = {};
    u32 winner[EIGHT] = {};
    bool is_first = true;
#pragma unroll
    for (int dy = 0; dy < kernel; dy++)
#pragma unroll
        for (int dx = 0; dx < kernel; dx++) {
            const int y = w.top + dy, x = w.left + dx;
            if (y < 0 || x < 0 || y >= p.height || x >= p.width) continue;
            float here[EIGHT];
            load8<T>(p.in, place_of(p, s, p.height, p.width, y, x), here);
#pragma unroll
            for (int j = 0; j < EIGHT; j++)
                if (is_first || here[j] > best[j] || here[j] != here[j])
                    best[j] = here[j], winner[j] = (u32)(dy * kernel + dx);
            is_first = false;
        }
    const i64 at = place_of(p, s, p.out_height, p.out_width, s.y, s.x);
    store8<T>(p.out, at, best);
    if (p.winners)
        *(uint2 *)((u8 *)p.winners + at) = make_uint2(winner[0] | winner[1] << 8 | winner[2] << 16 | winner[3] << 24,
                                                      winner[4] | winner[5] << 8 | winner[6] << 16 | winner[7] << 24);
}

template <class T> DEVICE void max_backward(const pool &p)
{
    const spot s = find_spot(p, p.height, p.width);
    if (!s.is_inside) return;
    const span ys = covering(s.y, p.kernel, p.stride, p.pad, p.out_height);
    const span xs = covering(s.x, p.kernel, p.stride, p.pad, p.out_width);
    float sum[EIGHT] = {};
    for (int oy = ys.first; oy < ys.end; oy++)
        for (int ox = xs.first; ox < xs.end; ox++) {
            const i64 at = place_of(p, s, p.out_height, p.out_width, oy, ox);
            const uint2 winner = *(const uint2 *)((const u8 *)p.winners + at);
            float g[EIGHT];
            load8<T>(p.out, at, g);
            const u32 own = (u32)((s.y + p.pad - oy * p.stride) * p.kernel + s.x + p.pad - ox * p.stride);
#pragma unroll
            for (int j = 0; j < EIGHT; j++)
                if (((j < 4 ? winner.x : winner.y) >> 8 * (j % 4) & 255u) == own) sum[j] += g[j];
        }
    store8<T>(p.in, place_of(p, s, p.height, p.width, s.y, s.x), sum);
}

template <class T> DEVICE void average_forward(const pool &p)
{
    const spot s = find_spot(p, p.out_height, p.out_width);
    if (!s.is_inside) return;
    const window w = find_window(p, p.kernel, s.y, s.x);
    const float area = area_of(p, p.kernel, w);
    float sum[EIGHT] = {};
    for (int y = w.y0; y < w.y1; y++)
#pragma unroll 4
        for (int x = w.x0; x < w.x1; x++) {
            float here[EIGHT];
            load8<T>(p.in, place_of(p, s, p.height, p.width, y, x), here);
#pragma unroll
            for (int j = 0; j < EIGHT; j++) sum[j] += here[j];
        }
#pragma unroll
    for (int j = 0; j < EIGHT; j++) sum[j] = __fdiv_rn(sum[j], area);
    store8<T>(p.out, place_of(p, s, p.out_height, p.out_width, s.y, s.x), sum);
}

template <class T> DEVICE void average_backward(const pool &p)
{
    const spot s = find_spot(p, p.height, p.width);
    if (!s.is_inside) return;
    const span ys = covering(s.y, p.kernel, p.stride, p.pad, p.out_height);
    const span xs = covering(s.x, p.kernel, p.stride, p.pad, p.out_width);
    float sum[EIGHT] = {};
    for (int oy = ys.first; oy < ys.end; oy++)
        for (int ox = xs.first; ox < xs.end; ox++) {
            const float area = area_of(p, p.kernel, find_window(p, p.kernel, oy, ox));
            float g[EIGHT];
            load8<T>(p.out, place_of(p, s, p.out_height, p.out_width, oy, ox), g);
#pragma unroll
            for (int j = 0; j < EIGHT; j++) sum[j] += __fdiv_rn(g[j], area);
        }
    store8<T>(p.in, place_of(p, s, p.height, p.width, s.y, s.x), sum);
}

// ---- one number, in any order ----

struct one {
    i64 sample, channel;
    int y, x;
    bool is_inside;
};

DEVICE one find_one(const pool &p, int height, int width)
{
    i64 at = thread_number();
    one o;
    o.is_inside = at < (i64)p.batch * p.channels * height * width;
    if (p.side_by_side) o.channel = at % p.channels, at /= p.channels;
    o.x = (int)(at % width), at /= width;
    o.y = (int)(at % height), at /= height;
    if (!p.side_by_side) o.channel = at % p.channels, at /= p.channels;
    o.sample = at;
    return o;
}

DEVICE i64 place_of(const pool &p, const one &o, int height, int width, int y, int x)
{
    return p.side_by_side ? ((o.sample * height + y) * width + x) * p.channels + o.channel
                          : ((o.sample * p.channels + o.channel) * height + y) * width + x;
}

ENTRY max_forward_any(const __grid_constant__ pool p)
{
    const one o = find_one(p, p.out_height, p.out_width);
    if (!o.is_inside) return;
    const window w = find_window(p, p.kernel, o.y, o.x);
    float best = 0;
    int winner = -1;
    for (int y = w.y0; y < w.y1; y++)
        for (int x = w.x0; x < w.x1; x++) {
            const float here = load(p.in, p.in_type, place_of(p, o, p.height, p.width, y, x));
            if (winner < 0 || here > best || here != here) best = here, winner = (y - w.top) * p.kernel + x - w.left;
        }
    const i64 at = place_of(p, o, p.out_height, p.out_width, o.y, o.x);
    store(p.out, p.out_type, at, best);
    if (p.winners && p.wide) ((int *)p.winners)[at] = winner;
    if (p.winners && !p.wide) ((u8 *)p.winners)[at] = (u8)winner;
}

ENTRY max_backward_any(const __grid_constant__ pool p)
{
    const one o = find_one(p, p.height, p.width);
    if (!o.is_inside) return;
    const span ys = covering(o.y, p.kernel, p.stride, p.pad, p.out_height);
    const span xs = covering(o.x, p.kernel, p.stride, p.pad, p.out_width);
    float sum = 0;
    for (int oy = ys.first; oy < ys.end; oy++)
        for (int ox = xs.first; ox < xs.end; ox++) {
            const i64 at = place_of(p, o, p.out_height, p.out_width, oy, ox);
            const int winner = p.wide ? ((const int *)p.winners)[at] : ((const u8 *)p.winners)[at];
            if (winner == (o.y + p.pad - oy * p.stride) * p.kernel + o.x + p.pad - ox * p.stride)
                sum += load(p.out, p.out_type, at);
        }
    store(p.in, p.in_type, place_of(p, o, p.height, p.width, o.y, o.x), sum);
}

ENTRY average_forward_any(const __grid_constant__ pool p)
{
    const one o = find_one(p, p.out_height, p.out_width);
    if (!o.is_inside) return;
    const window w = find_window(p, p.kernel, o.y, o.x);
    float sum = 0;
    for (int y = w.y0; y < w.y1; y++)
        for (int x = w.x0; x < w.x1; x++) sum += load(p.in, p.in_type, place_of(p, o, p.height, p.width, y, x));
    store(p.out, p.out_type, place_of(p, o, p.out_height, p.out_width, o.y, o.x),
          __fdiv_rn(sum, area_of(p, p.kernel, w)));
}

ENTRY average_backward_any(const __grid_constant__ pool p)
{
    const one o = find_one(p, p.height, p.width);
    if (!o.is_inside) return;
    const span ys = covering(o.y, p.kernel, p.stride, p.pad, p.out_height);
    const span xs = covering(o.x, p.kernel, p.stride, p.pad, p.out_width);
    float sum = 0;
    for (int oy = ys.first; oy < ys.end; oy++)
        for (int ox = xs.first; ox < xs.end; ox++)
            sum += __fdiv_rn(load(p.out, p.out_type, place_of(p, o, p.out_height, p.out_width, oy, ox)),
                             area_of(p, p.kernel, find_window(p, p.kernel, oy, ox)));
    store(p.in, p.in_type, place_of(p, o, p.height, p.width, o.y, o.x), sum);
}

// ---- entries ----

#define ENTRIES(T)                                                                                                     \
    ENTRY max_forward_##T(const __grid_constant__ pool p)                                                              \
    {                                                                                                                  \
        max_forward<T, 0>(p);                                                                                          \
    }                                                                                                                  \
    ENTRY max_forward3_##T(const __grid_constant__ pool p)                                                             \
    {                                                                                                                  \
        max_forward<T, 3>(p);                                                                                          \
    }                                                                                                                  \
    ENTRY max_backward_##T(const __grid_constant__ pool p)                                                             \
    {                                                                                                                  \
        max_backward<T>(p);                                                                                            \
    }                                                                                                                  \
    ENTRY average_forward_##T(const __grid_constant__ pool p)                                                          \
    {                                                                                                                  \
        average_forward<T>(p);                                                                                         \
    }                                                                                                                  \
    ENTRY average_backward_##T(const __grid_constant__ pool p)                                                         \
    {                                                                                                                  \
        average_backward<T>(p);                                                                                        \
    }
ENTRIES(f32)
ENTRIES(bf16)
ENTRIES(f16)
