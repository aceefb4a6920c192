/* SPDX-License-Identifier: Apache-2.0 */
/* test_fake_cuda.c: the fake card computes what a card computes: kernels that NVRTC compiled, beside C. */
#include "testing.h"

#include <math.h>
#include <stdbool.h>

#include "base/clock.h"
#include "fake_card.h"
#include "tensor/convert_one.h"

static void *nvrtc;
static fake_card card;
static const char *targets[] = {"compute_80", "compute_90", "compute_120"};
enum { NTARGETS = 3, N = 1000 };

static char *kernels_as(const char *target)
{
    FILE *f = fopen(TUTTI_SOURCE_DIR "/tests/cuda/fake_kernels.cu", "r");
    assert_non_null(f);
    return nvrtc_ptx_of(nvrtc, f, target, strcmp(target, "compute_90") == 0);
}

/* Each test runs with the PTX of each target: its compilers differ. */
static void with_each_target(void (*test)(void))
{
    if (!nvrtc) skip();
    for (int n = 0; n < NTARGETS; n++) {
        char *ptx = kernels_as(targets[n]);
        if (!ptx && strcmp(targets[n], "compute_90")) continue; /* this NVRTC does not know it */
        assert_non_null(ptx);
        card_open(&card, ptx);
        test();
        assert_int_equal(card.tutti_fake_cuda_reports(), 0);
        card_close(&card);
        free(ptx);
    }
}

static uint64_t random_state = 88172645463325252u;
static uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}
static float random_float(float scale)
{
    return ((float)(random_word() >> 40) / 8388608.0f - 1) * scale;
}

static void run(const char *name, unsigned blocks, unsigned threads, void **args)
{
    card_launch(&card, name, blocks, threads, 0, args);
}

static void sums(void)
{
    float a[N], b[N], c[N], parts[4];
    for (int i = 0; i < N; i++) a[i] = random_float(10), b[i] = random_float(10);
    uint64_t da = card_put(&card, a, sizeof(a)), db = card_put(&card, b, sizeof(b)), dc = card_new(&card, sizeof(c)),
             dp = card_new(&card, sizeof(parts));
    long n = N;
    int count = N;
    run("add", 4, 256, (void *[]){&da, &db, &dc, &n});
    run("block_sum", 4, 128, (void *[]){&dc, &dp, &count});
    card_get(&card, c, dc, sizeof(c));
    card_get(&card, parts, dp, sizeof(parts));
    double sum = 0;
    for (int i = 0; i < N; i++) {
        assert_true(c[i] == a[i] + b[i]);
        sum += (double)c[i];
    }
    assert_true(fabs(sum - (double)(parts[0] + parts[1] + parts[2] + parts[3])) < 1e-2);
    card.cuMemFree_v2(da), card.cuMemFree_v2(db), card.cuMemFree_v2(dc), card.cuMemFree_v2(dp);
}
static void vectors_are_added_and_summed(void **state)
{
    (void)state;
    with_each_target(sums);
}

static void atomics(void)
{
    int out[6];
    unsigned most[2] = {0, 0}, ring = 0;
    uint64_t wide = 0, dout = card_new(&card, sizeof(out)), dmost = card_put(&card, most, sizeof(most)),
             dwide = card_put(&card, &wide, sizeof(wide)), dring = card_put(&card, &ring, sizeof(ring));
    run("count", 4, 96, (void *[]){&dout, &dmost, &dwide, &dring});
    card_get(&card, out, dout, sizeof(out));
    card_get(&card, most, dmost, sizeof(most));
    card_get(&card, &wide, dwide, sizeof(wide));
    card_get(&card, &ring, dring, sizeof(ring));
    for (int b = 0; b < 4; b++) assert_int_equal(out[b], 95 * 96 / 2);
    assert_int_equal(out[4], 0);
    assert_int_equal(out[5], 5 + 4 * 96);
    assert_int_equal(most[0], 60);
    assert_int_equal(most[1], 1);
    assert_true(wide == (uint64_t)4 * (95 * 96 / 2) << 33);
    assert_int_equal(ring, 4 * 96 % 10);
    card.cuMemFree_v2(dout), card.cuMemFree_v2(dmost), card.cuMemFree_v2(dwide), card.cuMemFree_v2(dring);
}
static void atomics_count(void **state)
{
    (void)state;
    with_each_target(atomics);
}

/* The nearest of all 65536 halves would take long to find: what is taken is held against its neighbours. */
static void halves(void)
{
    static float a[N], back[N];
    static uint16_t b[N], h[N], rounded[N];
    const float special[] = {0,     -0.0f,         INFINITY, -INFINITY,      NAN,    65504, 65519, 65520,
                             1e-8f, 5.9604645e-8f, 6.1e-5f,  1.00048828125f, 3.4e38f};
    for (int i = 0; i < N; i++) a[i] = i < 13 ? special[i] : ldexpf(random_float(1), (int)(random_word() % 40) - 26);
    uint64_t da = card_put(&card, a, sizeof(a)), db = card_new(&card, sizeof(b)), dh = card_new(&card, sizeof(h)),
             dr = card_new(&card, sizeof(rounded)), dk = card_new(&card, sizeof(back));
    int n = N;
    run("to_halves", 8, 128, (void *[]){&da, &db, &dh, &dr, &dk, &n});
    card_get(&card, b, db, sizeof(b));
    card_get(&card, h, dh, sizeof(h));
    card_get(&card, rounded, dr, sizeof(rounded));
    card_get(&card, back, dk, sizeof(back));
    for (int i = 0; i < N; i++) {
        assert_int_equal(b[i], rounded[i]);
        const float v = tutti_f32_of_f16(h[i]);
        assert_true(isnan(v) ? isnan(back[i]) && isnan(a[i]) : v == back[i]);
        if (!isfinite(a[i]) || fabsf(a[i]) >= 65504) continue;
        const float up = fabsf(tutti_f32_of_f16((uint16_t)(h[i] + 1)) - a[i]), here = fabsf(v - a[i]);
        const float down = h[i] & 0x7fff ? fabsf(tutti_f32_of_f16((uint16_t)(h[i] - 1)) - a[i]) : up;
        assert_true(here < up || (here == up && !(h[i] & 1)));
        assert_true(here < down || (here == down && !(h[i] & 1)));
    }
    assert_int_equal(h[6], 0x7bff); /* 65519 */
    assert_int_equal(h[7], 0x7c00); /* 65520 */
    card.cuMemFree_v2(da), card.cuMemFree_v2(db), card.cuMemFree_v2(dh), card.cuMemFree_v2(dr), card.cuMemFree_v2(dk);
}
static void halves_are_rounded_to_nearest_even(void **state)
{
    (void)state;
    with_each_target(halves);
}

static void transposition(void)
{
    enum { ROWS = 45, COLUMNS = 70 };
    static float a[ROWS * COLUMNS], b[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) a[i] = (float)i;
    uint64_t da = card_put(&card, a, sizeof(a)), db = card_new(&card, sizeof(b));
    int rows = ROWS, columns = COLUMNS;
    void *f = NULL;
    assert_int_equal(card.cuModuleGetFunction(&f, card.module, "transpose"), 0);
    assert_int_equal(
        card.cuLaunchKernel(f, 3, 2, 1, 256, 1, 1, 0, card.stream, (void *[]){&da, &db, &rows, &columns}, NULL), 0);
    card_get(&card, b, db, sizeof(b));
    for (int y = 0; y < ROWS; y++)
        for (int x = 0; x < COLUMNS; x++) assert_true(b[x * ROWS + y] == a[y * COLUMNS + x]);
    card.cuMemFree_v2(da), card.cuMemFree_v2(db);
}
static void a_matrix_is_transposed_through_shared_memory(void **state)
{
    (void)state;
    with_each_target(transposition);
}

static uint64_t reversed(uint64_t v, int bits)
{
    uint64_t r = 0;
    for (int i = 0; i < bits; i++) r |= (v >> i & 1) << (bits - 1 - i);
    return r;
}

__extension__ typedef __int128 wide_int;
__extension__ typedef unsigned __int128 wide_word;

static void wanted_integers(uint64_t x, uint64_t y, uint64_t o[16])
{
    y |= 1;
    const int64_t sx = (int64_t)x, sy = (int64_t)y;
    const uint32_t lx = (uint32_t)x, ly = (uint32_t)y | 1;
    const int32_t ix = (int32_t)lx, iy = (int32_t)ly;
    const uint64_t both = (uint64_t)ly << 32 | lx;
    o[0] = x / y;
    o[1] = x % y;
    o[2] = (uint64_t)(sx / (sy | 3));
    o[3] = (uint64_t)(sx % (sy | 3));
    o[4] = (uint64_t)((wide_word)x * y >> 64);
    o[5] = (uint64_t)((wide_int)sx * sy >> 64);
    o[6] = lx / ly * 3ull + lx % ly;
    o[7] = (uint64_t)(int64_t)(ix / (iy | 2)) ^ (uint64_t)(ix % (iy | 2));
    o[8] = (uint64_t)(__builtin_popcountll(x) + 100 * (x ? __builtin_clzll(x) : 64) + 10000 * __builtin_popcount(lx) +
                      1000000 * (lx ? __builtin_clz(lx) : 32));
    o[9] = reversed(x, 64) ^ reversed(lx, 32);
    o[10] = (uint64_t)(sx >> (y & 63)) ^ (x << (y & 63));
    const uint64_t bytes =
        (both >> 56 & 0xff) | (both >> 8 & 0xff) << 8 | (both >> 40 & 0xff) << 16 | (both >> 24 & 0xff) << 24;
    o[11] = (uint32_t)(both << 7 >> 32) + (bytes << 32);
    o[12] = x + y < x ? 1 : 2;
    o[13] = (uint64_t)(int64_t)(int32_t)((int64_t)ix * iy >> 32) ^ (uint32_t)((uint64_t)lx * ly >> 32);
    o[14] = (lx & ly) | (~lx & (uint32_t)(y >> 32));
    const int picked = ix < iy ? (ix < 77 ? ix : 77) : (ix > -5 ? ix : -5);
    o[15] = (uint64_t)(int64_t)picked + (uint32_t)((ix > iy ? (int64_t)ix - iy : (int64_t)iy - ix) + 9);
}

static void integers(void)
{
    enum { M = 300 };
    static uint64_t a[M], b[M], out[M * 16];
    for (int i = 0; i < M; i++) a[i] = random_word() >> (i % 50), b[i] = random_word() >> (i * 7 % 60);
    a[0] = 0, b[1] = 0, a[2] = ~UINT64_C(0);
    uint64_t da = card_put(&card, a, sizeof(a)), db = card_put(&card, b, sizeof(b)),
             dout = card_new(&card, sizeof(out));
    int n = M;
    run("integers", 1, 320, (void *[]){&da, &db, &dout, &n});
    card_get(&card, out, dout, sizeof(out));
    for (int i = 0; i < M; i++) {
        uint64_t wanted[16];
        wanted_integers(a[i], b[i], wanted);
        for (int k = 0; k < 16; k++)
            if (out[i * 16 + k] != wanted[k])
                fail_msg("%d of %llx, %llx: %llx, not %llx", k, (unsigned long long)a[i], (unsigned long long)b[i],
                         (unsigned long long)out[i * 16 + k], (unsigned long long)wanted[k]);
    }
    card.cuMemFree_v2(da), card.cuMemFree_v2(db), card.cuMemFree_v2(dout);
}
static void integers_are_those_of_c(void **state)
{
    (void)state;
    with_each_target(integers);
}

static void near(const char *what, float have, double want, double ulps)
{
    if (isnan(want) && isnan(have)) return;
    const double unit = ldexp(1, fmax(ilogb(want), -126) - 23);
    if (!(fabs((double)have - want) <= ulps * unit))
        fail_msg("%s: %.9g, not %.9g: %.1f units", what, (double)have, want, fabs((double)have - want) / unit);
}

static void functions(void)
{
    static float a[N], out[6][N];
    for (int i = 0; i < N; i++) a[i] = random_float(i % 3 ? 10 : 0.01f);
    uint64_t da = card_put(&card, a, sizeof(a)), d[6];
    for (int k = 0; k < 6; k++) d[k] = card_new(&card, sizeof(a));
    int n = N;
    run("functions", 4, 256, (void *[]){&da, &d[0], &d[1], &d[2], &d[3], &d[4], &d[5], &n});
    for (int k = 0; k < 6; k++) card_get(&card, out[k], d[k], sizeof(a));
    for (int i = 0; i < N; i++) {
        const float m = fabsf(a[i]) + 0.001f;
        near("expf", out[0][i], exp((double)a[i]), 2);
        near("tanhf", out[1][i], tanh((double)a[i]), 2);
        near("logf", out[2][i], log((double)m), 2);
        near("sinf", out[3][i], sin((double)(a[i] * 1e5f)), 2);
        assert_true(out[4][i] == sqrtf(m) / (m + 3) - 1 / m);
        const double power = pow((double)m, 1.5), both = power + erf((double)a[i]);
        assert_true(fabs((double)out[5][i] - both) <= 8 * 0x1p-23 * (1 + power));
    }
    card.cuMemFree_v2(da);
    for (int k = 0; k < 6; k++) card.cuMemFree_v2(d[k]);
    double x[64], y[64];
    for (int i = 0; i < 64; i++) x[i] = (double)random_float(3);
    uint64_t dx = card_put(&card, x, sizeof(x)), dy = card_new(&card, sizeof(y));
    int few = 64;
    run("doubles", 1, 64, (void *[]){&dx, &dy, &few});
    card_get(&card, y, dy, sizeof(y));
    for (int i = 0; i < 64; i++)
        assert_true(fabs(y[i] - (exp(x[i]) + sin(x[i] * 1e9) / (2 + x[i] * x[i]))) < 1e-13 * (1 + fabs(y[i])));
    card.cuMemFree_v2(dx), card.cuMemFree_v2(dy);
}
static void functions_are_those_of_libm_within_units(void **state)
{
    (void)state;
    with_each_target(functions);
}

static int wanted_path(int i, int n)
{
    int r = 0;
    switch (i % 7) {
    case 0: return 10 + n;
    case 1: return i * i;
    case 2:
        for (int k = 0; k < i; k++) r += k ^ n;
        return r;
    case 3: return -i;
    case 4: return i << 3;
    case 5: return __builtin_popcount((unsigned)i);
    default: return 0;
    }
}

static void paths(void)
{
    enum { T = 96 };
    int out[3 * T], n = 7;
    uint64_t dout = card_new(&card, sizeof(out));
    run("paths", 1, T, (void *[]){&dout, &n});
    card_get(&card, out, dout, sizeof(out));
    for (int i = 0; i < T; i++) {
        bool any = false;
        for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++) any |= wanted_path(k, n) > 1000;
        assert_int_equal(out[i], wanted_path(i, n) + 1000 + any * 10000 + 20000);
        const int l = i % 32, base = i - l;
        const int up = l >= 3 ? i - 3 : i, down = l < 27 ? i + 5 : i, from = base + (l & 16) + 7;
        assert_int_equal(out[T + i], T / 3 + up + down + from);
        int half = 0;
        for (int k = 0; k < 16; k++) half += base + (l & 16) + k;
        assert_int_equal(out[2 * T + i], half);
    }
    card.cuMemFree_v2(dout);
}
static void lanes_part_and_meet_again(void **state)
{
    (void)state;
    with_each_target(paths);
}

static void speed(void)
{
    enum { BLOCKS = 32, THREADS = 256 };
    uint64_t out = card_new(&card, BLOCKS * THREADS * sizeof(float));
    int rounds = 2000;
    run("busy", BLOCKS, THREADS, (void *[]){&out, &rounds});
    const uint64_t before = card.instructions();
    const int64_t begin = tutti_clock_ns();
    assert_int_equal(card.cuStreamSynchronize(card.stream), 0);
    const double took = 1e-9 * (double)(tutti_clock_ns() - begin), done = (double)(card.instructions() - before);
    assert_true(done > (double)BLOCKS * THREADS * rounds);
    print_message("%.0f million instructions a second\n", done / took * 1e-6);
    card.cuMemFree_v2(out);
}
static void the_rate_is_told(void **state)
{
    (void)state;
    with_each_target(speed);
}

static void replays(void)
{
    float v[32], got[32];
    for (int i = 0; i < 32; i++) v[i] = (float)i;
    uint64_t step = 1, dv = card_put(&card, v, sizeof(v)), ds = card_put(&card, &step, sizeof(step));
    void *graph, *instance;
    int n = 32;
    assert_int_equal(card.cuStreamBeginCapture_v2(card.stream, 1), 0);
    run("advance", 1, 32, (void *[]){&dv, &ds, &n});
    n = 0; /* the graph keeps what was given */
    assert_int_equal(card.cuStreamEndCapture(card.stream, &graph), 0);
    size_t nodes = 0;
    assert_int_equal(card.cuGraphGetNodes(graph, NULL, &nodes), 0);
    assert_int_equal(nodes, 1);
    assert_int_equal(card.cuGraphInstantiateWithFlags(&instance, graph, 0), 0);
    for (uint64_t s = 1; s <= 3; s++) {
        assert_int_equal(card.cuMemcpyHtoDAsync_v2(ds, &s, sizeof(s), card.stream), 0);
        assert_int_equal(card.cuGraphLaunch(instance, card.stream), 0);
        assert_int_equal(card.cuStreamSynchronize(card.stream), 0);
    }
    card_get(&card, got, dv, sizeof(got));
    for (int i = 0; i < 32; i++) assert_true(got[i] == ((v[i] * 2 + 1) * 2 + 2) * 2 + 3);
    assert_int_equal(card.cuGraphExecDestroy(instance), 0);
    assert_int_equal(card.cuGraphDestroy(graph), 0);
    /* Another stream joins by an event; its work must be waited for. */
    for (int joins = 0; joins < 2; joins++) {
        void *other, *event, *forked = NULL;
        assert_int_equal(card.cuStreamCreate(&other, 1), 0);
        assert_int_equal(card.cuEventCreate(&event, 2), 0);
        assert_int_equal(card.cuStreamBeginCapture_v2(card.stream, 1), 0);
        assert_int_equal(card.cuEventRecord(event, card.stream), 0);
        assert_int_equal(card.cuStreamWaitEvent(other, event, 0), 0);
        assert_int_equal(card.cuMemsetD32Async(dv, 0, 32, other), 0);
        assert_int_equal(card.cuEventRecord(event, other), 0);
        if (joins) assert_int_equal(card.cuStreamWaitEvent(card.stream, event, 0), 0);
        assert_int_equal(card.cuStreamEndCapture(card.stream, &forked), joins ? 0 : 904);
        if (joins) assert_int_equal(card.cuGraphDestroy(forked), 0);
        assert_int_equal(card.cuEventDestroy_v2(event), 0);
        assert_int_equal(card.cuStreamDestroy_v2(other), 0);
    }
    /* A call that may not be captured ends the capture. */
    assert_int_equal(card.cuStreamBeginCapture_v2(card.stream, 1), 0);
    assert_int_equal(card.cuStreamSynchronize(card.stream), 900);
    assert_int_equal(card.cuStreamEndCapture(card.stream, &graph), 901);
    card.cuMemFree_v2(dv), card.cuMemFree_v2(ds);
}
static void graphs_are_replayed(void **state)
{
    (void)state;
    with_each_target(replays);
}

int main(void)
{
    nvrtc = nvrtc_open();
    if (!nvrtc) print_message("skipped: no NVRTC here (say where it is by TUTTI_CUDA_PATH)\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_added_and_summed),
        cmocka_unit_test(atomics_count),
        cmocka_unit_test(halves_are_rounded_to_nearest_even),
        cmocka_unit_test(a_matrix_is_transposed_through_shared_memory),
        cmocka_unit_test(integers_are_those_of_c),
        cmocka_unit_test(functions_are_those_of_libm_within_units),
        cmocka_unit_test(lanes_part_and_meet_again),
        cmocka_unit_test(graphs_are_replayed),
        cmocka_unit_test(the_rate_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
