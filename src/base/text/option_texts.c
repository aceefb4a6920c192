/* SPDX-License-Identifier: Apache-2.0 */
/* option_texts.c: reads and prints the values of fields that are texts, lists of texts, or pairs of texts, with their
 * quotes.
 *
 * On a command line, lists and pairs are written without quotes, as `a,b` and `a=b,c=d`. A text may then begin with a
 * star, which YAML would not allow. YAML's own forms, `[a, "b"]` and `{a: b}`, are accepted there too. */
#include <string.h>

#include "options_impl.h"

/* Returns the code point of the UTF-8 sequence at c if it must be escaped in YAML's quotes, because YAML would change
 * or refuse it (C1 controls, the Unicode line ends, byte order marks); else 0. *nbytes: length of the sequence. */
static unsigned needs_escape(const unsigned char *c, int *nbytes)
{
    unsigned two = (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu);
    *nbytes = 2;
    if (c[0] == 0xc2 && two < 0xa0) return two;
    if (c[0] != 0xe2 && c[0] != 0xef) return 0;
    unsigned three = (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[1] ? c[2] & 0x3fu : 0);
    *nbytes = 3;
    return three == 0x2028 || three == 0x2029 || three == 0xfeff || three >= 0xfffe ? three : 0;
}

void tutti_option_print_text(const char *text, tutti_strbuf *out)
{
    tutti_strbuf_puts(out, "\"");
    for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; c++) {
        int nbytes;
        unsigned wide = needs_escape(c, &nbytes);
        if (wide) {
            tutti_strbuf_printf(out, "\\u%04x", wide);
            c += nbytes - 1;
        } else if (*c == '"' || *c == '\\') {
            tutti_strbuf_printf(out, "\\%c", *c);
        } else if (*c < 0x20 || *c == 0x7f) {
            tutti_strbuf_printf(out, "\\x%02x", *c);
        } else {
            tutti_strbuf_add(out, (const char *)c, 1);
        }
    }
    tutti_strbuf_puts(out, "\"");
}

static tutti_status wants(const tutti_field *field, tutti_failure *err)
{
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: %s is needed", field->key,
                      field->kind == TUTTI_FIELD_TEXTS ? "a list of names such as [a, b]"
                                                       : "a map of names to names such as {a: b}");
}

/* Makes room for n more texts. */
static void make_room(tutti_texts *texts, int n, tutti_arena *arena)
{
    const char **values = TUTTI_ARENA_NEW(arena, const char *, texts->n + n + 1);
    for (int i = 0; i < texts->n; i++) values[i] = texts->values[i];
    texts->values = values;
}

tutti_status tutti_option_list_texts(const tutti_field *field, const tutti_yaml_node *list, tutti_arena *arena,
                                     tutti_texts *out, tutti_failure *err)
{
    const bool pairs = field->kind == TUTTI_FIELD_PAIRS;
    tutti_texts texts = {0};
    if (list->kind != (pairs ? TUTTI_YAML_MAP : TUTTI_YAML_LIST)) return wants(field, err);
    make_room(&texts, 2 * list->nchildren, arena);
    for (const tutti_yaml_node *item = list->child; item; item = item->next) {
        if (item->kind != TUTTI_YAML_SCALAR) return wants(field, err);
        if (pairs) texts.values[texts.n++] = tutti_arena_strdup(arena, item->key);
        texts.values[texts.n++] = tutti_arena_strdup(arena, item->scalar);
    }
    *out = texts;
    return TUTTI_OK;
}

/* Returns a copy of the text without the blanks around it. */
static const char *trimmed(const char *text, size_t n, tutti_arena *arena)
{
    while (n && text[0] == ' ') text++, n--;
    while (n && text[n - 1] == ' ') n--;
    char *copy = tutti_arena_alloc(arena, n + 1);
    memcpy(copy, text, n);
    return copy;
}

tutti_status tutti_option_read_texts(const tutti_field *field, const char *text, tutti_arena *arena, tutti_texts *out,
                                     tutti_failure *err)
{
    const bool pairs = field->kind == TUTTI_FIELD_PAIRS;
    tutti_texts texts = {0};
    if (text[0] == '[' || text[0] == '{') {
        tutti_yaml *y = NULL;
        tutti_status st = tutti_yaml_parse(field->key, text, strlen(text), &y, err);
        if (!st) st = tutti_option_list_texts(field, tutti_yaml_root(y), arena, out, err);
        tutti_yaml_destroy(y);
        return st;
    }
    for (const char *at = text; *at;) {
        const size_t n = strcspn(at, ","), key = pairs ? strcspn(at, "=") : n;
        if (pairs && key >= n) return wants(field, err);
        make_room(&texts, 2, arena);
        texts.values[texts.n++] = trimmed(at, key, arena);
        if (pairs) texts.values[texts.n++] = trimmed(at + key + 1, n - key - 1, arena);
        at += n + (at[n] == ',');
    }
    *out = texts;
    return TUTTI_OK;
}

void tutti_option_print_texts(const tutti_field *field, const tutti_texts *texts, tutti_strbuf *out)
{
    const bool pairs = field->kind == TUTTI_FIELD_PAIRS;
    tutti_strbuf_puts(out, pairs ? "{" : "[");
    for (int i = 0; i < texts->n; i++) {
        if (i) tutti_strbuf_puts(out, pairs && i % 2 ? ": " : ", ");
        tutti_option_print_text(texts->values[i], out);
    }
    tutti_strbuf_puts(out, pairs ? "}" : "]");
}
