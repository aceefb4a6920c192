/* SPDX-License-Identifier: Apache-2.0 */
/* test_ddl_table.c: published rows are read as they stand and refused by their line; constants that made rows are found again from them, from
 * one model's alone; a cell is its formula; rows that do not go together are named. All figures here are made up. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "papers/ddl_table.h"

#define HEAD                                                                                                           \
    "| DNN | BS | CONNECTION | METHOD | 1 GPU | 4 GPUs | 8 GPUs |\n| --- | --- | --- | --- | --- | --- | --- | \n"

static void read_rows(const char *text, tutti_ddl_rows *out)
{
    tutti_failure err = {0};
    if (tutti_ddl_rows_parse("t", text, strlen(text), out, &err)) fail_msg("%s", err.text);
}

static void rows_are_read_as_they_stand(void **state)
{
    (void)state;
    tutti_ddl_rows t;
    read_rows("words above\n\n" HEAD "| A | 64 | 10GbE with TCP/IP | BSP-A2A | 253.1 | 925.020 +- 4.42 | \n"
              "\n| B | 8 | 1GbE | X | 2 | - | 7e1 |",
              &t);
    assert_int_equal(t.ncounts, 2);
    assert_int_equal(t.gpus[1], 8);
    assert_int_equal(t.nrows, 2);
    assert_string_equal(t.rows[0].model, "A");
    assert_string_equal(t.rows[0].connection, "10GbE with TCP/IP");
    assert_true(t.rows[0].one == 253.1 && t.rows[0].measured[0] == 925.02 && t.rows[0].spread[0] == 4.42);
    assert_true(isnan(t.rows[0].measured[1]) && isnan(t.rows[1].measured[0]) && t.rows[1].measured[1] == 70);
    assert_int_equal(t.rows[0].line, 5);
    assert_int_equal(t.rows[1].batch, 8);
    tutti_ddl_rows_release(&t);
}

static void what_is_no_table_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } refused[] = {
        {"", "t: no row of measured figures"},
        {HEAD, "t: no row of measured figures"},
        {"| DNN | BS | NETWORK | METHOD | 1 GPU | 4 GPUs |\n", "t: line 1: column 3 of the head is not CONNECTION"},
        {"| DNN | BS | CONNECTION | METHOD | 1 GPU |\n", "t: line 1: wants the columns 1 GPU and at least one more"},
        {"| DNN | BS | CONNECTION | METHOD | 2 GPUs | 4 GPUs |\n", "t: line 1: '2 GPUs' stands where"},
        {"| DNN | BS | CONNECTION | METHOD | 1 GPU | 4 TPUs |\n", "t: line 1: '4 TPUs' is no column of GPUs"},
        {"| DNN | BS | CONNECTION | METHOD | 1 GPU | 8 GPUs | 4 GPUs |\n", "t: line 1: '4 GPUs' is not more than"},
        {HEAD "A 64\n", "t: line 3: no row of a table"},
        {HEAD "| A | 64 | N | M | 1 | 2 | 3 | 4 |\n", "t: line 3: 8 columns where the head has 7"},
        {HEAD "| A | 64 | N | M |\n", "t: line 3: 4 columns"},
        {HEAD "| A | 6.5 | N | M | 1 | 2 | 3 |\n", "t: line 3: '6.5' is no batch"},
        {HEAD "| A | 64 | N | | 1 | 2 | 3 |\n", "t: line 3: METHOD is missing"},
        {HEAD "| A | 64 | N | M | | 2 | 3 |\n", "t: line 3: 'M' has no figure of 1 GPU"},
        {HEAD "| A | 64 | N | M | 1 | fast | 3 |\n", "t: line 3: 'fast' is no figure"},
        {HEAD "| A | 64 | N | M | 1 | 0 | 3 |\n", "t: line 3: '0' is no figure"},
        {HEAD "| A | 64 | N | M | 1 | 0x10 | 3 |\n", "t: line 3: '0x10' is no figure"},
        {HEAD "| A | 64 | N | M | 1 | 2 | 3 +- x |\n", "t: line 3: '3 +- x' is no figure"},
        {HEAD "| A | 64 | N | M | 1 | 2 | 3 +- 1 2 |\n", "t: line 3: '3 +- 1 2' is no figure"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tutti_ddl_rows t;
        tutti_failure err = {0};
        assert_int_equal(tutti_ddl_rows_parse("t", refused[i].text, strlen(refused[i].text), &t, &err), TUTTI_ERR_DATA);
        if (!strstr(err.text, refused[i].words)) fail_msg("'%s' instead of '%s'", err.text, refused[i].words);
    }
}

/* --- a machine that is known --- */

static const char machine[] =
    "model: A\ngpus_per_node: 4\n"
    "inside: {name: inside, line: 1e10, efficiency: 0.5, hop_us: 1, server_efficiency: 0.4}\n"
    "networks:\n"
    "  - {name: 10GbE, line: 1.25e9, efficiency: 0.8, hop_us: 20, server_efficiency: 0.6}\n"
    "  - {name: 100GbE, line: 1.25e10, efficiency: 0.2, hop_us: 15, server_efficiency: 0.3}\n";

static const tutti_ddl_given given = {4, "C, BERT"};

static void read_machine(tutti_ddl_constants *c)
{
    tutti_failure err = {0};
    if (tutti_ddl_constants_parse("m", machine, strlen(machine), c, &err)) fail_msg("%s", err.text);
}

static tutti_layer_cost layers[] = {
    {"a", 100, 200, 0, 1000000}, {"b", 0, 0, 0, 4000}, {"c", 300, 600, 0, 40000000}, {"d", 100, 200, 0, 9000000}};
static const tutti_layer_trace trace = {.layers = layers, .nlayers = 4};

static void a_cell_is_its_formula(void **state)
{
    (void)state;
    tutti_ddl_constants c;
    read_machine(&c);
    tutti_ddl_row row = {.model = "A", .connection = "10GbE", .method = "BSP-A2A", .batch = 15, .one = 100};
    const double bytes = 50004000;
    /* 150 ms of computing; a ring over 8: 14 hops of 20 us, 14/8 of the bytes at 1 GB/s; inside 6 of 1 us, 6/4 at 5 GB/s */
    double step_s = 0.15 + 14 * 20e-6 + bytes * 14 / 8 / 1e9;
    assert_true(fabs(tutti_ddl_predict(&c, &c.networks[0], &row, &trace, 8) * step_s / (15 * 8) - 1) < 1e-7);
    step_s = 0.15 + 6 * 1e-6 + bytes * 6 / 4 / 5e9;
    assert_true(fabs(tutti_ddl_predict(&c, &c.networks[0], &row, &trace, 4) * step_s / (15 * 4) - 1) < 1e-7);
    row.method = "BSP-PS";
    step_s = 0.15 + bytes / 4e9 + bytes / 3.75e9;
    assert_true(fabs(tutti_ddl_predict(&c, &c.networks[1], &row, &trace, 8) * step_s / (15 * 8) - 1) < 1e-7);
    /* wfbp on 8: d is ready at 70 ms, its exchange ends at 86.03 ms; c is ready at 130, ends at 200.28, then b and a */
    row.method = "WFBP-A2A";
    step_s = 0.05 + 0.08 + 3 * 280e-6 + (40000000 + 4000 + 1000000) * 1.75 / 1e9;
    assert_true(fabs(tutti_ddl_predict(&c, &c.networks[0], &row, &trace, 8) * step_s / (15 * 8) - 1) < 1e-7);
    tutti_ddl_constants_release(&c);
}

static void constants_are_read_back_as_they_were_printed(void **state)
{
    (void)state;
    tutti_ddl_constants c, back;
    tutti_strbuf once = {0}, twice = {0};
    tutti_failure err = {0};
    read_machine(&c);
    tutti_ddl_constants_print(&c, &once);
    if (tutti_ddl_constants_parse("m", once.text, once.length, &back, &err)) fail_msg("%s", err.text);
    tutti_ddl_constants_print(&back, &twice);
    assert_string_equal(once.text, twice.text);
    assert_int_equal(back.nnetworks, 2);
    assert_true(back.networks[1].efficiency == 0.2 && back.inside.hop_us == 1 && back.gpus_per_node == 4);
    tutti_ddl_constants_release(&c);
    tutti_ddl_constants_release(&back);
    tutti_strbuf_release(&once);
    tutti_strbuf_release(&twice);
    static const struct {
        const char *text, *words;
    } refused[] = {
        {"gpus_per_node: 4\n", "model or gpus_per_node is missing"},
        {"model: A\ngpus_per_node: 4\n", "wants a network"},
        {"model: A\ngpus_per_node: 0\n", "m: line 2"},
        {"model: A\ngpus: 4\n", "m: line 2"},
        {"model: A\ngpus_per_node: 4\ninside: {name: i, line: 1e9, efficiency: 0, hop_us: 1, server_efficiency: 1}\n",
         "line 3"},
        {"model: A\ngpus_per_node: 4\ninside: {name: i, line: 1e9, efficiency: 1, hop_us: 1, server_efficiency: 1}\n",
         "networks is missing"},
        {"- 4\n", "wants keys and values"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(tutti_ddl_constants_parse("m", refused[i].text, strlen(refused[i].text), &c, &err),
                         TUTTI_ERR_USAGE);
        if (!strstr(err.text, refused[i].words)) fail_msg("'%s' instead of '%s'", err.text, refused[i].words);
    }
}

/* Rows that the machine would have, and beside them a model whose figures are nonsense. */
static void whether_adam_trains_says_the_layer_file_else_the_constants(void **state)
{
    (void)state;
    const tutti_ddl_constants c = {.adam = "BERT-Base, GPT"}, none = {0};
    const tutti_layer_trace silent = {.nlayers = 0}, sgd = {.rule = "sgd"}, adamw = {.rule = "adamw"};
    assert_true(tutti_ddl_has_adam(&c, "GPT", &silent) && tutti_ddl_has_adam(&c, "BERT-Base", &silent));
    assert_false(tutti_ddl_has_adam(&c, "BERT", &silent) || tutti_ddl_has_adam(&c, "ResNet-50", &silent));
    assert_false(tutti_ddl_has_adam(&c, "GPT", &sgd) || tutti_ddl_has_adam(&none, "GPT", &silent));
    assert_true(tutti_ddl_has_adam(&none, "ResNet-50", &adamw));
}

/* Of two networks the second is trained by Adam: what that takes a tensor is told apart from what exchanges take. */
static void what_adam_takes_is_found_beside_another_network(void **state)
{
    (void)state;
    enum { N = 60 };
    static const char *const methods[] = {"BSP-A2A", "WFBP-A2A", "BSP-PS"};
    tutti_layer_cost small[N];
    for (int l = 0; l < N; l++) small[l] = (tutti_layer_cost){"", 10, 20, 0, 100000 * (1 + l % 5)};
    tutti_layer_trace of[2] = {{.layers = small, .nlayers = N}, {.layers = small, .nlayers = N, .rule = "adamw"}};
    static const double wanted[] = {40, 250, 600};
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
        tutti_ddl_constants c, found;
        tutti_ddl_rows rows;
        tutti_strbuf text = {0};
        tutti_failure err = {0};
        read_machine(&c);
        c.adam_us = wanted[w];
        tutti_strbuf_puts(&text, "| DNN | BS | CONNECTION | METHOD | 1 GPU | 4 GPUs | 8 GPUs | 16 GPUs |\n");
        for (int i = 0; i < 6; i++) {
            tutti_ddl_row row = {.method = methods[i % 3], .batch = 15, .one = 100};
            tutti_strbuf_printf(&text, "| %s | 15 | %s | %s | 100 |", i < 3 ? "A" : "B", c.networks[0].name,
                                row.method);
            for (int gpus = 4; gpus <= 16; gpus *= 2)
                tutti_strbuf_printf(&text, " %.9g |", tutti_ddl_predict(&c, &c.networks[0], &row, &of[i / 3], gpus));
            tutti_strbuf_puts(&text, "\n");
        }
        read_rows(text.text, &rows);
        const tutti_ddl_model models[] = {{"A", &of[0]}, {"B", &of[1]}};
        if (tutti_ddl_fit(&rows, models, 2, &given, &found, &err)) fail_msg("%s", err.text);
        if (!(fabs(found.adam_us / wanted[w] - 1) < 0.03)) fail_msg("%g instead of %g", found.adam_us, wanted[w]);
        assert_true(fabs(found.networks[0].efficiency / c.networks[0].efficiency - 1) < 0.01);
        tutti_ddl_constants_release(&found);
        tutti_ddl_constants_release(&c);
        tutti_ddl_rows_release(&rows);
        tutti_strbuf_release(&text);
    }
}

static void constants_that_made_the_rows_are_found_again(void **state)
{
    (void)state;
    enum { N = 60 }; /* many small messages, so that what each costs shows */
    static const char *const methods[] = {"BSP-A2A", "WFBP-A2A", "BSP-PS"};
    tutti_layer_cost small[N];
    for (int l = 0; l < N; l++) small[l] = (tutti_layer_cost){"", 10, 20, 0, 100000 * (1 + l % 5)};
    const tutti_layer_trace many = {.layers = small, .nlayers = N};
    tutti_ddl_constants c, found;
    tutti_ddl_rows rows;
    tutti_strbuf text = {0};
    tutti_failure err = {0};
    read_machine(&c);
    tutti_strbuf_puts(&text, "| DNN | BS | CONNECTION | METHOD | 1 GPU | 4 GPUs | 8 GPUs | 16 GPUs |\n");
    for (int n = 0; n < 2; n++)
        for (int m = 0; m < 3; m++) {
            tutti_ddl_row row = {.method = methods[m], .batch = 15, .one = 100};
            tutti_strbuf_printf(&text, "| A | 15 | %s | %s | 100 |", c.networks[n].name, methods[m]);
            for (int gpus = 4; gpus <= 16; gpus *= 2)
                tutti_strbuf_printf(&text, " %.9g |", tutti_ddl_predict(&c, &c.networks[n], &row, &many, gpus));
            tutti_strbuf_printf(&text, "\n| Z | 15 | %s | %s | 100 | 1 | 1 | 1 |\n", c.networks[n].name, methods[m]);
        }
    read_rows(text.text, &rows);
    if (tutti_ddl_fit(&rows, &(tutti_ddl_model){"A", &many}, 1, &given, &found, &err)) fail_msg("%s", err.text);
    assert_true(found.adam_us == 0 && tutti_ddl_is_fitted(&found, "A") && !tutti_ddl_is_fitted(&found, "Z"));
    assert_int_equal(found.nnetworks, 2);
    for (int n = 0; n < 2; n++) {
        const tutti_ddl_network *is = &found.networks[n], *was = &c.networks[n];
        assert_string_equal(is->name, was->name);
        assert_true(is->line == was->line);
        assert_true(fabs(is->efficiency / was->efficiency - 1) < 1e-3);
        assert_true(fabs(is->server_efficiency / was->server_efficiency - 1) < 1e-3);
        assert_true(fabs(is->hop_us / was->hop_us - 1) < 2e-2);
    }
    assert_true(fabs(found.inside.line * found.inside.efficiency / 5e9 - 1) < 1e-3);
    assert_true(fabs(found.inside.line * found.inside.server_efficiency / 4e9 - 1) < 1e-3);
    tutti_ddl_constants_release(&found);
    assert_int_equal(tutti_ddl_fit(&rows, &(tutti_ddl_model){"B", &many}, 1, &given, &found, &err), TUTTI_ERR_DATA);
    tutti_ddl_rows_release(&rows);
    read_rows(HEAD "| A | 64 | Ethernet | BSP-A2A | 100 | 300 | 500 |\n", &rows);
    assert_int_equal(tutti_ddl_fit(&rows, &(tutti_ddl_model){"A", &many}, 1, &given, &found, &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "does not begin with the wire's rate"));
    tutti_ddl_rows_release(&rows);
    tutti_ddl_constants_release(&c);
    tutti_strbuf_release(&text);
}

/* --- rows that do not go together --- */

static void rows_that_do_not_go_together_are_named_by_their_rule(void **state)
{
    (void)state;
    static const struct {
        const char *rows, *words; /* words NULL: nothing is said */
    } cases[] = {
        {"| A | 10 | 10GbE | BSP-A2A | 100 | 350 | 500 |\n| A | 10 | 100GbE | BSP-A2A | 100 | 352 | 650 |\n", NULL},
        {"| A | 10 | 10GbE | BSP-A2A | 100 | 350 | 500 |\n| A | 10 | 100GbE | BSP-A2A | 100 | 200 | 650 |\n",
         "line 4, A, 100GbE, BSP-A2A: one node, two speeds: 4 GPUs 200, over 10GbE 350"},
        {"| A | 10 | 10GbE | WFBP-PS | 100 | 402.4 | 500 |\n",
         "line 3, A, 10GbE, WFBP-PS: faster than linear: 100.60 % of 4 times one GPU"},
        {"| A | 10 | 10GbE | BSP-A2A | 100 | 200 | 500 |\n| A | 10 | 10GbE | WFBP-A2A | 100 | 230 | 510 |\n",
         "line 4, A, 10GbE, WFBP-A2A: overlap too small: on 4 GPUs it hides 26 ms of 67 ms"},
        {"| A | 10 | 10GbE | BSP-A2A | 100 | 200 | 500 |\n| A | 10 | 10GbE | WFBP-A2A | 100 | 250 | 510 |\n", NULL},
        {"| A | 10 | 10GbE | WFBP-A2A | 100 | 350 | 500 |\n| A | 10 | 10GbE | MG-WFBP | 100 | 350 | 480 |\n",
         "line 4, A, 10GbE, MG-WFBP: merging that loses: 8 GPUs 480, a message a layer 500"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tutti_ddl_rows t;
        tutti_strbuf text = {0}, out = {0};
        tutti_strbuf_printf(&text, "%s%s", HEAD, cases[i].rows);
        read_rows(text.text, &t);
        tutti_ddl_suspects(&t, 4, &out);
        if (cases[i].words ? !out.text || !strstr(out.text, cases[i].words) : out.length > 0)
            fail_msg("case %zu: '%s'", i, out.text ? out.text : "");
        tutti_ddl_rows_release(&t);
        tutti_strbuf_release(&text);
        tutti_strbuf_release(&out);
    }
}

static void two_networks_that_are_one_are_named(void **state)
{
    (void)state;
    static const char text[] = "| DNN | BS | CONNECTION | METHOD | 1 GPU | 4 GPUs | 8 GPUs | 16 GPUs |\n"
                               "| A | 10 | 10GbE | BSP-PS | 100 | 350 | 500 | 900 |\n"
                               "| A | 10 | 100GbE | BSP-PS | 100 | 350 | 501 | 902 |\n"
                               "| A | 10 | 10GbE | WFBP-PS | 100 | 390 | 790 | 1580 |\n" /* near linear: may be alike */
                               "| A | 10 | 100GbE | WFBP-PS | 100 | 390 | 790 | 1580 |\n";
    tutti_ddl_rows t;
    tutti_strbuf out = {0};
    read_rows(text, &t);
    tutti_ddl_suspects(&t, 4, &out);
    assert_non_null(strstr(out.text, "line 2, A, 10GbE, BSP-PS: two networks alike: within 0.22 % of line 3, 100GbE"));
    assert_non_null(strstr(out.text, "line 3, A, 100GbE, BSP-PS: two networks alike"));
    assert_null(strstr(out.text, "WFBP-PS"));
    tutti_ddl_rows_release(&t);
    tutti_strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_as_they_stand),
        cmocka_unit_test(what_is_no_table_is_refused_with_its_line),
        cmocka_unit_test(a_cell_is_its_formula),
        cmocka_unit_test(constants_are_read_back_as_they_were_printed),
        cmocka_unit_test(constants_that_made_the_rows_are_found_again),
        cmocka_unit_test(whether_adam_trains_says_the_layer_file_else_the_constants),
        cmocka_unit_test(what_adam_takes_is_found_beside_another_network),
        cmocka_unit_test(rows_that_do_not_go_together_are_named_by_their_rule),
        cmocka_unit_test(two_networks_that_are_one_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
