/* SPDX-License-Identifier: Apache-2.0 */
/* test_visits_order.c: the file of an order of visits: what is written is read, what is cut or means nothing is refused
 * by name. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "training/run/visit/board/visits_order.h"

static void what_is_written_is_read(void **state)
{
    (void)state;
    char dir[] = "/tmp/tutti-order-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/order.json", dir);
    int32_t shares[] = {0, 2, 1, 1, 0, 2}, visits[] = {2, 0, 1};
    int64_t stops[] = {4, 5, 900};
    const tutti_visits_order want = {3, 0xfedcba9876543210, 12, 6, 3, 3, shares, visits, stops, -1};
    tutti_visits_order have;
    tutti_failure err = {0};
    assert_int_equal(tutti_visits_order_write(path, &want, &err), TUTTI_OK);
    if (tutti_visits_order_read(path, &have, &err)) fail_msg("%s", err.text);
    assert_true(have.nranks == 3 && have.plan_hash == want.plan_hash && have.first_share == 12);
    assert_true(have.nshares == 6 && have.nvisits == 3 && have.nstops == 3 && have.lost == -1);
    assert_memory_equal(have.shares, shares, sizeof shares);
    assert_memory_equal(have.visits, visits, sizeof visits);
    assert_memory_equal(have.stops, stops, sizeof stops);
    tutti_visits_order_release(&have);

    char *text;
    size_t n;
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_DATA, &text, &n, NULL), TUTTI_OK);
    for (size_t cut = 0; cut + 2 < n; cut++) { /* the last bytes are a bracket and a line's end */
        assert_int_equal(tutti_visits_order_parse("cut", text, cut, &have, &err), TUTTI_ERR_DATA);
        tutti_visits_order_release(&have);
    }
    free(text);
    assert_int_equal(tutti_file_remove_tree(dir, NULL), TUTTI_OK);
}

static void a_rank_that_was_lost_is_named(void **state)
{
    (void)state;
    char path[] = "/tmp/tutti-order-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    int32_t none[1] = {0};
    int64_t stops[] = {4};
    const tutti_visits_order want = {3, 1, 0, 0, 0, 1, none, none, stops, 2};
    tutti_visits_order have;
    assert_int_equal(tutti_visits_order_write(path, &want, NULL), TUTTI_OK);
    assert_int_equal(tutti_visits_order_read(path, &have, NULL), TUTTI_OK);
    assert_int_equal(have.lost, 2);
    tutti_visits_order_release(&have);
    unlink(path);
}

#define HASH "0123456789abcdef"
#define ORDER(ranks, plan, shares, stops)                                                                              \
    "{\"ranks\": " ranks ", \"plan\": \"" plan "\", \"first_share\": 0, \"shares\": " shares                           \
    ", \"visits\": [1], \"stops\": " stops "}"

static void what_means_nothing_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wrong;
    } cases[] = {
        {"", "JSON"},
        {"[]", "ranks"},
        {ORDER("0", HASH, "[]", "[]"), "ranks"},
        {ORDER("-1", HASH, "[]", "[]"), "ranks"},
        {ORDER("1e99", HASH, "[]", "[]"), "ranks"},
        {ORDER("2", "12", "[]", "[]"), "plan"},
        {ORDER("2", "0123456789abcdeg", "[]", "[]"), "plan"},
        {ORDER("2", HASH, "[2]", "[]"), "shares"},
        {ORDER("2", HASH, "[0.5]", "[]"), "shares"},
        {ORDER("2", HASH, "[\"0\"]", "[]"), "shares"},
        {ORDER("2", HASH, "{}", "[]"), "shares"},
        {ORDER("1", HASH, "[0]", "[]"), "visits"},
        {ORDER("2", HASH, "[0]", "[3, 3]"), "stops"},
        {ORDER("2", HASH, "[0]", "[3, -1]"), "stops"},
        {ORDER("2", HASH, "[0]", "7"), "stops"},
        {ORDER("2", HASH, "[0]", "[3], \"lost\": 2"), "lost"},
        {ORDER("2", HASH, "[0]", "[3], \"lost\": \"1\""), "lost"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_visits_order o;
        tutti_failure err = {0};
        char words[40];
        snprintf(words, sizeof words, "its %s is", cases[i].wrong);
        assert_int_equal(tutti_visits_order_parse("x", cases[i].text, strlen(cases[i].text), &o, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, words)) fail_msg("%s: %s", cases[i].text, err.text);
        tutti_visits_order_release(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_rank_that_was_lost_is_named),
        cmocka_unit_test(what_means_nothing_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
