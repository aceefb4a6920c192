/* SPDX-License-Identifier: Apache-2.0 */
/* failure.c: formats failure texts. Texts longer than the buffer are cut at the end, never overrun. */
#include "tutti/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tutti_status tutti_fail(tutti_failure *err, tutti_status status, const char *format, ...)
{
    if (!err) return status;
    va_list args;
    va_start(args, format);
    err->status = status;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return status;
}

tutti_status tutti_fail_at(tutti_failure *err, const char *where_format, ...)
{
    if (!err) return TUTTI_ERR_FAILED;
    char old[sizeof err->text];
    memcpy(old, err->text, sizeof old);
    va_list args;
    va_start(args, where_format);
    int n = vsnprintf(err->text, sizeof err->text, where_format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof err->text) snprintf(err->text + used, sizeof err->text - used, ": %s", old);
    return err->status;
}

const char *tutti_status_name(tutti_status status)
{
    switch (status) {
    case TUTTI_OK: return "ok";
    case TUTTI_ERR_FAILED: return "failed";
    case TUTTI_ERR_USAGE: return "usage";
    case TUTTI_ERR_DATA: return "bad data";
    case TUTTI_ERR_PEER: return "peer lost";
    case TUTTI_ERR_RENDEZVOUS: return "rendezvous";
    }
    return "unknown";
}
