/* SPDX-License-Identifier: Apache-2.0 */
/* method_table.c: the table of training methods. To add a method, write its file and add its name here. */
#include <string.h>

#include "method.h"

#define METHODS(row)                                                                                                   \
    row(sync_sgd) row(local_sgd) row(sync_easgd1) row(sync_easgd2) row(sync_easgd3) row(diloco) row(easgd)             \
        row(async_easgd) row(async_measgd) row(hogwild_easgd) row(async_sgd) row(async_msgd) row(hogwild_sgd)          \
            row(bounded_sgd)

#define DECLARE(name) extern const tutti_method_row tutti_method_##name;
METHODS(DECLARE)

#define ROW(name) &tutti_method_##name,
static const tutti_method_row *const rows[] = {METHODS(ROW)};
enum { NROWS = sizeof rows / sizeof *rows };

const tutti_method_row *tutti_method_at(int i)
{
    return i >= 0 && i < NROWS ? rows[i] : NULL;
}

const tutti_method_row *tutti_method_find(const char *name)
{
    for (int i = 0; i < NROWS; i++)
        if (!strcmp(rows[i]->name, name)) return rows[i];
    return NULL;
}

bool tutti_method_takes(const tutti_method_row *row, const tutti_method_key *key)
{
    for (int i = 0; i < TUTTI_METHOD_MAX_KEYS && row->keys[i]; i++)
        if (row->keys[i] == key) return true;
    return false;
}

const char *tutti_method_key_name(const tutti_method_row *row, int i)
{
    int n = 0;
    while (n < TUTTI_METHOD_MAX_KEYS && row->keys[n]) n++;
    if (i < n) return row->keys[i]->field.key;
    return i - n < TUTTI_METHOD_MAX_CONCERNED ? row->concerned_by[i - n] : NULL;
}

/* True if a method before row `end` takes the key. */
static bool is_known(const tutti_method_key *key, int end)
{
    for (int r = 0; r < end; r++)
        if (tutti_method_takes(rows[r], key)) return true;
    return false;
}

const tutti_method_key *tutti_method_key_at(int i)
{
    for (int r = 0; r < NROWS; r++)
        for (int k = 0; k < TUTTI_METHOD_MAX_KEYS && rows[r]->keys[k]; k++)
            if (!is_known(rows[r]->keys[k], r) && i-- == 0) return rows[r]->keys[k];
    return NULL;
}

bool tutti_method_rule_differs(const tutti_method_row *row, const char *rule, tutti_strbuf *words)
{
    const size_t length = strlen(rule);
    /* is_plain: the job's momentum is ignored, so its rule is no difference */
    if (row->is_plain || !strcmp(row->paper_rules, "any")) return false;
    for (const char *at = row->paper_rules; *at; at += strspn(at, ", ")) {
        const size_t n = strcspn(at, ",");
        if (n == length && !strncmp(at, rule, n)) return false;
        at += n;
    }
    tutti_strbuf_printf(words,
                        "its paper's workers go by %s, this job's by %s: what it found need not hold (optimiser.rule; "
                        "'tutti methods %s')",
                        row->paper_rules, rule, row->name);
    return true;
}

bool tutti_method_has_state(const char *name, size_t n)
{
    for (int i = 0; i < NROWS; i++)
        if (rows[i]->centre_state && strlen(rows[i]->centre_state) == n && !strncmp(rows[i]->centre_state, name, n))
            return true;
    return false;
}
