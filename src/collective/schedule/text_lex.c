/* SPDX-License-Identifier: Apache-2.0 */
/* text_lex.c: cuts a line of a schedule's text into words, numbers and fractions, each with its limits. */
#include <stdio.h>
#include <string.h>

#include "text_impl.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

void tutti_lex_next(tutti_lexer *x)
{
    while (x->at < x->end && is_space(*x->at)) x->at++;
    x->word = x->at;
    if (x->at < x->end && *x->at == '#') x->at = x->end;
    if (x->at < x->end && (*x->at == '(' || *x->at == ')'))
        x->at++;
    else
        while (x->at < x->end && !is_space(*x->at) && *x->at != '(' && *x->at != ')') x->at++;
    bool comment = x->word < x->end && *x->word == '#';
    x->length = comment ? 0 : (size_t)(x->at - x->word);
}

bool tutti_lex_is(const tutti_lexer *x, const char *word)
{
    return x->length == strlen(word) && !memcmp(x->word, word, x->length);
}

bool tutti_lex_accept(tutti_lexer *x, const char *word)
{
    if (!tutti_lex_is(x, word)) return false;
    tutti_lex_next(x);
    return true;
}

tutti_status tutti_lex_fail(const tutti_lexer *x, const char *wanted)
{
    char shown[41];
    size_t n = x->length < sizeof shown - 1 ? x->length : sizeof shown - 1;
    for (size_t i = 0; i < n; i++) shown[i] = x->word[i] >= 32 && x->word[i] < 127 ? x->word[i] : '?';
    shown[n] = 0;
    if (!x->length)
        return tutti_fail(x->err, TUTTI_ERR_DATA, "%s: line %d: %s, but the line ends", x->file, x->line, wanted);
    return tutti_fail(x->err, TUTTI_ERR_DATA, "%s: line %d: %s, not '%s'", x->file, x->line, wanted, shown);
}

tutti_status tutti_lex_expect(tutti_lexer *x, const char *word)
{
    char wanted[40];
    if (tutti_lex_accept(x, word)) return TUTTI_OK;
    snprintf(wanted, sizeof wanted, "'%s' is wanted", word);
    return tutti_lex_fail(x, wanted);
}

/* Reads digits only; false if there are none or the value exceeds hi. */
static bool digits(const char *text, size_t length, int64_t hi, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *out = *out * 10 + (text[i] - '0');
        if (*out > hi) return false;
    }
    return length > 0;
}

tutti_status tutti_lex_number(tutti_lexer *x, const char *what, int32_t lo, int32_t hi, int32_t *out)
{
    char wanted[80];
    int64_t value;
    if (digits(x->word, x->length, hi, &value) && value >= lo) {
        *out = (int32_t)value;
        tutti_lex_next(x);
        return TUTTI_OK;
    }
    snprintf(wanted, sizeof wanted, "%s from %d to %d is wanted", what, lo, hi);
    return tutti_lex_fail(x, wanted);
}

tutti_status tutti_lex_choice(tutti_lexer *x, const char *what, const char *const *words, int n, int *out)
{
    char wanted[160];
    int length = snprintf(wanted, sizeof wanted, "%s (", what);
    for (int i = 0; i < n; i++) {
        if (tutti_lex_accept(x, words[i])) {
            *out = i;
            return TUTTI_OK;
        }
        length += snprintf(wanted + length, sizeof wanted - (size_t)length, "%s%s", i ? ", " : "", words[i]);
    }
    snprintf(wanted + length, sizeof wanted - (size_t)length, ") is wanted");
    return tutti_lex_fail(x, wanted);
}

tutti_status tutti_lex_fraction(tutti_lexer *x, const char *text, size_t length, tutti_slice *out)
{
    const char *slash = memchr(text, '/', length), *plus = slash ? memchr(text, '+', (size_t)(slash - text)) : NULL;
    const char *first_end = plus ? plus : slash;
    int64_t first = 0, count = 1, of = 0;
    bool ok = slash && digits(text, (size_t)(first_end - text), TUTTI_TEXT_MAX_NUMBER, &first);
    if (ok && plus) ok = digits(plus + 1, (size_t)(slash - plus - 1), TUTTI_TEXT_MAX_NUMBER, &count);
    if (ok) ok = digits(slash + 1, (size_t)(text + length - slash - 1), TUTTI_TEXT_MAX_NUMBER, &of);
    if (!ok || of < 1 || first + count > of)
        return tutti_lex_fail(x, "a part of the vector such as 3/8 or 3+2/8 (at most 1048576 parts) is wanted");
    out->first = (int32_t)first, out->count = (int32_t)count, out->of = (int32_t)of;
    return TUTTI_OK;
}
