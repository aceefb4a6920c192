/* SPDX-License-Identifier: Apache-2.0 */
/* test_svm_model.c: LIBSVM's models: what it wrote comes out again byte for byte (tests/golden/svm, made by svm-train
 * of libsvm-tools 3.24), and what is not whole is refused with its line. */
#include "testing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text/strbuf.h"
#include "svm/model/svm_model_impl.h"

static const char SMALL[] = "svm_type c_svc\n"
                            "kernel_type rbf\n"
                            "gamma 0.5\n"
                            "nr_class 3\n"
                            "total_sv 4\n"
                            "rho 0.5 -0.25 1\n"
                            "label 1 -1 7\n"
                            "probA -1.5 -2 -1\n"
                            "probB 0.25 0 1\n"
                            "nr_sv 2 1 1\n"
                            "SV\n"
                            "0.125 1 1:0.5 3:-2 \n"
                            "0.25 0 2:1 \n"
                            "-0.375 0 1:1 2:0.33333333 \n"
                            "-0.5 -1 \n";

static tutti_svm_model parse(const char *text, bool lenient)
{
    tutti_svm_model m;
    tutti_failure err = {0};
    if (tutti_svm_model_parse("m", text, strlen(text), lenient, &m, &err)) fail_msg("%s", err.text);
    return m;
}

static void refused_as(const char *text, bool lenient, const char *words)
{
    tutti_svm_model m;
    tutti_failure err = {0};
    assert_int_equal(tutti_svm_model_parse("m", text, strlen(text), lenient, &m, &err), TUTTI_ERR_DATA);
    if (!strstr(err.text, words)) fail_msg("'%s' does not say '%s'", err.text, words);
}

static void refused(const char *text, const char *words)
{
    refused_as(text, false, words);
}

/* SMALL with a piece replaced by another. */
static char *changed(const char *piece, const char *by)
{
    tutti_strbuf sb = {0};
    const char *at = strstr(SMALL, piece);
    assert_non_null(at);
    tutti_strbuf_add(&sb, SMALL, (size_t)(at - SMALL));
    tutti_strbuf_puts(&sb, by);
    tutti_strbuf_puts(&sb, at + strlen(piece));
    return tutti_strbuf_detach(&sb);
}

static void refused_with(const char *piece, const char *by, const char *words)
{
    char *text = changed(piece, by);
    refused(text, words);
    free(text);
}

/* --- what is read and written --- */

static void all_that_a_model_says_is_read(void **state)
{
    (void)state;
    tutti_svm_model m = parse(SMALL, false);
    assert_int_equal(m.kernel.type, TUTTI_SVM_RBF);
    assert_true(m.kernel.gamma == 0.5);
    assert_int_equal(m.nclasses, 3);
    assert_int_equal(m.nsv, 4);
    assert_true(m.rho[0] == 0.5 && m.rho[1] == -0.25 && m.rho[2] == 1);
    assert_true(m.prob_a[1] == -2 && m.prob_b[2] == 1);
    assert_true(m.label[0] == 1 && m.label[1] == -1 && m.label[2] == 7);
    assert_true(m.nsv_of[0] == 2 && m.nsv_of[1] == 1 && m.nsv_of[2] == 1);
    const double coef[] = {0.125, 0.25, -0.375, -0.5, 1, 0, 0, -1};
    assert_memory_equal(m.coef, coef, sizeof coef);
    assert_int_equal(m.sv.nrows, 4);
    assert_int_equal(m.sv.width, 3);
    const int64_t start[] = {0, 2, 3, 5, 5};
    assert_memory_equal(m.sv.start, start, sizeof start);
    assert_true(m.sv.index[1] == 3 && m.sv.value[1] == -2);
    tutti_svm_model_release(&m);
}

static void same_bytes(const char *path)
{
    char *bytes, *again;
    size_t nbytes, nagain;
    tutti_svm_model m;
    tutti_failure err = {0};
    assert_int_equal(tutti_file_read(path, 1 << 24, TUTTI_ERR_FAILED, &bytes, &nbytes, &err), TUTTI_OK);
    if (tutti_svm_model_read(path, false, &m, &err)) fail_msg("%s", err.text);
    again = tutti_svm_model_print(&m, &nagain);
    assert_int_equal(nagain, nbytes);
    assert_memory_equal(again, bytes, nbytes);
    tutti_svm_model_release(&m);
    free(bytes);
    free(again);
}

static void models_of_libsvm_come_out_byte_for_byte(void **state)
{
    (void)state;
    const char *folder = TUTTI_SOURCE_DIR "/tests/golden/svm";
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char path[512];
        if (!strstr(e->d_name, ".model")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        same_bytes(path);
        n++;
    }
    closedir(dir);
    assert_true(n >= 8); /* five kernels, several classes, probabilities, one class */
}

static void a_written_file_is_what_is_printed(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/tutti-svm-model.%d", (int)getpid());
    tutti_svm_model m = parse(SMALL, false);
    tutti_failure err = {0};
    assert_int_equal(tutti_svm_model_write(&m, path, &err), TUTTI_OK);
    char *bytes;
    size_t nbytes;
    assert_int_equal(tutti_file_read(path, 1 << 20, TUTTI_ERR_FAILED, &bytes, &nbytes, &err), TUTTI_OK);
    assert_string_equal(bytes, SMALL);
    free(bytes);
    unlink(path);
    assert_int_equal(tutti_svm_model_write(&m, "/tmp/no/such/folder/m", &err), TUTTI_ERR_FAILED);
    tutti_svm_model_release(&m);
}

static void numbers_are_written_as_libsvm_does(void **state)
{
    (void)state;
    int64_t start[] = {0, 12, 12}, nsv_of[] = {1, 1};
    int32_t label[] = {1, -1}, index[12];
    double rho[] = {0.1}, coef[] = {1.0 / 3, -1e-300};
    double value[12] = {0.1, -0.0, 123456789, 99999999, 1e7, 9999999, -1e22, 1e-5, 0.00012345678, 1.0 / 3, -7, 0};
    tutti_strbuf want = {0};
    tutti_strbuf_puts(&want, "svm_type c_svc\nkernel_type polynomial\ndegree 3\ngamma 0.10000000000000001\ncoef0 -2\n"
                             "nr_class 2\ntotal_sv 2\nrho 0.10000000000000001\nlabel 1 -1\nnr_sv 1 1\nSV\n"
                             "0.33333333333333331 ");
    for (int i = 0; i < 12; i++) {
        index[i] = i + 1;
        tutti_strbuf_printf(&want, "%d:%.8g ", index[i], value[i]);
    }
    tutti_strbuf_puts(&want, "\n-1e-300 \n");
    tutti_svm_model m = {.kernel = {.type = TUTTI_SVM_POLY, .degree = 3, .gamma = 0.1, .coef0 = -2},
                         .nclasses = 2,
                         .nsv = 2,
                         .label = label,
                         .nsv_of = nsv_of,
                         .rho = rho,
                         .coef = coef,
                         .sv = {.nrows = 2, .total = 2, .start = start, .index = index, .value = value}};
    size_t nbytes;
    char *text = tutti_svm_model_print(&m, &nbytes);
    assert_string_equal(text, want.text);
    free(text);
    tutti_strbuf_release(&want);
}

static void keys_may_come_in_another_order(void **state)
{
    (void)state;
    tutti_svm_model m =
        parse("nr_class 2\nrho 0\nlabel 3 4\nnr_sv 1 1\ntotal_sv 2\nkernel_type linear\nsvm_type c_svc\nSV\n"
              "1 1:1\n-1 2:1\n",
              false);
    assert_int_equal(m.sv.width, 2);
    tutti_svm_model_release(&m);
    char *text = changed("\nSV\n", "\r\nSV\r\n"); /* as an editor of Windows leaves it */
    m = parse(text, false);
    tutti_svm_model_release(&m);
    free(text);
}

/* --- what is refused --- */

static void a_model_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    const size_t n = strlen(SMALL);
    for (size_t cut = 0; cut < n; cut++) {
        tutti_svm_model m;
        tutti_failure err = {0};
        if (tutti_svm_model_parse("m", SMALL, cut, false, &m, &err) != TUTTI_ERR_DATA)
            fail_msg("%d of %d bytes are taken for a model", (int)cut, (int)n);
        if (!strstr(err.text, "m: line ")) fail_msg("%d bytes: '%s' names no line", (int)cut, err.text);
    }
    refused("", "m: line 1: the file was cut: the line 'SV' is wanted before the end");
    refused("svm_type c_svc\nker", "m: line 2: the file was cut: it ends in the middle of this line");
    char *text = changed("-0.5 -1 \n", "");
    refused(text, "m: line 15: the file was cut: it has 3 support vectors, 4 are promised");
    free(text);
}

static void a_cut_model_is_taken_leniently_as_far_as_it_goes(void **state)
{
    (void)state;
    const size_t n = strlen(SMALL), header = (size_t)(strstr(SMALL, "SV\n") - SMALL) + 3;
    for (size_t cut = 0; cut < n; cut++) {
        tutti_svm_model m;
        tutti_failure err = {0};
        const tutti_status st = tutti_svm_model_parse("m", SMALL, cut, true, &m, &err);
        if (st != TUTTI_OK) {
            assert_true(cut < header);
            continue;
        }
        assert_true(m.nsv == m.sv.nrows && m.nsv <= 4);
        assert_int_equal(m.nsv_of[0] + m.nsv_of[1] + m.nsv_of[2], m.nsv);
        if (m.nsv > 2) assert_true(m.coef[2] == -0.375 || cut < n - 30);
        tutti_svm_model_release(&m);
    }
    char *text = changed("2:0.33333333 \n-0.5 -1 \n", "2:");
    tutti_svm_model m = parse(text, true);
    const double coef[] = {0.125, 0.25, -0.375, 1, 0, 0};
    assert_int_equal(m.nsv, 3);
    assert_memory_equal(m.coef, coef, sizeof coef);
    assert_int_equal(m.sv.start[3], 4);
    tutti_svm_model_release(&m);
    free(text);
}

static void counts_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    refused_with("rho 0.5 -0.25 1\n", "rho 0.5 -0.25\n", "m: line 6: 'rho' has 2 numbers, 3 are wanted");
    refused_with("rho 0.5 -0.25 1\n", "rho 0.5 -0.25 1 2\n", "m: line 6: 'rho' has 4 numbers, 3 are wanted");
    refused_with("label 1 -1 7", "label 1 -1", "m: line 7: 'label' has 2 numbers, 3 are wanted");
    refused_with("probA -1.5 -2 -1", "probA", "m: line 8: 'probA' has 0 numbers, 3 are wanted");
    refused_with("nr_sv 2 1 1", "nr_sv 2 1", "m: line 10: 'nr_sv' has 2 numbers, 3 are wanted");
    refused_with("nr_sv 2 1 1", "nr_sv 2 2 1", "m: line 11: the numbers of nr_sv add up to 5, total_sv is 4");
    refused_with("total_sv 4", "total_sv 3", "m: line 11: the numbers of nr_sv add up to 4, total_sv is 3");
    refused_with("gamma 0.5", "gamma", "m: line 3: 'gamma' has 0 numbers, 1 are wanted");
    refused_with("gamma 0.5", "gamma 1 2", "m: line 3: 'gamma' has 2 numbers, 1 are wanted");
    refused_with("-0.5 -1 \n", "-0.5 -1 \n0 0 \n", "m: line 16: there is more in the file than the 4 support vectors");
    refused_with("-0.5 -1 \n", "-0.5 -1 \n\n", "m: line 16: there is more in the file than the 4 support vectors");
    refused_with("0.25 0 2:1", "0.25 2:1", "m: line 13: '2:1' of 'a coefficient' is not a finite number");
}

static void unknown_keys_are_refused(void **state)
{
    (void)state;
    refused_with("gamma 0.5", "gama 0.5", "m: line 3: 'gama' is not a key of a c_svc model");
    refused_with("gamma 0.5", "", "m: line 3: '' is not a key of a c_svc model");
    refused_with("nr_sv 2 1 1\n", "nr_sv 2 1 1\nprob_density_marks 1 2\n",
                 "m: line 11: 'prob_density_marks' is not a key");
}

static void huge_counts_ask_for_no_memory(void **state)
{
    (void)state;
    refused_with("nr_class 3", "nr_class 2147483647",
                 "m: line 4: nr_class is 2147483647, and more than 46340 are not read");
    refused_with("nr_class 3", "nr_class 40000", "m: line 6: 'rho' has 3 numbers, 799980000 are wanted");
    refused_with("nr_class 3", "nr_class 99999999999",
                 "m: line 4: '99999999999' of 'nr_class' is not a whole number within 1");
    refused_with("nr_class 3", "nr_class 0", "m: line 4: '0' of 'nr_class' is not a whole number within 1");
    refused_with("nr_class 3", "nr_class 2.5", "m: line 4: '2.5' of 'nr_class' is not a whole number within 1");
    refused_with("total_sv 4", "total_sv -4", "m: line 5: '-4' of 'total_sv' is not a whole number within 0");
    refused_with("total_sv 4", "total_sv 4000000000", "m: line 5: '4000000000' of 'total_sv' is not a whole number");
    refused("svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2000000000\nrho 0\nlabel 1 2\n"
            "nr_sv 1000000000 1000000000\nSV\n1 1:1\n",
            "m: line 8: total_sv is 2000000000, and the rest of the file is too short for it");
}

static void other_svm_types_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const types[] = {"nu_svc", "one_class", "epsilon_svr", "nu_svr"};
    for (int i = 0; i < 4; i++) {
        char line[64], words[128];
        snprintf(line, sizeof line, "svm_type %s", types[i]);
        snprintf(words, sizeof words, "m: line 1: svm_type '%s': only c_svc (classification) is read", types[i]);
        refused_with("svm_type c_svc", line, words);
    }
    refused_with("kernel_type rbf", "kernel_type gauss",
                 "m: line 2: kernel_type 'gauss' is none of linear, polynomial");
}

static void keys_there_twice_or_missing_are_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {"svm_type c_svc\n", "kernel_type rbf\n", "gamma 0.5\n",    "nr_class 3\n",
                                        "total_sv 4\n",     "rho 0.5 -0.25 1\n", "label 1 -1 7\n", "probA -1.5 -2 -1\n",
                                        "probB 0.25 0 1\n", "nr_sv 2 1 1\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char twice[128], words[128];
        snprintf(twice, sizeof twice, "%s%s", lines[i], lines[i]);
        snprintf(words, sizeof words, "m: line %d: '%.*s' is there for the second time", (int)i + 2,
                 (int)strcspn(lines[i], " "), lines[i]);
        refused_with(lines[i], twice, words);
        refused_with(lines[i], "", "m: line ");
    }
    refused_with("gamma 0.5\n", "", "m: line 10: the support vectors begin here, and there was no 'gamma'");
    refused_with("nr_class 3\n", "", "m: line 5: 'rho' comes before nr_class");
    refused_with("probB 0.25 0 1\n", "", "m: line 10: of probA and probB only one is there");
    refused_with("SV\n", "", "m: line 11: '0.125' is not a key");
}

static void numbers_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    refused_with("rho 0.5", "rho nan", "m: line 6: 'nan' of 'rho' is not a finite number");
    refused_with("gamma 0.5", "gamma -0.5", "m: line 3: gamma must not be negative");
    refused_with("label 1 -1 7", "label 1 7 7", "m: line 11: two classes have the label 7");
    refused_with("label 1 -1 7", "label 1 -1 7.5", "m: line 7: '7.5' of 'label' is not a whole number");
    refused_with("2:1 \n", "2:1 1:1 \n", "m: line 13: '1:1': indices must ascend, and the one before is 2");
    refused_with("2:1 \n", "2:nan \n", "m: line 13: 'nan', the value of index 2, is not finite");
    refused_with("2:1 \n", "# 1 \n", "m: line 13: a '#': a model has no comments");
    refused_with("2:1 \n", "2:1 0:1 \n", "m: line 13: '0:1': indices must ascend, and the one before is 2");
    refused_with("0.25 0 2:1", "0.25x 0 2:1", "m: line 13: '0.25x' of 'a coefficient' is not a finite number");
}

static void vectors_of_a_precomputed_kernel_are_numbers_of_samples(void **state)
{
    (void)state;
    static const char head[] =
        "svm_type c_svc\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 2\nnr_sv 1 1\nSV\n";
    static const char *const vectors[] = {"1 1:1\n", "1\n", "1 0:0\n", "1 0:1.5\n", "1 0:1 1:3\n", "1 0:-2\n"};
    char text[300];
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        snprintf(text, sizeof text, "%s%s1 0:1\n", head, vectors[i]);
        refused(text, "m: line 9: a support vector of a precomputed kernel is 0:NUMBER");
    }
    snprintf(text, sizeof text, "%s1 0:123456789 \n-1 0:7 \n", head); /* longer than entries are written */
    tutti_svm_model m = parse(text, false);
    assert_true(m.sv.value[0] == 123456789 && m.sv.index[0] == 0);
    size_t nbytes;
    char *again = tutti_svm_model_print(&m, &nbytes);
    assert_string_equal(again, text);
    free(again);
    tutti_svm_model_release(&m);
}

static void a_missing_model_is_refused_by_name(void **state)
{
    (void)state;
    tutti_svm_model m;
    tutti_failure err = {0};
    assert_int_equal(tutti_svm_model_read("/tmp/no/such/model", false, &m, &err), TUTTI_ERR_DATA);
    assert_string_equal(err.text, "/tmp/no/such/model: cannot open: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_a_model_says_is_read),
        cmocka_unit_test(models_of_libsvm_come_out_byte_for_byte),
        cmocka_unit_test(a_written_file_is_what_is_printed),
        cmocka_unit_test(numbers_are_written_as_libsvm_does),
        cmocka_unit_test(keys_may_come_in_another_order),
        cmocka_unit_test(a_model_cut_at_any_byte_is_refused),
        cmocka_unit_test(a_cut_model_is_taken_leniently_as_far_as_it_goes),
        cmocka_unit_test(counts_that_do_not_fit_are_refused),
        cmocka_unit_test(unknown_keys_are_refused),
        cmocka_unit_test(huge_counts_ask_for_no_memory),
        cmocka_unit_test(other_svm_types_are_refused_by_name),
        cmocka_unit_test(keys_there_twice_or_missing_are_refused),
        cmocka_unit_test(numbers_that_make_no_sense_are_refused),
        cmocka_unit_test(vectors_of_a_precomputed_kernel_are_numbers_of_samples),
        cmocka_unit_test(a_missing_model_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
