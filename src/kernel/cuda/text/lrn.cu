// lrn.cu: local response normalisation across channels. With base[c] = k + alpha / size * sum of in[i]^2 over the
// channels around c,
//
//   out[c] = in[c] * base[c]^-beta
//   din[c] = dout[c] * base[c]^-beta - 2 alpha beta / size * in[c] * sum of dout[i] in[i] base[i]^(-beta - 1), over the
// windows i in which c lies
//
// Windows of five, channels last, a multiple of eight of one type: a thread takes eight channels and their neighbours,
// and computes bases again backward (entries with a type's name). All else: a thread takes one number, and bases are
// kept (entries with _any).

struct lrn {
    const void *in, *dout;
    void *to;    // out or din
    float *base; // for _any in training: the base of each number; NULL: not saved
    int in_type, out_type, size, side_by_side;
    i64 n, channels, plane;
    float share, k, beta, slope; // share: alpha / size; slope: 2 alpha beta / size
};

enum { HALF = 2 }; // neighbours on each side

DEVICE float power(float base, float exponent)
{
    return exp2f(exponent * log2f(base));
}

// The eight channels of a thread and eight on each side, of which those outside are zeros.
template <class T> DEVICE void take_around(const void *at, i64 position, int channel, int channels, float *x)
{
#pragma unroll
    for (int w = 0; w < 3 * EIGHT; w += T::lanes) {
        const int from = channel - EIGHT + w;
        lanes_of<T> q = {};
        if (from >= 0 && from < channels) q = load16<T>(at, position * channels + from);
#pragma unroll
        for (int j = 0; j < T::lanes; j++) x[w + j] = q.x[j];
    }
}

DEVICE float base_of(const lrn &l, const float *x, int c)
{
    float squares = 0;
#pragma unroll
    for (int i = c - HALF; i <= c + HALF; i++) squares = fmaf(x[i], x[i], squares);
    return fmaf(l.share, squares, l.k);
}

template <class T> DEVICE void normalise(const lrn &l)
{
    const i64 vectors = l.channels / EIGHT, at = thread_number(), position = at / vectors;
    const int channel = EIGHT * (int)(at - position * vectors);
    if (at >= l.n / EIGHT) return;
    float x[3 * EIGHT], y[EIGHT];
    take_around<T>(l.in, position, channel, (int)l.channels, x);
#pragma unroll
    for (int j = 0; j < EIGHT; j++) y[j] = x[EIGHT + j] * power(base_of(l, x, EIGHT + j), -l.beta);
    store8<T>(l.to, position * l.channels + channel, y);
}

template <class T> DEVICE void differentiate(const lrn &l)
{
    const i64 vectors = l.channels / EIGHT, at = thread_number(), position = at / vectors;
    const int channel = EIGHT * (int)(at - position * vectors);
    if (at >= l.n / EIGHT) return;
    float x[3 * EIGHT], g[3 * EIGHT], straight[EIGHT + 2 * HALF], term[EIGHT + 2 * HALF], to[EIGHT];
    take_around<T>(l.in, position, channel, (int)l.channels, x);
    take_around<T>(l.dout, position, channel, (int)l.channels, g);
#pragma unroll
    for (int j = 0; j < EIGHT + 2 * HALF; j++) {
        const int c = EIGHT - HALF + j;
        const float base = base_of(l, x, c);
        straight[j] = g[c] * power(base, -l.beta);
        term[j] = __fdividef(straight[j] * x[c], base); // beyond the last channel g is zero
    }
#pragma unroll
    for (int j = 0; j < EIGHT; j++) {
        float sum = 0;
#pragma unroll
        for (int i = j; i <= j + 2 * HALF; i++) sum += term[i];
        to[j] = straight[HALF + j] - l.slope * x[EIGHT + j] * sum;
    }
    store8<T>(l.to, position * l.channels + channel, to);
}

// ---- one number, in any order ----

struct one {
    i64 at, channel, step; // step: to the next channel
};

DEVICE one find_one(const lrn &l)
{
    one o;
    o.at = thread_number();
    o.step = l.side_by_side ? 1 : l.plane;
    o.channel = l.side_by_side ? o.at % l.channels : o.at / l.plane % l.channels;
    return o;
}

ENTRY normalise_any(const __grid_constant__ lrn l)
{
    const one o = find_one(l);
    if (o.at >= l.n) return;
    const i64 first = o.channel - l.size / 2, end = min(first + l.size, l.channels);
    float squares = 0;
    for (i64 i = first < 0 ? 0 : first; i < end; i++) {
        const float x = load(l.in, l.in_type, o.at + (i - o.channel) * o.step);
        squares = fmaf(x, x, squares);
    }
    const float base = fmaf(l.share, squares, l.k);
    store(l.to, l.out_type, o.at, load(l.in, l.in_type, o.at) * power(base, -l.beta));
    if (l.base) l.base[o.at] = base;
}

ENTRY differentiate_any(const __grid_constant__ lrn l)
{
    const one o = find_one(l);
    if (o.at >= l.n) return;
    const i64 last = o.channel + l.size / 2, first = last + 1 - l.size, end = min(last + 1, l.channels);
    float sum = 0;
    for (i64 i = first < 0 ? 0 : first; i < end; i++) {
        const i64 at = o.at + (i - o.channel) * o.step;
        sum = fmaf(load(l.dout, l.out_type, at) * load(l.in, l.in_type, at), power(l.base[at], -l.beta - 1), sum);
    }
    const float straight = load(l.dout, l.out_type, o.at) * power(l.base[o.at], -l.beta);
    store(l.to, l.in_type, o.at, straight - l.slope * load(l.in, l.in_type, o.at) * sum);
}

#define ENTRIES(T)                                                                                                     \
    ENTRY normalise_##T(const __grid_constant__ lrn l)                                                                 \
    {                                                                                                                  \
        normalise<T>(l);                                                                                               \
    }                                                                                                                  \
    ENTRY differentiate_##T(const __grid_constant__ lrn l)                                                             \
    {                                                                                                                  \
        differentiate<T>(l);                                                                                           \
    }
ENTRIES(f32)
ENTRIES(bf16)
ENTRIES(f16)
