// step.cu: the work of a step beside kernels of layers and rules: rows and blocks, control numbers, running statistics,
// whether gradients are finite, and the loops over a centre of src/training/plan/action.

// Copies between rows of all outputs and blocks, one for each part, which have n outputs of each row.
ENTRY blocks(float *rows, float *blocks, i64 nsamples, i64 noutputs, int parts, int into)
{
    const i64 i = thread_number(), n = noutputs / parts;
    if (i >= nsamples * parts * n) return;
    const i64 column = i % n, part = i / n % parts, row = i / n / parts;
    float *there = blocks + (part * nsamples + row) * n + column, *here = rows + row * noutputs + part * n + column;
    if (into)
        *there = *here;
    else
        *here = *there;
}

ENTRY control(const int *correct, float *counted, float *stops, const float *stop)
{
    *counted = (float)*correct;
    *stops = *stop;
}

ENTRY no_loss(float *loss)
{
    *loss = __uint_as_float(0x7fc00000u);
}

// step_cuda.c repeats these structs. replaces: nothing of the old value counts, not even a NaN times 0.
struct running {
    float *w;
    const float *sum;
    i64 n;
    int skew, replaces;
    float keep, take;
};

struct statistics {
    running s[TOGETHER];
    u32 first[TOGETHER];
};

ENTRY statistic(const __grid_constant__ statistics all, float slots)
{
    const int p = part_of_block(all.first);
    const running &s = all.s[p];
    const four f = four_of(thread_from(all.first[p]), s.skew, s.n);
    if (f.first >= s.n) return;
    float old[4], x[4];
    load(f, s.sum, x);
    load(f, s.w, old);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const float mean = divide(x[j], slots);
        x[j] = s.replaces ? mean : add(multiply(s.keep, old[j]), multiply(s.take, mean));
    }
    store(f, s.w, x);
}

// Blocks share the tiles of one vector.
struct looked_at {
    const float *x[TOGETHER];
    i64 n[TOGETHER];
    u32 first[TOGETHER], nblocks[TOGETHER];
};

// limbs takes the sums of squares; NULL: nobody wants them.
ENTRY are_finite(const __grid_constant__ looked_at v, i64 *limbs, i64 *bad)
{
    const int p = part_of_block(v.first);
    const share own = {blockIdx.x - v.first[p], v.nblocks[p]};
    count_bad(look_at(plain_values{v.x[p]}, v.n[p], own, limbs), p, own.nblocks, bad);
}

// ---- the centre ----

ENTRY elastic(float *centre, const float *sum, i64 n, int skew, float nworkers, const float *alpha)
{
    const four f = four_of(thread_number(), skew, n);
    if (f.first >= n) return;
    float c[4], x[4];
    load(f, centre, c);
    load(f, sum, x);
#pragma unroll
    for (int j = 0; j < 4; j++)
        c[j] = add(c[j], multiply(*alpha, subtract(x[j], multiply(nworkers, c[j]))));
    store(f, centre, c);
}

ENTRY outer(float *centre, float *velocity, float *w, i64 n, int skew, float rate, float mu)
{
    const four f = four_of(thread_number(), skew, n);
    if (f.first >= n) return;
    float c[4], v[4], x[4];
    load(f, centre, c);
    load(f, velocity, v);
    load(f, w, x);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const float d = subtract(c[j], x[j]);
        v[j] = add(multiply(mu, v[j]), d);
        c[j] = subtract(c[j], multiply(rate, add(d, multiply(mu, v[j]))));
    }
    store(f, velocity, v);
    store(f, centre, c);
    store(f, w, c);
}

// seen may be w.
ENTRY meet(float *centre, const float *w, float *seen, i64 n, int skew, const float *alpha)
{
    const four f = four_of(thread_number(), skew, n);
    if (f.first >= n) return;
    float old[4], c[4];
    load(f, centre, old);
    load(f, w, c);
#pragma unroll
    for (int j = 0; j < 4; j++) c[j] = add(old[j], multiply(*alpha, subtract(c[j], old[j])));
    store(f, centre, c);
    store(f, seen, old);
}

ENTRY mean(float *centre, const float *sum, i64 n, int skew, float nworkers)
{
    const four f = four_of(thread_number(), skew, n);
    if (f.first >= n) return;
    float x[4];
    load(f, sum, x);
#pragma unroll
    for (int j = 0; j < 4; j++) x[j] = divide(x[j], nworkers);
    store(f, centre, x);
}
