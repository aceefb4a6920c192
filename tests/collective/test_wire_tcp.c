/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire_tcp.c: the wire over plain sockets, both ends in one process (wire_pair.h): order, sizes, connections,
 * reads, settings. */
#include "testing.h"

#include <stdio.h>

#include "wire_pair.h"

static const char *const variables[] = {"TUTTI_NET_IF",       "TUTTI_NET_CONNECTIONS", "TUTTI_NET_CHECKSUM",
                                        "TUTTI_NET_ZEROCOPY", "TUTTI_NET_CONGESTION",  "TUTTI_NET_PORTS"};

/* Each test begins with none of them. */
static int forget_settings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) unsetenv(variables[i]);
    return 0;
}

static void open_and_connect(pair *p)
{
    pair_open(p);
    assert_true(pair_connect(p, 10));
}

/* Who asks for room gets none while what was put waits for a peer that takes nothing, and gets it again once that has
 * gone. */
static void there_is_no_room_behind_what_waits(void **state)
{
    enum { EACH = 1 << 20, MOST = 256 };
    (void)state;
    pair p;
    tutti_put *flights[MOST];
    int n = 0;
    open_and_connect(&p);
    char *source = calloc(1, EACH);
    for (; n < MOST && tutti_wire_tcp.has_room(p.wire[0], 1); n++)
        flights[n] = tutti_wire_tcp.put(p.wire[0], 1, address_of(bytes_of(&p, 1)), source, EACH, true);
    assert_in_range(n, 1, MOST - 1);
    const double until = tutti_clock_s() + 20;
    while (!tutti_wire_tcp.has_room(p.wire[0], 1) && tutti_clock_s() < until) pair_turn(&p);
    assert_true(tutti_wire_tcp.has_room(p.wire[0], 1));
    while (n-- > 0) {
        while (flights[n] && !flights[n]->over && tutti_clock_s() < until) pair_turn(&p);
        assert_true(!flights[n] || flights[n]->over);
        tutti_put_release(flights[n]);
    }
    free(source);
    pair_close(&p);
}

/* Its source is needed until its word has come, which takes both along, or until the wire is driven. */
static void a_short_put_goes_with_its_word(void **state)
{
    enum { SHORT = 8192 };
    (void)state;
    pair p;
    open_and_connect(&p);
    char *source = calloc(1, SHORT);
    const uint64_t to = address_of(bytes_of(&p, 1));
    tutti_put *with = tutti_wire_tcp.put(p.wire[0], 1, to, source, SHORT, true);
    assert_true(with && !with->over && p.tcp[0]->ncorked == 1);
    put_word(&p, 0, 0, 1);
    assert_true(with->over && p.tcp[0]->ncorked == 0);
    tutti_put *alone = tutti_wire_tcp.put(p.wire[0], 1, to, source, SHORT, true);
    assert_true(alone && !alone->over);
    tutti_wire_tcp.progress(p.wire[0]);
    assert_true(alone->over && p.tcp[0]->ncorked == 0);
    tutti_put *asked = tutti_wire_tcp.put(p.wire[0], 1, to, source, SHORT, true);
    assert_true(asked && !asked->over && tutti_wire_tcp.has_room(p.wire[0], 1) && asked->over);
    tutti_put_release(with), tutti_put_release(alone), tutti_put_release(asked);
    free(source);
    pair_close(&p);
}

/* Of every size, both ways, over one connection and several, with checksums and without. */
static void a_word_is_not_seen_before_what_was_put(void **state)
{
    static const size_t sizes[] = {1, 7, 48, 4096, 65536, 131073, 1000003, 3 << 20};
    (void)state;
    for (int k = 0; k < 6; k++) {
        pair p;
        char text[8];
        snprintf(text, sizeof text, "%d", k / 2 * 3 + 1);
        setenv("TUTTI_NET_CONNECTIONS", text, 1);
        setenv("TUTTI_NET_CHECKSUM", k % 2 ? "on" : "off", 1);
        open_and_connect(&p);
        assert_int_equal(p.tcp[1]->peers[0].nconnections, k / 2 * 3 + 1);
        uint64_t turn = 0;
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (int from = 0; from < 2; from++) send_and_check(&p, from, i, sizes[i], ++turn);
        pair_close(&p);
    }
}

/* Many puts and words on their way at once, in both directions; each word is looked at when it comes. */
static void many_puts_on_their_way_keep_their_order(void **state)
{
    enum { N = 60, EACH = 50000 };
    (void)state;
    setenv("TUTTI_NET_CONNECTIONS", "3", 1);
    pair p;
    open_and_connect(&p);
    char *source = malloc(EACH * N);
    tutti_put *flights[2][N];
    for (size_t i = 0; i < EACH * N; i++) source[i] = content(i);
    for (int k = 0; k < N; k++)
        for (int from = 0; from < 2; from++) {
            const size_t at = (size_t)k * EACH;
            flights[from][k] =
                tutti_wire_tcp.put(p.wire[from], !from, address_of(bytes_of(&p, !from) + at), source + at, EACH, true);
            put_word(&p, from, from, (uint64_t)k + 1);
        }
    for (uint64_t seen[2] = {0, 0}; seen[0] < N || seen[1] < N;) {
        pair_turn(&p);
        for (int from = 0; from < 2; from++) {
            const uint64_t now = word_of(&p, !from, from);
            assert_memory_equal(bytes_of(&p, !from) + seen[from] * EACH, source + seen[from] * EACH,
                                (now - seen[from]) * EACH);
            seen[from] = now;
        }
        assert_true(!p.wire[0]->broken[1][0] && !p.wire[1]->broken[0][0]);
    }
    for (int k = 0; k < 2 * N; k++) tutti_put_release(flights[k % 2][k / 2]);
    free(source);
    pair_close(&p);
}

static tutti_put *read_from(pair *p, int reader, const char *from, void *to, size_t n)
{
    tutti_put *read = tutti_wire_tcp.read(p->wire[reader], !reader, address_of(from), to, n);
    const double until = tutti_clock_s() + 10;
    while (read->flying && tutti_clock_s() < until) pair_turn(p);
    return read;
}

static void reads_are_answered_after_the_puts_before_them(void **state)
{
    enum { LONG = 3 << 20 };
    (void)state;
    for (int k = 1; k <= 4; k += 3) {
        pair p;
        char *source = malloc(LONG), *got = calloc(1, LONG), text[8];
        snprintf(text, sizeof text, "%d", k);
        setenv("TUTTI_NET_CONNECTIONS", text, 1);
        open_and_connect(&p);
        for (size_t i = 0; i < LONG; i++) source[i] = content(i);
        tutti_put *put = tutti_wire_tcp.put(p.wire[1], 0, address_of(bytes_of(&p, 0)), source, LONG, true);
        tutti_put *read = read_from(&p, 1, bytes_of(&p, 0), got, LONG);
        assert_true(read->over);
        assert_memory_equal(got, source, LONG);
        tutti_put_release(read), tutti_put_release(put);
        free(source), free(got);
        pair_close(&p);
    }
}

static void what_is_not_enrolled_is_neither_read_nor_written(void **state)
{
    (void)state;
    pair p;
    char elsewhere[64] = "kept", got[64];
    open_and_connect(&p);
    tutti_put *read = read_from(&p, 1, elsewhere, got, sizeof got);
    assert_true(!read->over && !read->flying);
    tutti_put_release(read);
    read = read_from(&p, 1, p.memory[0] + PAIR_BYTES - 8, got, 16); /* partly */
    assert_true(!read->over && !read->flying);
    tutti_put_release(read);
    tutti_put_release(tutti_wire_tcp.put_word(p.wire[1], 0, address_of(elsewhere), 1));
    send_and_check(&p, 1, 0, 100, 1); /* a word into nowhere is no end */
    tutti_put_release(tutti_wire_tcp.put(p.wire[1], 0, address_of(elsewhere), got, sizeof elsewhere, true));
    put_word(&p, 1, 1, 2);
    assert_false(await_word(&p, 0, 1, 2));
    assert_non_null(strstr(p.wire[0]->broken[1], "it sent 64 bytes for 0x"));
    assert_non_null(strstr(p.wire[0]->broken[1], "where nothing is enrolled"));
    assert_string_equal(elsewhere, "kept");
    pair_close(&p);
}

/* Memory may go while bytes are on their way to it; what comes then is thrown away, and what follows is not
 * disturbed. */
static void bytes_for_memory_that_is_forgotten_are_thrown_away(void **state)
{
    enum { LONG = 64 << 20 };
    (void)state;
    pair p;
    tutti_failure err = {0};
    tutti_wire_memory *given_up;
    open_and_connect(&p);
    char *source = calloc(1, LONG), *place = calloc(1, LONG);
    assert_int_equal(tutti_wire_tcp.enrol(p.wire[0], place, LONG, &given_up, &err), TUTTI_OK);
    tutti_put *f = tutti_wire_tcp.put(p.wire[1], 0, address_of(place), source, LONG, true);
    const tcp_connection *c = &p.tcp[0]->peers[1].connections[0];
    while (!c->left) pair_turn(&p);
    tutti_wire_tcp.forget(given_up);
    free(place); /* AddressSanitizer sees who writes there */
    send_and_check(&p, 1, 0, 1000, 5);
    assert_true(!f || f->over);
    tutti_put_release(f);
    free(source);
    pair_close(&p);
}

static void who_has_said_goodbye_is_not_broken(void **state)
{
    (void)state;
    pair p;
    open_and_connect(&p);
    send_and_check(&p, 0, 0, 100000, 1);
    tutti_wire_tcp.forget(p.enrolled[1]), p.enrolled[1] = NULL;
    tutti_wire_tcp.close(p.wire[1], 1), p.wire[1] = NULL;
    for (int i = 0; i < 100; i++) pair_turn(&p);
    assert_string_equal(p.wire[0]->broken[1], "");
    assert_null(
        tutti_wire_tcp.put(p.wire[0], 1, address_of(p.memory[1]), p.memory[0], 8, true)); /* over: nobody needs it */
    assert_null(tutti_wire_tcp.put_word(p.wire[0], 1, address_of(p.memory[1]), 1));
    pair_close(&p);
}

/* Forced, where the kernel copies after all; and by itself, where it finds that out. */
static void sends_without_a_copy_are_over_when_the_kernel_says_so(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        pair p;
        setenv("TUTTI_NET_ZEROCOPY", on ? "on" : "auto", 1);
        open_and_connect(&p);
        for (uint64_t turn = 1; turn < 20; turn++) send_and_check(&p, 1, turn, (size_t)150000 * turn, turn);
        const tcp_connection *c = &p.tcp[1]->peers[0].connections[0];
        if (on)
            assert_true(c->next_pin >= 19);
        else
            assert_true(c->next_pin >= 1 && c->next_pin < 10 && c->pinning == TUTTI_TCP_PIN_NO);
        pair_close(&p);
    }
}

static void over_six_and_over_an_interface_that_was_asked_for(void **state)
{
    (void)state;
    pair p;
    setenv("TUTTI_NET_IF", "lo", 1);
    pair_open(&p);
    tcp_card *card = &p.tcp[0]->card;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < card->naddresses; i++)
        if (card->addresses[i].family == 6) card->addresses[kept++] = card->addresses[i];
    if (kept == 0) {
        pair_close(&p);
        print_message("no IPv6 here\n");
        skip();
    }
    card->naddresses = kept;
    assert_true(pair_connect(&p, 10));
    send_and_check(&p, 1, 0, 1 << 20, 1);
    assert_string_equal(tutti_wire_tcp.describe(p.wire[1]), "lo ::1");
    assert_string_equal(tutti_wire_tcp.describe(p.wire[0]), "lo ::1");
    pair_close(&p);
}

static void an_address_that_leads_nowhere_is_passed_over(void **state)
{
    (void)state;
    pair p;
    pair_open(&p);
    tcp_card *card = &p.tcp[0]->card;
    const tcp_address nowhere = {.family = 6, .prefix = 128, .bytes = {[15] = 2}},
                      right = {.family = 4, .prefix = 32, .bytes = {127, 0, 0, 1}};
    card->netns++; /* not ours: no short cut over loopback */
    card->naddresses = 2, card->addresses[0] = nowhere, card->addresses[1] = right;
    assert_true(pair_connect(&p, 10));
    assert_non_null(strstr(p.tcp[1]->peers[0].connections[0].why, "::2: "));
    send_and_check(&p, 0, 0, 4096, 1);
    pair_close(&p);
}

/* Somebody else has the port: the words say what was found there. */
static void a_stranger_at_the_port_is_no_rank(void **state)
{
    (void)state;
    pair p;
    proxy hangs_up; /* only its listener */
    const char *why = "";
    proxy_open(&hangs_up, 0);
    pair_open(&p);
    tcp_card zero = p.tcp[0]->card;
    tutti_failure err = {0};
    zero.port = (uint32_t)hangs_up.port;
    assert_int_equal(tutti_wire_tcp.connect(p.wire[1], 0, &zero, &err), TUTTI_OK);
    for (const double until = tutti_clock_s() + 5; tutti_clock_s() < until && !strstr(why, "hung up");) {
        if (is_there(hangs_up.listener, POLLIN)) close(accept(hangs_up.listener, NULL, NULL));
        tutti_wire_tcp.progress(p.wire[1]);
        assert_int_equal(tutti_wire_tcp.awaited(p.wire[1], &why), 0);
    }
    assert_non_null(strstr(why, "127.0.0.1: who listens there has hung up"));
    proxy_close(&hangs_up);
    pair_close(&p);
}

static void settings_that_mean_nothing_are_refused(void **state)
{
    static const struct {
        const char *name, *value, *words;
    } cases[] = {{"TUTTI_NET_IF", "nosuch0", "no such interface is up here with an address; there are: "},
                 {"TUTTI_NET_CONNECTIONS", "17", "TUTTI_NET_CONNECTIONS: 17 is outside 0 .. 16"},
                 {"TUTTI_NET_CONNECTIONS", "two", "'two' is not a whole number"},
                 {"TUTTI_NET_CHECKSUM", "maybe", "TUTTI_NET_CHECKSUM: 'maybe'"},
                 {"TUTTI_NET_ZEROCOPY", "always", "'always' is none of auto|off|on"},
                 {"TUTTI_NET_CONGESTION", "nosuch", "TUTTI_NET_CONGESTION='nosuch'"},
                 {"TUTTI_NET_PORTS", "70000", "'70000' is not a range of ports"},
                 {"TUTTI_NET_PORTS", "40010-40000", "'40010-40000' is not a range of ports"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tutti_wire *w = NULL;
        tutti_failure err = {0};
        setenv(cases[i].name, cases[i].value, 1);
        assert_int_equal(tutti_wire_tcp.open(0, 2, &w, &err), TUTTI_ERR_USAGE);
        if (!strstr(err.text, cases[i].words)) fail_msg("%s", err.text);
        unsetenv(cases[i].name);
    }
}

static void ports_are_those_that_were_asked_for(void **state)
{
    (void)state;
    pair p;
    setenv("TUTTI_NET_PORTS", "41310-41329", 1);
    pair_open(&p);
    for (int r = 0; r < 2; r++) assert_in_range(p.tcp[r]->card.port, 41310, 41329);
    assert_int_not_equal(p.tcp[0]->card.port, p.tcp[1]->card.port);
    assert_true(pair_connect(&p, 10));
    assert_int_equal(p.tcp[0]->listener.fd, -1); /* all have come: nobody else is let in */
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(there_is_no_room_behind_what_waits, forget_settings),
        cmocka_unit_test_setup(a_short_put_goes_with_its_word, forget_settings),
        cmocka_unit_test_setup(a_word_is_not_seen_before_what_was_put, forget_settings),
        cmocka_unit_test_setup(many_puts_on_their_way_keep_their_order, forget_settings),
        cmocka_unit_test_setup(reads_are_answered_after_the_puts_before_them, forget_settings),
        cmocka_unit_test_setup(what_is_not_enrolled_is_neither_read_nor_written, forget_settings),
        cmocka_unit_test_setup(bytes_for_memory_that_is_forgotten_are_thrown_away, forget_settings),
        cmocka_unit_test_setup(who_has_said_goodbye_is_not_broken, forget_settings),
        cmocka_unit_test_setup(sends_without_a_copy_are_over_when_the_kernel_says_so, forget_settings),
        cmocka_unit_test_setup(over_six_and_over_an_interface_that_was_asked_for, forget_settings),
        cmocka_unit_test_setup(an_address_that_leads_nowhere_is_passed_over, forget_settings),
        cmocka_unit_test_setup(a_stranger_at_the_port_is_no_rank, forget_settings),
        cmocka_unit_test_setup(settings_that_mean_nothing_are_refused, forget_settings),
        cmocka_unit_test_setup(ports_are_those_that_were_asked_for, forget_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
