/* SPDX-License-Identifier: Apache-2.0 */
/* test_device_rows.c: what every row promises, and that the row that tests go through (apart_device.h) shows who does
 * not keep to it. */
#include "testing.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apart_device.h"
#include "tensor/tensor.h"

enum { N = 1000, ROWS = 2 };

typedef struct {
    apart_memory memory;
    apart_queue queue;
    apart_device apart;
    const tutti_device *rows[ROWS];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    pthread_mutex_init(&f->memory.lock, NULL);
    apart_make(&f->memory, &f->queue, &f->apart);
    f->rows[0] = tutti_device_cpu();
    f->rows[1] = &f->apart.row;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    const fixture *f = *state;
    assert_int_equal(f->memory.n, 0);
    free(*state);
    return 0;
}

/* Whole numbers, whose sums are exact. */
static void fill(const tutti_device *d, float *at, float step)
{
    float *x = d->borrow(d, at, N * sizeof *x);
    for (int i = 0; i < N; i++) x[i] = (float)i * step;
    d->give_back(d, at, x, N * sizeof *x, true);
}

static void expect(const tutti_device *d, const float *at, float step)
{
    float *x = d->borrow(d, at, N * sizeof *x);
    for (int i = 0; i < N; i++) assert_true(x[i] == (float)i * step);
    d->give_back(d, at, x, N * sizeof *x, false);
}

static void memory_begins_with_zeros_and_holds_what_is_given_back(void **state)
{
    const fixture *f = *state;
    for (int r = 0; r < ROWS; r++) {
        const tutti_device *d = f->rows[r];
        float *x = d->allocate(d, N * sizeof *x), seen[2] = {1, 1};
        assert_non_null(x);
        assert_int_equal((uintptr_t)x % 64, 0);
        expect(d, x, 0);
        fill(d, x, 3);
        expect(d, x, 3);
        d->look(d, seen, x + 10, sizeof seen);
        assert_true(seen[0] == 30 && seen[1] == 33);
        d->release(d, x, N * sizeof *x);
        d->release(d, NULL, N);
    }
}

static void loops_are_those_of_their_headers(void **state)
{
    const fixture *f = *state;
    for (int r = 0; r < ROWS; r++) {
        const tutti_device *d = f->rows[r];
        char *at = d->allocate(d, 4 * N * sizeof(float));
        float *x[4];
        for (int i = 0; i < 4; i++) x[i] = (float *)(void *)at + i * N;
        fill(d, x[0], 1), fill(d, x[1], 2), fill(d, x[2], 4);
        const char *in[] = {(char *)x[0], (char *)x[1], (char *)x[2]};
        char *out[] = {(char *)x[3], (char *)x[2]}; /* in[2] too */
        const tutti_device_reduction sum = {.op = TUTTI_SUM}, most = {.op = TUTTI_MAX};
        d->reduce(d, &sum, &(tutti_operands){out, 2, in, 3}, N);
        expect(d, x[3], 7), expect(d, x[2], 7);
        d->reduce(d, &most, &(tutti_operands){out, 1, in, 2}, N);
        expect(d, x[3], 2);
        d->copy(d, out, 2, in[0], N * sizeof(float), false);
        expect(d, x[3], 1), expect(d, x[2], 1);
        fill(d, x[3], 6);
        d->average(d, TUTTI_F32, out[0], N, 3);
        expect(d, x[3], 2);
        d->release(d, at, 4 * N * sizeof(float));
    }
}

/* 0 .. 255 is exact in bf16; sums of two are made in f32. */
static void sixteen_bits_are_widened_and_rounded_once(void **state)
{
    enum { FEW = 256 };
    const fixture *f = *state;
    for (int r = 0; r < ROWS; r++) {
        const tutti_device *d = f->rows[r];
        float *x = d->allocate(d, N * sizeof *x), *y = d->allocate(d, N * sizeof *y), seen[FEW];
        uint16_t *half = d->allocate(d, N * sizeof *half);
        fill(d, x, 1);
        d->convert(d, TUTTI_F32, x, TUTTI_BF16, half, FEW);
        d->convert(d, TUTTI_BF16, half, TUTTI_F32, y, FEW);
        d->look(d, seen, y, sizeof seen);
        for (int i = 0; i < FEW; i++) assert_true(seen[i] == (float)i);
        const char *in[] = {(char *)half, (char *)half};
        char *out = (char *)y;
        const tutti_device_reduction wide = {.in = TUTTI_BF16, .out = TUTTI_F32, .op = TUTTI_SUM};
        d->reduce(d, &wide, &(tutti_operands){&out, 1, in, 2}, FEW);
        d->look(d, seen, y, sizeof seen);
        for (int i = 0; i < FEW; i++) assert_true(seen[i] == 2 * (float)i);
        const char *both[] = {(char *)x, (char *)x};
        const tutti_device_reduction narrow = {.in = TUTTI_F32, .out = TUTTI_BF16, .op = TUTTI_SUM};
        out = (char *)half;
        d->reduce(d, &narrow, &(tutti_operands){&out, 1, both, 2}, FEW / 2);
        d->convert(d, TUTTI_BF16, half, TUTTI_F32, y, FEW / 2);
        d->look(d, seen, y, sizeof seen / 2);
        for (int i = 0; i < FEW / 2; i++) assert_true(seen[i] == 2 * (float)i);
        d->release(d, x, N * sizeof *x), d->release(d, y, N * sizeof *y), d->release(d, half, N * sizeof *half);
    }
}

typedef struct {
    float *at;
    float add, times;
} step_args;

static void step(const tutti_device *d, const void *args, const void *varying)
{
    const step_args *a = args;
    const float *add = varying;
    (void)d;
    *a->at = *a->at * a->times + *add;
}

static const tutti_queue_work stepping = {"step", step, sizeof(step_args), offsetof(step_args, add), sizeof(float)};

static void work_runs_in_its_order_and_is_over_after_the_wait(void **state)
{
    const fixture *f = *state;
    for (int r = 0; r < ROWS; r++) {
        const tutti_device *d = f->rows[r];
        float *x = d->allocate(d, sizeof *x), seen;
        tutti_event last = {0};
        d->wait(d, last);
        for (int i = 1; i <= 3; i++) {
            const step_args a = {x, (float)i, 10}; /* gone before it runs */
            last = d->launch(d, &stepping, &a);
        }
        d->wait(d, last);
        d->wait(d, last);
        d->look(d, &seen, x, sizeof seen);
        assert_true(seen == 123);
        d->release(d, x, sizeof *x);
    }
}

/* Else the tests that go through it would show nothing. */
static void who_does_not_wait_sees_what_was_there_before(void **state)
{
    const fixture *f = *state;
    const tutti_device *d = f->rows[1];
    float *x = d->allocate(d, sizeof *x), seen;
    const step_args a = {x, 5, 1};
    const tutti_event event = d->launch(d, &stepping, &a);
    d->look(d, &seen, x, sizeof seen);
    assert_true(seen == 0);
    d->wait(d, event);
    d->look(d, &seen, x, sizeof seen);
    assert_true(seen == 5);
    d->release(d, x, sizeof *x);
}

static bool dies(void (*body)(const tutti_device *d, float *x), const tutti_device *d, float *x)
{
    const struct rlimit none = {0, 0};
    int status;
    const pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL), signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        body(d, x);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return !WIFEXITED(status) || WEXITSTATUS(status);
}

static void host_reads(const tutti_device *d, float *x)
{
    (void)d;
    const volatile float *at = x;
    (void)*at;
}

static void host_writes(const tutti_device *d, float *x)
{
    (void)d;
    *(volatile float *)x = 1;
}

static void device_copies(const tutti_device *d, float *x)
{
    static float own[1];
    char *out = (char *)own;
    d->copy(d, &out, 1, (const char *)x, sizeof *x, false);
}

static void looks(const tutti_device *d, float *x)
{
    float seen;
    d->look(d, &seen, x, sizeof seen);
}

static void who_goes_around_the_device_dies_there(void **state)
{
    const fixture *f = *state;
    const tutti_device *d = f->rows[1];
    float *x = d->allocate(d, sizeof *x);
    void *both = mmap(NULL, APART_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(dies(host_reads, d, x));
    assert_true(dies(host_writes, d, x));
    assert_true(dies(device_copies, d, x)); /* to where it may not */
    assert_false(dies(looks, d, x));
    assert_int_equal(d->enrol(d, both, APART_PAGE, true, NULL), TUTTI_OK);
    assert_false(dies(host_writes, d, both));
    d->forget(d, both, APART_PAGE);
    assert_int_equal(d->enrol(d, both, APART_PAGE, false, NULL), TUTTI_OK);
    assert_true(dies(host_reads, d, both));
    d->forget(d, both, APART_PAGE);
    assert_false(dies(host_reads, d, both));
    munmap(both, APART_PAGE);
    d->release(d, x, sizeof *x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_begins_with_zeros_and_holds_what_is_given_back),
        cmocka_unit_test(loops_are_those_of_their_headers),
        cmocka_unit_test(sixteen_bits_are_widened_and_rounded_once),
        cmocka_unit_test(work_runs_in_its_order_and_is_over_after_the_wait),
        cmocka_unit_test(who_does_not_wait_sees_what_was_there_before),
        cmocka_unit_test(who_goes_around_the_device_dies_there),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
