/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranks_tune_command.c: `tutti tune kernels` as a user types it: a job's layers are measured once, its file is
 * read again, and one that is missing, damaged or foreign is refused with words. */
#include "testing.h"

#include <unistd.h>

#include "base/file.h"
#include "cli/command_line.h"
#include "kernel/choose/nt_selector.h"

/* Another that is not there yet. */
static void name_file(char out[64], const char *what)
{
    snprintf(out, 64, "/tmp/tutti-%s-%d.tune", what, (int)getpid());
}

/* A file of this processor whose tree knows one way: products need not be measured. */
static void write_known(const char *path, int nthreads)
{
    tutti_tune_file f = {.place = tutti_tune_here(nthreads)};
    tutti_tune_tree t = {.name = TUTTI_NT_TREE,
                         .precision = "f32",
                         .way = {"nt"},
                         .tree = {.nfeatures = 1, .nways = 1, .nnodes = 1, .node = {{.less = -1, .more = -1}}}};
    t.feature[0] = tutti_nt_feature_name(0);
    tutti_tune_file_add_tree(&f, &t);
    assert_int_equal(tutti_tune_file_write(&f, path, NULL), TUTTI_OK);
    tutti_tune_file_release(&f);
}

static void a_jobs_layers_are_measured_once(void **state)
{
    (void)state;
    char known[64], first[64], second[64], command[400];
    char *a, *b;
    size_t na, nb;
    name_file(known, "known"), name_file(first, "first"), name_file(second, "second");
    write_known(known, 1);
    snprintf(command, sizeof command, "tune kernels examples/mlp.yaml --set threads=1 --from %s -o %s", known, first);
    expect(command, 0, "passes measured");
    snprintf(command, sizeof command, "tune kernels examples/mlp.yaml --set threads=1 --from %s -o %s", first, second);
    expect(command, 0, ": 0 passes measured");
    assert_int_equal(tutti_file_read(first, TUTTI_TUNE_MAX_BYTES, TUTTI_ERR_USAGE, &a, &na, NULL), TUTTI_OK);
    assert_int_equal(tutti_file_read(second, TUTTI_TUNE_MAX_BYTES, TUTTI_ERR_USAGE, &b, &nb, NULL), TUTTI_OK);
    assert_string_equal(a, b);
    char library[96];
    tutti_kernel_engine_describe("onednn", library);
    if (library[0]) assert_non_null(strstr(a, ":units=128,bias,relu f32 forward gemm "));
    free(a), free(b);
    unlink(known), unlink(first), unlink(second);
}

static void files_that_are_none_are_refused(void **state)
{
    (void)state;
    char path[64], command[300];
    name_file(path, "bad");
    snprintf(command, sizeof command, "tune kernels --from %s", path);
    expect(command, 2, "No such file");
    assert_int_equal(tutti_file_write_atomic(path, "", 0, NULL), TUTTI_OK);
    expect(command, 3, "empty");
    assert_int_equal(tutti_file_write_atomic(path, "tutti tuned kernels 9\n", 22, NULL), TUTTI_OK);
    expect(command, 3, "version 9");
    assert_int_equal(tutti_file_write_atomic(path, "tutti tuned kernels 1\n", 22, NULL), TUTTI_OK);
    expect(command, 3, "cut off");
    write_known(path, 3);
    expect(command, 3, "with other threads a kernel");
    snprintf(command, sizeof command, "tune kernels --from %s -o %s", path, path);
    expect(command, 2, path);
    unlink(path);
}

static void wrong_flags_are_refused(void **state)
{
    (void)state;
    expect("tune kernels --help", 0, "usage: tutti tune kernels");
    expect("tune kernels --threads 0", 2, "--threads");
    expect("tune kernels examples/mlp.yaml --set threads=1 --threads 2", 2, "say --set threads=2");
    expect("tune kernels examples/mlp.yaml examples/lenet.yaml", 2, "one job at a time");
    expect("tune kernels nowhere.yaml", 2, "nowhere.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jobs_layers_are_measured_once),
        cmocka_unit_test(files_that_are_none_are_refused),
        cmocka_unit_test(wrong_flags_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
