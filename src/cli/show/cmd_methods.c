/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_methods.c: `tutti methods [NAME] [--json]`: prints the table of training methods, or one of them. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../base/text/json.h"
#include "../../job/job_fields.h"
#include "../cli.h"

static const tutti_flag flags[] = {
    {"json", NULL, "all that the rows say, as JSON", 0},
};

static const char about[] =
    "How ranks agree on weights: the methods there are, by the coordinates of Langer et al. (2020); with a name all\n"
    "that the row says: coordinates, rules in formulas, the keys of a job that it takes, what it refuses. In formulas "
    "W\n"
    "is a worker's weights, C the centre's, g the gradient of the worker's own samples, P the number of workers, r "
    "the\n"
    "rate of the step. docs/methods.md has known systems by the same coordinates.";

/* A column of a method's row, in the order in which they are printed. */
typedef struct {
    const char *key; /* key in JSON; the page shows it with blanks for underscores */
    size_t offset;
} column;
#define COLUMN(field)                                                                                                  \
    {                                                                                                                  \
#field, offsetof(tutti_method_row, field)                                                                      \
    }
static const column columns[] = {
    COLUMN(parallelism), COLUMN(optimisation), COLUMN(schedule),    COLUMN(lock),        COLUMN(pattern),
    COLUMN(travels),     COLUMN(overlap),      COLUMN(local_rule),  COLUMN(centre_rule), COLUMN(period),
    COLUMN(refuses),     COLUMN(source),       COLUMN(paper_rules),
};
enum { NCOLUMNS = sizeof columns / sizeof *columns };

static const char *words_of(const tutti_method_row *m, const column *c)
{
    return *(const char *const *)(const void *)((const char *)m + c->offset);
}

static const tutti_field *field_of(const tutti_field_table *table, const char *key)
{
    for (int i = 0; i < table->nfields; i++)
        if (!strcmp(table->fields[i].key, key)) return &table->fields[i];
    return NULL;
}

/* ---- printing as text ---- */

static void print_table(void)
{
    printf("%-14s %-22s %-14s %-20s %-25s %s\n  %s\n\n", "method", "parallelism", "optimisation", "schedule",
           "exchange", "travels", "what it does");
    for (int i = 0; tutti_method_at(i); i++) {
        const tutti_method_row *m = tutti_method_at(i);
        printf("%-14s %-22s %-14s %-20s %-25s %s\n  %s\n", m->name, m->parallelism, m->optimisation, m->schedule,
               m->period, m->travels, m->help);
    }
}

static void print_page(const tutti_method_row *m)
{
    tutti_job_fields space;
    const tutti_field_table *table = tutti_job_fields_list(&space);
    printf("%s: %s\n\n", m->name, m->help);
    for (int i = 0; i < NCOLUMNS; i++) {
        char title[24];
        snprintf(title, sizeof title, "%s", columns[i].key);
        for (char *c = title; *c; c++)
            if (*c == '_') *c = ' ';
        printf("  %-14s %s\n", title, words_of(m, &columns[i]));
    }
    printf("\nkeys of a job:\n");
    for (int i = 0; tutti_method_key_name(m, i); i++) {
        const tutti_field *f = field_of(table, tutti_method_key_name(m, i));
        printf("  %-22s %-10s %s%s%s%s\n", f->key, f->initial, f->help, f->choices ? " (" : "",
               f->choices ? f->choices : "", f->choices ? ")" : "");
    }
}

/* ---- printing as JSON ---- */

static void add_row(tutti_json *j, const tutti_method_row *m)
{
    tutti_job_fields space;
    const tutti_field_table *table = tutti_job_fields_list(&space);
    tutti_json_open(j, NULL, '{');
    tutti_json_text(j, "name", m->name);
    tutti_json_text(j, "help", m->help);
    for (int i = 0; i < NCOLUMNS; i++) tutti_json_text(j, columns[i].key, words_of(m, &columns[i]));
    tutti_json_open(j, "keys", '{');
    for (int i = 0; tutti_method_key_name(m, i); i++)
        tutti_json_text(j, tutti_method_key_name(m, i), field_of(table, tutti_method_key_name(m, i))->initial);
    tutti_json_close(j, '}');
    tutti_json_close(j, '}');
}

static void print_json(const tutti_method_row *only)
{
    tutti_strbuf text = {0};
    tutti_json j = {.out = &text};
    if (only) {
        add_row(&j, only);
    } else {
        tutti_json_open(&j, NULL, '[');
        for (int i = 0; tutti_method_at(i); i++) add_row(&j, tutti_method_at(i));
        tutti_json_close(&j, ']');
    }
    printf("%s\n", text.text);
    tutti_strbuf_release(&text);
}

/* ---- the command methods ---- */

static tutti_status show(const tutti_flags *f, tutti_failure *err)
{
    const tutti_method_row *only = NULL;
    if (f->nrest > 1)
        return tutti_fail(err, TUTTI_ERR_USAGE, "one name or none is wanted: tutti methods [NAME] [--json]");
    const tutti_status st = f->nrest ? tutti_job_find_method(f->rest[0], &only, err) : TUTTI_OK;
    if (st) return st;
    if (tutti_cli_has(f, "json"))
        print_json(only);
    else if (only)
        print_page(only);
    else
        print_table();
    return TUTTI_OK;
}

static int run_command(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "methods",
        .usage = "tutti methods [NAME] [--json]",
        .about = about,
        TUTTI_CLI_FLAGS(flags),
        .any_arguments = true,
        .run = show,
    };
    return tutti_cli_run(&form, argc, argv);
}

const tutti_command tutti_command_methods = {"methods", "list how ranks can agree on weights, by their coordinates",
                                             run_command};
