// concat.cu: joins inputs along the channels, and takes the output's gradient apart into those of the inputs, one
// launch a pass.
//
// If all values have one order, they are rows of numbers: those of a sample (row-major), or of a position (channels
// last). A row of the output is the rows of all inputs, one behind the other.

enum { MOST_INPUTS = 8 };

struct joining {
    char *in[MOST_INPUTS]; // or their gradients; NULL: nobody uses that gradient
    char *out;
    // Where each begins in a row of the output, and where the last ends; for move_orders: the first channel of each.
    i64 first[MOST_INPUTS + 1];
    i64 n, channels, plane;
    int type[MOST_INPUTS], is_nhwc[MOST_INPUTS];
    int ninputs, out_type, out_is_nhwc;
};

// Returns the input that holds this column, or channel, of the output.
DEVICE int input_of(const joining &c, i64 column)
{
    int input = 0;
#pragma unroll
    for (int i = 1; i < MOST_INPUTS; i++)
        if (i < c.ninputs && column >= c.first[i]) input = i;
    return input;
}

// A number of an input: which input, and where it lies there.
struct spot {
    int input;
    i64 inside;
};

// Finds where number i of the output comes from, if the inputs have the output's order.
DEVICE spot find_spot(const joining &c, i64 i)
{
    const division row = divided(i, c.first[c.ninputs]);
    const int input = input_of(c, row.rest);
    const i64 begin = c.first[input], length = c.first[input + 1] - begin;
    return {input, row.quotient * length + row.rest - begin};
}

// A thread copies 16 bytes of one input. All types are the same; n and first count units of 16 bytes.
template <bool JOINS> DEVICE void move_16(const joining &c)
{
    const i64 i = thread_number();
    if (i >= c.n) return;
    const spot s = find_spot(c, i);
    uint4 *own = (uint4 *)c.in[s.input], *whole = (uint4 *)c.out;
    if (JOINS)
        whole[i] = own[s.inside];
    else if (own)
        own[s.inside] = whole[i];
}

// A thread copies four numbers of one input; all rows are multiples of four.
template <bool JOINS> DEVICE void move_4(const joining &c)
{
    const i64 i = 4 * thread_number();
    if (i >= c.n) return;
    const spot s = find_spot(c, i);
    char *own = c.in[s.input];
    const int type = c.type[s.input];
    if (JOINS)
        store_up_to_4(c.out, c.out_type, i, i + 4, load_up_to_4(own, type, s.inside, s.inside + 4));
    else if (own)
        store_up_to_4(own, type, s.inside, s.inside + 4, load_up_to_4(c.out, c.out_type, i, i + 4));
}

template <bool JOINS> DEVICE void move_one(const joining &c, const spot &s, i64 i)
{
    char *own = c.in[s.input];
    if (JOINS)
        store(c.out, c.out_type, i, load(own, c.type[s.input], s.inside));
    else if (own)
        store(own, c.type[s.input], s.inside, load(c.out, c.out_type, i));
}

template <bool JOINS> DEVICE void move_1(const joining &c)
{
    const i64 i = thread_number();
    if (i < c.n) move_one<JOINS>(c, find_spot(c, i), i);
}

template <bool JOINS> DEVICE void move_orders(const joining &c)
{
    const i64 i = thread_number();
    if (i >= c.n) return;
    place at = place_of(i, c.channels, c.plane, c.out_is_nhwc);
    const int input = input_of(c, at.channel);
    at.channel -= c.first[input];
    const i64 length = c.first[input + 1] - c.first[input];
    move_one<JOINS>(c, {input, number_at(at, length, c.plane, c.is_nhwc[input])}, i);
}

#define ENTRIES(way)                                                                                                   \
    ENTRY join_##way(const __grid_constant__ joining c)                                                                \
    {                                                                                                                  \
        move_##way<true>(c);                                                                                           \
    }                                                                                                                  \
    ENTRY part_##way(const __grid_constant__ joining c)                                                                \
    {                                                                                                                  \
        move_##way<false>(c);                                                                                          \
    }
ENTRIES(16)
ENTRIES(4)
ENTRIES(1)
ENTRIES(orders)
