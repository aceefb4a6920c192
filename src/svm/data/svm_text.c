/* SPDX-License-Identifier: Apache-2.0 */
/* svm_text.c: reads numbers and rows of LIBSVM's texts.
 *
 * A decimal number is m 10^e with a whole m. (a) m <= 2^53 and |e| <= 22: m and 10^|e| are doubles, one multiplication
 * or division rounds once. (b) m < 2^64 and |e| <= 27: 5^|e| < 2^63, so product or quotient fit into 128 bits, and what
 * is cut off is known exactly. (c) strtod reads all other numbers. */
#include "svm_text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide_uint;

enum { EXACT_POWER = 22, WIDE_POWER = 27, EXPONENT_MOST = 100000 };
static const uint64_t EXACT_MOST = (uint64_t)1 << 53;
static const uint64_t ROOM_FOR_A_DIGIT = UINT64_MAX / 10; /* for m below this, m * 10 + 9 fits into 64 bits */

static inline bool is_digit(char c)
{
    return (unsigned)(c - '0') < 10;
}

static uint64_t power_of_5(int e)
{
    uint64_t power = 1, base = 5;
    for (; e; e >>= 1, base *= base)
        if (e & 1) power *= base;
    return power;
}

/* Returns (v + rest) 2^e rounded to the nearest double, ties to even. 0 <= rest < 1 is known only as zero or not; if it
 * is not zero, v has more than 53 bits. */
static double round_wide(wide_uint v, bool rest, int e)
{
    const uint64_t high = (uint64_t)(v >> 64);
    const int nbits = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)v);
    const int cut = nbits - 53;
    if (cut <= 0) return ldexp((double)(uint64_t)v, e);
    uint64_t kept = (uint64_t)(v >> cut);
    const wide_uint below = v & (((wide_uint)1 << cut) - 1), half = (wide_uint)1 << (cut - 1);
    if (below > half || (below == half && (rest || (kept & 1)))) kept++;
    return ldexp((double)kept, e + cut);
}

/* Returns m 10^e for 0 < m and |e| <= WIDE_POWER. */
static double scale(uint64_t m, int e)
{
    if (e >= 0) return round_wide((wide_uint)m * power_of_5(e), false, e);
    const int shift = 64 + __builtin_clzll(m);
    const wide_uint dividend = (wide_uint)m << shift; /* at least 2^127, so the quotient has 64 bits or more */
    const uint64_t divisor = power_of_5(-e);
    return round_wide(dividend / divisor, dividend % divisor != 0, e - shift);
}

/* Calls strtod for the C locale. strtod would skip blanks and line ends in front, so the first byte is tested. */
static const char *read_hard(const char *p, double *out)
{
    if (strchr(" \t\n\v\f\r", *p)) return NULL; /* strchr also finds the byte 0, so a 0 is refused, too */
    char *end;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    *out = c ? strtod_l(p, &end, c) : strtod(p, &end);
    if (c) freelocale(c);
    return end == p ? NULL : end;
}

/* Reads the exponent after 'e' at p. If there is none, the number ends before the 'e'. */
static const char *read_exponent(const char *p, int *e)
{
    const char *digit = p + 1 + (p[1] == '-' || p[1] == '+');
    if (!is_digit(*digit)) return p;
    int value = 0;
    for (; is_digit(*digit); digit++)
        if (value < EXPONENT_MOST) value = value * 10 + (*digit - '0');
    *e += p[1] == '-' ? -value : value;
    return digit;
}

const char *tutti_svm_number(const char *p, double *out)
{
    static const double power_of_10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                         1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *begin = p;
    const bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    const char *whole = p;
    uint64_t m = 0;
    for (; is_digit(*p) && m < ROOM_FOR_A_DIGIT; p++) m = m * 10 + (uint64_t)(*p - '0');
    int64_t ndigits = p - whole;
    int e = 0;
    if (*p == '.') {
        const char *fraction = ++p;
        for (; is_digit(*p) && m < ROOM_FOR_A_DIGIT; p++) m = m * 10 + (uint64_t)(*p - '0');
        if (p - fraction > EXPONENT_MOST) return read_hard(begin, out);
        e = (int)(fraction - p);
        ndigits += p - fraction;
    }
    if (!ndigits || is_digit(*p) || (*p | 32) == 'x') return read_hard(begin, out);
    if ((*p | 32) == 'e') p = read_exponent(p, &e);
    double value;
    if (m == 0)
        value = 0;
    else if (m <= EXACT_MOST && e >= 0 && e <= EXACT_POWER)
        value = (double)m * power_of_10[e];
    else if (m <= EXACT_MOST && e < 0 && e >= -EXACT_POWER)
        value = (double)m / power_of_10[-e];
    else if (e >= -WIDE_POWER && e <= WIDE_POWER)
        value = scale(m, e);
    else
        return read_hard(begin, out);
    *out = negative ? -value : value;
    return p;
}

const char *tutti_svm_whole(const char *p, int32_t *out)
{
    double value;
    p = tutti_svm_number(p, &value);
    if (!p || !(value >= INT32_MIN && value <= INT32_MAX) || value != trunc(value)) return NULL;
    *out = (int32_t)value;
    return p;
}

tutti_svm_word tutti_svm_word_at(const char *p)
{
    tutti_svm_word word = {{0}};
    int n = 0;
    for (; n < 40 && !tutti_svm_at_gap(p + n); n++) word.text[n] = p[n] >= ' ' && p[n] <= '~' ? p[n] : '?';
    if (!tutti_svm_at_gap(p + n)) memcpy(word.text + n, "...", 4);
    return word;
}

/* --- building rows --- */

/* Makes room for `need` elements in an array that has room for `room`. */
static tutti_status grow(void **array, int64_t need, int64_t room, size_t element_bytes, tutti_failure *err)
{
    if (need <= room) return TUTTI_OK;
    void *larger = realloc(*array, (size_t)need * element_bytes);
    if (!larger)
        return tutti_fail(err, TUTTI_ERR_FAILED, "no memory for %lld bytes: use more ranks, or a machine with more",
                          (long long)need * (long long)element_bytes);
    *array = larger;
    return TUTTI_OK;
}

static int64_t next_room(int64_t room, int64_t need)
{
    return need <= room ? room : need > 2 * room ? need : 2 * room;
}

tutti_status tutti_svm_growing_reserve(tutti_svm_growing *g, int64_t nbytes, tutti_failure *err)
{
    tutti_svm_data *d = &g->data;
    const int64_t rows = next_room(g->row_room, d->nrows + 2);
    /* an entry takes at least four bytes: "1:2 " */
    const int64_t entries = next_room(g->entry_room, g->nentries + nbytes / 4 + 2);
    tutti_status st = grow((void **)&d->start, rows, g->row_room, sizeof *d->start, err);
    if (!st) st = grow((void **)&d->label, rows, g->row_room, sizeof *d->label, err);
    if (!st) g->row_room = rows;
    if (!st) st = grow((void **)&d->index, entries, g->entry_room, sizeof *d->index, err);
    if (!st) st = grow((void **)&d->value, entries, g->entry_room, sizeof *d->value, err);
    if (!st) g->entry_room = entries;
    if (!st) d->start[0] = 0;
    return st;
}

/* Writes into err why the index of the entry at p is refused. */
static tutti_status refuse_index(const char *p, int64_t index, const char *after, int64_t last, tutti_failure *err)
{
    const tutti_svm_word word = tutti_svm_word_at(p);
    if (*p == '-' && is_digit(p[1]))
        return tutti_fail(err, TUTTI_ERR_DATA, "'%s': an index must not be negative", word.text);
    if (after == p) return tutti_fail(err, TUTTI_ERR_DATA, "'%s': index:value is wanted here", word.text);
    if (index > INT32_MAX)
        return tutti_fail(err, TUTTI_ERR_DATA, "'%s': the index is larger than %d", word.text, INT32_MAX);
    if (*after != ':') return tutti_fail(err, TUTTI_ERR_DATA, "'%s': there is no colon after the index", word.text);
    return tutti_fail(err, TUTTI_ERR_DATA, "'%s': indices must ascend, and the one before is %lld", word.text,
                      (long long)last);
}

/* Checks the value at p, which ends at `after` (NULL if p has no number), and writes into err why it is refused. */
static tutti_status judge_value(const char *p, int64_t index, const char *after, double value,
                                const tutti_svm_reading *how, tutti_failure *err)
{
    const tutti_svm_word word = tutti_svm_word_at(p);
    const char *digits = p + (*p == '-' || *p == '+');
    if (tutti_svm_at_gap(p))
        return tutti_fail(err, TUTTI_ERR_DATA, "index %lld has no value behind its colon", (long long)index);
    if (!after)
        return tutti_fail(err, TUTTI_ERR_DATA, "'%s', the value of index %lld, is not a number", word.text,
                          (long long)index);
    if (!tutti_svm_at_gap(after))
        return tutti_fail(err, TUTTI_ERR_DATA, "'%s', the value of index %lld, has something behind the number",
                          word.text, (long long)index);
    if (is_digit(*digits) || *digits == '.')
        return isfinite(value) ? TUTTI_OK
                               : tutti_fail(err, TUTTI_ERR_DATA, "'%s', the value of index %lld, is too large",
                                            word.text, (long long)index);
    if (!how->unlabelled)
        return tutti_fail(err, TUTTI_ERR_DATA, "'%s', the value of index %lld, is not finite: training needs numbers",
                          word.text, (long long)index);
    if (!how->lenient)
        return tutti_fail(err, TUTTI_ERR_DATA, "'%s', the value of index %lld, is not finite (--lenient takes it)",
                          word.text, (long long)index);
    return TUTTI_OK;
}

tutti_status tutti_svm_growing_entries(tutti_svm_growing *g, const char *p, const tutti_svm_reading *how,
                                       tutti_failure *err)
{
    int64_t last = -1, n = g->nentries;
    tutti_status st = TUTTI_OK;
    for (p = tutti_svm_skip_blanks(p); !st && !tutti_svm_at_end(p) && *p != '#'; p = tutti_svm_skip_blanks(p)) {
        const char *begin = p;
        int64_t index = 0;
        for (; is_digit(*p) && index <= INT32_MAX; p++) index = index * 10 + (*p - '0');
        if (p == begin || *p != ':' || index <= last || index > INT32_MAX) {
            st = refuse_index(begin, index, p, last, err);
            break;
        }
        double value = 0;
        const char *after = tutti_svm_number(++p, &value);
        if (!after || !tutti_svm_at_gap(after) || !isfinite(value)) {
            st = judge_value(p, index, after, value, how, err);
            if (st) break;
        }
        p = after;
        g->data.index[n] = (int32_t)(last = index);
        g->data.value[n++] = value;
    }
    g->nentries = n;
    if (last > g->data.width) g->data.width = (int32_t)last;
    return st;
}

void tutti_svm_growing_end_row(tutti_svm_growing *g, double label)
{
    tutti_svm_data *d = &g->data;
    d->label[d->nrows++] = label;
    d->start[d->nrows] = g->nentries;
}

static void *cut(void *array, int64_t n, size_t element_bytes)
{
    void *smaller = realloc(array, (size_t)(n ? n : 1) * element_bytes);
    return smaller ? smaller : array;
}

tutti_svm_data tutti_svm_growing_finish(tutti_svm_growing *g)
{
    tutti_svm_data d = g->data;
    d.start = cut(d.start, d.nrows + 1, sizeof *d.start);
    if (d.nrows == 0) d.start[0] = 0;
    d.label = cut(d.label, d.nrows, sizeof *d.label);
    d.index = cut(d.index, g->nentries, sizeof *d.index);
    d.value = cut(d.value, g->nentries, sizeof *d.value);
    d.first = 0, d.total = d.nrows;
    *g = (tutti_svm_growing){0};
    return d;
}
