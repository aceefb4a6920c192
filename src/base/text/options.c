/* SPDX-License-Identifier: Apache-2.0 */
/* options.c: reads, sets, prints and explains the fields of a struct by one table: YAML map, --set, --help. Keys with
 * dots are nested maps: "optimiser.lr" is `lr` in the map `optimiser`. */
#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "options_impl.h"

enum { MAX_KEY = 128, MAX_FIELDS = 256, FAR = 4 };

static const tutti_field *find(const tutti_field_table *table, const char *key)
{
    for (int i = 0; i < table->nfields; i++)
        if (!strcmp(table->fields[i].key, key)) return &table->fields[i];
    return NULL;
}

/* True if `key` is a group: the front part of a nested key, as "optimiser" is for "optimiser.lr". */
static bool is_group(const tutti_field_table *table, const char *key)
{
    size_t n = strlen(key);
    for (int i = 0; i < table->nfields; i++)
        if (!strncmp(table->fields[i].key, key, n) && table->fields[i].key[n] == '.') return true;
    return false;
}

/* Returns the field of a key. If the key is a group's name, returns the group's field `name` or `from`. */
static const tutti_field *find_or_name(const tutti_field_table *table, const char *key)
{
    static const char *const last[] = {"name", "from"};
    const tutti_field *field = find(table, key);
    for (size_t i = 0; i < sizeof last / sizeof *last && !field; i++) {
        char name[MAX_KEY + 8];
        snprintf(name, sizeof name, "%.*s.%s", MAX_KEY, key, last[i]);
        field = find(table, name);
    }
    return field;
}

static bool is_same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Returns the edit distance of two words: the number of letters that are left out, added, changed, or swapped with the
 * next one. Upper and lower case count as equal. */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][MAX_KEY + 1], *last = rows[0], *row = rows[1], *spare = rows[2];
    const size_t n = strlen(b);
    if (n > MAX_KEY || strlen(a) > MAX_KEY) return FAR;
    for (size_t j = 0; j <= n; j++) last[j] = (int)j;
    for (size_t i = 1; a[i - 1]; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            int best = last[j - 1] + !is_same_letter(a[i - 1], b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            const bool crossed =
                i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) && is_same_letter(a[i - 2], b[j - 1]);
            if (crossed && spare[j - 2] + 1 < best) best = spare[j - 2] + 1;
            row[j] = best;
        }
        int *const older = spare;
        spare = last, last = row, row = older;
    }
    return last[n];
}

/* Returns up to which edit distance two words count as near: a third of the longer word's letters, at least 1, at most
 * 3. For four letters it is 1, so that onnx is not taken for fcn5. */
static int most_changes(const char *word, const char *known)
{
    const size_t a = strlen(word), b = strlen(known), third = (a > b ? a : b) / 3;
    return third < 1 ? 1 : third < FAR ? (int)third : FAR - 1;
}

/* Returns the edit distance of two words, or FAR if they are not near. The result is 1 if the known word begins with
 * `word` and `word` has at least three letters, so that "res" is near resnet. */
static int distance_of(const char *word, const char *known)
{
    const size_t n = strlen(word);
    const int distance = edit_distance(word, known);
    if (n >= 3 && n < strlen(known) && !strncasecmp(word, known, n)) return 1;
    return distance <= most_changes(word, known) ? distance : FAR;
}

const char *tutti_options_nearest(const char *word, const char *const *known, int nknown)
{
    const char *nearest = NULL;
    int best = FAR;
    for (int i = 0; i < nknown; i++) {
        const int distance = distance_of(word, known[i]);
        if (distance < best && distance < (int)strlen(known[i])) {
            best = distance;
            nearest = known[i];
        }
    }
    return nearest;
}

/* Returns the key that is nearest to a wrong key. A key without its group ("lr") is also compared with the last parts
 * of nested keys. */
static const char *nearest_key(const tutti_field_table *table, const char *key)
{
    const char *known[MAX_FIELDS], *last[MAX_FIELDS];
    int n = table->nfields < MAX_FIELDS ? table->nfields : MAX_FIELDS;
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(table->fields[i].key, '.');
        known[i] = table->fields[i].key;
        last[i] = dot ? dot + 1 : known[i];
    }
    const char *dot = strrchr(key, '.'), *word = dot ? dot + 1 : key;
    for (int i = 0; i < n; i++)
        if (!strcmp(last[i], word)) return known[i];
    const char *nearest = tutti_options_nearest(key, known, n);
    if (nearest) return nearest;
    nearest = tutti_options_nearest(word, last, n);
    for (int i = 0; nearest && i < n; i++)
        if (last[i] == nearest) return known[i];
    return NULL;
}

static tutti_status unknown_key(const tutti_field_table *table, const char *where, const char *key, tutti_failure *err)
{
    const char *nearest = nearest_key(table, key);
    if (nearest)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: unknown key '%s'; did you mean '%s'?", where, key, nearest);
    return tutti_fail(err, TUTTI_ERR_USAGE, "%s: unknown key '%s'", where, key);
}

typedef struct {
    tutti_options_into into;
    const char *name;
    bool given[MAX_FIELDS];
    tutti_failure *err;
} walk;

static tutti_status read_field(walk *w, const tutti_field *field, const tutti_yaml_node *node)
{
    tutti_status st;
    if (tutti_option_takes(field, node->kind))
        st = tutti_option_read_list(field, node, w->into.arena, w->into.target, w->err);
    else if (node->kind == TUTTI_YAML_SCALAR)
        st = tutti_option_read_value(field, node->scalar, w->into.arena, w->into.target, w->err);
    else
        st = tutti_fail(w->err, TUTTI_ERR_USAGE, "%s: one value is needed, not a %s", field->key,
                        node->kind == TUTTI_YAML_MAP ? "map" : "list");
    if (st != TUTTI_OK) return tutti_fail_at(w->err, "%s: line %d", w->name, node->line);
    w->given[field - w->into.table->fields] = true;
    return TUTTI_OK;
}

static tutti_status read_map(walk *w, const char *prefix, const tutti_yaml_node *map)
{
    for (const tutti_yaml_node *node = map->child; node; node = node->next) {
        char key[MAX_KEY], where[400];
        snprintf(where, sizeof where, "%s: line %d", w->name, node->line);
        int n = snprintf(key, sizeof key, "%s%s%s", prefix, prefix[0] ? "." : "", node->key);
        if (n < 0 || (size_t)n >= sizeof key)
            return tutti_fail(w->err, TUTTI_ERR_USAGE, "%s: a key of more than %d letters", where, MAX_KEY - 1);
        const tutti_field *field =
            node->kind == TUTTI_YAML_MAP ? find(w->into.table, key) : find_or_name(w->into.table, key);
        tutti_status st;
        if (field)
            st = read_field(w, field, node);
        else if (is_group(w->into.table, key) && node->kind == TUTTI_YAML_MAP)
            st = read_map(w, key, node);
        else if (is_group(w->into.table, key))
            st = tutti_fail(w->err, TUTTI_ERR_USAGE, "%s: '%s' has several keys; write them indented below it", where,
                            key);
        else
            st = unknown_key(w->into.table, where, key, w->err);
        if (st != TUTTI_OK) return st;
    }
    return TUTTI_OK;
}

static tutti_status apply_override(walk *w, const char *text)
{
    char key[MAX_KEY];
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof key)
        return tutti_fail(w->err, TUTTI_ERR_USAGE, "--set %s: the form is key=value", text);
    memcpy(key, text, (size_t)(equals - text));
    key[equals - text] = '\0';
    char where[400];
    snprintf(where, sizeof where, "--set %s", text);
    tutti_status st = tutti_options_set(&w->into, where, key, equals + 1, w->err);
    if (st == TUTTI_OK) w->given[find_or_name(w->into.table, key) - w->into.table->fields] = true;
    return st;
}

static tutti_status fill_defaults(walk *w)
{
    for (int i = 0; i < w->into.table->nfields; i++) {
        const tutti_field *field = &w->into.table->fields[i];
        if (!field->initial) continue;
        tutti_status st = tutti_option_read_value(field, field->initial, w->into.arena, w->into.target, w->err);
        if (st != TUTTI_OK) return tutti_fail_at(w->err, "default");
    }
    return TUTTI_OK;
}

tutti_status tutti_options_read(const tutti_options_into *into, const char *name, const tutti_yaml_node *root,
                                const char *const *overrides, int noverrides, tutti_failure *err)
{
    const tutti_field_table *table = into->table;
    walk w = {.into = *into, .name = name, .err = err};
    if (table->nfields > MAX_FIELDS) return tutti_fail(err, TUTTI_ERR_FAILED, "more than %d fields", MAX_FIELDS);
    if (root && root->kind != TUTTI_YAML_MAP)
        return tutti_fail(err, TUTTI_ERR_USAGE, "%s: line %d: 'key: value' lines are needed", name, root->line);
    tutti_status st = fill_defaults(&w);
    if (st == TUTTI_OK && root) st = read_map(&w, "", root);
    for (int i = 0; st == TUTTI_OK && i < noverrides; i++) st = apply_override(&w, overrides[i]);
    for (int i = 0; st == TUTTI_OK && i < table->nfields; i++)
        if (!table->fields[i].initial && !w.given[i])
            st = tutti_fail(err, TUTTI_ERR_USAGE, "%s: line %d: the key '%s' is missing (%s)", name,
                            root ? root->line : 1, table->fields[i].key, table->fields[i].help);
    return st;
}

tutti_status tutti_options_set(const tutti_options_into *into, const char *where, const char *key, const char *value,
                               tutti_failure *err)
{
    const tutti_field *field = find_or_name(into->table, key);
    if (!field) return unknown_key(into->table, where, key, err);
    if (tutti_option_read_value(field, value, into->arena, into->target, err) != TUTTI_OK)
        return tutti_fail_at(err, "%s", where);
    return TUTTI_OK;
}

bool tutti_options_is_initial(const tutti_field *field, const void *target)
{
    union {
        int64_t whole;
        double real;
        const char *text;
        tutti_reals list;
        tutti_texts texts;
    } initial = {0};
    tutti_field alone = *field;
    tutti_arena arena = {0};
    tutti_strbuf want = {0}, have = {0};
    alone.offset = 0;
    bool is = field->initial && !tutti_option_read_value(&alone, field->initial, &arena, &initial, NULL);
    if (is) tutti_option_print_value(&alone, &initial, &want);
    tutti_option_print_value(field, target, &have);
    is = is && !strcmp(want.text, have.text);
    tutti_strbuf_release(&want);
    tutti_strbuf_release(&have);
    tutti_arena_release(&arena);
    return is;
}

/* Prints lines for those groups of `key` that `previous`, the key printed before, does not have. Returns the
 * indentation of key's last part. */
static int print_groups(const char *previous, const char *key, tutti_strbuf *out)
{
    int depth = 0;
    const char *part = key;
    for (const char *dot; (dot = strchr(part, '.')); part = dot + 1, depth++) {
        size_t upto = (size_t)(dot - key) + 1;
        if (strncmp(previous, key, upto) != 0)
            tutti_strbuf_printf(out, "%*s%.*s:\n", 2 * depth, "", (int)(dot - part), part);
    }
    return depth;
}

void tutti_options_print(const tutti_field_table *table, const void *target, tutti_strbuf *out)
{
    const char *previous = "";
    for (int i = 0; i < table->nfields; i++) {
        const tutti_field *field = &table->fields[i];
        int depth = print_groups(previous, field->key, out);
        const char *dot = strrchr(field->key, '.');
        tutti_strbuf_printf(out, "%*s%s: ", 2 * depth, "", dot ? dot + 1 : field->key);
        tutti_option_print_value(field, target, out);
        tutti_strbuf_puts(out, "\n");
        previous = field->key;
    }
}

void tutti_options_help(const tutti_field_table *table, tutti_strbuf *out)
{
    for (int i = 0; i < table->nfields; i++) {
        const tutti_field *field = &table->fields[i];
        const char *initial = !field->initial ? "required" : field->initial[0] ? field->initial : "none";
        tutti_strbuf_printf(out, "  %-26s %-10s %s%s%s%s\n", field->key, initial, field->help,
                            field->choices ? " (" : "", field->choices ? field->choices : "",
                            field->choices ? ")" : "");
    }
}
