/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_step.c: work of a step on a card has the bits of the cpu's table: odd sizes, vectors that lie alike and
 * apart, NaNs, infinities, the smallest and the largest numbers. Work is launched several times with other varying
 * parts, so that it is run, recorded and replayed. With TUTTI_LONG all that is looked at is longer than what all blocks
 * take at once. */
#include "cuda/cuda_rig.h"

#include <math.h>

#include "tensor/convert_one.h"
#include "training/run/step/step_work.h"

enum { ROUNDS = 4 }; /* run, recorded, replayed twice */

/* ---- vectors ---- */

typedef enum { PLAIN, WILD, TINY, HUGE_ONES, ALL_SIZES, ZERO, NFILLINGS } filling;

static uint32_t next_bits(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 32);
}

static float draw(filling how, uint64_t *seed)
{
    static const uint32_t wild[] = {0x7fc00000u, 0x7f800000u, 0xff800000u, 0x00000001u, 0x80000000u, 0x7f7fffffu};
    const uint32_t bits = next_bits(seed);
    switch (how) {
    case WILD: return bits % 16 < 6 ? tutti_f32_of_bits(wild[bits % 16]) : (float)(int32_t)bits * 0x1p-31f;
    case TINY: return tutti_f32_of_bits(bits & 0x80ffffffu);                      /* 2^-149 to 2^-125 */
    case HUGE_ONES: return tutti_f32_of_bits((bits & 0x80ffffffu) | 0x7e000000u); /* up to the largest */
    case ALL_SIZES:
        return tutti_f32_of_bits((bits & 0x7f800000u) == 0x7f800000u ? bits ^ 1u << 30 : bits); /* any but no NaN */
    case ZERO: return bits % 2 ? 0.0f : -0.0f;
    default: return (float)(int32_t)bits * 0x1p-31f;
    }
}

typedef struct {
    float *host, *card;
    int64_t n;
} vector;

/* Makes a vector of n numbers on the host and on the card, `shift` numbers behind a multiple of 64 bytes there. */
static vector make(cuda_rig *r, int64_t n, filling how, int shift)
{
    vector v = {malloc(sizeof *v.host * (size_t)(n + 1)), NULL, n};
    uint64_t seed = (uint64_t)(n * 31 + r->n);
    for (int64_t i = 0; i < n; i++) v.host[i] = draw(how, &seed);
    v.card = rig_buffer(r, v.host, sizeof *v.host * (size_t)n, sizeof *v.host * (size_t)shift);
    return v;
}

/* A NaN is a NaN, whatever its bits. */
static void check_and_free(cuda_rig *r, vector *v, const char *what)
{
    float *seen = rig_read(r, v->card, sizeof *seen * (size_t)v->n);
    for (int64_t i = 0; i < v->n; i++)
        if (memcmp(&seen[i], &v->host[i], sizeof *seen) != 0 && !(isnan(seen[i]) && isnan(v->host[i])))
            fail_msg("%s, element %lld of %lld: %a on the card, %a on the cpu", what, (long long)i, (long long)v->n,
                     (double)seen[i], (double)v->host[i]);
    free(seen), free(v->host);
    *v = (vector){0};
}

static void launch(cuda_rig *r, tutti_work_kind kind, const void *card, const void *host)
{
    tutti_work_launch(r->d, kind, card);
    tutti_work_launch(tutti_device_cpu(), kind, host);
    r->d->finish(r->d);
}

static void prepare(cuda_rig *r, const tutti_rule_row *rule)
{
    tutti_failure err = {0};
    if (tutti_step_prepare(r->d, rule, &err)) fail_msg("%s", err.text);
}

/* A row says how several vectors lie. */
static const int shifts[][5] = {{0, 0, 0, 0, 0}, {3, 3, 3, 3, 3}, {1, 1, 1, 2, 1}, {0, 1, 2, 3, 0}};
enum { NSHIFTS = sizeof shifts / sizeof *shifts };
static const int64_t sizes[] = {1, 2, 3, 4, 5, 1023, 1024, 4099};
enum { NSIZES = sizeof sizes / sizeof *sizes };

/* ---- rules ---- */

static tutti_update update_of(const tutti_rule_row *rule)
{
    tutti_update u = {.rule = rule, .weight_decay = 0.01};
    for (int k = 0; k < TUTTI_RULE_MAX_KEYS && rule->keys[k]; k++) u.value[k] = tutti_rule_key_initial(rule->keys[k]);
    return u;
}

static tutti_update_step step_of(int round)
{
    return (tutti_update_step){.lr = 0.1 / (round + 1), .unscale = 0.25, .trust = 0.7, .nupdates = round + 3};
}

enum { MOST_SLICES = TUTTI_WORK_TOGETHER };
static int64_t size_at(int i)
{
    return i % (NSIZES + 1) == NSIZES ? 0 : sizes[i % (NSIZES + 1)];
}

typedef struct {
    vector w, sum, centre, state[TUTTI_RULE_MAX_STATES];
} slice_vectors;

/* Every other slice is pulled. */
static void add_slice(cuda_rig *r, int i, slice_vectors *v, tutti_update_work *card, tutti_update_work *host)
{
    const filling how = (filling)((i + r->n) % NFILLINGS);
    const int *shift = shifts[i % NSHIFTS];
    const int64_t n = size_at(i);
    v->w = make(r, n, how, shift[0]), v->sum = make(r, n, how, shift[1]), v->centre = make(r, n, PLAIN, shift[2]);
    host->slices[i] = (tutti_update_slice){.w = v->w.host, .sum = v->sum.host, .n = n};
    card->slices[i] = (tutti_update_slice){.w = v->w.card, .sum = v->sum.card, .n = n};
    if (i % 2) host->slices[i].centre = v->centre.host, card->slices[i].centre = v->centre.card;
    for (int s = 0; s < host->rule->nstates; s++) {
        v->state[s] = make(r, n, how, shift[3 + s]);
        host->slices[i].state[s] = v->state[s].host, card->slices[i].state[s] = v->state[s].card;
    }
    host->nslices = card->nslices = i + 1;
}

static void check_update(cuda_rig *r, const tutti_rule_row *rule, int nslices)
{
    const tutti_update u = update_of(rule);
    slice_vectors v[MOST_SLICES];
    tutti_update_work host = {.rule = rule}, card = {.rule = rule};
    for (int i = 0; i < nslices; i++) add_slice(r, i, &v[i], &card, &host);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < nslices; i++) {
            const tutti_update_step step = step_of(round + i);
            const tutti_param_kind kind = i % 3 ? TUTTI_PARAM_WEIGHT : TUTTI_PARAM_BIAS;
            tutti_update_prepare(&u, &step, kind, host.varying[i].numbers);
            host.varying[i].alpha = 0.3f / (float)(round + i + 1);
        }
        memcpy(card.varying, host.varying, sizeof card.varying);
        launch(r, TUTTI_WORK_UPDATE, &card, &host);
    }
    for (int i = 0; i < nslices; i++) {
        for (int s = 0; s < rule->nstates; s++) check_and_free(r, &v[i].state[s], rule->states[s]);
        check_and_free(r, &v[i].w, rule->name), check_and_free(r, &v[i].sum, "sum");
        check_and_free(r, &v[i].centre, "centre");
    }
    rig_release(r);
}

static void updates_have_the_bits_of_the_cpu(void **state)
{
    if (!*state) skip();
    for (int i = 0; tutti_rule_at(i); i++) {
        const int most = RIG_MOST_BUFFERS / (3 + tutti_rule_at(i)->nstates);
        prepare(*state, tutti_rule_at(i));
        for (int n = 1; n <= MOST_SLICES && n <= most; n++) check_update(*state, tutti_rule_at(i), n);
    }
}

static void running_statistics_have_the_bits_of_the_cpu(void **state)
{
    cuda_rig *r = *state;
    if (!r) skip();
    prepare(r, NULL);
    for (int n = 1; n <= MOST_SLICES; n++) {
        vector w[MOST_SLICES], sum[MOST_SLICES];
        tutti_statistic_work host = {.nslots = 3, .nslices = n}, card = host;
        for (int i = 0; i < n; i++) {
            const int *shift = shifts[(i + n) % NSHIFTS];
            const double take = i % 3 ? 0.1 : 1;
            w[i] = make(r, size_at(i), WILD, shift[2]), sum[i] = make(r, size_at(i), i % 2 ? PLAIN : WILD, shift[3]);
            host.slices[i] = (tutti_statistic_slice){take, w[i].host, sum[i].host, w[i].n};
            card.slices[i] = (tutti_statistic_slice){take, w[i].card, sum[i].card, w[i].n};
        }
        for (int round = 0; round < ROUNDS; round++) launch(r, TUTTI_WORK_STATISTIC, &card, &host);
        for (int i = 0; i < n; i++) check_and_free(r, &w[i], "statistic"), check_and_free(r, &sum[i], "sum");
        rig_release(r);
    }
}

/* ---- looks ---- */

/* One sum has one form in which no limb has more than its 32 bits. */
static void normalise(int64_t *limbs)
{
    for (int i = 0; i + 1 < TUTTI_SQUARES_LIMBS; i++) {
        limbs[i + 1] += limbs[i] >> 32;
        limbs[i] &= UINT32_MAX;
    }
}

/* Compares a count of what is not finite and the nsums sums behind it. */
static void check_numbers(cuda_rig *r, const int64_t *card, int64_t *host, int nsums, const char *what)
{
    int64_t *seen = rig_read(r, card, sizeof *seen * (size_t)(1 + nsums * TUTTI_SQUARES_LIMBS));
    if (seen[0] != host[0])
        fail_msg("%s: %lld vectors that are not finite, %lld on the cpu", what, (long long)seen[0], (long long)host[0]);
    for (int i = 0; i < nsums; i++) {
        int64_t *a = seen + 1 + i * TUTTI_SQUARES_LIMBS, *b = host + 1 + i * TUTTI_SQUARES_LIMBS;
        normalise(a), normalise(b);
        for (int limb = 0; limb < TUTTI_SQUARES_LIMBS; limb++)
            if (a[limb] != b[limb])
                fail_msg("%s: limb %d of sum %d is %llx, %llx on the cpu", what, limb, i, (long long)a[limb],
                         (long long)b[limb]);
    }
    free(seen);
}

/* Vectors are long only where a card computes. */
static int64_t longest(void)
{
    return getenv("TUTTI_LONG") ? INT64_C(4096) * 2500 + 77 : 4096 * 2 + 77;
}

static void check_finite(cuda_rig *r, const int64_t *n, int nvectors, filling how, bool counts, int rounds)
{
    int64_t numbers[1 + TUTTI_SQUARES_LIMBS] = {5, UINT32_MAX, 7};
    int64_t *there = rig_buffer(r, numbers, sizeof numbers, 0);
    vector x[MOST_SLICES];
    tutti_finite_work host = {.nvectors = nvectors, .squares = counts ? numbers + 1 : NULL, .bad = numbers};
    tutti_finite_work card = {.nvectors = nvectors, .squares = counts ? there + 1 : NULL, .bad = there};
    for (int i = 0; i < nvectors; i++) {
        x[i] = make(r, n[i], i % 2 ? PLAIN : how, 1);
        host.x[i] = x[i].host, card.x[i] = x[i].card;
        host.n[i] = card.n[i] = n[i];
    }
    for (int round = 0; round < rounds; round++) launch(r, TUTTI_WORK_FINITE, &card, &host);
    check_numbers(r, there, numbers, 1, "finite");
    for (int i = 0; i < nvectors; i++) check_and_free(r, &x[i], "what is looked at");
    rig_release(r);
}

static void looks_count_and_square_as_the_cpu_does(void **state)
{
    static const int64_t lengths[MOST_SLICES] = {1, 31, 257, 4096, 4097, 0, 64, 12289, 5, 4, 3, 2, 1, 0, 1, 8191};
    const int64_t one = longest(), several = INT64_C(4096) * 1026 + 3; /* tiles a block */
    if (!*state) skip();
    prepare(*state, NULL);
    for (int f = 0; f < NFILLINGS; f++) {
        for (int n = 1; n <= MOST_SLICES; n += 3) check_finite(*state, lengths, n, (filling)f, true, ROUNDS);
        check_finite(*state, lengths, MOST_SLICES - 1, (filling)f, false, ROUNDS);
        check_finite(*state, &one, 1, (filling)f, true, ROUNDS);
    }
    check_finite(*state, &several, 1, ALL_SIZES, true, 1); /* seconds on a fake card */
}

static void check_norms(cuda_rig *r, const tutti_rule_row *rule, int64_t n, filling of_weights, filling of_sum)
{
    const tutti_update u = update_of(rule);
    int64_t numbers[1 + TUTTI_RULE_LOOKED] = {3};
    int64_t *there = rig_buffer(r, numbers, sizeof numbers, 0);
    vector w = make(r, n, of_weights, 0), sum = make(r, n, of_sum, 1), state[TUTTI_RULE_MAX_STATES];
    tutti_norms_work host = {
        .rule = rule, .slice = {.w = w.host, .sum = sum.host, .n = n}, .squares = numbers + 1, .bad = numbers};
    tutti_norms_work card = {
        .rule = rule, .slice = {.w = w.card, .sum = sum.card, .n = n}, .squares = there + 1, .bad = there};
    for (int i = 0; i < rule->nstates; i++) {
        state[i] = make(r, n, of_weights, 2 + i);
        host.slice.state[i] = state[i].host, card.slice.state[i] = state[i].card;
    }
    for (int round = 0; round < ROUNDS; round++) {
        const tutti_update_step step = step_of(round);
        tutti_update_prepare(&u, &step, TUTTI_PARAM_WEIGHT, host.numbers);
        memcpy(card.numbers, host.numbers, sizeof card.numbers);
        launch(r, TUTTI_WORK_NORMS, &card, &host);
    }
    check_numbers(r, there, numbers, 2, rule->name);
    for (int i = 0; i < rule->nstates; i++) check_and_free(r, &state[i], rule->states[i]);
    check_and_free(r, &w, "weights"), check_and_free(r, &sum, "sum");
    rig_release(r);
}

static void norms_of_tensors_are_those_of_the_cpu(void **state)
{
    if (!*state) skip();
    for (int i = 0; tutti_rule_at(i); i++) {
        if (!tutti_rule_at(i)->trust) continue;
        prepare(*state, tutti_rule_at(i));
        check_norms(*state, tutti_rule_at(i), 5, PLAIN, PLAIN);
        check_norms(*state, tutti_rule_at(i), 4099, PLAIN, ALL_SIZES);
        check_norms(*state, tutti_rule_at(i), 4099, WILD, PLAIN);
        check_norms(*state, tutti_rule_at(i), 4099, PLAIN, WILD);
        check_norms(*state, tutti_rule_at(i), longest(), HUGE_ONES, TINY);
    }
}

/* ---- the centre ---- */

/* Checks one loop over elements. in_place: what a worker sees of the centre takes the place of what the worker
 * brought. */
static void check_loop(cuda_rig *r, const tutti_element_loop *loop, int64_t n, const int *shift, bool in_place)
{
    vector centre = make(r, n, WILD, shift[0]), from = make(r, n, PLAIN, shift[2]), other = make(r, n, PLAIN, shift[3]);
    tutti_elements host = {.loop = loop,
                           .rule = {.rho = 0.9, .outer_rate = 0.7, .outer_mu = 0.8},
                           .nworkers = 3,
                           .to = centre.host,
                           .from = from.host,
                           .n = n};
    tutti_elements card = host;
    card.to = centre.card, card.from = from.card;
    host.other = in_place ? from.host : other.host, card.other = in_place ? from.card : other.card;
    for (int round = 0; round < ROUNDS; round++) {
        host.alpha = card.alpha = 0.4f / (float)(round + 1);
        launch(r, TUTTI_WORK_ELEMENTS, &card, &host);
    }
    check_and_free(r, &centre, "centre"), check_and_free(r, &from, "from"), check_and_free(r, &other, "other");
    rig_release(r);
}

static void the_centre_moves_as_on_the_cpu(void **state)
{
    if (!*state) skip();
    prepare(*state, NULL);
    for (int s = 0; s < NSIZES; s++)
        for (int kind = 0; kind < TUTTI_NACTIONS; kind++) {
            const tutti_action_row *row = tutti_action_row_of((tutti_action_kind)kind);
            const tutti_element_loop *const loops[] = {row->loop, row->statistics};
            for (int i = 0; i < 2; i++)
                for (int in_place = 0; loops[i] && in_place <= (kind == TUTTI_DO_MEET); in_place++)
                    check_loop(*state, loops[i], sizes[s], shifts[(s + kind) % NSHIFTS], in_place);
        }
}

/* ---- small things ---- */

static void rows_go_into_blocks_and_back(void **state)
{
    enum { NSAMPLES = 7, NOUTPUTS = 33, PARTS = 3, N = NSAMPLES * NOUTPUTS };
    cuda_rig *r = *state;
    if (!r) skip();
    prepare(r, NULL);
    for (int into = 0; into < 2; into++) {
        vector rows = make(r, N, PLAIN, 1), blocks = make(r, N, PLAIN, 0);
        const tutti_blocks_work host = {rows.host, blocks.host, NSAMPLES, NOUTPUTS, PARTS, into};
        const tutti_blocks_work card = {rows.card, blocks.card, NSAMPLES, NOUTPUTS, PARTS, into};
        launch(r, TUTTI_WORK_BLOCKS, &card, &host);
        check_and_free(r, &rows, "rows"), check_and_free(r, &blocks, "blocks");
        rig_release(r);
    }
}

static void control_numbers_are_written(void **state)
{
    cuda_rig *r = *state;
    if (!r) skip();
    prepare(r, NULL);
    int32_t correct = 77, *there = rig_buffer(r, &correct, sizeof correct, 0);
    int64_t numbers[5] = {1, 2, 3, 4, 5}, *cleared = rig_buffer(r, numbers, sizeof numbers, 0);
    for (int round = 0; round < ROUNDS; round++) {
        vector v = make(r, 4, PLAIN, 0);
        float *loss_host = v.host + 2, *loss_card = v.card + 2;
        const float stop = round % 2 ? 1.0f : 0.0f;
        const tutti_control_work host = {&correct, v.host, v.host + 1, stop}, card = {there, v.card, v.card + 1, stop};
        launch(r, TUTTI_WORK_CONTROL, &card, &host);
        launch(r, TUTTI_WORK_NO_LOSS, &loss_card, &loss_host);
        assert_true(v.host[0] == 77 && v.host[1] == stop && isnan(v.host[2]));
        check_and_free(r, &v, "control");
    }
    launch(r, TUTTI_WORK_CLEAR, &(tutti_clear_work){cleared + 1, 3}, &(tutti_clear_work){numbers + 1, 3});
    int64_t *seen = rig_read(r, cleared, sizeof numbers);
    assert_memory_equal(seen, numbers, sizeof numbers);
    free(seen);
    rig_release(r);
}

/* A replay has other values of what varies, and the same arguments otherwise. */
static void a_replay_reads_what_varies_anew(void **state)
{
    cuda_rig *r = *state;
    if (!r) skip();
    prepare(r, NULL);
    int32_t correct = 5, *there = rig_buffer(r, &correct, sizeof correct, 0);
    vector v = make(r, 2, PLAIN, 0);
    for (int round = 0; round < ROUNDS; round++) {
        const float stop = (float)round;
        const tutti_control_work host = {&correct, v.host, v.host + 1, stop}, card = {there, v.card, v.card + 1, stop};
        launch(r, TUTTI_WORK_CONTROL, &card, &host);
        float *seen = rig_read(r, v.card, 2 * sizeof *seen);
        assert_true(seen[0] == 5 && seen[1] == stop);
        free(seen);
    }
    check_and_free(r, &v, "control");
    rig_release(r);
}

static void values_are_summed_and_converted(void **state)
{
    enum { N = 3 * 77 };
    static const tutti_shape shape = {2, {3, 77}};
    cuda_rig *r = *state;
    if (!r) skip();
    prepare(r, NULL);
    const tutti_value plain = tutti_value_plain(&shape);
    tutti_value half = plain;
    half.dtype = TUTTI_BF16, half.bytes = sizeof(uint16_t) * N;
    vector a = make(r, N, PLAIN, 0), b = make(r, N, ZERO, 0), sum = make(r, N, PLAIN, 0), back = make(r, N, PLAIN, 0);
    uint16_t halves[N];
    void *halves_there = rig_buffer(r, NULL, sizeof halves, 0);
    int64_t zeros = 4, *zeros_there = rig_buffer(r, &zeros, sizeof zeros, 0);
    launch(r, TUTTI_WORK_SUM, &(tutti_sum_work){&plain, sum.card, 3, 1, {a.card, b.card, a.card}},
           &(tutti_sum_work){&plain, sum.host, 3, 1, {a.host, b.host, a.host}});
    launch(r, TUTTI_WORK_FROM_PLAIN, &(tutti_plain_work){&half, sum.card, halves_there},
           &(tutti_plain_work){&half, sum.host, halves});
    launch(r, TUTTI_WORK_TO_PLAIN, &(tutti_plain_work){&half, halves_there, back.card},
           &(tutti_plain_work){&half, halves, back.host});
    launch(r, TUTTI_WORK_ZEROS, &(tutti_zeros_work){&plain, b.card, zeros_there},
           &(tutti_zeros_work){&plain, b.host, &zeros});
    assert_int_equal(zeros, 4 + N);
    int64_t *seen = rig_read(r, zeros_there, sizeof *seen);
    assert_int_equal(*seen, zeros);
    free(seen);
    check_and_free(r, &sum, "sum"), check_and_free(r, &back, "there and back");
    check_and_free(r, &a, "a part"), check_and_free(r, &b, "a part");
    rig_release(r);
}

/* ---- kernels: a row that writes what it finds at `drawn`, behind the number of its pass ---- */

static void write_drawn(tutti_kernel *k, const tutti_kernel_args *a, int pass)
{
    tutti_cuda_move(k->state, (uint64_t *)a->out + 3 * pass, a->drawn, 3 * sizeof(uint64_t));
}

static void forward(tutti_kernel *k, const tutti_kernel_args *a)
{
    write_drawn(k, a, 0);
}

static void backward_params(tutti_kernel *k, const tutti_kernel_args *a)
{
    write_drawn(k, a, 1);
}

static void backward_data(tutti_kernel *k, const tutti_kernel_args *a)
{
    write_drawn(k, a, 2);
}

static void kernels_find_their_keys_on_the_card(void **state)
{
    static const tutti_kernel_row row = {
        .forward = forward, .backward_params = backward_params, .backward_data = backward_data};
    cuda_rig *r = *state;
    if (!r) skip();
    prepare(r, NULL);
    tutti_kernel k = {.row = &row, .state = r->cuda};
    uint64_t *out = rig_buffer(r, NULL, 9 * sizeof *out, 0);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (int pass = 0; pass < 3; pass++) {
            tutti_kernel_work w = {.kernel = &k, .args = {.out = out}};
            w.args.seed = 100 + round, w.args.step = 10 * round + (uint64_t)pass, w.args.first_sample = 7 * round;
            tutti_work_launch(r->d, (tutti_work_kind)(TUTTI_WORK_FORWARD + pass), &w);
        }
        uint64_t *seen = rig_read(r, out, 9 * sizeof *seen);
        for (uint64_t pass = 0; pass < 3; pass++) {
            const uint64_t want[] = {100 + round, 10 * round + pass, 7 * round};
            assert_memory_equal(seen + 3 * pass, want, sizeof want);
        }
        free(seen);
    }
    rig_release(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_have_the_bits_of_the_cpu),
        cmocka_unit_test(running_statistics_have_the_bits_of_the_cpu),
        cmocka_unit_test(looks_count_and_square_as_the_cpu_does),
        cmocka_unit_test(norms_of_tensors_are_those_of_the_cpu),
        cmocka_unit_test(the_centre_moves_as_on_the_cpu),
        cmocka_unit_test(rows_go_into_blocks_and_back),
        cmocka_unit_test(control_numbers_are_written),
        cmocka_unit_test(a_replay_reads_what_varies_anew),
        cmocka_unit_test(values_are_summed_and_converted),
        cmocka_unit_test(kernels_find_their_keys_on_the_card),
    };
    return cmocka_run_group_tests(tests, cuda_rig_open, cuda_rig_close);
}
