/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire_faults.c: what networks and strangers do to the wire tcp, each fault by its number. Both ends in one
 * process, a proxy between them where bytes are to be harmed (wire_pair.h); hosts that vanish: tests/hosts. */
#include "testing.h"

#include <stdio.h>
#include <sys/resource.h>

#include "base/rng.h"
#include "wire_pair.h"

static int forget_settings(void **state)
{
    (void)state;
    unsetenv("TUTTI_NET_CHECKSUM");
    unsetenv("TUTTI_NET_CONNECTIONS");
    return 0;
}

static void open_with_proxy(pair *p, proxy *between)
{
    pair_open(p);
    proxy_open(between, (int)p->tcp[0]->card.port);
    p->between = between;
}

/* --- between peers --- */

static void test_f21_a_connection_that_is_reset_in_the_middle_of_a_tensor_is_named(void **state)
{
    enum { LONG = 3 << 20 };
    (void)state;
    for (int k = 1; k <= 3; k += 2) {
        pair p;
        proxy between;
        char text[8];
        snprintf(text, sizeof text, "%d", k);
        setenv("TUTTI_NET_CONNECTIONS", text, 1);
        open_with_proxy(&p, &between);
        assert_true(pair_connect(&p, 10));
        send_and_check(&p, 1, 0, 1000, 1);
        between.only = k - 1;
        between.reset_after = between.links[k - 1].way[0].seen + 500000;
        char *source = calloc(1, LONG);
        tutti_put *f = tutti_wire_tcp.put(p.wire[1], 0, address_of(bytes_of(&p, 0)), source, LONG, true);
        put_word(&p, 1, 1, 2);
        const double begin = tutti_clock_s();
        while (!p.wire[0]->broken[1][0] || !p.wire[1]->broken[0][0]) {
            pair_turn(&p);
            assert_true(tutti_clock_s() - begin < 5);
        }
        assert_non_null(strstr(p.wire[0]->broken[1], " bytes still to come"));
        assert_non_null(strstr(p.wire[0]->broken[1], "reset"));
        assert_int_equal(word_of(&p, 0, 1), 1); /* the second word must not be seen */
        assert_true(!f || !f->flying);
        tutti_put_release(f);
        f = tutti_wire_tcp.put(p.wire[1], 0, address_of(bytes_of(&p, 0)), source, 8, true);
        assert_true(f && !f->flying && !f->over); /* none is over any more */
        tutti_put_release(f);
        free(source);
        proxy_close(&between);
        pair_close(&p);
    }
}

static void test_f25_one_byte_at_a_time_changes_nothing(void **state)
{
    (void)state;
    pair p;
    proxy between;
    setenv("TUTTI_NET_CHECKSUM", "on", 1);
    setenv("TUTTI_NET_CONNECTIONS", "2", 1);
    open_with_proxy(&p, &between);
    between.most = 1;
    assert_true(pair_connect(&p, 20));
    for (uint64_t turn = 1; turn <= 10; turn++) send_and_check(&p, (int)(turn % 2), turn, 300 * turn, turn);
    proxy_close(&between);
    pair_close(&p);
}

/* Every bit of a head and some of the bytes behind it. Found: the word that follows is not believed, and the words say
 * what it was. */
static void test_f32_a_flipped_bit_is_found_where_checksums_are_on(void **state)
{
    enum { LONG = 100000, HEAD = sizeof(tcp_head) };
    (void)state;
    setenv("TUTTI_NET_CHECKSUM", "on", 1);
    for (size_t i = 0; i < HEAD + 16; i++) {
        pair p;
        proxy between;
        char *source = calloc(1, LONG);
        open_with_proxy(&p, &between);
        assert_true(pair_connect(&p, 10));
        const size_t behind = i < HEAD ? i : HEAD + (i - HEAD) * (LONG / 16);
        between.flip_from = between.links[0].way[0].seen + behind;
        between.flip_bit = i % 8;
        tutti_put_release(tutti_wire_tcp.put(p.wire[1], 0, address_of(bytes_of(&p, 0)), source, LONG, true));
        put_word(&p, 1, 1, 1);
        if (await_word(&p, 0, 1, 1)) fail_msg("bit %zu of byte %zu was not found", i % 8, behind);
        if (!strstr(p.wire[0]->broken[1], "damaged on")) fail_msg("%s", p.wire[0]->broken[1]);
        free(source);
        proxy_close(&between);
        pair_close(&p);
    }
}

/* Without checksums: bytes may be wrong, but nothing is written where nothing was enrolled, and nothing hangs or
 * crashes. */
static void test_f32_without_checksums_a_flipped_bit_stays_where_it_is(void **state)
{
    enum { LONG = 4096, HEAD = sizeof(tcp_head) };
    (void)state;
    for (size_t i = 0; i < 8 * HEAD; i++) {
        pair p;
        proxy between;
        char *source = calloc(1, LONG);
        open_with_proxy(&p, &between);
        assert_true(pair_connect(&p, 10));
        between.flip_from = between.links[0].way[0].seen + i / 8;
        between.flip_bit = i % 8;
        tutti_put_release(tutti_wire_tcp.put(p.wire[1], 0, address_of(bytes_of(&p, 0)), source, LONG, true));
        put_word(&p, 1, 1, 1);
        const double until = tutti_clock_s() + 0.01;
        while (!word_of(&p, 0, 1) && !p.wire[0]->broken[1][0] && tutti_clock_s() < until) pair_turn(&p);
        free(source);
        proxy_close(&between);
        pair_close(&p);
    }
}

/* --- strangers --- */

static void throw_at(int port, const void *bytes, size_t n)
{
    const int fd = loopback_socket(port, false);
    (void)!send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

static size_t resident_bytes(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void test_f26_what_strangers_say_is_refused_before_anything_is_kept(void **state)
{
    (void)state;
    pair p;
    pair_open(&p);
    const int port = (int)p.tcp[0]->card.port;
    const size_t before = resident_bytes();
    for (uint64_t i = 0; i < 400; i++) {
        uint32_t noise[512];
        tcp_hello h = {.magic = TUTTI_TCP_MAGIC, .version = TUTTI_TCP_VERSION, .rank = 1, .nconnections = 1};
        for (size_t k = 0; k < 512; k++) noise[k] = tutti_random(i, TUTTI_STREAM_TEST, k, 0).word[0];
        memcpy(h.token, p.tcp[0]->card.token, sizeof h.token);
        switch (i % 8) {
        case 0: throw_at(port, noise, sizeof noise); break;
        case 1: noise[0] = TUTTI_TCP_MAGIC, throw_at(port, noise, sizeof noise); break;
        case 2: h.token[i / 8 % 16] ^= 1, throw_at(port, &h, sizeof h); break; /* a neighbour's run */
        case 3:
            h.version = (uint32_t)(i / 8), h.version += h.version == TUTTI_TCP_VERSION, throw_at(port, &h, sizeof h);
            break;
        case 4: h.nconnections = 1U << 31, throw_at(port, &h, sizeof h); break;
        case 5: h.connection = 1, throw_at(port, &h, sizeof h); break;
        case 6: h.rank = (int32_t)noise[1], throw_at(port, &h, sizeof h); break;
        case 7: throw_at(port, "GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n", 29); break;
        }
        pair_turn(&p);
    }
    assert_true(resident_bytes() - before < 2 << 20);
    assert_true(pair_connect(&p, 10));
    send_and_check(&p, 1, 0, 1 << 20, 1);
    pair_close(&p);
}

/* Who knows the token and another version hears ours, so that words can say so. */
static void test_f26_another_version_is_told_ours(void **state)
{
    (void)state;
    pair p;
    tcp_hello h = {.magic = TUTTI_TCP_MAGIC, .version = 7, .rank = 1, .nconnections = 1}, got = {0};
    pair_open(&p);
    const int fd = loopback_socket((int)p.tcp[0]->card.port, false);
    assert_int_equal(send(fd, &h, sizeof h, MSG_NOSIGNAL), sizeof h);
    for (int i = 0; i < 100 && !is_there(fd, POLLIN); i++) pair_turn(&p);
    assert_int_equal(recv(fd, &got, sizeof got, MSG_DONTWAIT), sizeof got);
    assert_int_equal(got.version, TUTTI_TCP_VERSION);
    close(fd);
    pair_close(&p);
}

/* A peer that has gone mad: each frame ends the connection with words, and nothing is allocated for what it
 * promises. */
static void test_f26_frames_that_promise_too_much_end_the_connection(void **state)
{
    (void)state;
    const tcp_head bad[] = {
        {.magic = TUTTI_TCP_MAGIC, .kind = TUTTI_TCP_PUT, .nbytes = (uint64_t)1 << 62},
        {.magic = TUTTI_TCP_MAGIC, .kind = TUTTI_TCP_PUT, .nbytes = UINT64_MAX, .address = 1},
        {.magic = TUTTI_TCP_MAGIC, .kind = TUTTI_TCP_ANSWER, .word = 1, .nbytes = 8},
        {.magic = TUTTI_TCP_MAGIC, .kind = TUTTI_TCP_ANSWER, .word = 1, .nbytes = UINT64_MAX, .address = UINT64_MAX},
        {.magic = TUTTI_TCP_MAGIC, .kind = 0},
        {.magic = TUTTI_TCP_MAGIC, .kind = 7},
        {.magic = TUTTI_TCP_MAGIC, .kind = TUTTI_TCP_WORD, .head_sum = 1},
        {.magic = 1, .kind = TUTTI_TCP_WORD}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pair p;
        tcp_head h = bad[i];
        pair_open(&p);
        assert_true(pair_connect(&p, 10));
        if (h.kind == TUTTI_TCP_PUT) h.address += address_of(p.memory[0]);
        const size_t before = resident_bytes();
        assert_int_equal(send(p.tcp[1]->peers[0].connections[0].source.fd, &h, sizeof h, 0), sizeof h);
        const double until = tutti_clock_s() + 5;
        while (!p.wire[0]->broken[1][0] && tutti_clock_s() < until) pair_turn(&p);
        assert_true(p.wire[0]->broken[1][0]);
        assert_true(resident_bytes() - before < 1 << 20);
        pair_close(&p);
    }
}

/* As many that say nothing as the system lets us have, and some that say a byte now and then. The peer still gets
 * in. */
static void test_f27_a_thousand_silent_callers_do_not_keep_a_peer_out(void **state)
{
    enum { SILENT = 1000, SLOW = 50 };
    (void)state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    pair p;
    static int fds[SILENT + SLOW];
    pair_open(&p);
    const int port = (int)p.tcp[0]->card.port;
    int n = 0;
    for (; n < SILENT + SLOW && n + 64 < (int)limit.rlim_cur; n++) {
        fds[n] = loopback_socket(port, false);
        pair_turn(&p);
        if (n < SILENT) continue;
        for (int k = SILENT; k <= n; k++) (void)!send(fds[k], &"tut1"[(n - k) % 4], 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    const double begin = tutti_clock_s();
    assert_true(pair_connect(&p, 10));
    assert_true(tutti_clock_s() - begin < 2);
    send_and_check(&p, 1, 0, 1 << 20, 1);
    for (int k = 0; k < n; k++) close(fds[k]);
    pair_close(&p);
}

/* No descriptor is left: said, with the limit; and it goes on when there is one. */
static void test_f18_without_descriptors_the_limit_is_named(void **state)
{
    (void)state;
    pair p;
    struct rlimit before, none;
    const char *why = "";
    tutti_failure err = {0};
    pair_open(&p);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    assert_int_equal(tutti_wire_tcp.connect(p.wire[0], 1, &p.tcp[1]->card, &err), TUTTI_OK);
    assert_int_equal(tutti_wire_tcp.connect(p.wire[1], 0, &p.tcp[0]->card, &err),
                     TUTTI_OK); /* has its descriptor already */
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 100; i++) tutti_wire_tcp.progress(p.wire[0]);
    assert_int_equal(tutti_wire_tcp.awaited(p.wire[0], &why), 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(strstr(why, "(ulimit -n)"));
    const double until = tutti_clock_s() + 10;
    while (tutti_wire_tcp.awaited(p.wire[0], &why) >= 0 && tutti_clock_s() < until) pair_turn(&p);
    send_and_check(&p, 1, 0, 4096, 1);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_f18_without_descriptors_the_limit_is_named, forget_settings),
        cmocka_unit_test_setup(test_f21_a_connection_that_is_reset_in_the_middle_of_a_tensor_is_named, forget_settings),
        cmocka_unit_test_setup(test_f25_one_byte_at_a_time_changes_nothing, forget_settings),
        cmocka_unit_test_setup(test_f26_what_strangers_say_is_refused_before_anything_is_kept, forget_settings),
        cmocka_unit_test_setup(test_f26_another_version_is_told_ours, forget_settings),
        cmocka_unit_test_setup(test_f26_frames_that_promise_too_much_end_the_connection, forget_settings),
        cmocka_unit_test_setup(test_f27_a_thousand_silent_callers_do_not_keep_a_peer_out, forget_settings),
        cmocka_unit_test_setup(test_f32_a_flipped_bit_is_found_where_checksums_are_on, forget_settings),
        cmocka_unit_test_setup(test_f32_without_checksums_a_flipped_bit_stays_where_it_is, forget_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
