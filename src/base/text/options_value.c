/* SPDX-License-Identifier: Apache-2.0 */
/* options_value.c: reads and prints one field's value. Numbers are read as in the C locale, so a comma is never a
 * decimal point. Nothing may follow a number. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options_impl.h"

static void *place(const tutti_field *field, void *target)
{
    return (char *)target + field->offset;
}

bool tutti_options_is_number(const char *text)
{
    return text[0] && strchr("+-.0123456789", text[0]);
}

/* Works as strtod in the C locale; false if the whole text is not a finite number. */
static bool read_number(const char *text, double *out)
{
    if (!text[0] || strspn(text, "+-.0123456789eE") != strlen(text)) return false;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old = c ? uselocale(c) : (locale_t)0;
    char *end = NULL;
    *out = strtod(text, &end);
    if (c) {
        uselocale(old);
        freelocale(c);
    }
    return end != text && *end == '\0' && isfinite(*out);
}

static bool read_whole(const char *text, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno || strspn(text, "+-0123456789") != strlen(text)) return false;
    *out = value;
    return true;
}

static bool read_bytes(const char *text, int64_t *out)
{
    static const struct {
        const char *unit;
        int64_t factor;
    } units[] = {{"", 1},          {"B", 1},         {"KB", 1000},    {"MB", 1000000}, {"GB", 1000000000},
                 {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 18) return false;
    int64_t value = strtoll(text, NULL, 10);
    const char *unit = text + digits + strspn(text + digits, " ");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].unit) != 0) continue;
        return !__builtin_mul_overflow(value, units[i].factor, out);
    }
    return false;
}

static tutti_status check_range(const tutti_field *field, double value, const char *text, tutti_failure *err)
{
    if (field->lo > field->hi || (value >= field->lo && value <= field->hi)) return TUTTI_OK;
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s is outside %g .. %g", field->key, text, field->lo, field->hi);
}

static tutti_status wrong_type(const tutti_field *field, const char *text, const char *wanted, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' is not %s", field->key, text, wanted);
}

static tutti_status read_choice(const tutti_field *field, const char *text, int *out, tutti_failure *err)
{
    size_t length = strlen(text);
    int index = 0;
    for (const char *word = field->choices; *word; index++) {
        size_t n = strcspn(word, "|");
        if (n == length && !strncmp(word, text, n)) {
            *out = index;
            return TUTTI_OK;
        }
        word += n + (word[n] == '|');
    }
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: '%s' is none of %s", field->key, text, field->choices);
}

static tutti_status read_bool(const tutti_field *field, const char *text, bool *out, tutti_failure *err)
{
    if (!strcmp(text, "true") || !strcmp(text, "yes") || !strcmp(text, "on"))
        *out = true;
    else if (!strcmp(text, "false") || !strcmp(text, "no") || !strcmp(text, "off"))
        *out = false;
    else
        return wrong_type(field, text, "true or false", err);
    return TUTTI_OK;
}

tutti_status tutti_option_read_value(const tutti_field *field, const char *text, tutti_arena *arena, void *target,
                                     tutti_failure *err)
{
    void *to = place(field, target);
    int64_t whole = 0;
    double real = 0;
    int choice = 0;
    tutti_status st;
    switch (field->kind) {
    case TUTTI_FIELD_INT:
    case TUTTI_FIELD_SMALL:
        if (!read_whole(text, &whole)) return wrong_type(field, text, "a whole number", err);
        st = check_range(field, (double)whole, text, err);
        if (st == TUTTI_OK && field->kind == TUTTI_FIELD_INT) *(int64_t *)to = whole;
        if (st == TUTTI_OK && field->kind == TUTTI_FIELD_SMALL) *(int *)to = (int)whole;
        return st;
    case TUTTI_FIELD_BYTES:
        if (!read_bytes(text, &whole)) return wrong_type(field, text, "a size such as 4096, 64KiB or 1MB", err);
        st = check_range(field, (double)whole, text, err);
        if (st == TUTTI_OK) *(int64_t *)to = whole;
        return st;
    case TUTTI_FIELD_REAL:
        if (!read_number(text, &real)) return wrong_type(field, text, "a number", err);
        st = check_range(field, real, text, err);
        if (st == TUTTI_OK) *(double *)to = real;
        return st;
    case TUTTI_FIELD_BOOL: return read_bool(field, text, to, err);
    case TUTTI_FIELD_TEXT:
        if (!text[0] && field->initial && field->initial[0])
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: is empty; leave the key out for '%s'", field->key,
                              field->initial);
        *(const char **)to = text[0] ? tutti_arena_strdup(arena, text) : NULL;
        return TUTTI_OK;
    case TUTTI_FIELD_CHOICE: return read_choice(field, text, to, err);
    case TUTTI_FIELD_EITHER:
        st = read_choice(field, text, &choice, err);
        if (st == TUTTI_OK) *(bool *)to = choice == 1;
        return st;
    case TUTTI_FIELD_TEXTS:
    case TUTTI_FIELD_PAIRS: return tutti_option_read_texts(field, text, arena, to, err);
    case TUTTI_FIELD_REALS: break;
    }
    /* --set gives a list as one text: "10, 20" or "[10, 20]" */
    tutti_yaml *y = NULL;
    tutti_strbuf sb = {0};
    tutti_strbuf_printf(&sb, text[0] == '[' ? "%s" : "[%s]", text);
    st = tutti_yaml_parse(field->key, sb.text, sb.length, &y, err);
    if (st == TUTTI_OK) st = tutti_option_read_list(field, tutti_yaml_root(y), arena, target, err);
    tutti_yaml_destroy(y);
    tutti_strbuf_release(&sb);
    return st;
}

bool tutti_option_takes(const tutti_field *field, tutti_yaml_kind kind)
{
    const bool of_list = field->kind == TUTTI_FIELD_REALS || field->kind == TUTTI_FIELD_TEXTS;
    return (of_list && kind == TUTTI_YAML_LIST) || (field->kind == TUTTI_FIELD_PAIRS && kind == TUTTI_YAML_MAP);
}

tutti_status tutti_option_read_list(const tutti_field *field, const tutti_yaml_node *list, tutti_arena *arena,
                                    void *target, tutti_failure *err)
{
    tutti_reals reals = {.n = 0};
    if (field->kind != TUTTI_FIELD_REALS) return tutti_option_list_texts(field, list, arena, place(field, target), err);
    if (list->kind != TUTTI_YAML_LIST)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: a list of numbers such as [10, 20] is needed", field->key);
    reals.values = TUTTI_ARENA_NEW(arena, double, list->nchildren ? list->nchildren : 1);
    for (const tutti_yaml_node *item = list->child; item; item = item->next) {
        double value = 0;
        if (item->kind != TUTTI_YAML_SCALAR || !read_number(item->scalar, &value))
            return tutti_fail(err, TUTTI_ERR_USAGE, "%s: item %d is not a number", field->key, reals.n + 1);
        tutti_status st = check_range(field, value, item->scalar, err);
        if (st != TUTTI_OK) return st;
        reals.values[reals.n++] = value;
    }
    *(tutti_reals *)place(field, target) = reals;
    return TUTTI_OK;
}

static void print_choice(const tutti_field *field, int index, tutti_strbuf *out)
{
    const char *word = field->choices;
    while (index-- > 0) word += strcspn(word, "|") + 1;
    tutti_strbuf_add(out, word, strcspn(word, "|"));
}

void tutti_option_print_value(const tutti_field *field, const void *target, tutti_strbuf *out)
{
    const void *from = (const char *)target + field->offset;
    const tutti_reals *reals = from;
    switch (field->kind) {
    case TUTTI_FIELD_INT:
    case TUTTI_FIELD_BYTES: tutti_strbuf_printf(out, "%lld", (long long)*(const int64_t *)from); break;
    case TUTTI_FIELD_SMALL: tutti_strbuf_printf(out, "%d", *(const int *)from); break;
    case TUTTI_FIELD_REAL: tutti_strbuf_add_real(out, *(const double *)from); break;
    case TUTTI_FIELD_BOOL: tutti_strbuf_puts(out, *(const bool *)from ? "true" : "false"); break;
    case TUTTI_FIELD_TEXT: tutti_option_print_text(*(const char *const *)from, out); break;
    case TUTTI_FIELD_CHOICE: print_choice(field, *(const int *)from, out); break;
    case TUTTI_FIELD_EITHER: print_choice(field, *(const bool *)from, out); break;
    case TUTTI_FIELD_TEXTS:
    case TUTTI_FIELD_PAIRS: tutti_option_print_texts(field, from, out); break;
    case TUTTI_FIELD_REALS:
        tutti_strbuf_puts(out, "[");
        for (int i = 0; i < reals->n; i++) {
            if (i) tutti_strbuf_puts(out, ", ");
            tutti_strbuf_add_real(out, reals->values[i]);
        }
        tutti_strbuf_puts(out, "]");
        break;
    }
}

void tutti_options_give(const tutti_field *field, const void *from, void *target)
{
    static const size_t sizes[] = {[TUTTI_FIELD_INT] = sizeof(int64_t),       [TUTTI_FIELD_SMALL] = sizeof(int),
                                   [TUTTI_FIELD_BYTES] = sizeof(int64_t),     [TUTTI_FIELD_REAL] = sizeof(double),
                                   [TUTTI_FIELD_BOOL] = sizeof(bool),         [TUTTI_FIELD_TEXT] = sizeof(const char *),
                                   [TUTTI_FIELD_CHOICE] = sizeof(int),        [TUTTI_FIELD_EITHER] = sizeof(bool),
                                   [TUTTI_FIELD_REALS] = sizeof(tutti_reals), [TUTTI_FIELD_TEXTS] = sizeof(tutti_texts),
                                   [TUTTI_FIELD_PAIRS] = sizeof(tutti_texts)};
    memcpy(place(field, target), from, sizes[field->kind]);
}
