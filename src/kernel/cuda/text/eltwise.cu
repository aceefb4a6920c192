// eltwise.cu: relu, sigmoid, tanh and their gradients, sums of several values. Each multiplication and sum is rounded,
// as in the plain loops. Outputs may be the memory of inputs, because a thread reads all its numbers before it writes.

enum { MOST_INPUTS = 8 };

// NaN stays NaN; -0 becomes 0.
struct relu_map {
    static __device__ __forceinline__ float of(float x, float)
    {
        return x <= 0 ? 0 : x;
    }
};

struct sigmoid_map {
    static __device__ __forceinline__ float of(float x, float)
    {
        return __fdiv_rn(1, __fadd_rn(1, expf(-x)));
    }
};

struct tanh_map {
    static __device__ __forceinline__ float of(float x, float)
    {
        return tanhf(x);
    }
};

// y: the output, d: its gradient.
struct relu_gradient_map {
    static __device__ __forceinline__ float of(float y, float d)
    {
        return y <= 0 ? 0 : d;
    }
};

struct sigmoid_gradient_map {
    static __device__ __forceinline__ float of(float y, float d)
    {
        return __fmul_rn(__fmul_rn(d, y), __fsub_rn(1, y));
    }
};

struct tanh_gradient_map {
    static __device__ __forceinline__ float of(float y, float d)
    {
        return __fmul_rn(d, __fsub_rn(1, __fmul_rn(y, y)));
    }
};

// y: NULL for maps of one number.
template <class MAP, bool HAS_Y>
DEVICE void map(const void *x, int x_type, const void *y, int y_type, void *to, int to_type, i64 n)
{
    const i64 first = first_of_thread();
    raw4 raw_x[QUADS], raw_y[QUADS];
#pragma unroll
    for (int k = 0; k < QUADS; k++) {
        raw_x[k] = fetch_up_to_4(x, x_type, first + k * 4 * blockDim.x, n);
        if (HAS_Y) raw_y[k] = fetch_up_to_4(y, y_type, first + k * 4 * blockDim.x, n);
    }
#pragma unroll
    for (int k = 0; k < QUADS; k++) {
        const quad a = widen4(raw_x[k], x_type), b = HAS_Y ? widen4(raw_y[k], y_type) : a;
        quad out;
#pragma unroll
        for (int j = 0; j < 4; j++) out.x[j] = MAP::of(a.x[j], b.x[j]);
        store_up_to_4(to, to_type, first + k * 4 * blockDim.x, n, out);
    }
}

#define ENTRIES(op)                                                                                                    \
    ENTRY map_##op(const void *x, int x_type, const void *y, int y_type, void *to, int to_type, i64 n)                 \
    {                                                                                                                  \
        map<op##_map, false>(x, x_type, y, y_type, to, to_type, n);                                                    \
    }                                                                                                                  \
    ENTRY differentiate_##op(const void *x, int x_type, const void *y, int y_type, void *to, int to_type, i64 n)       \
    {                                                                                                                  \
        map<op##_gradient_map, true>(x, x_type, y, y_type, to, to_type, n);                                            \
    }
ENTRIES(relu)
ENTRIES(sigmoid)
ENTRIES(tanh)

// out = ((in[0] + in[1]) + in[2]) + ..., in f32, rounded once.
struct addition {
    const void *in[MOST_INPUTS];
    void *out;
    i64 n, channels, plane; // channels, plane: sizes where orders differ
    int type[MOST_INPUTS], is_nhwc[MOST_INPUTS];
    int ninputs, out_type, out_is_nhwc;

    __device__ __forceinline__ int type_of(int input) const
    {
        return type[input];
    }
};

ENTRY add(const __grid_constant__ addition a)
{
    add_inputs(a);
}

// Adds inputs of different orders: each thread computes one number of the output.
ENTRY add_orders(const __grid_constant__ addition a)
{
    const i64 i = thread_number();
    if (i >= a.n) return;
    const place at = place_of(i, a.channels, a.plane, a.out_is_nhwc);
    const i64 other = number_at(at, a.channels, a.plane, !a.out_is_nhwc);
    float sum = 0;
    for (int p = 0; p < a.ninputs; p++) {
        const float x = load(a.in[p], a.type[p], a.is_nhwc[p] == a.out_is_nhwc ? i : other);
        sum = p == 0 ? x : __fadd_rn(sum, x);
    }
    store(a.out, a.out_type, i, sum);
}
