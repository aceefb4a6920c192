/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.h: text that grows. `text` is never NULL after the first append and always ends in '\0'. Threads: one at a
 * time. */
#ifndef TUTTI_BASE_STRBUF_H
#define TUTTI_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tutti_strbuf {
    char *text;
    size_t length, capacity;
} tutti_strbuf; /* begin with all bytes zero */

void tutti_strbuf_add(tutti_strbuf *sb, const char *bytes, size_t n);
void tutti_strbuf_puts(tutti_strbuf *sb, const char *text);
void tutti_strbuf_printf(tutti_strbuf *sb, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tutti_strbuf_vprintf(tutti_strbuf *sb, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* Appends a finite number in the shortest of 15, 16, 17 digits that reads back exactly, with a point in any locale. */
void tutti_strbuf_add_real(tutti_strbuf *sb, double value);
/* Calls `put` for each character of the text; each byte that is not valid UTF-8 is put as the four characters \xNN.
 * File names may have any bytes, but text that others read must be UTF-8. */
void tutti_strbuf_add_utf8(tutti_strbuf *sb, const char *text,
                           void (*put)(tutti_strbuf *sb, const char *bytes, size_t n));
/* True if the text is UTF-8 as a whole. */
bool tutti_text_is_utf8(const char *text);
/* Returns the text, never NULL, which the caller frees by free(), and empties sb. */
char *tutti_strbuf_detach(tutti_strbuf *sb);
void tutti_strbuf_release(tutti_strbuf *sb);

#endif
