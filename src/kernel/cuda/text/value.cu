// value.cu: whole values: sums of gradients, copies into another type or order, how many numbers are zero.

enum { MOST_PARTS = 64, TILE = 32, TILE_ROWS = 8 };

// The sum of values of one type. out may be one of them.
struct parts_of_sum {
    const void *in[MOST_PARTS];
    void *out;
    i64 n;
    int ninputs, out_type;

    __device__ __forceinline__ int type_of(int) const
    {
        return out_type;
    }
};

ENTRY value_sum(const __grid_constant__ parts_of_sum s)
{
    add_inputs(s);
}

// Converts numbers into another type, in the same order.
ENTRY value_convert(const void *from, int type, void *to, int to_type, i64 n)
{
    const i64 first = first_of_thread();
    raw4 raw[QUADS];
#pragma unroll
    for (int k = 0; k < QUADS; k++) raw[k] = fetch_up_to_4(from, type, first + k * 4 * blockDim.x, n);
#pragma unroll
    for (int k = 0; k < QUADS; k++) store_up_to_4(to, to_type, first + k * 4 * blockDim.x, n, widen4(raw[k], type));
}

// Transposes the matrix of each sample in tiles: blocks of TILE x TILE_ROWS threads, one block a tile.
ENTRY value_transpose(const void *from, int type, void *to, int to_type, i64 rows, i64 columns)
{
    __shared__ u32 tile[TILE][TILE + 1];
    const i64 across = (columns + TILE - 1) / TILE, down = (rows + TILE - 1) / TILE;
    const division inner = divided(blockIdx.x, across), outer = divided(inner.quotient, down);
    const i64 sample = outer.quotient * rows * columns, row = outer.rest * TILE, column = inner.rest * TILE;
#pragma unroll
    for (int k = 0; k < TILE; k += TILE_ROWS) {
        const int y = k + threadIdx.y;
        if (row + y < rows && column + threadIdx.x < columns)
            tile[y][threadIdx.x] = fetch(from, type, sample + (row + y) * columns + column + threadIdx.x);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; k += TILE_ROWS) {
        const int y = k + threadIdx.y;
        if (column + y < columns && row + threadIdx.x < rows)
            store(to, to_type, sample + (column + y) * rows + row + threadIdx.x, widen(tile[threadIdx.x][y], type));
    }
}

// Transposes matrices of few rows or columns, which would leave most of a tile empty: each thread computes one number
// of the result.
ENTRY value_transpose_few(const void *from, int type, void *to, int to_type, i64 rows, i64 columns, i64 n)
{
    const i64 i = thread_number();
    if (i >= n) return;
    const division inner = divided(i, rows), outer = divided(inner.quotient, columns);
    store(to, to_type, i, load(from, type, outer.quotient * rows * columns + inner.rest * columns + outer.rest));
}

// Adds how many numbers are zero to *zeros.
ENTRY value_zeros(const void *at, int type, i64 n, u64 *zeros)
{
    __shared__ u64 scratch[32];
    const i64 first = first_of_thread();
    u64 count = 0;
    raw4 raw[QUADS];
#pragma unroll
    for (int k = 0; k < QUADS; k++) raw[k] = fetch_up_to_4(at, type, first + k * 4 * blockDim.x, n);
#pragma unroll
    for (int k = 0; k < QUADS; k++) {
        const i64 i = first + k * 4 * blockDim.x;
        const quad q = widen4(raw[k], type);
#pragma unroll
        for (int j = 0; j < 4; j++) count += i + j < n && q.x[j] == 0;
    }
    count = block_sum(count, scratch);
    if (threadIdx.x == 0 && count) atomicAdd(zeros, count);
}
