/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_ddl_table.c: `tutti papers ddl-table` as a user types it: on made-up rows the form of what it prints and the words of refusals; on
 * the published ones, where they are ($TUTTI_DATA, or shared/data beside the source tree), what the documentation says of them. */
#include "testing.h"

#include <math.h>

#include <cjson/cJSON.h>

#include "cli/command_folder.h"

#define HEAD                                                                                                           \
    "| DNN | BS | CONNECTION | METHOD | 1 GPU | 4 GPUs | 8 GPUs |\n| --- | --- | --- | --- | --- | --- | --- |\n"
#define LAYERS "Id Name Forward Backward Comm Size\n0 a 1 2 0 4000000\n1 b 1 2 0 40000000\n"

static int make(void **state)
{
    if (folder_make(state)) return -1;
    put("layers.txt", LAYERS);
    put("one.md", HEAD "| Mine | 8 | 10GbE with TCP/IP | BSP-A2A | 100 | 300 | 400 |\n"
                       "| Mine | 8 | 100GbIB with RDMA | WFBP-PS | 100 | 390 | 780 |\n");
    put("two.md", HEAD "| Mine | 8 | 10GbE with TCP/IP | BSP-A2A | 100 | 300 | 400 |\n"
                       "| ResNet-50 | 8 | 10GbE with TCP/IP | WFBP-A2A | 100 | 300 | 400 |\n");
    put("net.md", HEAD "| ResNet-50 | 8 | 1GbE | BSP-A2A | 100 | 300 | 400 |\n");
    put("method.md", HEAD "| ResNet-50 | 8 | 10GbE with TCP/IP | Gossip | 100 | 300 | 400 |\n");
    return 0;
}

static void last_line_of(const char *text, char out[200])
{
    const char *end = text + strlen(text);
    while (end > text && end[-1] == '\n') end--;
    const char *begin = end;
    while (begin > text && begin[-1] != '\n') begin--;
    snprintf(out, 200, "%.*s", (int)(end - begin), begin);
}

static void cells_are_one_object_each_and_the_last_line_is_the_verdict(void **state)
{
    (void)state;
    char *text = says("papers ddl-table --rows $/one.md --layers $/layers.txt --json $/cells.json", 0, "suspect rows"),
         line[200];
    double median, p95;
    int n = 0, length = 0;
    last_line_of(text, line);
    assert_int_equal(
        sscanf(line, "median %lf %% p95 %lf %% over %d cells (BSP-A2A, WFBP-A2A)%n", &median, &p95, &n, &length), 3);
    assert_int_equal(line[length], '\0');
    assert_int_equal(n, 2);
    free(text);
    char *cells = get("cells.json"), *rest = cells;
    n = 0;
    for (char *at; (at = strsep(&rest, "\n")) && *at; n++) {
        cJSON *o = cJSON_Parse(at);
        static const char *const keys[] = {"model", "connection", "method", "gpus", "measured", "predicted"};
        assert_int_equal(cJSON_GetArraySize(o), 6);
        for (int k = 0; k < 6; k++) assert_string_equal(cJSON_GetArrayItem(o, k)->string, keys[k]);
        assert_true(cJSON_GetObjectItem(o, "predicted")->valuedouble > 0);
        cJSON_Delete(o);
    }
    assert_int_equal(n, 4);
    free(cells);
    check("papers ddl-table --rows $/two.md --layers Mine=$/layers.txt", 0, "over 4 cells");
}

static void what_cannot_be_judged_is_refused(void **state)
{
    (void)state;
    check("papers ddl-table", 2, "wants --rows FILE, --fit FILE or --left-out FILE");
    check("papers ddl-table", 2, "results/2020-05-29/README.md of https://github.com/HKBU-HPML/ddl-benchmarks");
    check("papers ddl-table --rows $/none.md", 3, "none.md");
    check("papers ddl-table --rows $/layers.txt", 3, "no row of measured figures");
    check("papers ddl-table --rows $/one.md", 2, "no layers of Mine");
    check("papers ddl-table --rows $/two.md --layers $/layers.txt", 2, "MODEL=FILE with a model of the rows");
    check("papers ddl-table --rows $/one.md --layers Yours=$/layers.txt", 2, "MODEL=FILE with a model of the rows");
    check("papers ddl-table --rows $/one.md --layers $/one.md", 3, "one.md: line 1");
    check("papers ddl-table --rows $/net.md", 3, "line 3: no constants for the connection '1GbE'");
    check("papers ddl-table --rows $/method.md", 3, "line 3: no method 'Gossip'");
    check("papers ddl-table --rows $/one.md --fit $/one.md", 2, "wants --rows FILE, --fit FILE or --left-out FILE");
    check("papers ddl-table --fit $/one.md --json $/x", 2, "are of --rows");
    check("papers ddl-table --rows $/one.md --out $/x", 2, "are of --fit");
    check("papers ddl-table --left-out $/one.md --rows $/one.md", 2,
          "wants --rows FILE, --fit FILE or --left-out FILE");
    check("papers ddl-table --left-out $/one.md --layers $/layers.txt", 3,
          "of one model alone nothing can be left out");
    check("papers ddl-table --left-out $/two.md --layers Mine=$/layers.txt", 3, "to fit");
    check("papers ddl-table --left-out $/two.md --out $/x", 2, "are of --fit");
    check("papers ddl-table --fit $/one.md", 3, "no figure of ResNet-50");
    check("papers ddl-table --help", 0, "usage: tutti papers ddl-table");
}

/* --- the published rows --- */

static const char *published(char path[4096])
{
    const char *folder = getenv("TUTTI_DATA");
    snprintf(path, 4096, "%s/ddl-benchmarks-2020-05-29.md", folder ? folder : TUTTI_SOURCE_DIR "/../shared/data");
    if (access(path, R_OK) == 0) return path;
    print_message("%s is not there: skipped\n", path);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* The median error, per cent, of a model's cells of BSP-A2A and WFBP-A2A. */
static double median_of(const char *cells, const char *model, int *n)
{
    double errors[256];
    char *copy = strdup(cells), *rest = copy;
    *n = 0;
    for (char *at; (at = strsep(&rest, "\n")) && *at;) {
        cJSON *o = cJSON_Parse(at);
        const char *method = cJSON_GetObjectItem(o, "method")->valuestring;
        const double measured = cJSON_GetObjectItem(o, "measured")->valuedouble;
        if (!strcmp(cJSON_GetObjectItem(o, "model")->valuestring, model) &&
            (!strcmp(method, "BSP-A2A") || !strcmp(method, "WFBP-A2A")))
            errors[(*n)++] = 100 * fabs(cJSON_GetObjectItem(o, "predicted")->valuedouble / measured - 1);
        cJSON_Delete(o);
    }
    free(copy);
    qsort(errors, (size_t)*n, sizeof *errors, by_size);
    return (errors[(*n - 1) / 2] + errors[*n / 2]) / 2;
}

static void the_published_rows_are_met_as_documented(void **state)
{
    (void)state;
    char path[4096], line[4400];
    int n;
    if (!published(path)) skip();
    snprintf(line, sizeof line, "papers ddl-table --rows %s --json $/cells.json", path);
    check(line, 0, "over 48 cells (BSP-A2A, WFBP-A2A)");
    char *cells = get("cells.json");
    assert_true(median_of(cells, "ResNet-50", &n) <= 3);
    assert_int_equal(n, 24);
    assert_true(median_of(cells, "BERT-Base", &n) <= 3);
    assert_int_equal(n, 24);
    free(cells);
}

/* Each of the two networks, by constants that were fitted on the other, which for BERT-Base do not know Adam. */
static void networks_that_were_left_out_are_met_as_documented(void **state)
{
    (void)state;
    char path[4096], line[4400];
    if (!published(path)) skip();
    snprintf(line, sizeof line, "papers ddl-table --left-out %s", path);
    char *text = says(line, 0, "over all 168");
    int n = 0;
    for (const char *at = text; (at = strstr(at, "all methods")); at += 11, n++)
        assert_true(strtod(at + 11, NULL) <= (n ? 15 : 10));
    assert_int_equal(n, 2);
    free(text);
}

/* The committed constants are what --fit makes of the rows of ResNet-50 and BERT-Base, and of nothing else in the file. */
static void the_committed_constants_are_those_of_the_fit(void **state)
{
    (void)state;
    char path[4096], line[4400];
    size_t nbytes;
    if (!published(path)) skip();
    snprintf(line, sizeof line, "papers ddl-table --fit %s --out $/constants.yaml", path);
    check(line, 0, "");
    char *made = get("constants.yaml"), *committed;
    assert_int_equal(tutti_file_read(TUTTI_SOURCE_DIR "/papers/ddl-table/constants.yaml", 1 << 20, TUTTI_ERR_DATA,
                                     &committed, &nbytes, NULL),
                     TUTTI_OK);
    assert_string_equal(made, committed);
    free(made);
    free(committed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_one_object_each_and_the_last_line_is_the_verdict),
        cmocka_unit_test(what_cannot_be_judged_is_refused),
        cmocka_unit_test(the_published_rows_are_met_as_documented),
        cmocka_unit_test(networks_that_were_left_out_are_met_as_documented),
        cmocka_unit_test(the_committed_constants_are_those_of_the_fit),
    };
    return cmocka_run_group_tests(tests, make, folder_drop);
}
