// loss.cu: softmax and cross entropy (src/kernel/op_softmax_cross_entropy.c says what is computed).
//
// A block takes a sample. Exponentials are f32 of logits less the largest; their sums are double, and what belongs to the label is left out of one of them,
// so that the gradient of a label that is nearly certain is as exact as others. The block that ends last adds up the samples' losses: in double and
// by one tree, so that the same inputs give the same bits.

enum { MOST_WARPS = 32 };

// Of a sample: what backward needs.
struct sample_sums {
    double sum, others; // of exp(logit - largest): all, all but the label's
    float largest, by; // by: 1 / sum
};

struct sample_loss {
    double loss;
    int correct, unused;
};

struct forward_args {
    const void *logits;
    const int *labels;
    sample_sums *kept; // NULL: nobody wants gradients
    sample_loss *losses;
    float *loss;
    int *correct;
    u32 *ended; // how many blocks have; 0 before and after
    i64 batch, classes;
    double weight, smoothing;
    int type;
};

struct best {
    float value;
    int at;
};

// The first of equals.
DEVICE best better(best a, best b)
{
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
}

DEVICE best better_of_warp(best b)
{
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2)
        b = better(b, {__shfl_xor_sync(0xffffffffu, b.value, apart), __shfl_xor_sync(0xffffffffu, b.at, apart)});
    return b;
}

DEVICE best largest_of_block(const void *logits, int type, i64 n, best *scratch)
{
    best b = {-__int_as_float(0x7f800000), 0x7fffffff};
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) b = better(b, {load(logits, type, i), (int)i});
    b = better_of_warp(b);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = b;
    __syncthreads();
    b = scratch[0];
    for (int w = 1; w < blockDim.x / 32; w++) b = better(b, scratch[w]);
    return b;
}

// Adds up what all blocks have left, in the one that ends last.
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

ENTRY loss_forward(const __grid_constant__ forward_args a)
{
    __shared__ best bests[MOST_WARPS];
    __shared__ double scratch[MOST_WARPS];
    const i64 sample = blockIdx.x, n = a.classes;
    const char *logits = (const char *)a.logits + sample * n * (a.type == F32 ? 4 : 2);
    const int label = a.labels[sample];
    const best b = largest_of_block(logits, a.type, n, bests);
    double others = 0, mean = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
        const float x = load(logits, a.type, i);
        if (i != label) others += expf(x - b.value);
        if (a.smoothing) mean += x;
    }
    others = block_sum(others, scratch);
    if (a.smoothing) mean = block_sum(mean, scratch) / (double)n;
    if (threadIdx.x == 0) {
        const float own = (u64)label < (u64)n ? load(logits, a.type, label) : __int_as_float(0x7fffffff);
        const double sum = others + expf(own - b.value);
        const double loss = log(sum) + b.value - (1 - a.smoothing) * own - a.smoothing * mean;
        a.losses[sample] = {loss, b.at == label, 0};
        if (a.kept) a.kept[sample] = {sum, others, b.value, (float)(1 / sum)};
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

// A thread four logits of a sample.
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
        if (column + j == label)
            q.x[j] = (float)(a.smoothing - a.smoothing / (double)a.classes - s.others / s.sum);
        q.x[j] = __fmul_rn(q.x[j], a.scale);
    }
    store_up_to_4(a.gradient, a.type, first + column, end, q);
}
