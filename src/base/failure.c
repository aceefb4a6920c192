/* SPDX-License-Identifier: Apache-2.0 */
/* failure.c: writes the words of a failure, and names statuses. If a text is longer than the buffer, its middle is cut
 * out. Its beginning and its end are kept, because the reason stands at the end. */
#include "tutti/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WHOLE = 6000 /* bytes of the longest text: a path of the greatest length and some words */ };

static void put_text(tutti_failure *err, const char *whole)
{
    static const char gap[] = " ... ";
    const size_t n = strlen(whole), half = (sizeof err->text - sizeof gap) / 2;
    if (n < sizeof err->text)
        memcpy(err->text, whole, n + 1);
    else
        snprintf(err->text, sizeof err->text, "%.*s%s%s", (int)half, whole, gap, whole + n - half);
}

tutti_status tutti_fail(tutti_failure *err, tutti_status st, const char *format, ...)
{
    if (!err) return st;
    va_list args;
    char whole[WHOLE];
    va_start(args, format);
    err->status = st;
    vsnprintf(whole, sizeof whole, format, args);
    va_end(args);
    put_text(err, whole);
    return st;
}

tutti_status tutti_fail_at(tutti_failure *err, const char *where_format, ...)
{
    if (!err) return TUTTI_ERR_FAILED;
    char whole[WHOLE + sizeof err->text];
    va_list args;
    va_start(args, where_format);
    vsnprintf(whole, WHOLE, where_format, args);
    va_end(args);
    const size_t used = strlen(whole);
    snprintf(whole + used, sizeof whole - used, ": %s", err->text);
    put_text(err, whole);
    return err->status;
}

const char *tutti_status_name(tutti_status st)
{
    switch (st) {
    case TUTTI_OK: return "ok";
    case TUTTI_ERR_FAILED: return "failed";
    case TUTTI_ERR_USAGE: return "usage";
    case TUTTI_ERR_DATA: return "bad data";
    case TUTTI_ERR_PEER: return "peer lost";
    case TUTTI_ERR_RENDEZVOUS: return "rendezvous";
    }
    return "unknown";
}
