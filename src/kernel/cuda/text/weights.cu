// weights.cu: converts f32 weights into the form in which a library multiplies them, rounded, channels last and filled
// up, and converts gradients back.

// Weights are (filters, channels of a group, window). Each group's filters and channels are filled up with zeros in the
// library's form, where channels are last. is_last: channels are last in the parameter, too. n: numbers of the form
// that is written.
struct weights_form {
    i64 n, filters, filled_filters; // filters of a group
    i64 channels, filled_channels, window;
    int is_last;
};

DEVICE i64 param_at(const weights_form &f, i64 filter, i64 tap, i64 channel)
{
    return f.is_last ? (filter * f.window + tap) * f.channels + channel
                     : (filter * f.channels + channel) * f.window + tap;
}

ENTRY weights_fill(const float *from, void *to, int type, const __grid_constant__ weights_form f)
{
    const i64 i = thread_number();
    if (i >= f.n) return;
    const division inner = divided(i, f.filled_channels), outer = divided(inner.quotient, f.window);
    const division group = divided(outer.quotient, f.filled_filters);
    const bool is_there = inner.rest < f.channels && group.rest < f.filters;
    const i64 filter = group.quotient * f.filters + group.rest;
    store(to, type, i, is_there ? from[param_at(f, filter, outer.rest, inner.rest)] : 0);
}

ENTRY weights_unfill(const void *from, int type, float *to, const __grid_constant__ weights_form f)
{
    const i64 i = thread_number();
    if (i >= f.n) return;
    const division inner = divided(i, f.is_last ? f.channels : f.window);
    const division outer = divided(inner.quotient, f.is_last ? f.window : f.channels);
    const i64 channel = f.is_last ? inner.rest : outer.rest, tap = f.is_last ? outer.rest : inner.rest;
    const division group = divided(outer.quotient, f.filters);
    const i64 filter = group.quotient * f.filled_filters + group.rest;
    to[i] = load(from, type, (filter * f.window + tap) * f.filled_channels + channel);
}

// Rounds weights in the order that they have, and a bias in the same launch (NULL: no bias).
ENTRY weights_round(const float *from, void *to, i64 n, const float *bias, void *to_bias, i64 nbias, int type)
{
    const i64 first = first_of_thread();
    quad q[QUADS];
#pragma unroll
    for (int k = 0; k < QUADS; k++) q[k] = load_up_to_4(from, F32, first + k * 4 * blockDim.x, n);
#pragma unroll
    for (int k = 0; k < QUADS; k++) store_up_to_4(to, type, first + k * 4 * blockDim.x, n, q[k]);
    for (i64 i = thread_number(); i < nbias; i += (i64)gridDim.x * blockDim.x) store(to_bias, type, i, bias[i]);
}
