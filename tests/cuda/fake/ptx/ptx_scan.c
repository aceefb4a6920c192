/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_scan.c: PTX text becomes tokens. */
#include "ptx_scan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

/* Says the length of the word or number at s. "shared::cta" is one word. */
static size_t word_length(const char *s)
{
    size_t n = 0;
    while (is_word(s[n]) || (n && s[n] == ':' && s[n + 1] == ':' && isalpha((unsigned char)s[n + 2])))
        n += s[n] == ':' ? 2 : 1;
    return n;
}

static const char *skip_space(const char *s, uint32_t *line)
{
    for (;;) {
        if (*s == '\n') {
            ++*line;
            s++;
        } else if (isspace((unsigned char)*s)) {
            s++;
        } else if (s[0] == '/' && s[1] == '/') {
            while (*s && *s != '\n') s++;
        } else if (s[0] == '/' && s[1] == '*') {
            for (s += 2; *s && !(s[0] == '*' && s[1] == '/'); s++) *line += *s == '\n';
            s += *s ? 2 : 0;
        } else {
            return s;
        }
    }
}

static size_t token_length(const char *s, char *mark)
{
    if (*s == '"') {
        size_t n = 1;
        while (s[n] && s[n] != '"') n += s[n] == '\\' && s[n + 1] ? 2 : 1;
        *mark = '"';
        return s[n] ? n + 1 : n;
    }
    if (is_word(*s)) {
        *mark = isdigit((unsigned char)*s) ? '0' : 'w';
        return word_length(s);
    }
    *mark = *s;
    return 1;
}

bool ptx_scan(ptx_module *m, const char *text)
{
    size_t n = strlen(text), used = 0;
    m->text = malloc(2 * n + 2); /* each token ends with '\0' */
    m->tokens = malloc((n + 2) * sizeof(*m->tokens));
    if (!m->text || !m->tokens) {
        snprintf(m->error, sizeof(m->error), "no memory for a text of %zu bytes", n);
        return false;
    }
    uint32_t line = 1, count = 0;
    for (const char *s = skip_space(text, &line); *s; s = skip_space(s, &line)) {
        ptx_token *t = &m->tokens[count++];
        size_t length = token_length(s, &t->mark);
        t->line = line;
        t->at = m->text + used;
        memcpy(m->text + used, s, length);
        m->text[used + length] = '\0';
        used += length + 1;
        s += length;
    }
    m->tokens[count] = (ptx_token){"", line, '\0'};
    m->ntokens = count;
    ptx_token *fitted = realloc(m->tokens, (count + 1) * sizeof(*m->tokens));
    if (fitted) m->tokens = fitted;
    return true;
}

static uint64_t bits_of_double(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static double double_of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* Says the bits of a floating constant as type t. */
static uint64_t bits_as(double v, ptx_type t)
{
    switch (t) {
    case PTX_T_F64: return bits_of_double(v);
    case PTX_T_F16: return ptx_half_from_double(v);
    case PTX_T_BF16: return ptx_bf16_from_double(v);
    default: return ptx_bits_of((float)v);
    }
}

bool ptx_number(const char *text, ptx_type t, bool negative, uint64_t *bits)
{
    char *end;
    if (text[0] == '0' && (text[1] == 'f' || text[1] == 'F')) {
        *bits = strtoull(text + 2, &end, 16);
        if (negative) *bits ^= 0x80000000u;
        return *end == '\0';
    }
    if (text[0] == '0' && (text[1] == 'd' || text[1] == 'D')) {
        *bits = strtoull(text + 2, &end, 16);
        if (negative) *bits ^= UINT64_C(1) << 63;
        if (t == PTX_T_F32) *bits = ptx_bits_of((float)double_of_bits(*bits));
        return *end == '\0';
    }
    bool floating = t == PTX_T_F32 || t == PTX_T_F64 || t == PTX_T_F16 || t == PTX_T_BF16;
    if (strchr(text, '.') || (floating && isdigit((unsigned char)text[0]))) {
        double v = strtod(text, &end);
        *bits = bits_as(negative ? -v : v, t);
        return *end == '\0';
    }
    if (!isdigit((unsigned char)text[0])) return false;
    bool binary = text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
    *bits = strtoull(binary ? text + 2 : text, &end, binary ? 2 : 0);
    if (*end == 'U') end++;
    if (negative) *bits = ~*bits + 1;
    return *end == '\0';
}
