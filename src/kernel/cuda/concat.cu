// concat.cu: inputs one behind the other along the channels, and gradients of inputs as windows of the output's, one launch a pass.
//
// Values of one order are rows of numbers: those of a sample (row-major), or of a position (channels last). A row of the output is one of each input,
// one behind the other.

enum { MOST_INPUTS = 8 };

struct joining {
    char *in[MOST_INPUTS]; // or their gradients, of which NULL is wanted by nobody
    char *out;
    i64 first
        [MOST_INPUTS +
         1]; // where each begins in a row of the output, and where the last ends; of different orders: its first channel
    i64 n, channels, plane;
    int type[MOST_INPUTS], is_nhwc[MOST_INPUTS];
    int ninputs, out_type, out_is_nhwc;
};

// The input that has this column, or channel.
DEVICE int input_of(const joining &c, i64 column)
{
    int input = 0;
#pragma unroll
    for (int i = 1; i < MOST_INPUTS; i++)
        if (i < c.ninputs && column >= c.first[i]) input = i;
    return input;
}

template <bool JOINS> DEVICE void move4(const joining &c, int input, i64 inside, i64 i)
{
    char *own = c.in[input];
    if (JOINS)
        store_up_to_4(c.out, c.out_type, i, i + 4, load_up_to_4(own, c.type[input], inside, inside + 4));
    else if (own)
        store_up_to_4(own, c.type[input], inside, inside + 4, load_up_to_4(c.out, c.out_type, i, i + 4));
}

template <bool JOINS> DEVICE void move1(const joining &c, int input, i64 inside, i64 i)
{
    char *own = c.in[input];
    if (JOINS)
        store(c.out, c.out_type, i, load(own, c.type[input], inside));
    else if (own)
        store(own, c.type[input], inside, load(c.out, c.out_type, i));
}

// EACH numbers of the output a thread, which are of one input: 4 where all rows are multiples of it.
template <bool JOINS, int EACH> DEVICE void move_rows(const joining &c)
{
    const i64 i = EACH * thread_number();
    if (i >= c.n) return;
    const division row = divided(i, c.first[c.ninputs]);
    const int input = input_of(c, row.rest);
    const i64 begin = c.first[input], length = c.first[input + 1] - begin;
    const i64 inside = row.quotient * length + row.rest - begin;
    if (EACH == 4)
        move4<JOINS>(c, input, inside, i);
    else
        move1<JOINS>(c, input, inside, i);
}

// Of one type: 16 bytes of one input a thread, as they are. n and first count such.
template <bool JOINS> DEVICE void move_16(const joining &c)
{
    const i64 i = thread_number();
    if (i >= c.n) return;
    const division row = divided(i, c.first[c.ninputs]);
    const int input = input_of(c, row.rest);
    const i64 begin = c.first[input], inside = row.quotient * (c.first[input + 1] - begin) + row.rest - begin;
    uint4 *own = (uint4 *)c.in[input], *whole = (uint4 *)c.out;
    if (JOINS)
        whole[i] = own[inside];
    else if (own)
        own[inside] = whole[i];
}

template <bool JOINS> DEVICE void move_orders(const joining &c)
{
    const i64 i = thread_number();
    if (i >= c.n) return;
    place at = place_of(i, c.channels, c.plane, c.out_is_nhwc);
    const int input = input_of(c, at.channel);
    at.channel -= c.first[input];
    move1<JOINS>(c, input, number_at(at, c.first[input + 1] - c.first[input], c.plane, c.is_nhwc[input]), i);
}

ENTRY join16(const __grid_constant__ joining c)
{
    move_16<true>(c);
}

ENTRY part16(const __grid_constant__ joining c)
{
    move_16<false>(c);
}

ENTRY join4(const __grid_constant__ joining c)
{
    move_rows<true, 4>(c);
}

ENTRY join1(const __grid_constant__ joining c)
{
    move_rows<true, 1>(c);
}

ENTRY join_orders(const __grid_constant__ joining c)
{
    move_orders<true>(c);
}

ENTRY part4(const __grid_constant__ joining c)
{
    move_rows<false, 4>(c);
}

ENTRY part1(const __grid_constant__ joining c)
{
    move_rows<false, 1>(c);
}

ENTRY part_orders(const __grid_constant__ joining c)
{
    move_orders<false>(c);
}
