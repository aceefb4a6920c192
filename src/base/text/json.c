/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: writes JSON text into a strbuf, and reads one whole document by cJSON. */
#include "json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_character(tutti_strbuf *out, const char *bytes, size_t n)
{
    const unsigned char c = (unsigned char)bytes[0];
    if (c == '"' || c == '\\')
        tutti_strbuf_printf(out, "\\%c", c);
    else if (c < 0x20)
        tutti_strbuf_printf(out, "\\u%04x", c);
    else
        tutti_strbuf_add(out, bytes, n);
}

static void put_string(tutti_strbuf *out, const char *text)
{
    tutti_strbuf_puts(out, "\"");
    tutti_strbuf_add_utf8(out, text, put_character);
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

/* ---- reading ---- */

static bool has_nul(const char *text, size_t nbytes)
{
    const char *end = text + nbytes;
    if (memchr(text, '\0', nbytes)) return true;
    for (const char *at = text; (at = memchr(at, '\\', (size_t)(end - at)));) {
        if (end - at >= 6 && !memcmp(at, "\\u0000", 6)) return true;
        at += end - at > 1 ? 2 : 1;
    }
    return false;
}

struct cJSON *tutti_json_parse(const char *text, size_t nbytes)
{
    const char *end = NULL;
    cJSON *root = has_nul(text, nbytes) ? NULL : cJSON_ParseWithLengthOpts(text, nbytes, &end, false);
    bool good = root != NULL;
    for (; good && end < text + nbytes; end++) good = strchr(" \t\r\n", *end) != NULL;
    if (good) return root;
    cJSON_Delete(root);
    return NULL;
}

double tutti_json_number_of(const struct cJSON *object, const char *key, double otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

const char *tutti_json_text_of(const struct cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}
