/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c: finds the route of a path, reads what is asked for behind it, and makes answers that refuse. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text/json.h"
#include "http_impl.h"

/* Reads the digits of a number above 0; returns how many there are, 0 = it is no such number. */
static size_t read_id(const char *text, int64_t *id)
{
    const size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 18 || *text == '0') return 0;
    *id = strtoll(text, NULL, 10);
    return n;
}

static bool fits(const char *pattern, const char *path, int64_t *id)
{
    while (*pattern) {
        if (!strncmp(pattern, "{id}", 4)) {
            const size_t n = read_id(path, id);
            if (!n) return false;
            pattern += 4;
            path += n;
        } else if (!strncmp(pattern, "{file}", 6)) {
            pattern += 6;
            path += strcspn(path, "/");
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return !*path;
}

int tutti_http_match(const tutti_http_options *o, const char *method, const char *path, int64_t *id)
{
    const char *wanted = strcmp(method, "HEAD") ? method : "GET";
    int found = -1;
    for (int i = 0; i < o->nroutes; i++) {
        if (!fits(o->routes[i].path, path, id)) continue;
        if (!strcmp(o->routes[i].method, wanted)) return i;
        found = -2;
    }
    return found;
}

const char *tutti_http_query(const tutti_http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *tutti_http_header(const tutti_http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

bool tutti_http_query_int(const tutti_http_request *r, const char *name, int64_t lo, int64_t hi, int64_t *out)
{
    const char *text = tutti_http_query(r, name);
    if (!text) return true;
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || strchr(" \t\n\r\v\f", *text) || value < lo || value > hi) return false;
    *out = value;
    return true;
}

void tutti_http_refuse(tutti_http_answer *a, int code, const char *word, const char *hint, const char *format, ...)
{
    char message[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    tutti_strbuf_release(&a->body);
    *a = (tutti_http_answer){.code = code};
    tutti_json j = {.out = &a->body};
    tutti_json_open(&j, NULL, '{');
    tutti_json_open(&j, "error", '{');
    tutti_json_text(&j, "code", word);
    tutti_json_text(&j, "message", message);
    if (hint) tutti_json_text(&j, "hint", hint);
    tutti_json_close(&j, '}');
    tutti_json_close(&j, '}');
}
