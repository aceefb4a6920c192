/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_call_threads.c: calls of HTTP against a server of one connection: what is sent, slow and silent servers,
 * servers that close at once, URLs. src/cli belongs to the program, so the files themselves are taken in. */
#include "testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>

#include "client/http_call.c"
#include "client/http_reply.c"
#include "client/port_owner.c"

enum { MOST = 4096 };

typedef struct {
    int listener;
    char url[64];
    const char *answer; /* NULL: it says nothing until the client goes */
    bool reads, byte_by_byte;
    tutti_strbuf heard;
    pthread_t thread;
} fake;

/* Reads a request up to the end of its body, whose last byte is '}' or the end of its headers. */
static void hear(fake *s, int fd)
{
    char byte;
    while (recv(fd, &byte, 1, 0) == 1) {
        tutti_strbuf_add(&s->heard, &byte, 1);
        const char *end = strstr(s->heard.text, "\r\n\r\n");
        if (end && (!strstr(s->heard.text, "Content-Length: 2\r\n") || end[4] == '{') && byte != '{') return;
    }
}

static void *serve(void *arg)
{
    fake *s = arg;
    const int fd = accept(s->listener, NULL, NULL);
    if (s->reads) hear(s, fd);
    const size_t n = s->answer ? strlen(s->answer) : 0;
    for (size_t at = 0; at < n; at += s->byte_by_byte ? 1 : n) {
        if (s->byte_by_byte) tutti_clock_sleep_s(0.001);
        if (send(fd, s->answer + at, s->byte_by_byte ? 1 : n, MSG_NOSIGNAL) < 0) break;
    }
    char byte;
    if (!s->answer)
        while (recv(fd, &byte, 1, 0) == 1) continue;
    close(fd);
    return NULL;
}

static void begin(fake *s)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&a, size), 0);
    assert_int_equal(listen(s->listener, 1), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&a, &size), 0);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", ntohs(a.sin_port));
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void end(fake *s)
{
    pthread_join(s->thread, NULL);
    close(s->listener);
    tutti_strbuf_release(&s->heard);
}

static tutti_http_call call_to(const fake *s)
{
    return (tutti_http_call){
        .url = s->url, .token = "t0", .method = "GET", .path = "/p?q=1", .max_reply = MOST, .deadline_s = 20};
}

static void the_request_is_sent_and_the_answer_read(void **state)
{
    (void)state;
    fake s = {.answer = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", .reads = true, .byte_by_byte = true};
    tutti_reply r;
    tutti_failure err = {0};
    bool was_sent = false;
    begin(&s);
    tutti_http_call call = call_to(&s);
    call.method = "POST", call.body = "{}", call.key = "k1";
    assert_int_equal(tutti_http_call_make(&call, &r, &was_sent, &err), TUTTI_OK);
    assert_true(was_sent);
    assert_int_equal(r.status, 201);
    assert_string_equal(r.body.text, "ok");
    tutti_reply_release(&r);
    pthread_join(s.thread, NULL);
    assert_ptr_equal(strstr(s.heard.text, "POST /p?q=1 HTTP/1.1\r\n"), s.heard.text);
    assert_non_null(strstr(s.heard.text, "\r\nAuthorization: Bearer t0\r\n"));
    assert_non_null(strstr(s.heard.text, "\r\nIdempotency-Key: k1\r\n"));
    assert_non_null(strstr(s.heard.text, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(s.heard.text, "\r\nHost: 127.0.0.1:"));
    close(s.listener);
    tutti_strbuf_release(&s.heard);
}

static void a_silent_server_holds_nobody_beyond_the_deadline(void **state)
{
    (void)state;
    fake s = {.reads = true};
    tutti_reply r;
    tutti_failure err = {0};
    bool was_sent = false;
    begin(&s);
    tutti_http_call call = call_to(&s);
    call.deadline_s = 0.2;
    const double began = tutti_clock_s();
    assert_int_equal(tutti_http_call_make(&call, &r, &was_sent, &err), TUTTI_ERR_PEER);
    assert_in_range(1000 * (tutti_clock_s() - began), 200, 10000);
    assert_non_null(strstr(err.text, "deadline"));
    assert_true(was_sent);
    end(&s);
}

/* Each byte comes in time, and all of them do not: the deadline is of the whole call. */
static void a_server_that_drips_is_held_to_the_deadline(void **state)
{
    (void)state;
    char answer[MOST];
    fake s = {.answer = answer, .reads = true, .byte_by_byte = true};
    tutti_reply r;
    tutti_failure err = {0};
    bool was_sent;
    memset(answer, 'x', sizeof answer - 1);
    answer[sizeof answer - 1] = 0;
    memcpy(answer, "HTTP/1.1 200 OK\r\n\r\n", 19);
    begin(&s);
    tutti_http_call call = call_to(&s);
    call.deadline_s = 0.3;
    assert_int_equal(tutti_http_call_make(&call, &r, &was_sent, &err), TUTTI_ERR_PEER);
    assert_non_null(strstr(err.text, "deadline"));
    end(&s);
}

static void a_torn_answer_is_said(void **state)
{
    (void)state;
    fake s = {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .reads = true};
    tutti_reply r;
    tutti_failure err = {0};
    bool was_sent;
    begin(&s);
    const tutti_http_call call = call_to(&s);
    assert_int_equal(tutti_http_call_make(&call, &r, &was_sent, &err), TUTTI_ERR_PEER);
    assert_non_null(strstr(err.text, "in the middle"));
    end(&s);
}

/* A server that refuses a long body answers and closes before it has read all; the answer counts, if it arrived. */
static void a_refusal_before_the_body_was_read_does_not_hang(void **state)
{
    (void)state;
    enum { LONG = 8 << 20 };
    fake s = {.answer = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"};
    tutti_reply r;
    tutti_failure err = {0};
    bool was_sent;
    char *body = malloc(LONG);
    memset(body, ' ', LONG - 1);
    body[LONG - 1] = 0;
    begin(&s);
    tutti_http_call call = call_to(&s);
    call.method = "POST", call.body = body;
    const tutti_status st = tutti_http_call_make(&call, &r, &was_sent, &err);
    if (!st) assert_int_equal(r.status, 413);
    if (!st) tutti_reply_release(&r);
    if (st) assert_int_equal(st, TUTTI_ERR_PEER); /* the kernel may drop the answer with the rest of the body */
    free(body);
    end(&s);
}

static void a_port_without_a_server_was_not_sent_to(void **state)
{
    (void)state;
    fake s = {.answer = ""};
    tutti_reply r;
    tutti_failure err = {0};
    bool was_sent = true;
    begin(&s);
    const tutti_http_call call = call_to(&s);
    (void)tutti_http_call_make(&call, &r, &was_sent, NULL); /* ends the thread */
    end(&s);
    assert_int_equal(tutti_http_call_make(&call, &r, &was_sent, &err), TUTTI_ERR_PEER);
    assert_false(was_sent);
    assert_non_null(strstr(err.text, "refused"));
}

static void urls_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"127.0.0.1:80", "https://a",        "http://",     "http://a/b",
                                      "http://a:0",   "http://a:99999",   "ftp://a",     "http://a b",
                                      "http://a@b",   "http://1.2.3.4.5", "http://[::1", "http://a:1\r\nX: y"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tutti_reply r;
        tutti_failure err = {0};
        bool was_sent;
        const tutti_http_call call = {
            .url = bad[i], .token = "t", .method = "GET", .path = "/", .max_reply = MOST, .deadline_s = 1};
        if (tutti_http_call_make(&call, &r, &was_sent, &err) != TUTTI_ERR_USAGE)
            fail_msg("'%s' is taken: %s", bad[i], err.text);
        assert_false(was_sent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_request_is_sent_and_the_answer_read),
        cmocka_unit_test(a_silent_server_holds_nobody_beyond_the_deadline),
        cmocka_unit_test(a_server_that_drips_is_held_to_the_deadline),
        cmocka_unit_test(a_torn_answer_is_said),
        cmocka_unit_test(a_refusal_before_the_body_was_read_does_not_hang),
        cmocka_unit_test(a_port_without_a_server_was_not_sent_to),
        cmocka_unit_test(urls_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
