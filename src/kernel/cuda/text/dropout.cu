// dropout.cu: multiplies the elements that are kept, and sets others to zero. Both passes draw which elements are kept
// by the element's number in the row-major sample, as src/base/rng.c and src/kernel/op/op_dropout.c do, so nothing is
// saved between the passes.

enum { STEP_BITS = 44, ELEMENT_BITS = 28, ROUNDS = 10 };

// Where the device finds the numbers that change from step to step.
struct drawn {
    u64 seed, step, first_sample;
};

struct dropping {
    const void *from;
    void *to;
    const drawn *varying;
    u64 stream; // what the stream of dropout adds to a seed
    i64 sample; // numbers of a sample
    i64 n;      // threads
    i64 channels, plane;
    int from_type, to_type;
    u32 layer, least; // an element whose word is below least is dropped
    float scale;
};

struct four_words {
    u32 word[4];
};

DEVICE four_words draw(const dropping &d, i64 sample, i64 four)
{
    const u64 key = d.varying->seed + d.stream, a = (u64)d.layer << STEP_BITS | d.varying->step;
    const u64 b = (d.varying->first_sample + sample) << ELEMENT_BITS | (u64)four;
    u32 k0 = (u32)key, k1 = (u32)(key >> 32);
    u32 c0 = (u32)a, c1 = (u32)(a >> 32), c2 = (u32)b, c3 = (u32)(b >> 32);
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        const u64 p0 = (u64)c0 * 0xD2511F53u, p1 = (u64)c2 * 0xCD9E8D57u;
        c0 = (u32)(p1 >> 32) ^ c1 ^ k0;
        c2 = (u32)(p0 >> 32) ^ c3 ^ k1;
        c1 = (u32)p1;
        c3 = (u32)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

// There is no branch: a dropped number keeps its sign, and a NaN stays one.
DEVICE float dropped(const dropping &d, float x, u32 word)
{
    return __fmul_rn(x, word >= d.least ? d.scale : 0.0f);
}

// Row-major values: a thread computes the four numbers of a counter.
ENTRY drop_rows(const __grid_constant__ dropping d)
{
    const i64 thread = thread_number();
    if (thread >= d.n) return;
    const division at = divided(thread, (d.sample + 3) / 4);
    const i64 i = at.quotient * d.sample + 4 * at.rest, end = (at.quotient + 1) * d.sample;
    const raw4 raw = fetch_up_to_4(d.from, d.from_type, i, end);
    const four_words words = draw(d, at.quotient, at.rest); // drawn while the numbers are loaded
    quad q = widen4(raw, d.from_type);
#pragma unroll
    for (int j = 0; j < 4; j++) q.x[j] = dropped(d, q.x[j], words.word[j]);
    store_up_to_4(d.to, d.to_type, i, end, q);
}

// Channels last, positions a multiple of four: a thread takes four positions of a channel, which are one counter.
// Threads beside each other have channels beside each other.
ENTRY drop_positions(const __grid_constant__ dropping d)
{
    const i64 thread = thread_number();
    if (thread >= d.n) return;
    const division inner = divided(thread, d.channels), outer = divided(inner.quotient, d.plane / 4);
    const i64 i = (outer.quotient * d.plane + 4 * outer.rest) * d.channels + inner.rest;
    u32 x[4];
#pragma unroll
    for (int j = 0; j < 4; j++) x[j] = fetch(d.from, d.from_type, i + j * d.channels);
    const four_words words = draw(d, outer.quotient, (inner.rest * d.plane) / 4 + outer.rest);
#pragma unroll
    for (int j = 0; j < 4; j++)
        store(d.to, d.to_type, i + j * d.channels, dropped(d, widen(x[j], d.from_type), words.word[j]));
}

// Channels last, any number of positions: a thread takes one number.
ENTRY drop_each(const __grid_constant__ dropping d)
{
    const i64 i = thread_number();
    if (i >= d.n) return;
    const place at = place_of(i, d.channels, d.plane, true);
    const i64 element = at.channel * d.plane + at.position;
    const four_words words = draw(d, at.sample, element / 4);
    const u32 low = element & 1 ? words.word[1] : words.word[0], high = element & 1 ? words.word[3] : words.word[2];
    store(d.to, d.to_type, i, dropped(d, load(d.from, d.from_type, i), element & 2 ? high : low));
}
