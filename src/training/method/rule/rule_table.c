/* SPDX-License-Identifier: Apache-2.0 */
/* rule_table.c: the table of update rules. To add a rule, write its file and add its name here; jobs, plans,
 * checkpoints and help take the rest from its row. */
#include <stdlib.h>
#include <string.h>

#include "rule.h"

#define RULES(row) row(sgd) row(momentum) row(nesterov) row(adamw) row(lars) row(lamb)

#define DECLARE(name) extern const tutti_rule_row tutti_rule_##name;
RULES(DECLARE)

#define ROW(name) &tutti_rule_##name,
static const tutti_rule_row *const rows[] = {RULES(ROW)};
enum { NROWS = sizeof rows / sizeof *rows };

const tutti_rule_row *tutti_rule_at(int i)
{
    return i >= 0 && i < NROWS ? rows[i] : NULL;
}

const tutti_rule_row *tutti_rule_find(const char *name)
{
    for (int i = 0; i < NROWS; i++)
        if (!strcmp(rows[i]->name, name)) return rows[i];
    return NULL;
}

/* True if a rule before row `end` has the key. */
static bool is_known(const tutti_rule_key *key, int end)
{
    for (int r = 0; r < end; r++)
        for (int i = 0; i < TUTTI_RULE_MAX_KEYS && rows[r]->keys[i]; i++)
            if (rows[r]->keys[i] == key) return true;
    return false;
}

const tutti_rule_key *tutti_rule_key_at(int i)
{
    for (int r = 0; r < NROWS; r++)
        for (int k = 0; k < TUTTI_RULE_MAX_KEYS && rows[r]->keys[k]; k++)
            if (!is_known(rows[r]->keys[k], r) && i-- == 0) return rows[r]->keys[k];
    return NULL;
}

double tutti_rule_key_initial(const tutti_rule_key *key)
{
    return key->is_switch ? !strcmp(key->initial, "true") : strtod(key->initial, NULL);
}

bool tutti_rule_has_state(const char *name, size_t n)
{
    for (int r = 0; r < NROWS; r++)
        for (int i = 0; i < rows[r]->nstates; i++)
            if (strlen(rows[r]->states[i]) == n && !strncmp(rows[r]->states[i], name, n)) return true;
    return false;
}

tutti_update tutti_update_to_time(void)
{
    return (tutti_update){.rule = &tutti_rule_momentum, .value = {0.9}};
}
