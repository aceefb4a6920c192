/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_svm_commands.c: svm-train and svm-predict as people and scripts call them. */
#include <unistd.h>

#include "testing.h"

#include "cli/command_folder.h"
#include "svm/svm_sets.h"

static int make_sets(void **state)
{
    folder_make(state);
    char *blobs = svm_blobs(300, 2, 0.8);
    put("set", blobs);
    free(blobs);
    return 0;
}

static void what_it_prints_is_what_libsvm_prints(void **state)
{
    (void)state;
    char *text = says("svm-train -c 2 $/set $/m", 0, "optimization finished, #iter = ");
    assert_non_null(strstr(text, "\nnu = "));
    assert_non_null(strstr(text, "\nobj = -"));
    assert_non_null(strstr(text, ", rho = "));
    assert_non_null(strstr(text, "\nnSV = "));
    assert_non_null(strstr(text, "\nTotal nSV = "));
    free(text);
    check("svm-predict $/set $/m $/out", 0, "% (");
    text = says("svm-train -q $/set $/m", 0, "");
    assert_string_equal(text, "");
    free(text);
    text = says("svm-predict -q $/set $/m $/out", 0, "");
    assert_string_equal(text, "");
    free(text);
    text = get("out");
    assert_true(!strncmp(text, "3\n", 2) || !strncmp(text, "-1\n", 3));
    free(text);
}

static void ranks_and_threads_change_no_byte_of_the_model(void **state)
{
    (void)state;
    check("svm-train -q --threads 1 -b 1 $/set $/m1", 0, "");
    check("svm-train -q --ranks 2 --threads 2 -b 1 $/set $/m2", 0, "");
    check("svm-train -q --ranks 3 -b 1 $/set $/m3", 0, "");
    char *one = get("m1"), *two = get("m2"), *three = get("m3");
    assert_string_equal(one, two);
    assert_string_equal(one, three);
    free(one);
    free(two);
    free(three);
    check("svm-predict -b 1 $/set $/m1 $/out", 0, "Accuracy = ");
    char *text = get("out");
    assert_non_null(strstr(text, "labels 3 -1\n"));
    free(text);
}

/* More ranks than samples, and far more than cores: 17 s on two of them; a work that grows with their cube takes
 * minutes. */
static void three_hundred_ranks_change_no_byte_either(void **state)
{
    (void)state;
    if (!getenv("TUTTI_LONG")) skip();
    check("svm-train -q --threads 1 $/set $/m1", 0, "");
    check("svm-train -q --ranks 300 --threads 1 $/set $/m300", 0, "");
    char *one = get("m1"), *many = get("m300");
    assert_string_equal(one, many);
    free(one);
    free(many);
}

static void a_cross_validation_prints_one_line(void **state)
{
    (void)state;
    char *text = says("svm-train -v 5 $/set", 0, "Cross Validation Accuracy = "), *again;
    assert_int_equal(strchr(text, '\n') - text, (long)strlen(text) - 1);
    again = says("svm-train --ranks 2 -v 5 $/set", 0, "Cross Validation Accuracy = ");
    assert_string_equal(text, again);
    free(text);
    free(again);
}

static void a_trace_is_drawn(void **state)
{
    (void)state;
    check("svm-train --trace $/t.jsonl --elimination multi --threshold random:2 $/set $/m", 0, "Total nSV");
    check("report $/t.jsonl", 0, "t.svg");
    check("report $/t.jsonl", 0, "  updating ");
    check("svm-train --ranks 2 --trace $/t2.jsonl $/set $/m", 0, "Total nSV");
    check("report $/t2.jsonl", 0, "  a round has ");
    check("report $/set", 3, "line 1 is none of a trace");
    char *svg = get("t.svg"), *trace = get("t.jsonl");
    assert_non_null(strstr(svg, "active samples"));
    assert_non_null(strstr(trace, "\"ev\":\"solved\""));
    free(svg);
    free(trace);
    char *text = says("svm-train --progress $/set $/m", 0, "active ");
    assert_non_null(strstr(text, "[########################]"));
    free(text);
}

static void a_trace_of_one_rank_foretells_more(void **state)
{
    (void)state;
    check("svm-train --trace $/one.jsonl $/set $/m", 0, "Total nSV");
    check("svm-train --ranks 2 --trace $/two.jsonl $/set $/m", 0, "Total nSV");
    check("svm-train -c 9 --ranks 2 --trace $/other.jsonl $/set $/m", 0, "Total nSV");
    char *text =
        says("predict $/one.jsonl --topology star,bw=10Gb,lat=5us --check $/two.jsonl --svg $/p.svg", 0, "\nerror ");
    assert_non_null(strstr(text, "\n   64 "));
    assert_non_null(strstr(text, "\n  ran "));
    assert_non_null(strstr(text, "What does not divide"));
    free(text);
    text = get("p.svg");
    assert_non_null(strstr(text, "efficiency, %"));
    free(text);
    check("predict $/one.jsonl --topology star --ranks 4 --json -", 0, "\"ranks\":4,\"seconds\":");
    put("steps", "{\"ev\":\"step\",\"step\":1}\n");
    check("predict $/steps", 3, "steps: line 1 is none of a trace of svm-train");
    check("predict $/set", 2, "line 1");
    check("predict $/two.jsonl", 2, "of 2 ranks");
    check("predict $/one.jsonl --weak", 2, "--weak is for jobs");
    check("predict $/one.jsonl --slow 1=2", 2, "--slow is for jobs");
    check("predict $/one.jsonl --check $/other.jsonl", 3, "not the same training");
    check("predict $/one.jsonl --ranks 4 --check $/two.jsonl", 2, "not among --ranks");
    check("predict examples/mlp.yaml --check $/p.svg", 2, "trace of svm-train");
}

static void what_is_not_there_is_refused_by_name(void **state)
{
    (void)state;
    check("svm-train -s 1 $/set $/m", 2, "nu_svc");
    check("svm-train -s 3 $/set $/m", 2, "epsilon_svr");
    check("svm-train -t 9 $/set $/m", 2, "-t: 9");
    check("svm-train -y 9 $/set $/m", 2, "'-y'");
    check("svm-train -c", 2, "-c needs a value");
    check("svm-train -c x $/set $/m", 2, "'x' is not a number");
    check("svm-train -w 2 $/set $/m", 2, "-w1 2");
    check("svm-train --elimintion none $/set $/m", 2, "--elimination");
    check("svm-train --threshold samples:0% $/set $/m", 2, "samples");
    check("svm-train -h 0 --elimination multi $/set $/m", 2, "-h 0");
    check("svm-train --block 3 $/set $/m", 2, "even");
    check("svm-train", 2, "DATA");
    check("svm-predict $/set", 2, "DATA MODEL OUT");
    check("svm-train -v 1 $/set", 2, "-v: 1");
}

static void bad_files_are_named_with_their_line(void **state)
{
    (void)state;
    put("nan", "1 1:0.5\n-1 1:nan\n");
    put("one", "1 1:0.5\n1 1:0.25\n");
    put("empty", "");
    put("cut", "svm_type c_svc\nkernel_type rbf\n");
    check("svm-train $/nan $/m", 3, "nan: line 2");
    check("svm-train --ranks 2 $/nan $/m", 3, "nan: line 2");
    check("svm-train $/one $/m", 3, "class 1");
    check("svm-train --lenient $/one $/m", 0, "Total nSV = 0");
    check("svm-train $/empty $/m", 3, "empty");
    check("svm-train $/missing $/m", 3, "missing");
    check("svm-predict $/set $/cut $/out", 3, "cut");
    check("svm-train $/set $/no/folder/m", 2, "no/folder");
    check("svm-predict -b 1 $/set $/plain $/out", 3, "plain");
}

/* At their distance from 0 the squares of these columns need more digits than a double has. */
static void values_far_from_0_are_trained_with_a_warning(void **state)
{
    (void)state;
    put("near", "1 1:0.5 2:1\n-1 1:-0.5 2:0.25\n");
    put("times", "1 1:1764000000 2:1\n-1 1:1764000001 2:0.25\n");
    put("ids", "1 1:0.5 7:40000000000\n-1 1:-0.5 7:40000000003\n");
    assert_null(strstr(says("svm-train $/near $/m", 0, "Total nSV"), "warning"));
    check("svm-train $/times $/m", 0, "warning: the precision of doubles does not suffice");
    check("svm-train --ranks 2 --threads 1 $/ids $/m", 0, "subtract each column's mean");
    check("svm-train -t 3 $/ids $/m", 0, "may be off by");
    check("svm-train -v 2 $/times", 0, "warning");
    check("svm-predict $/times $/m $/out", 0, "svm-predict: warning");
    assert_null(strstr(says("svm-train -t 0 $/times $/m", 0, "Total nSV"), "warning"));
}

static void a_program_alone_prints_its_usage(void **state)
{
    (void)state;
    check("svm-train", 2, "as in LIBSVM:");
    check("svm-predict", 2, "usage: tutti svm-predict [options] DATA MODEL OUT");
}

/* Before the training, once, and not by those who wait for rank 0. */
static void files_that_cannot_be_written_are_refused_in_one_line(void **state)
{
    (void)state;
    static const char *const words[] = {"svm-train --ranks 3 --threads 1 $/set $/no/folder/m",
                                        "svm-train --ranks 3 --threads 1 --trace $/no/folder/t $/set $/m",
                                        "svm-train --ranks 3 --threads 1 $/set $"};
    for (int i = 0; i < 3; i++) {
        char *text = says(words[i], 2, i < 2 ? "no/folder" : "is a folder");
        assert_int_equal(strchr(text, '\n') - text, (long)strlen(text) - 1);
        free(text);
    }
}

static void what_libsvm_warns_of_is_warned_of(void **state)
{
    (void)state;
    check("svm-train -q --threads 1 -w5 2 $/set $/m", 0, "-w5: no sample is of class 5");
    check("svm-train -q --threads 1 -e 1e-300 $/set $/m", 0, "which is not below -e 1e-300");
    char *text = says("svm-train --threads 1 -w3 2 $/set $/m", 0, "obj = ");
    assert_null(strstr(text, "nu = ")); /* there is no C to divide by */
    free(text);
}

static void links_are_the_commands(void **state)
{
    (void)state;
    char line[512];
    snprintf(line, sizeof line, "version; \"$(dirname '%s')\"/svm-train -q %s/set %s/m && echo linked", TUTTI_PROGRAM,
             dir, dir);
    expect(line, 0, "linked");
    snprintf(line, sizeof line, "version; \"$(dirname '%s')\"/svm-train -q --ranks 2 %s/set %s/m && echo linked",
             TUTTI_PROGRAM, dir, dir);
    expect(line, 0, "linked");
}

/* Overlapping classes and a tiny eps: it would take minutes. */
static void a_killed_rank_is_named_and_leaves_nothing_behind(void **state)
{
    (void)state;
    char *blobs = svm_blobs(20000, 2, 3);
    put("long", blobs);
    free(blobs);
    char line[1024];
    snprintf(
        line, sizeof line,
        "version >/dev/null; { before=$(ls /dev/shm | wc -l); "
        "'%s' svm-train -q --ranks 2 --threads 1 -c 1e6 -e 1e-9 %s/long %s/killed & "
        "sleep 2; pkill -KILL -n -P $!; wait $!; code=$?; echo \"shm $(($(ls /dev/shm | wc -l) - before))\"; "
        "ls -A %s | grep killed; ps -eo comm,args | awk '$1 == \"tutti\" && index($0, \"%s\")'; exit $code; } 2>&1",
        TUTTI_PROGRAM, dir, dir, dir, dir);
    char *text = command_says(line, 137, "rank 1");
    assert_non_null(strstr(text, "was killed by signal 9"));
    assert_non_null(strstr(text, "shm 0\n"));
    assert_true(!strcmp(strstr(text, "shm 0\n"), "shm 0\n")); /* no file, no process after it */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_prints_is_what_libsvm_prints),
        cmocka_unit_test(ranks_and_threads_change_no_byte_of_the_model),
        cmocka_unit_test(three_hundred_ranks_change_no_byte_either),
        cmocka_unit_test(a_cross_validation_prints_one_line),
        cmocka_unit_test(a_trace_is_drawn),
        cmocka_unit_test(a_trace_of_one_rank_foretells_more),
        cmocka_unit_test(what_is_not_there_is_refused_by_name),
        cmocka_unit_test(bad_files_are_named_with_their_line),
        cmocka_unit_test(values_far_from_0_are_trained_with_a_warning),
        cmocka_unit_test(a_program_alone_prints_its_usage),
        cmocka_unit_test(files_that_cannot_be_written_are_refused_in_one_line),
        cmocka_unit_test(what_libsvm_warns_of_is_warned_of),
        cmocka_unit_test(links_are_the_commands),
        cmocka_unit_test(a_killed_rank_is_named_and_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_sets, folder_drop);
}
