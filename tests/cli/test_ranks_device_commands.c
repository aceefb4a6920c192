/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_device_commands.c: `tutti devices`, `tune`, named machines, `predict --device` and `--framework` as a user
 * types them. */
#include "testing.h"

#include <unistd.h>

#include "base/file.h"
#include "command_line.h"

static const char lenet[] = "predict examples/lenet.yaml --device v100 --topology @v100-25gbe ";

/* The number behind the first `key` in the text. */
static double number_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (!at) fail_msg("no %s in %s", key, text);
    return strtod(at + strlen(key), NULL);
}

static char *says(const char *more)
{
    tutti_strbuf all = {0};
    tutti_strbuf_printf(&all, "%s%s", lenet, more);
    char *text = command_says(all.text, 0, "");
    tutti_strbuf_release(&all);
    return text;
}

static void devices_lists_processors_and_the_source_of_each_figure(void **state)
{
    (void)state;
    expect("devices", 0, "knl7250");
    char *text = command_says("devices v100", 0, "peak.f16");
    assert_non_null(strstr(text, "read "));
    assert_non_null(strstr(text, "fitted"));
    assert_non_null(strstr(text, "assumed"));
    free(text);
    expect("devices h100", 0, "what is not said here is as of h200");
    expect("devices a100", 0, "datasheet.tf32");
    expect("devices a100", 0, "derived");
    expect("devices v100:tf32", 2, "has no figure peak.tf32");
    expect("devices v10", 2, "did you mean 'v100'");
    expect("devices README.md", 3, "README.md: line");
    expect("devices a b", 2, "one name or none");
    expect("devices --help", 0, "usage: tutti devices");
}

static void predict_takes_a_device_and_a_machine_by_name(void **state)
{
    (void)state;
    char *text = says("--ranks 1,4,8");
    assert_non_null(strstr(text, "machine @v100-25gbe"));
    assert_non_null(strstr(text, "Communication, of a step: 0.0% at 1"));
    free(text);
    expect("predict examples/lenet.yaml --device v100", 2, "--topology");
    expect("predict examples/lenet.yaml --device v100 --topology @v100-20gbe", 2, "no machine '@v100-20gbe'");
    expect("predict examples/lenet.yaml --device k80 --topology star --set precision=bf16", 2, "no figure peak.bf16");
    expect("predict examples/lenet.yaml --device a100:tf32 --topology star --ranks 2", 0, "Communication");
    expect("predict examples/lenet.yaml --device k80 --trace x --topology star", 2, "give one of a profile");
}

static void topo_make_grows_a_machine_and_describes_it(void **state)
{
    (void)state;
    expect("topo make @v100-25gbe --seated 64", 0, "pcie,hosts=16,");
    expect("topo make @manoa --describe", 0, "role.job-server");
    expect("topo make --help", 0, "@e5-fdr");
    expect("topo make --help", 0, "[TCP, 1.91GB/s measured]");
    expect("topo make --help", 0, "[TCP, 3.125GB/s assumed]");
    expect("coll explain --bytes 1MB --ranks 64 --topology @k80-10gbe", 0, "choice:");
    expect("topo bounds @e5-fdr --ranks 128 --bytes 1MB", 0, "L1");
}

static void the_parts_of_a_gap_are_the_difference_of_two_predictions(void **state)
{
    (void)state;
    char *a = says("--ranks 8 --framework tensorflow --json -"), *b = says("--ranks 8 --framework caffe-mpi --json -"),
         *gap = says("--ranks 8 --explain-gap tensorflow,caffe-mpi --json -");
    assert_true(number_of(gap, "\"from_step_s\":") == number_of(a, "\"step_s\":"));
    assert_true(number_of(gap, "\"to_step_s\":") == number_of(b, "\"step_s\":"));
    const double sum = number_of(gap, "\"exchange\":") + number_of(gap, "\"transport\":") +
                       number_of(gap, "\"overlap\":") + number_of(gap, "\"input\":");
    assert_true(sum == number_of(gap, "\"gap_ns\":") && sum != 0);
    free(a);
    free(b);
    free(gap);
}

static void wrong_questions_about_frameworks_are_refused(void **state)
{
    (void)state;
    expect("predict examples/lenet.yaml --device v100 --topology star --framework theano", 2, "caffe-mpi, cntk");
    expect("predict examples/lenet.yaml --device v100 --topology star --explain-gap cntk", 2, "wanted two frameworks");
    expect("predict examples/lenet.yaml --device v100 --topology star --explain-gap cntk,theano", 2,
           "no framework 'theano'");
    expect("predict examples/lenet.yaml --device v100 --topology star --framework README.md", 3, "README.md");
}

static void tune_says_what_it_measures(void **state)
{
    (void)state;
    expect("tune --help", 0, "device");
    expect("tune device --help", 0, "usage: tutti tune device");
    expect("tune device --models theano", 2, "--models names none");
    expect("tune device --device v100 --out /tmp/x", 2, "nothing is written: leave --out out");
    expect("tune device --kernels /tmp/x", 2, "give --check or --device, too");
}

/* One small network, both ways: a file that is read again and a check of it. */
static void a_tuned_device_is_a_device(void **state)
{
    (void)state;
    char path[64], command[300];
    snprintf(path, sizeof path, "/tmp/tutti-device-%d.device", (int)getpid());
    snprintf(command, sizeof command, "tune device --models digits -o %s", path);
    expect(command, 0, "written to");
    snprintf(command, sizeof command, "devices %s", path);
    expect(command, 0, "dense.compute.params");
    expect(command, 0, "dense/bf16.launch.forward");
    snprintf(command, sizeof command, "predict examples/lenet.yaml --device %s --ranks 1,2", path);
    expect(command, 0, "topology host");
    char table[64];
    snprintf(table, sizeof table, "/tmp/tutti-device-%d.csv", (int)getpid());
    snprintf(command, sizeof command, "tune device --models lenet --device %s --kernels %s", path, table);
    expect(command, 0, "error: median");
    char *kernels = NULL;
    size_t nbytes = 0;
    assert_int_equal(tutti_file_read(table, 1 << 20, TUTTI_ERR_USAGE, &kernels, &nbytes, NULL), TUTTI_OK);
    assert_non_null(strstr(kernels, "measured_s,predicted_s\nlenet,64,f32,conv1,stem,"));
    assert_non_null(strstr(kernels, "\nlenet,64,bf16,fc2,dense,"));
    free(kernels);
    unlink(table);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_lists_processors_and_the_source_of_each_figure),
        cmocka_unit_test(predict_takes_a_device_and_a_machine_by_name),
        cmocka_unit_test(topo_make_grows_a_machine_and_describes_it),
        cmocka_unit_test(the_parts_of_a_gap_are_the_difference_of_two_predictions),
        cmocka_unit_test(wrong_questions_about_frameworks_are_refused),
        cmocka_unit_test(tune_says_what_it_measures),
        cmocka_unit_test(a_tuned_device_is_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
