/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.c: strings: text that grows; the capacity doubles, so n appends cost O(n). */
#include "strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../arena.h"

static void reserve(tutti_strbuf *sb, size_t extra)
{
    size_t need = sb->length + extra + 1;
    if (need <= sb->capacity) return;
    size_t capacity = sb->capacity ? sb->capacity : 64;
    while (capacity < need) capacity *= 2;
    sb->text = tutti_realloc(sb->text, capacity);
    sb->capacity = capacity;
}

void tutti_strbuf_add(tutti_strbuf *sb, const char *bytes, size_t n)
{
    reserve(sb, n);
    if (n) memcpy(sb->text + sb->length, bytes, n);
    sb->length += n;
    sb->text[sb->length] = '\0';
}

void tutti_strbuf_puts(tutti_strbuf *sb, const char *text)
{
    tutti_strbuf_add(sb, text, strlen(text));
}

void tutti_strbuf_printf(tutti_strbuf *sb, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tutti_strbuf_vprintf(sb, format, args);
    va_end(args);
}

void tutti_strbuf_vprintf(tutti_strbuf *sb, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n > 0) {
        reserve(sb, (size_t)n);
        vsnprintf(sb->text + sb->length, (size_t)n + 1, format, again);
        sb->length += (size_t)n;
    }
    va_end(again);
}

void tutti_strbuf_add_real(tutti_strbuf *sb, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.'; /* snprintf writes a decimal comma in some locales */
    tutti_strbuf_puts(sb, text);
}

/* Returns the bytes of the character at the beginning of the text: 1 to 4; 0: it is not valid UTF-8 (overlong, a half
 * of UTF-16, beyond the last code point). */
static size_t length_of_character(const unsigned char *c)
{
    if (c[0] < 0x80) return 1;
    const size_t n = c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++) /* this also stops at the end of the text, because '\0' is no continuation byte */
        if ((c[i] & 0xc0) != 0x80) return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f)) return 0;
    if ((c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f)) return 0;
    return n;
}

void tutti_strbuf_add_utf8(tutti_strbuf *sb, const char *text,
                           void (*put)(tutti_strbuf *sb, const char *bytes, size_t n))
{
    while (*text) {
        const size_t n = length_of_character((const unsigned char *)text);
        char shown[5];
        if (n)
            put(sb, text, n);
        else
            snprintf(shown, sizeof shown, "\\x%02x", (unsigned)(unsigned char)*text);
        for (size_t i = 0; !n && i < 4; i++) put(sb, shown + i, 1);
        text += n ? n : 1;
    }
}

bool tutti_text_is_utf8(const char *text)
{
    while (*text) {
        const size_t n = length_of_character((const unsigned char *)text);
        if (!n) return false;
        text += n;
    }
    return true;
}

char *tutti_strbuf_detach(tutti_strbuf *sb)
{
    reserve(sb, 0);
    sb->text[sb->length] = '\0';
    char *text = sb->text;
    *sb = (tutti_strbuf){0};
    return text;
}

void tutti_strbuf_release(tutti_strbuf *sb)
{
    free(sb->text);
    *sb = (tutti_strbuf){0};
}
