/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_reply.c: answers of HTTP/1.1, whole and in pieces of every size, torn, too large, and wrong. src/cli
 * belongs to the program, not to the library, so the file itself is taken in. */
#include "testing.h"

#include <string.h>

#include "client/http_reply.c"

enum { MOST = 64 };

/* Reads a text of `total` bytes in pieces of n bytes and says that the connection has ended. */
static tutti_status read_in(const char *text, size_t total, size_t n, tutti_reply *out, tutti_failure *err)
{
    tutti_reply_begin(out, MOST);
    tutti_status st = TUTTI_OK;
    for (size_t at = 0; at < total && !st; at += n)
        st = tutti_reply_take(out, text + at, total - at < n ? total - at : n, err);
    return st ? st : tutti_reply_end(out, err);
}

/* The answer has this status and body, in whatever pieces it comes. */
static void expect_body(const char *text, int status, const char *body)
{
    for (size_t n = 1; n <= strlen(text); n++) {
        tutti_reply r;
        tutti_failure err = {0};
        if (read_in(text, strlen(text), n, &r, &err)) fail_msg("in pieces of %zu: %s\n%s", n, err.text, text);
        assert_int_equal(r.status, status);
        assert_string_equal(r.body.text ? r.body.text : "", body);
        tutti_reply_release(&r);
    }
}

static void expect_failure_of(const char *text, size_t total, tutti_status st, const char *words)
{
    for (size_t n = 1; n <= total; n += n < 20 ? 1 : total) {
        tutti_reply r;
        tutti_failure err = {0};
        assert_int_equal(read_in(text, total, n, &r, &err), st);
        if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
        tutti_reply_release(&r);
    }
}

static void expect_failure(const char *text, tutti_status st, const char *words)
{
    expect_failure_of(text, strlen(text), st, words);
}

static void a_body_of_known_length_is_read(void **state)
{
    (void)state;
    expect_body("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
    expect_body("HTTP/1.0 404 Not Found\ncontent-length:   2  \n\n{}", 404, "{}");
    expect_body("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "");
}

static void bytes_behind_the_answer_are_ignored(void **state)
{
    (void)state;
    expect_body("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n", 200, "ok");
}

static void a_chunked_body_is_put_together(void **state)
{
    (void)state;
    expect_body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab\r\n\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
                200, "ab\r\n0123456789");
    expect_body("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: x\r\n\r\n", 200, "a");
    expect_body("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n00\r\n\r\n", 200,
                "a");
}

static void without_a_length_the_body_ends_with_the_connection(void **state)
{
    (void)state;
    expect_body("HTTP/1.1 200 OK\r\n\r\nall of it", 200, "all of it");
    expect_body("HTTP/1.1 204 No Content\r\n\r\nnot a body", 204, "");
}

static void interim_answers_are_passed_over(void **state)
{
    (void)state;
    expect_body("HTTP/1.1 100 Continue\r\nContent-Length: 9\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
                201, "x");
}

static void the_next_byte_of_a_log_is_read(void **state)
{
    (void)state;
    static const char text[] = "HTTP/1.1 200 OK\r\nX-Tutti-Next: 9000000000\r\nContent-Length: 0\r\n\r\n";
    tutti_reply r;
    assert_int_equal(read_in(text, sizeof text - 1, 3, &r, NULL), TUTTI_OK);
    assert_int_equal(r.next, 9000000000);
    tutti_reply_release(&r);
    assert_int_equal(read_in("HTTP/1.1 200 OK\r\n\r\n", 19, 19, &r, NULL), TUTTI_OK);
    assert_int_equal(r.next, -1);
    tutti_reply_release(&r);
}

static void a_torn_answer_is_a_lost_peer(void **state)
{
    (void)state;
    static const char *const whole[] = {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"};
    for (int i = 0; i < 2; i++)
        for (size_t n = 0; n < strlen(whole[i]); n++) {
            tutti_reply r;
            tutti_failure err = {0};
            assert_int_equal(read_in(whole[i], n, 7, &r, &err), TUTTI_ERR_PEER);
            assert_non_null(strstr(err.text, "in the middle"));
            tutti_reply_release(&r);
        }
}

static void what_is_too_large_is_refused(void **state)
{
    (void)state;
    static const char to_the_end[] = "HTTP/1.1 200 OK\r\n\r\n";
    char text[200];
    expect_failure("HTTP/1.1 200 OK\r\nContent-Length: 65\r\n\r\n", TUTTI_ERR_FAILED, "64 bytes");
    expect_failure("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n", TUTTI_ERR_FAILED, "64 bytes");
    expect_failure("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n", TUTTI_ERR_FAILED, "no number");
    expect_failure("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n41\r\n", TUTTI_ERR_FAILED, "64 bytes");
    expect_failure("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n40\r\n", TUTTI_ERR_FAILED,
                   "64 bytes");
    expect_failure("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nffffffffffffffff\r\n",
                   TUTTI_ERR_FAILED, "64 bytes");
    expect_failure("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", TUTTI_ERR_FAILED,
                   "no number");
    memset(text, 'x', sizeof text);
    memcpy(text, to_the_end, sizeof to_the_end - 1);
    expect_failure_of(text, sizeof to_the_end - 1 + MOST + 1, TUTTI_ERR_FAILED, "64 bytes");
}

static void endless_headers_are_refused(void **state)
{
    (void)state;
    tutti_reply r;
    tutti_failure err = {0};
    tutti_status st = TUTTI_OK;
    int n = 0;
    tutti_reply_begin(&r, MOST);
    st = tutti_reply_take(&r, "HTTP/1.1 200 OK\r\n", 17, &err);
    for (; n < 100000 && !st; n++) st = tutti_reply_take(&r, "X: y\r\n", 6, &err);
    assert_int_equal(st, TUTTI_ERR_FAILED);
    assert_in_range(n, 10000, 11000); /* 64 KiB of 6 bytes */
    tutti_reply_release(&r);
}

/* A body of many small chunks has more bytes of sizes than headers may have. */
static void many_small_chunks_are_no_long_head(void **state)
{
    (void)state;
    enum { MANY = 60000 };
    tutti_reply r;
    tutti_failure err = {0};
    tutti_reply_begin(&r, MANY);
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_int_equal(tutti_reply_take(&r, head, sizeof head - 1, &err), TUTTI_OK);
    for (int i = 0; i < MANY; i++) assert_int_equal(tutti_reply_take(&r, "1\r\na\r\n", 6, &err), TUTTI_OK);
    assert_int_equal(tutti_reply_take(&r, "0\r\n\r\n", 5, &err), TUTTI_OK);
    assert_true(tutti_reply_is_done(&r));
    assert_int_equal(r.body.length, MANY);
    tutti_reply_release(&r);
}

static void what_is_no_http_is_refused(void **state)
{
    (void)state;
    static const char nul[] = "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n";
    expect_failure("SSH-2.0-OpenSSH_9.2\r\n", TUTTI_ERR_FAILED, "no job server");
    expect_failure("HTTP/2 200\r\n\r\n", TUTTI_ERR_FAILED, "no job server");
    expect_failure("HTTP/1.1 2x0 OK\r\n\r\n", TUTTI_ERR_FAILED, "no job server");
    expect_failure("HTTP/1.1 2000\r\n\r\n", TUTTI_ERR_FAILED, "no job server");
    expect_failure("HTTP/1.1 20\r\n\r\n", TUTTI_ERR_FAILED, "no job server");
    expect_failure("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", TUTTI_ERR_FAILED, "no colon");
    expect_failure("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", TUTTI_ERR_FAILED, "Content-Length");
    expect_failure("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", TUTTI_ERR_FAILED, "two");
    expect_failure("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", TUTTI_ERR_FAILED, "encoding");
    expect_failure("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", TUTTI_ERR_FAILED, "chunk");
    expect_failure("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", TUTTI_ERR_FAILED, "chunk");
    expect_failure("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", TUTTI_ERR_FAILED, "longer");
    expect_failure_of(nul, sizeof nul - 1, TUTTI_ERR_FAILED, "value 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_of_known_length_is_read),
        cmocka_unit_test(bytes_behind_the_answer_are_ignored),
        cmocka_unit_test(a_chunked_body_is_put_together),
        cmocka_unit_test(without_a_length_the_body_ends_with_the_connection),
        cmocka_unit_test(interim_answers_are_passed_over),
        cmocka_unit_test(the_next_byte_of_a_log_is_read),
        cmocka_unit_test(a_torn_answer_is_a_lost_peer),
        cmocka_unit_test(what_is_too_large_is_refused),
        cmocka_unit_test(endless_headers_are_refused),
        cmocka_unit_test(many_small_chunks_are_no_long_head),
        cmocka_unit_test(what_is_no_http_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
