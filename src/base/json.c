/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: writes JSON text into a strbuf. Reading is cJSON's. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void put_string(tutti_strbuf *out, const char *text)
{
    tutti_strbuf_puts(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            tutti_strbuf_printf(out, "\\%c", *c);
        else if (*c < 0x20)
            tutti_strbuf_printf(out, "\\u%04x", *c);
        else
            tutti_strbuf_add(out, (const char *)c, 1);
    }
    tutti_strbuf_puts(out, "\"");
}

static void begin_value(tutti_json *j, const char *key)
{
    if (j->need_comma) tutti_strbuf_puts(j->out, ",");
    j->need_comma = true;
    if (!key) return;
    put_string(j->out, key);
    tutti_strbuf_puts(j->out, ":");
}

void tutti_json_open(tutti_json *j, const char *key, char bracket)
{
    begin_value(j, key);
    tutti_strbuf_add(j->out, &bracket, 1);
    j->need_comma = false;
}

void tutti_json_close(tutti_json *j, char bracket)
{
    tutti_strbuf_add(j->out, &bracket, 1);
    j->need_comma = true;
}

void tutti_json_text(tutti_json *j, const char *key, const char *value)
{
    begin_value(j, key);
    if (value)
        put_string(j->out, value);
    else
        tutti_strbuf_puts(j->out, "null");
}

void tutti_json_int(tutti_json *j, const char *key, int64_t value)
{
    begin_value(j, key);
    tutti_strbuf_printf(j->out, "%lld", (long long)value);
}

void tutti_json_real(tutti_json *j, const char *key, double value)
{
    begin_value(j, key);
    if (!isfinite(value)) {
        tutti_strbuf_puts(j->out, "null");
        return;
    }
    tutti_strbuf_add_real(j->out, value);
}

void tutti_json_bool(tutti_json *j, const char *key, bool value)
{
    begin_value(j, key);
    tutti_strbuf_puts(j->out, value ? "true" : "false");
}
