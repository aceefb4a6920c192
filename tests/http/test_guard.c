/* SPDX-License-Identifier: Apache-2.0 */
/* test_guard.c: who may ask the server: tokens, sessions, names in Host and Origin; and which route a path has. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "http/guard.h"
#include "http/http_impl.h"

static tutti_guard guard(void)
{
    return (tutti_guard){
        .operate = "operate-operate-operate-operate-", .read = "read-read-read-read-read-read-rd", .port = 7117};
}

static void tokens_have_roles(void **state)
{
    (void)state;
    tutti_guard g = guard();
    assert_int_equal(tutti_guard_role(&g, "Bearer operate-operate-operate-operate-", NULL), TUTTI_ROLE_OPERATE);
    assert_int_equal(tutti_guard_role(&g, "bearer read-read-read-read-read-read-rd", NULL), TUTTI_ROLE_READ);
    const char *const wrong[] = {"Bearer ",
                                 "Bearer operate-operate-operate-operate",
                                 "Bearer operate-operate-operate-operate-x",
                                 "Bearer operate-operate-operate-operate-operate-operate-operate-operate-",
                                 "operate-operate-operate-operate-",
                                 "Basic operate-operate-operate-operate-",
                                 ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tutti_guard_role(&g, wrong[i], NULL), TUTTI_ROLE_NONE);
    assert_int_equal(tutti_guard_role(&g, NULL, NULL), TUTTI_ROLE_NONE);
    g.read[0] = '\0'; /* an empty token is nobody's */
    assert_int_equal(tutti_guard_role(&g, "Bearer ", NULL), TUTTI_ROLE_NONE);
}

static void sessions_have_the_role_of_their_token_until_they_end(void **state)
{
    (void)state;
    tutti_guard g = guard();
    char id[TUTTI_GUARD_SESSION], other[TUTTI_GUARD_SESSION], cookie[200];
    assert_false(tutti_guard_begin(&g, "wrong", id));
    assert_true(tutti_guard_begin(&g, g.read, id) && tutti_guard_begin(&g, g.operate, other));
    assert_int_equal(strlen(id), 64);
    assert_string_not_equal(id, other);
    snprintf(cookie, sizeof cookie, "a=b; tutti_session=%s; c=d", id);
    assert_int_equal(tutti_guard_role(&g, NULL, cookie), TUTTI_ROLE_READ);
    assert_int_equal(tutti_guard_role(&g, "Bearer wrong", cookie), TUTTI_ROLE_NONE);
    snprintf(cookie, sizeof cookie, "xtutti_session=%s", id);
    assert_int_equal(tutti_guard_role(&g, NULL, cookie), TUTTI_ROLE_NONE);
    assert_int_equal(tutti_guard_role(&g, NULL, "tutti_session="), TUTTI_ROLE_NONE);
    snprintf(cookie, sizeof cookie, "tutti_session=%s", id);
    tutti_guard_end(&g, cookie);
    assert_int_equal(tutti_guard_role(&g, NULL, cookie), TUTTI_ROLE_NONE);
    snprintf(cookie, sizeof cookie, "tutti_session=%s", other);
    assert_int_equal(tutti_guard_role(&g, NULL, cookie), TUTTI_ROLE_OPERATE);
    for (int i = 0; i < TUTTI_GUARD_SESSIONS; i++) assert_true(tutti_guard_begin(&g, g.read, id));
    assert_int_equal(tutti_guard_role(&g, NULL, cookie), TUTTI_ROLE_NONE); /* the oldest have given way */
}

static void only_names_of_this_server_are_hosts(void **state)
{
    (void)state;
    tutti_guard g = guard();
    const char *const good[] = {"127.0.0.1:7117", "localhost:7117", "LocalHost:7117", "[::1]:7117"};
    const char *const bad[] = {"127.0.0.1",       "127.0.0.1:7118",      "127.0.0.1:",          "127.0.0.1:7117x",
                               "127.0.0.1: 7117", "127.0.0.1:+7117",     "evil.example:7117",   "localhost.evil:7117",
                               "[::1]",           "[::1:7117",           "127.0.0.1.evil:7117", "",
                               "10.0.0.1:7117",   "localhost:7117:7117", "proxy.example"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(tutti_guard_knows_host(&g, good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (tutti_guard_knows_host(&g, bad[i])) fail_msg("'%s' is known", bad[i]);
    assert_false(tutti_guard_knows_host(&g, NULL));
    snprintf(g.address, sizeof g.address, "10.0.0.1");
    assert_true(tutti_guard_knows_host(&g, "10.0.0.1:7117"));
    snprintf(g.address, sizeof g.address, "fd00::1");
    assert_true(tutti_guard_knows_host(&g, "[fd00::1]:7117"));
    assert_false(tutti_guard_knows_host(&g, "[fd00::2]:7117"));
    g.name = "proxy.example";
    assert_true(tutti_guard_knows_host(&g, "proxy.example"));
    g.port = 80;
    assert_true(tutti_guard_knows_host(&g, "127.0.0.1"));
}

static void only_the_own_page_is_an_origin(void **state)
{
    (void)state;
    tutti_guard g = guard();
    assert_true(tutti_guard_knows_origin(&g, NULL));
    assert_true(tutti_guard_knows_origin(&g, "http://localhost:7117"));
    const char *const bad[] = {"null",   "", "http://evil.example", "http://localhost:7118", "https://localhost:7117",
                               "file://"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(tutti_guard_knows_origin(&g, bad[i]));
    g.name = "proxy.example";
    assert_true(tutti_guard_knows_origin(&g, "https://proxy.example"));
    assert_false(tutti_guard_knows_origin(&g, "https://proxy.example.evil"));
}

static void paths_have_routes(void **state)
{
    (void)state;
    const tutti_http_route routes[] = {{.method = "GET", .path = "/jobs"},
                                       {.method = "POST", .path = "/jobs"},
                                       {.method = "GET", .path = "/jobs/{id}"},
                                       {.method = "POST", .path = "/jobs/{id}/stop"},
                                       {.method = "GET", .path = "/{file}"}};
    const tutti_http_options o = {.routes = routes, .nroutes = 5};
    const struct {
        const char *method, *path;
        int route;
        int64_t id;
    } cases[] = {{"GET", "/jobs", 0, 0},
                 {"HEAD", "/jobs", 0, 0},
                 {"POST", "/jobs", 1, 0},
                 {"GET", "/jobs/12", 2, 12},
                 {"GET", "/jobs/999999999999999999", 2, 999999999999999999},
                 {"POST", "/jobs/7/stop", 3, 7},
                 {"GET", "/", 4, 0},
                 {"GET", "/app.js", 4, 0},
                 {"DELETE", "/jobs/7", -2, 7},
                 {"GET", "/jobs/", -1, 0},
                 {"GET", "/jobs/0", -1, 0},
                 {"GET", "/jobs/012", -1, 0},
                 {"GET", "/jobs/-1", -1, 0},
                 {"GET", "/jobs/9999999999999999999", -1, 0},
                 {"GET", "/jobs/7x", -1, 0},
                 {"GET", "/jobs/7/stopped", -1, 0},
                 {"GET", "/a/b", -1, 0},
                 {"GET", "", -1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t id = 0;
        const int route = tutti_http_match(&o, cases[i].method, cases[i].path, &id);
        if (route != cases[i].route) fail_msg("%s %s: route %d", cases[i].method, cases[i].path, route);
        if (cases[i].id) assert_int_equal(id, cases[i].id);
    }
}

static void a_refusal_is_an_error_in_json(void **state)
{
    (void)state;
    tutti_http_answer a = {.code = 200};
    tutti_strbuf_puts(&a.body, "half an answer");
    tutti_http_refuse(&a, 409, "word", NULL, "it says \"%s\"", "no");
    assert_int_equal(a.code, 409);
    assert_string_equal(a.body.text, "{\"error\":{\"code\":\"word\",\"message\":\"it says \\\"no\\\"\"}}");
    tutti_strbuf_release(&a.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_have_roles),
        cmocka_unit_test(sessions_have_the_role_of_their_token_until_they_end),
        cmocka_unit_test(only_names_of_this_server_are_hosts),
        cmocka_unit_test(only_the_own_page_is_an_origin),
        cmocka_unit_test(paths_have_routes),
        cmocka_unit_test(a_refusal_is_an_error_in_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
