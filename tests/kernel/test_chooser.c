/* SPDX-License-Identifier: Apache-2.0 */
/* test_chooser.c: the chooser on candidates that are made for it, whose rows compute nothing: who is taken by name, by
 * rule, by measured time and in canonical mode, what is said of it, and what is passed over because it cannot be
 * made. */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "device/device_row.h"
#include "kernel/choose/candidate.h"

/* ---- made rows: create notes that it was called ---- */

static tutti_status create(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)k, (void)r, (void)err;
    return TUTTI_OK;
}

static tutti_status create_not(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)k, (void)r;
    return tutti_fail(err, TUTTI_ERR_DATA, "made to fail");
}

static tutti_status create_saving(tutti_kernel *k, const tutti_kernel_request *r, tutti_failure *err)
{
    (void)r, (void)err;
    k->saved_bytes = 64;
    return TUTTI_OK;
}

static void run(tutti_kernel *k, const tutti_kernel_args *a)
{
    (void)k, (void)a;
}

#define ROW(words, made)                                                                                               \
    {                                                                                                                  \
        .fuses = true, .create = made, .forward = run, .backward_params = run, .backward_data = run                    \
    }
static const tutti_kernel_row row_a = ROW("a", create), row_b = ROW("b", create), row_not = ROW("not", create_not),
                              row_saves = ROW("saves", create_saving);
static const tutti_kernel_row row_half = {.fuses = true,
                                          .takes_halves = true,
                                          .create = create,
                                          .forward = run,
                                          .backward_params = run,
                                          .backward_data = run};

/* ---- made rules ---- */

static bool never(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)k, (void)r, (void)pass;
    return false;
}

static double two(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)k, (void)r, (void)pass;
    return 2;
}

static double one(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)k, (void)r, (void)pass;
    return 1;
}

/* Fast forward, slow backward. */
static double forward_first(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)k, (void)r;
    return pass == TUTTI_PASS_FORWARD ? 1 : 3;
}

static double unknown(const tutti_kernel *k, const tutti_kernel_request *r, tutti_kernel_pass pass)
{
    (void)k, (void)r, (void)pass;
    return -1;
}

/* ---- asking ---- */

static const tutti_dense_attrs dense = {.units = 3, .bias = true};

typedef struct {
    const char *engine;
    bool evaluates, canonical;
    tutti_precision precision;
    const tutti_tuned *tuned;
    int nthreads; /* 0 = 1 */
} question;

static tutti_status ask(const tutti_kernel_candidate *rows, int n, const question *q, tutti_kernel *k,
                        tutti_failure *err)
{
    const tutti_candidate_table table = {rows, n};
    tutti_value in = tutti_value_plain(&(tutti_shape){2, {4, 5}});
    in.dtype = tutti_precision_dtype(q->precision);
    in.bytes = 20 * tutti_dtype_bytes(in.dtype);
    return tutti_kernel_create_from(&table,
                                    &(tutti_kernel_request){.engine = q->engine ? q->engine : "auto",
                                                            .op = &tutti_op_dense,
                                                            .attrs = &dense,
                                                            .in = &in,
                                                            .nin = 1,
                                                            .precision = q->precision,
                                                            .training = !q->evaluates,
                                                            .nthreads = q->nthreads ? q->nthreads : 1,
                                                            .canonical = q->canonical,
                                                            .tuned = q->tuned},
                                    k, err);
}

/* Names of who computes the passes: "a", or "a b a". */
static const char *names(const tutti_kernel_candidate *rows, int n, const question *q)
{
    static char text[64];
    tutti_kernel k;
    tutti_failure err = {0};
    if (ask(rows, n, q, &k, &err) != TUTTI_OK) fail_msg("%s", err.text);
    snprintf(text, sizeof text, "%s %s %s", k.chosen[0].name, k.chosen[1].name ? k.chosen[1].name : "-",
             k.chosen[2].name ? k.chosen[2].name : "-");
    tutti_kernel_destroy(&k);
    return text;
}

static const question any = {.evaluates = false};

#define ALL(words, rule, made)                                                                                         \
    {                                                                                                                  \
        words, "dense", TUTTI_DOES_ALL, TUTTI_IN_F32, TUTTI_DEVICE_CPU, TUTTI_THREADS_ALIKE, TUTTI_ISA_GENERIC,        \
            TUTTI_SUMS_LIBRARY, true, NULL, rule, &made                                                                \
    }

static void the_fewest_seconds_are_taken_and_the_first_of_equals(void **state)
{
    (void)state;
    const tutti_kernel_candidate rows[] = {ALL("slow", two, row_a), ALL("fast", one, row_b),
                                           ALL("as fast", one, row_a)};
    assert_string_equal(names(rows, 3, &any), "fast fast fast");
    assert_string_equal(names(rows, 1, &any), "slow slow slow");
    assert_string_equal(names(rows, 3, &(question){.evaluates = true}), "fast - -");
}

static void a_pass_each_where_that_is_faster(void **state)
{
    (void)state;
    tutti_kernel_candidate rows[] = {ALL("slow", two, row_a), ALL("forward", forward_first, row_b)};
    assert_string_equal(names(rows, 2, &any), "forward slow slow");
    rows[1].joins = false; /* then its passes stay together: 1 + 3 + 3 are more than 6 */
    assert_string_equal(names(rows, 2, &any), "slow slow slow");
    rows[1] = (tutti_kernel_candidate)ALL("forward", one, row_b);
    rows[1].passes = TUTTI_DOES_FORWARD | TUTTI_DOES_DATA;
    assert_string_equal(names(rows, 2, &any), "forward slow forward");
}

static void columns_say_where_a_row_fits(void **state)
{
    (void)state;
    tutti_kernel_candidate rows[] = {ALL("fast", one, row_a), ALL("slow", two, row_b)};
    const question two_threads = {.nthreads = 2};
    rows[0].threads = TUTTI_THREADS_SPLIT;
    assert_string_equal(names(rows, 2, &two_threads), "fast fast fast");
    rows[0].threads = TUTTI_THREADS_ONE;
    assert_string_equal(names(rows, 2, &any), "fast fast fast");
    assert_string_equal(names(rows, 2, &two_threads), "slow slow slow");
    rows[0].threads = TUTTI_THREADS_ALIKE;
    rows[0].isa = TUTTI_NISAS; /* above all that there is */
    assert_string_equal(names(rows, 2, &any), "slow slow slow");
    rows[0].isa = TUTTI_ISA_GENERIC;
    rows[0].device = TUTTI_DEVICE_CUDA;
    assert_string_equal(names(rows, 2, &any), "slow slow slow");
}

static void rows_that_keep_something_between_passes_are_not_joined(void **state)
{
    (void)state;
    const tutti_kernel_candidate rows[] = {ALL("slow", two, row_a), ALL("forward", forward_first, row_saves)};
    assert_string_equal(names(rows, 2, &any), "slow slow slow");
}

static void what_is_named_is_taken_where_it_fits(void **state)
{
    (void)state;
    tutti_kernel_candidate rows[] = {ALL("fast", one, row_a), ALL("slow", two, row_b)};
    const question slow = {.engine = "slow"};
    tutti_kernel k;
    assert_string_equal(names(rows, 2, &slow), "slow slow slow");
    rows[1].seconds = NULL; /* never calibrated */
    assert_string_equal(names(rows, 2, &slow), "slow slow slow");
    assert_string_equal(names(rows, 2, &any), "fast fast fast");
    rows[1].passes = TUTTI_DOES_PARAMS;
    assert_string_equal(names(rows, 2, &slow), "fast slow fast");
    rows[1].fits = never;
    assert_string_equal(names(rows, 2, &slow), "fast fast fast");
    assert_int_equal(ask(rows, 2, &slow, &k, NULL), TUTTI_OK);
    assert_true(k.chosen[0].in_vain && k.chosen[1].in_vain);
    assert_int_equal(k.chosen[0].why, TUTTI_CHOSEN_ALONE);
    tutti_kernel_destroy(&k);
}

static void names_that_nobody_has_are_refused_with_those_there_are(void **state)
{
    (void)state;
    const tutti_kernel_candidate rows[] = {ALL("fast", one, row_a), ALL("slow", two, row_b), ALL("fast", two, row_b)};
    tutti_kernel k;
    tutti_failure err = {0};
    assert_int_equal(ask(rows, 3, &(question){.engine = "quick"}, &k, &err), TUTTI_ERR_USAGE);
    assert_string_equal(err.text, "no kernels are called 'quick'; there are auto, fast, slow");
}

static void what_has_no_rule_is_taken_where_nothing_else_fits(void **state)
{
    (void)state;
    tutti_kernel_candidate rows[] = {ALL("unknown", unknown, row_a), ALL("slow", two, row_b),
                                     ALL("other", unknown, row_b)};
    tutti_kernel k;
    tutti_failure err = {0};
    assert_string_equal(names(rows, 3, &any), "slow slow slow");
    rows[1].fits = never;
    assert_string_equal(names(rows, 3, &any), "unknown unknown unknown");
    assert_int_equal(ask(rows, 3, &any, &k, &err), TUTTI_OK);
    assert_int_equal(k.chosen[0].why, TUTTI_CHOSEN_ALONE);
    assert_true(k.chosen[0].seconds < 0 && !k.chosen[0].next);
    tutti_kernel_destroy(&k);
    rows[0].fits = rows[2].fits = never;
    assert_int_equal(ask(rows, 3, &any, &k, &err), TUTTI_ERR_FAILED);
    assert_string_equal(err.text, "no kernel for op dense fits");
}

static void what_cannot_be_made_is_passed_over_and_all_together_tell_the_first_reason(void **state)
{
    (void)state;
    const tutti_kernel_candidate rows[] = {ALL("fails", one, row_not), ALL("slow", two, row_b)};
    tutti_kernel k;
    tutti_failure err = {0};
    assert_string_equal(names(rows, 2, &any), "slow slow slow");
    assert_int_equal(ask(rows, 1, &any, &k, &err), TUTTI_ERR_DATA);
    assert_string_equal(err.text, "made to fail");
}

static void what_reads_16_bits_comes_before_what_is_widened_for(void **state)
{
    (void)state;
    tutti_kernel_candidate rows[] = {ALL("wide", one, row_a), ALL("half", two, row_half)};
    const question halves = {.precision = TUTTI_PRECISION_BF16}, wide = {"wide", .precision = TUTTI_PRECISION_BF16};
    rows[1].precisions = TUTTI_IN_BF16;
    assert_string_equal(names(rows, 2, &halves), "half half half");
    assert_string_equal(names(rows, 2, &wide), "wide wide wide");
    rows[1].precisions = TUTTI_IN_F16;
    assert_string_equal(names(rows, 2, &halves), "wide wide wide");
}

/* ---- measured ---- */

static void measured_times_come_before_rules(void **state)
{
    (void)state;
    const tutti_kernel_candidate rows[] = {ALL("a", one, row_a), ALL("b", two, row_b), ALL("c", NULL, row_b)};
    tutti_value in = tutti_value_plain(&(tutti_shape){2, {4, 5}});
    const tutti_kernel_request r = {
        .engine = "auto", .op = &tutti_op_dense, .attrs = &dense, .in = &in, .nin = 1, .training = true, .nthreads = 1};
    tutti_kernel k;
    char shape[TUTTI_CANDIDATE_SHAPE];
    assert_int_equal(tutti_kernel_begin(&r, &k, NULL), TUTTI_OK);
    tutti_candidate_shape(&k, &r, shape);
    assert_string_equal(shape, "4x5:units=3,bias");
    const tutti_tuned_entry entries[] = {{"dense", shape, "f32", "params", "b", 7},
                                         {"dense", shape, "f32", "params", "c", 6}};
    const tutti_tuned tuned = {.entries = entries, .n = 2};
    /* a has not been measured for that pass, so it is not compared there */
    assert_string_equal(names(rows, 3, &(question){.tuned = &tuned}), "a c a");
    assert_string_equal(names(rows, 3, &(question){.tuned = &tuned, .canonical = true}), "a a a");
    assert_int_equal(ask(rows, 3, &(question){.tuned = &tuned}, &k, NULL), TUTTI_OK);
    assert_int_equal(k.chosen[1].why, TUTTI_CHOSEN_MEASURED);
    assert_true(k.chosen[1].seconds == 6 && k.chosen[1].next_seconds == 7);
    assert_string_equal(k.chosen[1].next, "b");
    assert_int_equal(k.chosen[0].why, TUTTI_CHOSEN_RULE);
    assert_true(k.chosen[0].seconds == 1 && k.chosen[0].next_seconds == 2);
    tutti_kernel_destroy(&k);
}

/* ---- canonical ---- */

static void canonical_mode_keeps_to_the_sums_of_the_first_that_fits(void **state)
{
    (void)state;
    tutti_kernel_candidate rows[] = {ALL("library", two, row_a), ALL("blocked", one, row_b), ALL("beside", one, row_a)};
    const question canonical = {.canonical = true};
    rows[1].sums = TUTTI_SUMS_BLOCKED;
    assert_string_equal(names(rows, 2, &any), "blocked blocked blocked");
    assert_string_equal(names(rows, 2, &canonical), "library library library");
    assert_string_equal(names(rows, 3, &canonical), "beside beside beside");
    assert_string_equal(names(rows, 2, &(question){.canonical = true, .engine = "blocked"}), "blocked blocked blocked");
    rows[0].fits = rows[2].fits = never;
    assert_string_equal(names(rows, 3, &canonical), "blocked blocked blocked");
}

/* ---- the table ---- */

static void every_op_has_candidates_and_every_line_is_whole(void **state)
{
    (void)state;
    const tutti_candidate_table table = tutti_candidates();
    for (int i = 0; i < table.n; i++) {
        const tutti_kernel_candidate *c = &table.rows[i];
        assert_true(c->name && c->passes && c->precisions);
        assert_true(!c->op || tutti_op_find(c->op));
        assert_true(c->passes == TUTTI_DOES_ALL || c->joins);
        assert_true(!c->op == !c->row);
    }
    assert_string_equal(table.rows[table.n - 1].name, "reference");
    assert_null(tutti_candidate_name_at(table.n));
    assert_null(tutti_candidate_find("none", "conv", TUTTI_PRECISION_F32));
    assert_non_null(tutti_candidate_find("reference", "conv", TUTTI_PRECISION_F32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fewest_seconds_are_taken_and_the_first_of_equals),
        cmocka_unit_test(a_pass_each_where_that_is_faster),
        cmocka_unit_test(columns_say_where_a_row_fits),
        cmocka_unit_test(rows_that_keep_something_between_passes_are_not_joined),
        cmocka_unit_test(what_is_named_is_taken_where_it_fits),
        cmocka_unit_test(names_that_nobody_has_are_refused_with_those_there_are),
        cmocka_unit_test(what_has_no_rule_is_taken_where_nothing_else_fits),
        cmocka_unit_test(what_cannot_be_made_is_passed_over_and_all_together_tell_the_first_reason),
        cmocka_unit_test(what_reads_16_bits_comes_before_what_is_widened_for),
        cmocka_unit_test(measured_times_come_before_rules),
        cmocka_unit_test(canonical_mode_keeps_to_the_sums_of_the_first_that_fits),
        cmocka_unit_test(every_op_has_candidates_and_every_line_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
