// loss.cu: softmax and cross entropy (src/kernel/op/op_softmax_cross_entropy.c says what is computed).
//
// A block computes one sample. Exponentials are f32 of logits less the largest; their sums are double. One of the sums
// leaves out the label's exponential, so that the gradient of a label that is nearly certain is as exact as others. The
// last block to end adds up the samples' losses: in double and by one tree, so that the same inputs give the same bits.

enum { MOST_WARPS = 32 };

// The sums of a sample that backward needs.
struct sample_sums {
    double sum, others; // sums of exp(logit - largest): of all logits, of all but the label's
    float largest, by;  // by: 1 / sum
};

struct sample_loss {
    double loss;
    int correct, unused;
};

struct forward_args {
    const void *logits;
    const int *labels;
    sample_sums *kept; // NULL: no backward pass follows
    sample_loss *losses;
    float *loss;
    int *correct;
    u32 *ended; // how many blocks have ended; 0 before and after
    i64 batch, classes;
    double weight, smoothing;
    int type;
};

struct best {
    float value;
    int at;
};

// Returns the larger of two logits; of equal logits the first.
DEVICE best better(best a, best b)
{
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
}

DEVICE best better_of_quad(best b, const quad &q, i64 i, i64 n)
{
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (i + j < n) b = better(b, {q.x[j], (int)(i + j)});
    return b;
}

DEVICE best best_of_block(best b, best *scratch)
{
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2)
        b = better(b, {__shfl_xor_sync(0xffffffffu, b.value, apart), __shfl_xor_sync(0xffffffffu, b.at, apart)});
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = b;
    __syncthreads();
    b = scratch[0];
    for (int w = 1; w < blockDim.x / 32; w++) b = better(b, scratch[w]);
    return b;
}

struct quad_sums {
    double others; // the sum of all exponentials but the label's
    double below;  // the sum of (largest - logit)
};

DEVICE void add_quad(quad_sums *s, const quad &q, i64 i, i64 n, float largest, int label)
{
#pragma unroll
    for (int j = 0; j < 4; j++) {
        if (i + j >= n) continue;
        if (i + j != label) s->others += expf(q.x[j] - largest);
        s->below += (double)largest - q.x[j];
    }
}

// The last block to end adds up the losses that all blocks have written.
DEVICE void end(const forward_args &a, double *scratch)
{
    __shared__ u32 before;
    if (threadIdx.x == 0) {
        __threadfence();
        before = atomicAdd(a.ended, 1);
    }
    __syncthreads();
    if (before + 1 != gridDim.x) return;
    __threadfence();
    double loss = 0, correct = 0;
    for (i64 b = threadIdx.x; b < a.batch; b += blockDim.x) {
        loss += __ldcg(&a.losses[b].loss);
        correct += __ldcg(&a.losses[b].correct);
    }
    loss = block_sum(loss, scratch);
    correct = block_sum(correct, scratch);
    if (threadIdx.x) return;
    if (a.loss) *a.loss = (float)(a.weight * loss);
    if (a.correct) *a.correct = (int)correct;
    *a.ended = 0;
}

// A thread keeps its first four logits in registers for both loops over the logits.
ENTRY loss_forward(const __grid_constant__ forward_args a)
{
    __shared__ best bests[MOST_WARPS];
    __shared__ double scratch[MOST_WARPS];
    const i64 sample = blockIdx.x, n = a.classes, first = 4 * threadIdx.x, step = 4 * blockDim.x;
    const char *logits = (const char *)a.logits + sample * n * (a.type == F32 ? 4 : 2);
    const int label = a.labels[sample];
    const quad mine = load_up_to_4(logits, a.type, first, n);
    const bool is_there = (u64)label < (u64)n;
    const float own = threadIdx.x == 0 && is_there ? load(logits, a.type, label) : __int_as_float(0x7fffffff);
    best b = better_of_quad({-__int_as_float(0x7f800000), 0x7fffffff}, mine, first, n);
    for (i64 i = first + step; i < n; i += step) b = better_of_quad(b, load_up_to_4(logits, a.type, i, n), i, n);
    b = best_of_block(b, bests);
    quad_sums s = {0, 0};
    add_quad(&s, mine, first, n, b.value, label);
    for (i64 i = first + step; i < n; i += step) add_quad(&s, load_up_to_4(logits, a.type, i, n), i, n, b.value, label);
    s.others = block_sum(s.others, scratch);
    const double below = a.smoothing ? block_sum(s.below, scratch) / (double)n : 0;
    if (threadIdx.x == 0) {
        const double sum = s.others + expf(own - b.value);
        const double loss = log(sum) + (1 - a.smoothing) * ((double)b.value - own) + a.smoothing * below;
        a.losses[sample] = {loss, b.at == label, 0};
        if (a.kept) a.kept[sample] = {sum, s.others, b.value, (float)(1 / sum)};
    }
    end(a, scratch);
}

struct backward_args {
    const void *logits;
    const int *labels;
    const sample_sums *kept;
    void *gradient;
    i64 batch, classes, n; // n: quads of all rows
    double smoothing;
    float scale;
    int type;
};

// A thread takes four logits of a sample.
ENTRY loss_backward(const __grid_constant__ backward_args a)
{
    const i64 thread = thread_number();
    if (thread >= a.n) return;
    const division at = divided(thread, (a.classes + 3) / 4);
    const i64 first = at.quotient * a.classes, column = 4 * at.rest, end = first + a.classes;
    const sample_sums s = a.kept[at.quotient];
    const int label = a.labels[at.quotient];
    const float spread = (float)(a.smoothing / (double)a.classes);
    quad q = load_up_to_4(a.logits, a.type, first + column, end);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        q.x[j] = __fadd_rn(__fmul_rn(expf(q.x[j] - s.largest), s.by), -spread);
        if (column + j == label) q.x[j] = (float)(a.smoothing - a.smoothing / (double)a.classes - s.others / s.sum);
        q.x[j] = __fmul_rn(q.x[j], a.scale);
    }
    store_up_to_4(a.gradient, a.type, first + column, end, q);
}
