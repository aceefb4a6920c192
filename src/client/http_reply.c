/* SPDX-License-Identifier: Apache-2.0 */
/* http_reply.c: reads an answer of HTTP/1.1 as a machine of states, line by line and body by body. */
#include "http_reply.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_HEAD = 64 << 10 }; /* bytes of the status line, headers, sizes of chunks and trailers together */

void tutti_reply_begin(tutti_reply *r, size_t max_body)
{
    *r = (tutti_reply){.max_body = max_body, .next = -1};
}

void tutti_reply_release(tutti_reply *r)
{
    tutti_strbuf_release(&r->body);
    tutti_strbuf_release(&r->line);
}

bool tutti_reply_is_done(const tutti_reply *r)
{
    return r->part == TUTTI_REPLY_DONE;
}

static tutti_status refuse(tutti_failure *err, const char *what)
{
    return tutti_fail(err, TUTTI_ERR_FAILED, "what answers there is no job server: %s", what);
}

static tutti_status refuse_size(const tutti_reply *r, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_FAILED, "the answer has more than the %zu bytes that are allowed", r->max_body);
}

/* Reads digits of the base, all of the text up to blanks or `end`. False: there are none, or too many. */
static bool read_number(const char *text, unsigned base, char end, uint64_t *out)
{
    uint64_t value = 0;
    int n = 0;
    while (*text == ' ' || *text == '\t') text++;
    for (; isxdigit((unsigned char)*text); text++, n++) {
        const unsigned digit = *text <= '9' ? (unsigned)(*text - '0') : (unsigned)((*text | 32) - 'a' + 10);
        if (digit >= base || value > (UINT64_MAX - digit) / base) return false;
        value = value * base + digit;
    }
    while (*text == ' ' || *text == '\t') text++;
    *out = value;
    return n > 0 && (!*text || *text == end);
}

/* "HTTP/1.1 200 OK" */
static tutti_status read_status(tutti_reply *r, const char *line, tutti_failure *err)
{
    const bool is_http = !strncmp(line, "HTTP/1.", 7) && isdigit((unsigned char)line[7]) && line[8] == ' ';
    for (int i = 9; is_http && i < 12; i++)
        if (!isdigit((unsigned char)line[i])) return refuse(err, "its first line has no status");
    if (!is_http || (line[12] && line[12] != ' ')) return refuse(err, "its first line is not one of HTTP/1.1");
    r->status = 100 * (line[9] - '0') + 10 * (line[10] - '0') + line[11] - '0';
    r->part = TUTTI_REPLY_HEADER;
    return TUTTI_OK;
}

/* Returns the value if the line is the header `name`, else NULL. */
static const char *value_of(const char *line, const char *name)
{
    const size_t n = strlen(name);
    if (strncasecmp(line, name, n) || line[n] != ':') return NULL;
    for (line += n + 1; *line == ' ' || *line == '\t';) line++;
    return line;
}

static tutti_status read_header(tutti_reply *r, const char *line, tutti_failure *err)
{
    const char *length = value_of(line, "Content-Length"), *coding = value_of(line, "Transfer-Encoding"),
               *next = value_of(line, "X-Tutti-Next");
    uint64_t number;
    if (!strchr(line, ':')) return refuse(err, "a header has no colon");
    if (coding && strcasecmp(coding, "chunked")) return refuse(err, "its transfer encoding is not 'chunked'");
    if (coding) r->chunked = true;
    if (length) {
        if (!read_number(length, 10, 0, &number) || (r->has_length && number != r->left))
            return refuse(err, "its Content-Length is no number, or there are two");
        r->has_length = true;
        r->left = number;
    }
    if (next) {
        if (!read_number(next, 10, 0, &number) || number > INT64_MAX)
            return refuse(err, "its X-Tutti-Next is no number");
        r->next = (int64_t)number;
    }
    return TUTTI_OK;
}

/* The empty line behind the headers decides how the body comes. */
static tutti_status end_headers(tutti_reply *r, tutti_failure *err)
{
    if (r->status < 200) { /* an interim answer; the real one follows */
        r->part = TUTTI_REPLY_STATUS;
        r->chunked = r->has_length = false;
        return TUTTI_OK;
    }
    const bool is_empty = r->status == 204 || r->status == 304;
    if (is_empty)
        r->part = TUTTI_REPLY_DONE;
    else if (r->chunked)
        r->part = TUTTI_REPLY_SIZE;
    else if (r->has_length)
        r->part = r->left ? TUTTI_REPLY_BODY : TUTTI_REPLY_DONE;
    else
        r->part = TUTTI_REPLY_TO_THE_END;
    return r->part == TUTTI_REPLY_BODY && r->left > r->max_body ? refuse_size(r, err) : TUTTI_OK;
}

static tutti_status read_size(tutti_reply *r, const char *line, tutti_failure *err)
{
    if (!read_number(line, 16, ';', &r->left)) return refuse(err, "the size of a chunk is no number");
    if (r->left > r->max_body - r->body.length) return refuse_size(r, err);
    r->head_bytes = 0; /* a body of many small chunks is bounded by max_body */
    r->part = r->left ? TUTTI_REPLY_CHUNK : TUTTI_REPLY_TRAILER;
    return TUTTI_OK;
}

static tutti_status read_line(tutti_reply *r, const char *line, tutti_failure *err)
{
    switch (r->part) {
    case TUTTI_REPLY_STATUS: return read_status(r, line, err);
    case TUTTI_REPLY_HEADER: return *line ? read_header(r, line, err) : end_headers(r, err);
    case TUTTI_REPLY_SIZE: return read_size(r, line, err);
    case TUTTI_REPLY_CHUNK_END:
        r->part = TUTTI_REPLY_SIZE;
        return *line ? refuse(err, "a chunk is longer than its size says") : TUTTI_OK;
    case TUTTI_REPLY_TRAILER:
        if (!*line) r->part = TUTTI_REPLY_DONE;
        return TUTTI_OK;
    default: return TUTTI_OK;
    }
}

/* Takes bytes up to the end of a line, and reads the line once it is whole. Returns how many bytes it took. */
static size_t take_line(tutti_reply *r, const char *bytes, size_t n, tutti_status *st, tutti_failure *err)
{
    const char *end = memchr(bytes, '\n', n);
    const size_t taken = end ? (size_t)(end - bytes) + 1 : n;
    r->head_bytes += taken;
    if (r->head_bytes > MOST_HEAD) {
        *st = tutti_fail(err, TUTTI_ERR_FAILED, "the answer's headers have more than %d bytes", MOST_HEAD);
        return taken;
    }
    tutti_strbuf_add(&r->line, bytes, end ? taken - 1 : taken);
    if (!end) return taken;
    if (memchr(r->line.text, 0, r->line.length)) {
        *st = refuse(err, "a line has a byte of value 0");
        return taken;
    }
    if (r->line.length && r->line.text[r->line.length - 1] == '\r') r->line.text[--r->line.length] = 0;
    char *line = tutti_strbuf_detach(&r->line);
    *st = read_line(r, line, err);
    free(line);
    return taken;
}

/* Takes bytes of the body. Returns how many it took. */
static size_t take_body(tutti_reply *r, const char *bytes, size_t n, tutti_status *st, tutti_failure *err)
{
    const bool to_the_end = r->part == TUTTI_REPLY_TO_THE_END;
    const size_t taken = to_the_end || n < r->left ? n : (size_t)r->left;
    if (taken > r->max_body - r->body.length) {
        *st = refuse_size(r, err);
        return taken;
    }
    tutti_strbuf_add(&r->body, bytes, taken);
    if (to_the_end) return taken;
    r->left -= taken;
    if (!r->left) r->part = r->part == TUTTI_REPLY_CHUNK ? TUTTI_REPLY_CHUNK_END : TUTTI_REPLY_DONE;
    return taken;
}

tutti_status tutti_reply_take(tutti_reply *r, const char *bytes, size_t n, tutti_failure *err)
{
    tutti_status st = TUTTI_OK;
    while (n && !st && r->part != TUTTI_REPLY_DONE) {
        const bool is_body =
            r->part == TUTTI_REPLY_CHUNK || r->part == TUTTI_REPLY_BODY || r->part == TUTTI_REPLY_TO_THE_END;
        const size_t taken = is_body ? take_body(r, bytes, n, &st, err) : take_line(r, bytes, n, &st, err);
        bytes += taken;
        n -= taken;
    }
    return st;
}

tutti_status tutti_reply_end(tutti_reply *r, tutti_failure *err)
{
    if (r->part == TUTTI_REPLY_TO_THE_END) r->part = TUTTI_REPLY_DONE;
    if (r->part == TUTTI_REPLY_DONE) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_PEER, "the connection ended in the middle of the server's answer");
}
