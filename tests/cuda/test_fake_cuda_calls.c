/* SPDX-License-Identifier: Apache-2.0 */
/* test_fake_cuda_calls.c: the fake card says what callers do wrong, and does what streams, settings and other processes
 * ask for. */
#include "testing.h"

#include <stdbool.h>

#include "fake_faults.h"

static void double_free(void)
{
    const uint64_t at = card_new(&card, 100);
    card.cuMemFree_v2(at);
    card.cuMemFree_v2(at);
}
static void use_after_free(void)
{
    uint64_t a = floats(32), out = card_new(&card, 128);
    wait_for_it();
    card.cuMemFree_v2(a);
    run("slow_copy", 1, 32, 0, (void *[]){&a, &out});
}
static void what_is_freed_is_not_used(void **state)
{
    (void)state;
    must_report(double_free, "cuMemFree: double free", "100 bytes");
    must_report(use_after_free, "slow_copy", "the freed allocation");
}

/* One stream makes what another one takes. */
static void two_streams(bool waits)
{
    void *other, *event;
    float got[32];
    uint64_t a = floats(32), out = card_new(&card, 128);
    assert_int_equal(card.cuStreamCreate(&other, 1), 0);
    assert_int_equal(card.cuEventCreate(&event, 2), 0);
    card_launch(&card, "slow_copy", 1, 32, 0, (void *[]){&a, &out});
    card.cuEventRecord(event, card.stream);
    if (waits) card.cuStreamWaitEvent(other, event, 0);
    card.cuMemcpyDtoHAsync_v2(got, out, sizeof(got), other);
    card.cuStreamSynchronize(other);
    assert_true(got[31] == 2);
    assert_int_equal(card.cuEventQuery(event), 0);
}
static void streams_without_a_wait(void)
{
    two_streams(false);
}
static void streams_with_a_wait(void)
{
    two_streams(true);
}
static void a_missing_wait_of_streams_is_reported(void **state)
{
    (void)state;
    must_report(streams_without_a_wait, "a copy, its source", "nobody has written");
    must_be_silent(streams_with_a_wait);
}

static void destroyed_stream(void)
{
    card.cuStreamDestroy_v2(card.stream);
    card.cuStreamSynchronize(card.stream);
}
static void left_behind(void)
{
    floats(10);
    card_close(&card);
}
static void all_given_back(void)
{
    const uint64_t a = floats(10);
    card.cuMemFree_v2(a);
    card_close(&card);
}
static void what_is_destroyed_or_left_is_reported(void **state)
{
    (void)state;
    must_report(destroyed_stream, "cuStreamSynchronize: the stream", "has been destroyed");
    must_report(left_behind, "leak: 1 allocations", "40 bytes");
    must_be_silent(all_given_back);
}

static void too_many_threads(void)
{
    int n = 3;
    void *f;
    card.cuModuleGetFunction(&f, card.module, "ended_by_a_trap");
    card.cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, card.stream, (void *[]){&n}, NULL);
}
static void too_much_shared(void)
{
    int at = 0;
    uint64_t out = card_new(&card, 128);
    card_launch(&card, "beyond_shared", 1, 32, 50000, (void *[]){&out, &at});
}
static void launches_that_a_card_refuses_are_reported(void **state)
{
    (void)state;
    must_report(too_many_threads, "1025 x 1 x 1 threads", "at most 1024");
    must_report(too_much_shared, "50000 bytes of dynamic", "at most 49152");
}

/* The host that follows a device's pointer dies; a library's function on a stream may follow it. */
static void host_reads(void)
{
    const uint64_t at = floats(1);
    wait_for_it();
    exit(*(volatile float *)(uintptr_t)at > 0 ? 1 : 2);
}
static void doubles_it(void *args)
{
    float *v = *(float **)args;
    if (!card.tutti_fake_cuda_touch(v, 4, 0)) *v *= 2;
    card.tutti_fake_cuda_touch(v, 4, 1);
}
static void library_works(void)
{
    const uint64_t at = floats(1);
    float got;
    assert_int_equal(card.tutti_fake_cuda_enqueue(card.stream, doubles_it, &at, sizeof(at)), 0);
    card_get(&card, &got, at, sizeof(got));
    assert_true(got == 2);
}
static void library_reads_too_far(void)
{
    const uint64_t at = floats(1) + 4;
    card.tutti_fake_cuda_enqueue(card.stream, doubles_it, &at, sizeof(at));
    wait_for_it();
}
static void device_memory_is_not_the_hosts(void **state)
{
    (void)state;
    if (!ptx) skip();
    char said[4096];
    assert_int_equal(run_in_child(open_card, host_reads, said, sizeof(said)), -SIGSEGV);
    must_be_silent(library_works);
    must_report(library_reads_too_far, "a library's access", "out of bounds");
}

static void counts_on(void)
{
    setenv("TUTTI_FAKE_CUDA_FATAL", "0", 1);
    uint64_t a = floats(40), out = card_new(&card, 160);
    int n = 40;
    run("wrong_bound", 1, 64, 0, (void *[]){&a, &out, &n});
    assert_int_equal(card.tutti_fake_cuda_reports(), 1);
    _exit(55);
}
static void third_allocation_fails(void)
{
    setenv("TUTTI_FAKE_CUDA_FAIL", "cuMemAlloc_v2:3,cuStreamCreate:1:999", 1);
    uint64_t at;
    void *s;
    assert_int_equal(card.cuMemAlloc_v2(&at, 4), 0);
    assert_int_equal(card.cuMemAlloc_v2(&at, 4), 0);
    assert_int_equal(card.cuMemAlloc_v2(&at, 4), 2);
    assert_int_equal(card.cuMemAlloc_v2(&at, 4), 0);
    assert_int_equal(card.cuStreamCreate(&s, 1), 999);
}
static void unknown_text(void)
{
    void *m;
    assert_int_equal(card.cuModuleLoadData(&m, "\x7f"
                                               "ELF"),
                     209);
    assert_int_equal(card.cuModuleLoadData(
                         &m, ".version 9.0\n.target sm_90\n.visible .entry f()\n{\n  wgmma.fence.sync.aligned;\n}\n"),
                     218);
    _exit(55);
}
static void settings_do_what_they_say(void **state)
{
    (void)state;
    if (!ptx) skip();
    char said[4096];
    assert_int_equal(run_in_child(open_card, counts_on, said, sizeof(said)), 55);
    assert_non_null(strstr(said, "out of bounds"));
    must_be_silent(third_allocation_fails);
    assert_int_equal(run_in_child(open_card, unknown_text, said, sizeof(said)), 55);
    assert_non_null(strstr(said, "PTX line 5, wgmma.fence.sync.aligned in f"));
}

/* ---- waits, other processes ---- */

static void waits_for_a_value(void)
{
    uint32_t *flag;
    void *other;
    float got;
    assert_int_equal(card.cuMemHostAlloc((void **)&flag, 4, 0), 0);
    assert_int_equal(card.cuStreamCreate(&other, 1), 0);
    *flag = 0;
    const uint64_t v = floats(1), at = (uint64_t)(uintptr_t)flag;
    wait_for_it();
    assert_int_equal(card.cuStreamWaitValue32_v2(other, at, 5, 0), 0);
    card.cuMemcpyDtoHAsync_v2(&got, v, 4, other);
    card.cuMemsetD32Async(v, 0x40000000, 1, card.stream);
    card.cuStreamWriteValue32_v2(card.stream, at, 6, 0);
    assert_int_equal(card.cuStreamSynchronize(other), 0);
    assert_true(got == 2);
}
static void a_stream_waits_for_a_value(void **state)
{
    (void)state;
    must_be_silent(waits_for_a_value);
}

static void shares_memory(void)
{
    int to[2], from[2];
    assert_int_equal(pipe(to) | pipe(from), 0);
    const pid_t child = fork(); /* the card is open here, and the child's must be its own: the child starts anew */
    if (!child) {
        char name[32];
        snprintf(name, sizeof(name), "%d,%d", to[0], from[1]);
        execl("/proc/self/exe", "peer", "--peer", name, NULL);
        _exit(1);
    }
    const uint64_t v = floats(32);
    card_handle h;
    uint64_t own;
    float got[32];
    char done = 0;
    wait_for_it();
    assert_int_equal(card.cuIpcGetMemHandle(&h, v), 0);
    assert_int_equal(card.cuIpcOpenMemHandle_v2(&own, h, 1), 201);
    assert_int_equal(write(to[1], &h, sizeof(h)), sizeof(h));
    assert_int_equal(read(from[0], &done, 1), 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    card_get(&card, got, v, sizeof(got));
    assert_true(got[0] == 2 && got[31] == 2);
}
static int peer(const char *ends)
{
    int in, out;
    card_handle h;
    uint64_t v;
    if (sscanf(ends, "%d,%d", &in, &out) != 2 || read(in, &h, sizeof(h)) != sizeof(h)) return 1;
    card_open(&card, ptx);
    if (card.cuIpcOpenMemHandle_v2(&v, h, 1)) return 2;
    run("slow_copy", 1, 32, 0, (void *[]){&v, &v});
    if (card.cuIpcCloseMemHandle(v)) return 3;
    card_close(&card);
    return write(out, "x", 1) == 1 ? 0 : 4;
}
static void processes_share_memory(void **state)
{
    (void)state;
    must_be_silent(shares_memory);
}

int main(int argc, char **argv)
{
    ptx = compiled();
    if (argc == 3 && !strcmp(argv[1], "--peer")) return peer(argv[2]);
    if (!ptx) print_message("skipped: no NVRTC here (say where it is by TUTTI_CUDA_PATH)\n");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_freed_is_not_used),
        cmocka_unit_test(a_missing_wait_of_streams_is_reported),
        cmocka_unit_test(what_is_destroyed_or_left_is_reported),
        cmocka_unit_test(launches_that_a_card_refuses_are_reported),
        cmocka_unit_test(device_memory_is_not_the_hosts),
        cmocka_unit_test(settings_do_what_they_say),
        cmocka_unit_test(a_stream_waits_for_a_value),
        cmocka_unit_test(processes_share_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
