// common.cu: the text that stands before each other text of this folder: elements in vectors of 16 bytes, the loop of a
// rule, exact sums of squares.
//
// Each operation is rounded by itself, in the order of the cpu's loops (src/training/method/), so that the bits are
// theirs at any offset and in any cut. A NaN is a NaN on both, with other bits.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define DEVICE static __device__ __forceinline__
#define ENTRY extern "C" __global__ void

DEVICE float add(float a, float b)
{
    return __fadd_rn(a, b);
}

DEVICE float subtract(float a, float b)
{
    return __fsub_rn(a, b);
}

DEVICE float multiply(float a, float b)
{
    return __fmul_rn(a, b);
}

DEVICE float divide(float a, float b)
{
    return __fdiv_rn(a, b);
}

DEVICE i64 thread_number()
{
    return (i64)blockIdx.x * blockDim.x + threadIdx.x;
}

// ---- four elements a thread ----

// Elements first .. first + 3 of n; first may be negative. is_whole: there are all of them, and they lie at a multiple
// of 16 bytes in all vectors.
struct four {
    i64 first, n;
    bool is_whole;
};

// skew: elements by which the vectors lie behind a multiple of 16 bytes, all alike; negative: not alike.
DEVICE four four_of(i64 thread, int skew, i64 n)
{
    const i64 first = 4 * thread - (skew > 0 ? skew : 0);
    return {first, n, skew >= 0 && first >= 0 && first + 4 <= n};
}

DEVICE void load(const four &f, const float *from, float (&x)[4])
{
    if (f.is_whole) {
        const float4 v = *(const float4 *)(from + f.first);
        x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
        return;
    }
#pragma unroll
    for (int j = 0; j < 4; j++) x[j] = f.first + j >= 0 && f.first + j < f.n ? from[f.first + j] : 0.0f;
}

DEVICE void store(const four &f, float *to, const float (&x)[4])
{
    if (f.is_whole) {
        *(float4 *)(to + f.first) = make_float4(x[0], x[1], x[2], x[3]);
        return;
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (f.first + j >= 0 && f.first + j < f.n) to[f.first + j] = x[j];
}

// ---- several vectors a launch ----

enum { TOGETHER = 16 };

// Which vector this block is for. first: the first block of each; behind the last vector, larger than any block.
DEVICE int part_of_block(const u32 (&first)[TOGETHER])
{
    int p = 0;
#pragma unroll
    for (int step = TOGETHER / 2; step; step /= 2)
        if (blockIdx.x >= first[p + step]) p += step;
    return p;
}

DEVICE i64 thread_from(u32 first_block)
{
    return (i64)(blockIdx.x - first_block) * blockDim.x + threadIdx.x;
}

// ---- rules: rule_*.cu have a struct with
//
//   enum { NSTATES };
//   DEVICE float step(const float *k, float w, float sum, float *state)       the new w; state[NSTATES] is changed in
// place
//
// and RULE(struct) behind it; a rule that goes by norms has NORMS_OF_GRADIENTS too, or a function measure and
// NORMS_OF_MEASURED(struct). ----

enum { NUMBERS = 8, STATES = 2 };

// The elements of one parameter. step_cuda.c repeats these structs.
struct slice {
    float *w, *state[STATES];
    const float *sum, *centre; // centre may be NULL
    i64 n;
    int skew;
};

struct updates {
    slice s[TOGETHER];
    u32 first[TOGETHER];
};

// How many numbers vary from step to step for each slice: those of a step, and alpha.
enum { VARYING = NUMBERS + 1 };

DEVICE void read_numbers(const float *varying, float (&k)[NUMBERS])
{
#pragma unroll
    for (int i = 0; i < NUMBERS; i++) k[i] = varying[i];
}

// sgd, momentum and nesterov: their numbers, and the gradient with decay, as in src/training/method/rule/rule_impl.h.
enum { SGD_UNSCALE, SGD_DECAY, SGD_LR, SGD_MU };

DEVICE float sgd_gradient(const float *k, float w, float sum)
{
    return add(multiply(k[SGD_UNSCALE], sum), multiply(k[SGD_DECAY], w));
}

// adamw and lamb: their first numbers, and m / (sqrt(v) + eps'), as in src/training/method/rule/rule_impl.h.
enum { ADAM_UNSCALE, ADAM_TAKE1, ADAM_TAKE2, ADAM_EPS, ADAM_NUMBERS };

DEVICE float adam_quotient(const float *k, float sum, float *state)
{
    const float g = multiply(k[ADAM_UNSCALE], sum);
    state[0] = add(state[0], multiply(k[ADAM_TAKE1], subtract(g, state[0])));
    state[1] = add(state[1], multiply(k[ADAM_TAKE2], subtract(multiply(g, g), state[1])));
    return divide(state[0], add(__fsqrt_rn(state[1]), k[ADAM_EPS]));
}

template <class R> DEVICE void update_elements(const slice &s, const float *varying, i64 thread)
{
    const four f = four_of(thread, s.skew, s.n);
    if (f.first >= s.n) return;
    float k[NUMBERS], w[4], sum[4], state[STATES][4] = {}, centre[4];
    read_numbers(varying, k);
    load(f, s.w, w);
    load(f, s.sum, sum);
#pragma unroll
    for (int i = 0; i < R::NSTATES; i++) load(f, s.state[i], state[i]);
    if (s.centre) load(f, s.centre, centre);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float own[STATES] = {state[0][j], state[1][j]};
        const float moved = R::step(k, w[j], sum[j], own);
        w[j] = s.centre ? subtract(moved, multiply(varying[NUMBERS], subtract(w[j], centre[j]))) : moved;
        state[0][j] = own[0], state[1][j] = own[1];
    }
    store(f, s.w, w);
#pragma unroll
    for (int i = 0; i < R::NSTATES; i++) store(f, s.state[i], state[i]);
}

// ---- exact sums of squares (src/tensor/squares.h) ----
//
// The square of a number with mantissa m and exponent field e is m * m * 2^(2 * (e - 1)) units. A block takes the
// largest numbers of a tile together with all that are less than 2^REACH times smaller: their squares, counted from the
// smallest exponent of these, are whole numbers whose sum a thread has in 128 bits. Digits of these are added over the
// block. Smaller numbers come in another round; mostly there is none.

enum { LIMBS = 20, LIMB_BITS = 32, DIGITS = 5, DIGIT_BITS = 26, REACH = 36 };
enum { EACH = 16, WARPS = 8, TILE = EACH * WARPS * 32 };

struct wide {
    u64 low, high;
};

// sum += m * m * 2^shift; shift <= 2 * REACH.
DEVICE void add_square(wide &sum, u32 m, int shift)
{
    const u64 square = (u64)m * m; // 48 bits
    const u64 low = shift < 64 ? square << shift : 0;
    const u64 high = shift < 16 ? 0 : shift < 64 ? square >> (64 - shift) : square << (shift - 64);
    sum.low += low;
    sum.high += high + (sum.low < low);
}

DEVICE u32 digit_of(const wide &sum, int d)
{
    const int at = d * DIGIT_BITS;
    u64 bits = at < 64 ? sum.low >> at : sum.high >> (at - 64);
    if (at > 0 && at < 64) bits |= sum.high << (64 - at);
    return (u32)bits & ((1u << DIGIT_BITS) - 1);
}

// The part of a digit `sum`, which counts 2^first units, that belongs to this limb. Threads below LIMBS have a limb
// each.
DEVICE u64 part_for_limb(u64 sum, int first, int limb)
{
    const int at = first / LIMB_BITS, up = first % LIMB_BITS;
    const u64 low = (sum & 0xffffffffu) << up;
    if (limb == at) return low & 0xffffffffu;
    return limb == at + 1 ? (low >> 32) + ((sum >> 32) << up) : 0;
}

// Adds the squares of a tile to the limb of this thread. bits: EACH finite numbers, of no sign. All threads of a block
// of WARPS warps call it.
DEVICE void add_squares(u32 (&bits)[EACH], u64 &limb)
{
    __shared__ u32 largest[WARPS], digits[DIGITS][WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (;;) {
        u32 most = 0;
#pragma unroll
        for (int i = 0; i < EACH; i++) most = max(most, bits[i]);
        most = __reduce_max_sync(0xffffffffu, most);
        if (lane == 0) largest[warp] = most;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < WARPS; i++) most = max(most, largest[i]);
        if (most == 0) break; // most is the block's: all threads leave
        const int lowest = max((int)(most >> 23) - REACH, 1);
        wide sum = {0, 0};
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int exponent = max((int)(bits[i] >> 23), 1);
            if (exponent < lowest) continue;
            const u32 mantissa = (bits[i] & 0x7fffffu) | (bits[i] >> 23 ? 0x800000u : 0);
            add_square(sum, mantissa, 2 * (exponent - lowest));
            bits[i] = 0;
        }
#pragma unroll
        for (int d = 0; d < DIGITS; d++) {
            const u32 digit = __reduce_add_sync(0xffffffffu, digit_of(sum, d));
            if (lane == 0) digits[d][warp] = digit;
        }
        __syncthreads();
        if (threadIdx.x < LIMBS)
            for (int d = 0; d < DIGITS; d++) {
                u64 all = 0;
#pragma unroll
                for (int i = 0; i < WARPS; i++) all += digits[d][i];
                limb += part_for_limb(all, 2 * (lowest - 1) + d * DIGIT_BITS, threadIdx.x);
            }
    }
    __syncthreads(); // the next tile's largest are written behind this one's reads
}

// How many blocks of one launch are through with a vector, and whether one of them has seen a number that is not
// finite. Both are zero between launches, which are one behind the other.
static __device__ u32 blocks_done[TOGETHER], any_bad[TOGETHER];

// *count += 1 once a launch and vector, if bad is true of any thread of its nblocks blocks.
DEVICE void count_bad(bool bad, int vector, u32 nblocks, i64 *count)
{
    const int is_bad = __syncthreads_or(bad);
    if (threadIdx.x) return;
    if (is_bad) atomicOr(&any_bad[vector], 1u);
    __threadfence();
    if (atomicInc(&blocks_done[vector], nblocks - 1) == nblocks - 1 && atomicExch(&any_bad[vector], 0u))
        atomicAdd((u64 *)count, (u64)1);
}

// Which of the blocks that share a vector's tiles this one is.
struct share {
    u32 block, nblocks;
};

// Looks at n numbers, which value(i) gives: the sum of squares of those that are finite is added to limbs (NULL: nobody
// wants it). Returns whether a number of this thread's is not finite.
template <class V> DEVICE bool look_at(const V &value, i64 n, const share &own, i64 *limbs)
{
    bool is_bad = false;
    u64 limb = 0;
    for (i64 tile = (i64)own.block * TILE; tile < n; tile += (i64)own.nblocks * TILE) {
        u32 bits[EACH];
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            const i64 i = tile + j * (WARPS * 32) + threadIdx.x;
            bits[j] = i < n ? __float_as_uint(value(i)) & 0x7fffffffu : 0;
        }
#pragma unroll
        for (int j = 0; j < EACH; j++)
            if (bits[j] >= 0x7f800000u) is_bad = true, bits[j] = 0;
        if (limbs) add_squares(bits, limb);
    }
    if (limbs && threadIdx.x < LIMBS && limb) atomicAdd((u64 *)limbs + threadIdx.x, limb);
    return is_bad;
}

struct plain_values {
    const float *x;
    __device__ float operator()(i64 i) const
    {
        return x[i];
    }
};

template <class R> struct measured_values {
    const slice &s;
    const float (&k)[NUMBERS];
    __device__ float operator()(i64 i) const
    {
        float state[STATES] = {R::NSTATES > 0 ? s.state[0][i] : 0.0f, R::NSTATES > 1 ? s.state[1][i] : 0.0f};
        return R::measure(k, s.w[i], s.sum[i], state);
    }
};

// blockIdx.y is 0 for the weights, 1 for the gradients.
DEVICE void norms_of_gradients(const slice &s, i64 *limbs, i64 *bad)
{
    const bool of_weights = blockIdx.y == 0;
    const share own = {blockIdx.x, gridDim.x};
    const bool is_bad = look_at(plain_values{of_weights ? s.w : s.sum}, s.n, own, limbs + (of_weights ? 0 : LIMBS));
    count_bad(is_bad && !of_weights, 0, gridDim.x * gridDim.y, bad);
}

// blockIdx.y is 0 for the weights, 1 for what the rule measures, 2 for whether the gradients are finite.
template <class R> DEVICE void norms_of_measured(const slice &s, const float *varying, i64 *limbs, i64 *bad)
{
    const share own = {blockIdx.x, gridDim.x};
    bool is_bad = false;
    if (blockIdx.y == 0) {
        look_at(plain_values{s.w}, s.n, own, limbs);
    } else if (blockIdx.y == 1) {
        float k[NUMBERS];
        read_numbers(varying, k);
        look_at(measured_values<R>{s, k}, s.n, own, limbs + LIMBS);
    } else {
        is_bad = look_at(plain_values{s.sum}, s.n, own, (i64 *)0);
    }
    count_bad(is_bad, 0, gridDim.x * gridDim.y, bad);
}

// The entries of a rule.
#define RULE(rule)                                                                                                     \
    ENTRY update(const __grid_constant__ updates u, const float *varying)                                              \
    {                                                                                                                  \
        const int p = part_of_block(u.first);                                                                          \
        update_elements<rule>(u.s[p], varying + p * VARYING, thread_from(u.first[p]));                                 \
    }
#define NORMS_OF_GRADIENTS                                                                                             \
    ENTRY norms(const __grid_constant__ slice s, const float *, i64 *limbs, i64 *bad)                                  \
    {                                                                                                                  \
        norms_of_gradients(s, limbs, bad);                                                                             \
    }
#define NORMS_OF_MEASURED(rule)                                                                                        \
    ENTRY norms(const __grid_constant__ slice s, const float *varying, i64 *limbs, i64 *bad)                           \
    {                                                                                                                  \
        norms_of_measured<rule>(s, varying, limbs, bad);                                                               \
    }
