// norm_any.cu: batch normalisation of values that norm.cu does not compute: any order, types that differ, any number of
// channels. Each block computes one channel; sums are double. These kernels are slow beside those of norm.cu.

// A value. The distances are from one sample to the next, one channel to the next, one position to the next.
struct any_value {
    void *at; // NULL: no such value
    i64 sample, channel, position;
    int type;
};

struct channels_of_any {
    i64 n, plane; // numbers of a channel: in all samples, in one sample
    int channels;
};

DEVICE float read_any(const any_value &v, const channels_of_any &c, i64 i)
{
    return load(v.at, v.type, i / c.plane * v.sample + blockIdx.x * v.channel + i % c.plane * v.position);
}

DEVICE void write_any(const any_value &v, const channels_of_any &c, i64 i, float x)
{
    store(v.at, v.type, i / c.plane * v.sample + blockIdx.x * v.channel + i % c.plane * v.position, x);
}

DEVICE double sum_all(double sum)
{
    __shared__ double scratch[32];
    return block_sum<double>(sum, scratch);
}

struct any_forward {
    any_value x, added, y;
    u8 *mask; // a byte a number, channel by channel; NULL: not saved
    const float *weight, *bias, *running_mean, *running_variance;
    float *mean, *rstd, *batch_mean, *batch_variance; // only in training
    double eps;
    int training, relu;
};

ENTRY forward_any(const __grid_constant__ any_forward f, const __grid_constant__ channels_of_any c)
{
    double mean, variance;
    if (f.training) {
        double sum = 0, squares = 0;
        for (i64 i = threadIdx.x; i < c.n; i += blockDim.x) sum += (double)read_any(f.x, c, i);
        mean = sum_all(sum) / (double)c.n;
        for (i64 i = threadIdx.x; i < c.n; i += blockDim.x) {
            const double apart = (double)read_any(f.x, c, i) - mean;
            squares += apart * apart;
        }
        squares = sum_all(squares);
        variance = squares / (double)c.n;
        if (threadIdx.x == 0) {
            f.mean[blockIdx.x] = f.batch_mean[blockIdx.x] = (float)mean;
            f.rstd[blockIdx.x] = (float)(1 / sqrt(variance + f.eps));
            f.batch_variance[blockIdx.x] = (float)(squares / (double)(c.n - 1));
        }
    } else {
        mean = (double)f.running_mean[blockIdx.x], variance = (double)f.running_variance[blockIdx.x];
    }
    const float near = (float)mean, bias = f.bias[blockIdx.x];
    const float scale = f.weight[blockIdx.x] * (float)(1 / sqrt(variance + f.eps));
    for (i64 i = threadIdx.x; i < c.n; i += blockDim.x) {
        float y = fmaf(read_any(f.x, c, i) - near, scale, bias);
        if (f.added.at) y += read_any(f.added, c, i);
        const bool is_cut = f.relu && y <= 0;
        write_any(f.y, c, i, is_cut ? 0 : y);
        if (f.mask) f.mask[blockIdx.x * c.n + i] = !is_cut;
    }
}

struct any_backward {
    any_value x, dout, din, dadded; // din and dadded may be NULL
    const u8 *mask;                 // NULL: no ReLU masks dout
    const float *weight, *mean, *rstd;
    float *offset, *slope, *dweight, *dbias; // dweight and dbias may be NULL
};

DEVICE float read_gradient(const any_backward &b, const channels_of_any &c, i64 i)
{
    const float g = read_any(b.dout, c, i);
    return b.mask && !b.mask[blockIdx.x * c.n + i] ? 0 : g;
}

ENTRY reduce_any(const __grid_constant__ any_backward b, const __grid_constant__ channels_of_any c)
{
    double sum = 0, product = 0;
    const double mean = (double)b.mean[blockIdx.x], rstd = (double)b.rstd[blockIdx.x];
    for (i64 i = threadIdx.x; i < c.n; i += blockDim.x) {
        const double g = (double)read_gradient(b, c, i);
        sum += g, product += g * ((double)read_any(b.x, c, i) - mean);
    }
    sum = sum_all(sum), product = sum_all(product);
    if (threadIdx.x) return;
    b.offset[blockIdx.x] = (float)(sum / (double)c.n);
    b.slope[blockIdx.x] = (float)(product * rstd * rstd / (double)c.n);
    if (b.dbias) b.dbias[blockIdx.x] = (float)sum;
    if (b.dweight) b.dweight[blockIdx.x] = (float)(product * rstd);
}

ENTRY gradient_any(const __grid_constant__ any_backward b, const __grid_constant__ channels_of_any c)
{
    const float scale = b.weight[blockIdx.x] * b.rstd[blockIdx.x], mean = b.mean[blockIdx.x];
    const float offset = b.offset[blockIdx.x], slope = b.slope[blockIdx.x];
    for (i64 i = threadIdx.x; i < c.n; i += blockDim.x) {
        const float g = read_gradient(b, c, i);
        if (b.din.at) write_any(b.din, c, i, scale * (g - offset - slope * (read_any(b.x, c, i) - mean)));
        if (b.dadded.at) write_any(b.dadded, c, i, g);
    }
}
