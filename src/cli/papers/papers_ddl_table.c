/* SPDX-License-Identifier: Apache-2.0 */
/* papers_ddl_table.c: `tutti papers ddl-table`: a published table of measured throughputs beside what this model of a step says of each
 * cell; --fit makes the constants of its machine. The table itself is the user's: none comes with the program. */
#include "papers_ddl_table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/arena.h"
#include "../../base/text/json.h"
#include "../../papers/ddl_table.h"
#include "../cli.h"

#define TABLE "results/2020-05-29/README.md of https://github.com/HKBU-HPML/ddl-benchmarks"

static const tutti_flag flags[] = {
    {"rows", "FILE", "judge these rows, in the layout as published; nothing is fitted", TUTTI_FLAG_READS},
    {"fit", "FILE", "make constants from the rows of --model in it: BSP-A2A, WFBP-A2A and BSP-PS alone",
     TUTTI_FLAG_READS},
    {"left-out", "FILE", "of each model in it: its errors by constants that were fitted on the others",
     TUTTI_FLAG_READS},
    {"layers", "[MODEL=]FILE",
     "a model's layers, six columns, a row a tensor: shares of the time, bytes that are exchanged", TUTTI_FLAG_MANY},
    {"constants", "FILE", "of the machine (default: papers/ddl-table/constants.yaml)", TUTTI_FLAG_READS},
    {"model", "NAME[,NAME..]", "whose rows --fit takes (default ResNet-50,BERT-Base)", 0},
    {"adam", "NAME[,NAME..]", "of them: networks that Adam trains (default BERT-Base,BERT-Large)", 0},
    {"gpus-per-node", "N", "of --fit and --left-out (default 4)", 0},
    {"out", "FILE", "write the constants of --fit there (default: print them)", TUTTI_FLAG_WRITES},
    {"json", "FILE", "of --rows: one object a cell and line", TUTTI_FLAG_WRITES},
    {"dir", "DIR", "folder of the pages (default: as of tutti papers)", 0},
};
enum { NFLAGS = sizeof flags / sizeof flags[0], MAX_MODELS = 16, MAX_NAME = 128, WORST = 5, FLAG_LAYERS = 3 };

typedef struct {
    char name[MAX_NAME];
    tutti_layer_trace layers;
} model;

typedef struct {
    const tutti_ddl_row *row;
    const tutti_ddl_method *method;
    int gpus;
    double measured, predicted; /* samples/s */
} cell;

typedef struct {
    tutti_ddl_rows rows;
    tutti_ddl_constants constants;
    model models[MAX_MODELS];
    int nmodels, ncells, capacity;
    cell *cells;
} table;

/* --- files --- */

static tutti_status find_path(const tutti_flags *f, const char *name, char out[TUTTI_PAPERS_PATH], tutti_failure *err)
{
    char found[TUTTI_PAPERS_PATH];
    const char *folder = tutti_cli_value(f, "dir", tutti_papers_folder_find(found) ? found : NULL);
    if (!folder) return tutti_fail(err, TUTTI_ERR_USAGE, "no folder of pages beside the program; name it with --dir");
    if (snprintf(out, TUTTI_PAPERS_PATH, "%.3000s/ddl-table/%.500s", folder, name) < 0) return TUTTI_ERR_FAILED;
    return TUTTI_OK;
}

/* Whether the rows are of one model alone. */
static bool has_one_model(const tutti_ddl_rows *rows)
{
    for (int i = 1; i < rows->nrows; i++)
        if (strcmp(rows->rows[i].model, rows->rows[0].model) != 0) return false;
    return true;
}

/* Of --layers: MODEL=FILE, or FILE where the rows are of one model. NULL: not there. */
static const char *given_layers(const tutti_flags *f, const char *name, bool alone)
{
    const size_t n = strlen(name);
    for (int i = 0; i < f->count[FLAG_LAYERS]; i++) {
        const char *value = f->value[FLAG_LAYERS][i];
        if (!strncmp(value, name, n) && value[n] == '=') return value + n + 1;
        if (alone && !strchr(value, '=')) return value;
    }
    return NULL;
}

static tutti_status check_times(const char *path, const tutti_layer_trace *t, tutti_failure *err)
{
    double us = 0, bytes = 0;
    for (int l = 0; l < t->nlayers; l++) {
        us += t->layers[l].forward_us + t->layers[l].backward_us;
        bytes += (double)t->layers[l].size_bytes;
    }
    if (!(us > 0))
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: no layer takes any time: there are no shares of it", path);
    if (bytes > 1e15) return tutti_fail(err, TUTTI_ERR_DATA, "%s: more than 1000 TB to exchange", path);
    return TUTTI_OK;
}

/* "BERT-Base" -> papers/ddl-table/bert-base.txt */
static tutti_status open_model(const tutti_flags *f, const char *name, bool alone, model *out, tutti_failure *err)
{
    char path[TUTTI_PAPERS_PATH], file[MAX_NAME + 8];
    const char *given = given_layers(f, name, alone);
    tutti_status st = TUTTI_OK;
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(file, sizeof file, "%.120s.txt", name);
    for (char *c = file; *c; c++) *c = (char)(*c == '/' ? '-' : tolower((unsigned char)*c));
    if (!given) st = find_path(f, file, path, err);
    if (!st && !given && !tutti_layer_trace_is(path))
        st = tutti_fail(err, TUTTI_ERR_USAGE, "no layers of %s: %s is not there; name a file, --layers '%s=FILE'", name,
                        path, name);
    if (!st) st = tutti_layer_trace_read(given ? given : path, &out->layers, err);
    if (!st) st = check_times(given ? given : path, &out->layers, err);
    return st;
}

static tutti_status find_model(const tutti_flags *f, table *t, const char *name, const model **out, tutti_failure *err)
{
    for (int i = 0; i < t->nmodels; i++)
        if (!strcmp(t->models[i].name, name)) {
            *out = &t->models[i];
            return TUTTI_OK;
        }
    if (t->nmodels == MAX_MODELS || strlen(name) >= MAX_NAME)
        return tutti_fail(err, TUTTI_ERR_DATA, "more than %d models, or a name longer than %d bytes: %.40s", MAX_MODELS,
                          MAX_NAME - 1, name);
    *out = &t->models[t->nmodels];
    return open_model(f, name, has_one_model(&t->rows), &t->models[t->nmodels++], err);
}

/* A value of --layers that no row wants is a slip of the pen. */
static tutti_status check_layers(const tutti_flags *f, const tutti_ddl_rows *rows, tutti_failure *err)
{
    for (int i = 0; i < f->count[FLAG_LAYERS]; i++) {
        const char *value = f->value[FLAG_LAYERS][i];
        bool wanted = !strchr(value, '=') && has_one_model(rows);
        for (int r = 0; r < rows->nrows; r++) {
            const size_t n = strlen(rows->rows[r].model);
            wanted |= !strncmp(value, rows->rows[r].model, n) && value[n] == '=';
        }
        if (!wanted)
            return tutti_fail(
                err, TUTTI_ERR_USAGE,
                "--layers %.100s: MODEL=FILE with a model of the rows is wanted where they are of several", value);
    }
    return TUTTI_OK;
}

/* --- cells --- */

static tutti_status add_cells(const tutti_flags *f, table *t, const tutti_ddl_row *r, tutti_failure *err)
{
    const model *m = NULL;
    const int network = tutti_ddl_network_find(&t->constants, r->connection);
    const tutti_ddl_method *method = tutti_ddl_method_find(r->method);
    if (network < 0)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: no constants for the connection '%.60s'",
                          tutti_cli_value(f, "rows", ""), r->line, r->connection);
    if (!method)
        return tutti_fail(err, TUTTI_ERR_DATA, "%s: line %d: no method '%.60s'", tutti_cli_value(f, "rows", ""),
                          r->line, r->method);
    const tutti_status st = find_model(f, t, r->model, &m, err);
    for (int k = 0; k < t->rows.ncounts && !st; k++) {
        if (isnan(r->measured[k])) continue;
        const cell c = {
            r, method, t->rows.gpus[k], r->measured[k],
            tutti_ddl_predict(&t->constants, &t->constants.networks[network], r, &m->layers, t->rows.gpus[k])};
        t->cells = tutti_grow(t->cells, t->ncells, &t->capacity, sizeof *t->cells);
        t->cells[t->ncells++] = c;
    }
    return st;
}

/* As the fit saw it: then an error says how well the constants fit, not how well they foretell. */
static bool was_fitted(const table *t, const cell *c)
{
    const char *m = c->row->method;
    return tutti_ddl_is_fitted(&t->constants, c->row->model) &&
           (!strcmp(m, "BSP-A2A") || !strcmp(m, "WFBP-A2A") || !strcmp(m, "BSP-PS"));
}

static double error_of(const cell *c)
{
    return 100 * (c->predicted / c->measured - 1);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct {
    int n;
    double median, p95; /* per cent, of absolute errors; p95: nearest rank */
} spread;

static spread spread_of(const table *t, const char *name, const char *method, bool judged)
{
    double *errors = tutti_alloc(sizeof *errors * (size_t)(t->ncells + 1));
    spread s = {0};
    for (int i = 0; i < t->ncells; i++) {
        const cell *c = &t->cells[i];
        if ((name && strcmp(c->row->model, name) != 0) || (method && strcmp(c->method->name, method) != 0)) continue;
        if (!judged || c->method->is_judged) errors[s.n++] = fabs(error_of(c));
    }
    qsort(errors, (size_t)s.n, sizeof *errors, by_size);
    if (s.n > 0) {
        s.median = (errors[(s.n - 1) / 2] + errors[s.n / 2]) / 2;
        s.p95 = errors[(int)ceil(0.95 * s.n) - 1];
    }
    free(errors);
    return s;
}

/* --- what is printed --- */

static void print_cells(const table *t)
{
    printf("%-12s %-20s %-18s", "model", "connection", "method");
    for (int k = 0; k < t->rows.ncounts; k++) printf(" %5d GPUs %8s %6s", t->rows.gpus[k], "ours", "error");
    printf("\n");
    for (int i = 0; i < t->ncells;) {
        const tutti_ddl_row *r = t->cells[i].row;
        printf("%-12s %-20s %-18s", r->model, r->connection, r->method);
        for (int k = 0; k < t->rows.ncounts; k++) {
            const cell *c =
                i < t->ncells && t->cells[i].row == r && t->cells[i].gpus == t->rows.gpus[k] ? &t->cells[i++] : NULL;
            if (c)
                printf(" %10.1f %8.1f %+5.1f%%", c->measured, c->predicted, error_of(c));
            else
                printf(" %10s %8s %6s", "-", "-", "-");
        }
        printf("\n");
    }
}

static void print_worst(const table *t)
{
    bool *told = tutti_alloc((size_t)t->ncells + 1);
    printf("\nworst cells of BSP-A2A and WFBP-A2A\n");
    for (int n = 0; n < WORST; n++) {
        int worst = -1;
        for (int i = 0; i < t->ncells; i++)
            if (t->cells[i].method->is_judged && !told[i] &&
                (worst < 0 || fabs(error_of(&t->cells[i])) > fabs(error_of(&t->cells[worst]))))
                worst = i;
        if (worst < 0) break;
        const cell *c = &t->cells[worst];
        printf("  line %d, %s, %s, %s, %d GPUs: %+.1f %%\n", c->row->line, c->row->model, c->row->connection,
               c->method->name, c->gpus, error_of(c));
        told[worst] = true;
    }
    free(told);
}

static void print_suspects(const table *t)
{
    tutti_strbuf out = {0};
    tutti_ddl_suspects(&t->rows, (int)t->constants.gpus_per_node, &out);
    printf("\nsuspect rows: measured figures that do not go together (docs/measured_table.md has the rules); none is "
           "left out%s\n",
           out.length ? "" : ": none");
    if (out.length) fputs(out.text, stdout);
    tutti_strbuf_release(&out);
}

static void print_spreads(const table *t)
{
    printf("\nerrors of predicted samples/s: median, 95th percentile\n");
    for (int m = 0; m < t->nmodels; m++) {
        const char *name = t->models[m].name;
        const spread s = spread_of(t, name, NULL, true);
        const bool fitted = tutti_ddl_is_fitted(&t->constants, name);
        if (s.n)
            printf("  %-12s %-18s %5.1f %% %5.1f %% over %d cells%s\n", name, "BSP-A2A, WFBP-A2A", s.median, s.p95, s.n,
                   fitted ? ", in-sample: the constants were fitted on them" : ", which no constant has seen");
    }
    printf("shown apart, in no figure below\n");
    for (int m = 0; m < t->nmodels; m++)
        for (int k = 0; k < tutti_ddl_method_count(); k++) {
            const tutti_ddl_method *method = tutti_ddl_method_at(k);
            const spread s = spread_of(t, t->models[m].name, method->name, false);
            bool fitted = false;
            for (int i = 0; i < t->ncells; i++)
                fitted |= t->cells[i].method == method && !strcmp(t->cells[i].row->model, t->models[m].name) &&
                          was_fitted(t, &t->cells[i]);
            if (s.n && !method->is_judged)
                printf("  %-12s %-18s %5.1f %% %5.1f %% over %d cells%s\n", t->models[m].name, method->name, s.median,
                       s.p95, s.n, fitted ? ", in-sample" : "");
        }
}

static tutti_status write_json(const table *t, const char *path, tutti_failure *err)
{
    tutti_strbuf out = {0};
    for (int i = 0; i < t->ncells; i++) {
        const cell *c = &t->cells[i];
        tutti_json j = {.out = &out};
        tutti_json_open(&j, NULL, '{');
        tutti_json_text(&j, "model", c->row->model);
        tutti_json_text(&j, "connection", c->row->connection);
        tutti_json_text(&j, "method", c->method->name);
        tutti_json_int(&j, "gpus", c->gpus);
        tutti_json_real(&j, "measured", c->measured);
        tutti_json_real(&j, "predicted", c->predicted);
        tutti_json_close(&j, '}');
        tutti_strbuf_puts(&out, "\n");
    }
    const tutti_status st = tutti_cli_write(path, out.text ? out.text : "", err);
    tutti_strbuf_release(&out);
    return st;
}

static void table_destroy(table *t)
{
    for (int m = 0; m < t->nmodels; m++) tutti_layer_trace_release(&t->models[m].layers);
    tutti_ddl_rows_release(&t->rows);
    tutti_ddl_constants_release(&t->constants);
    free(t->cells);
    free(t);
}

static tutti_status judge(const tutti_flags *f, tutti_failure *err)
{
    char path[TUTTI_PAPERS_PATH];
    table *t = tutti_alloc(sizeof *t);
    const char *constants = tutti_cli_value(f, "constants", NULL);
    tutti_status st = constants ? TUTTI_OK : find_path(f, "constants.yaml", path, err);
    if (!st) st = tutti_ddl_constants_read(constants ? constants : path, &t->constants, err);
    if (!st) st = tutti_ddl_rows_read(tutti_cli_value(f, "rows", ""), &t->rows, err);
    if (!st) st = check_layers(f, &t->rows, err);
    for (int i = 0; i < t->rows.nrows && !st; i++) st = add_cells(f, t, &t->rows.rows[i], err);
    if (!st && tutti_cli_has(f, "json")) st = write_json(t, tutti_cli_value(f, "json", NULL), err);
    if (!st) {
        const spread all = spread_of(t, NULL, NULL, true);
        print_cells(t);
        print_worst(t);
        print_suspects(t);
        print_spreads(t);
        printf("median %.1f %% p95 %.1f %% over %d cells (BSP-A2A, WFBP-A2A)\n", all.median, all.p95, all.n);
    }
    table_destroy(t);
    return st;
}

/* --- fits --- */

static tutti_status fit_models(const tutti_flags *f, const table *t, const model *without, tutti_ddl_constants *out,
                               tutti_failure *err)
{
    tutti_ddl_model of[MAX_MODELS];
    int n = 0;
    long node = 4;
    for (int m = 0; m < t->nmodels; m++)
        if (&t->models[m] != without) of[n++] = (tutti_ddl_model){t->models[m].name, &t->models[m].layers};
    tutti_strbuf adam = {0};
    tutti_status st = tutti_cli_int(f, "gpus-per-node", 1, 1024, 4, &node, err);
    for (const char *at = tutti_cli_value(f, "adam", "BERT-Base,BERT-Large"); *at; at++)
        tutti_strbuf_printf(&adam, *at == ',' ? "%c " : "%c", *at);
    const tutti_ddl_given given = {(int)node, adam.text ? adam.text : ""};
    if (!st) st = tutti_ddl_fit(&t->rows, of, n, &given, out, err);
    tutti_strbuf_release(&adam);
    return st;
}

static tutti_status fit(const tutti_flags *f, tutti_failure *err)
{
    table *t = tutti_alloc(sizeof *t);
    char names[4 * MAX_NAME], *rest = names;
    const model *unused;
    tutti_status st = tutti_ddl_rows_read(tutti_cli_value(f, "fit", ""), &t->rows, err);
    const int length = snprintf(names, sizeof names, "%s", tutti_cli_value(f, "model", "ResNet-50,BERT-Base"));
    if (!st && length >= (int)sizeof names)
        st = tutti_fail(err, TUTTI_ERR_USAGE, "--model: longer than %zu bytes", sizeof names - 1);
    for (char *name; !st && (name = strsep(&rest, ","));) st = find_model(f, t, name, &unused, err);
    if (!st) st = fit_models(f, t, NULL, &t->constants, err);
    if (!st) {
        tutti_strbuf out = {0};
        tutti_ddl_constants_print(&t->constants, &out);
        st = tutti_cli_write(tutti_cli_value(f, "out", NULL), out.text, err);
        tutti_strbuf_release(&out);
    }
    table_destroy(t);
    return st;
}

static void print_left_out(const table *t, const char *name)
{
    const spread judged = spread_of(t, name, NULL, true), all = spread_of(t, name, NULL, false);
    for (int k = 0; k < tutti_ddl_method_count(); k++) {
        const spread s = spread_of(t, name, tutti_ddl_method_at(k)->name, false);
        if (s.n)
            printf("  %-12s %-18s %5.1f %% %5.1f %% over %d cells\n", name, tutti_ddl_method_at(k)->name, s.median,
                   s.p95, s.n);
    }
    if (judged.n)
        printf("  %-12s %-18s %5.1f %% %5.1f %% over %d cells\n", name, "BSP-A2A, WFBP-A2A", judged.median, judged.p95,
               judged.n);
    printf("  %-12s %-18s %5.1f %% %5.1f %% over %d cells\n", name, "all methods", all.median, all.p95, all.n);
}

/* Each model by constants that have not seen it. */
static tutti_status leave_out(const tutti_flags *f, tutti_failure *err)
{
    table *t = tutti_alloc(sizeof *t);
    const model *unused;
    tutti_status st = tutti_ddl_rows_read(tutti_cli_value(f, "left-out", ""), &t->rows, err);
    if (!st) st = check_layers(f, &t->rows, err);
    for (int i = 0; i < t->rows.nrows && !st; i++) st = find_model(f, t, t->rows.rows[i].model, &unused, err);
    if (!st && t->nmodels < 2)
        st = tutti_fail(err, TUTTI_ERR_DATA, "%s: of one model alone nothing can be left out",
                        tutti_cli_value(f, "left-out", ""));
    if (!st) printf("errors of predicted samples/s by constants fitted on the other models: median, 95th percentile\n");
    for (int m = 0; m < t->nmodels && !st; m++) {
        st = fit_models(f, t, &t->models[m], &t->constants, err);
        for (int i = 0; i < t->rows.nrows && !st; i++)
            if (!strcmp(t->rows.rows[i].model, t->models[m].name)) st = add_cells(f, t, &t->rows.rows[i], err);
        if (!st) print_left_out(t, t->models[m].name);
        tutti_ddl_constants_release(&t->constants);
    }
    const spread judged = spread_of(t, NULL, NULL, true), all = spread_of(t, NULL, NULL, false);
    if (!st)
        printf("median %.1f %% p95 %.1f %% over %d cells (BSP-A2A, WFBP-A2A); %.1f %% and %.1f %% over all %d\n",
               judged.median, judged.p95, judged.n, all.median, all.p95, all.n);
    table_destroy(t);
    return st;
}

static tutti_status ddl_table(const tutti_flags *f, tutti_failure *err)
{
    const bool judges = tutti_cli_has(f, "rows"), fits = tutti_cli_has(f, "fit"), leaves = tutti_cli_has(f, "left-out");
    if (f->nrest) return tutti_fail(err, TUTTI_ERR_USAGE, "unexpected argument '%.60s'", f->rest[0]);
    if (judges + fits + leaves != 1)
        return tutti_fail(
            err, TUTTI_ERR_USAGE,
            "wants --rows FILE, --fit FILE or --left-out FILE: the published table, which does not come with tutti: "
            "FILE is " TABLE " (docs/measured_table.md)");
    if (!judges && (tutti_cli_has(f, "json") || tutti_cli_has(f, "constants")))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--json and --constants are of --rows");
    if (!fits && (tutti_cli_has(f, "out") || tutti_cli_has(f, "model")))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--out and --model are of --fit");
    if (judges && (tutti_cli_has(f, "gpus-per-node") || tutti_cli_has(f, "adam")))
        return tutti_fail(err, TUTTI_ERR_USAGE, "--gpus-per-node and --adam are of --fit and --left-out");
    return judges ? judge(f, err) : fits ? fit(f, err) : leave_out(f, err);
}

int tutti_papers_ddl_table(int argc, char **argv)
{
    static const tutti_cli_form form = {
        .name = "papers ddl-table",
        .usage = "tutti papers ddl-table --rows FILE | --fit FILE | --left-out FILE [options]",
        .about =
            "Measured samples/s of whole training steps on up to 32 GPUs, as HKBU-HPML/ddl-benchmarks publishes them, "
            "beside\nwhat this model says: a step of one GPU from the table, exchanges from constants that were "
            "fitted on two models.\nThe last line: errors over all cells of BSP-A2A and WFBP-A2A.",
        .flags = flags,
        .nflags = NFLAGS,
        .any_arguments = true,
        .run = ddl_table,
    };
    return tutti_cli_run(&form, argc, argv);
}
