/* SPDX-License-Identifier: Apache-2.0 */
/* test_nt_selector.c: every way to dense's forward pass gives what the reference gives, to the bit where sums are
 * exact; a tree in a tune file chooses between them, measured times come before it, and canonical sums know neither. */
#include "kernel/kernel_rig.h"

#include "base/clock.h"
#include "kernel/choose/dense_ways.h"
#include "kernel/choose/nt_selector.h"
#include "kernel/gemm/gemm.h"
#include "tensor/isa.h"

static tutti_kernel_request request_of(tutti_precision precision, int nthreads)
{
    return (tutti_kernel_request){
        .engine = "auto", .precision = precision, .training = true, .nthreads = nthreads, .order = TUTTI_ORDER_NCHW};
}

/* Forward by this candidate, the other passes by the reference, against the reference alone. */
static void compare(const tutti_kernel_candidate *way, const kernel_case *c, tutti_precision precision, int nthreads)
{
    const tutti_kernel_row *plain = tutti_op_dense.reference;
    const tutti_kernel_rows one = {.of = {plain, plain, plain}}, mixed = {.of = {way->row, plain, plain}};
    tutti_kernel_request want_as = request_of(precision, nthreads), got_as = want_as;
    rig want, got;
    want_as.by = &one, got_as.by = &mixed;
    rig_make(&want, c, NULL, &want_as), rig_make(&got, c, NULL, &got_as);
    rig_forward(&want), rig_forward(&got);
    rig_backward(&want), rig_backward(&got);
    if (memcmp(want.a.out, got.a.out, want.k.out.bytes)) fail_msg("%s: out by %s is another", c->what, way->name);
    assert_memory_equal(want.a.din[0], got.a.din[0], want.k.in[0].bytes);
    for (int p = 0; p < want.k.nparams; p++)
        assert_memory_equal(want.a.dparam[p], got.a.dparam[p], (size_t)want.k.params[p].elements * sizeof(float));
    rig_close(&want), rig_close(&got);
}

static const tutti_dense_attrs bare = {.units = 33}, biased = {.units = 130, .bias = true},
                               rectified = {.units = 65, .bias = true, .relu = true},
                               one_unit = {.units = 1, .relu = true};
static const kernel_case products[] = {
    {"dense", &bare, {2, {7, 19}}, true, false, 1, .what = "odd sides"},
    {"dense", &biased, {2, {64, 300}}, true, false, 1, .what = "with a bias"},
    {"dense", &rectified, {4, {5, 3, 4, 11}}, true, false, 1, .what = "behind planes, with a ReLU"},
    {"dense", &one_unit, {2, {1, 1}}, true, false, 1, .what = "one number"},
};
enum { NPRODUCTS = sizeof products / sizeof *products };

static void every_way_gives_what_the_reference_gives(void **state)
{
    (void)state;
    const tutti_candidate_table table = tutti_candidates();
    int nways = 0;
    for (int i = 0; i < table.n; i++) {
        const tutti_kernel_candidate *way = &table.rows[i];
        if (!way->op || strcmp(way->op, "dense") != 0) continue;
        for (int c = 0; c < NPRODUCTS; c++) {
            const tutti_precision precision =
                way->precisions & TUTTI_IN_F32 ? TUTTI_PRECISION_F32 : TUTTI_PRECISION_BF16;
            const tutti_kernel_request r = request_of(precision, 1);
            tutti_value in = tutti_value_plain(&products[c].in);
            tutti_kernel k;
            tutti_kernel_request full = r;
            in.dtype = tutti_precision_dtype(precision);
            in.bytes = (size_t)tutti_shape_count(&in.shape) * tutti_dtype_bytes(in.dtype);
            full.op = &tutti_op_dense, full.attrs = products[c].attrs, full.in = &in, full.nin = 1;
            assert_int_equal(tutti_kernel_begin(&full, &k, NULL), TUTTI_OK);
            if (!way->fits(&k, &full, TUTTI_PASS_FORWARD)) continue;
            nways++;
            compare(way, &products[c], precision, 1);
            compare(way, &products[c], precision, 3);
        }
    }
    char library[96];
    tutti_kernel_engine_describe("onednn", library);
    if (library[0]) assert_true(nways >= 4 * NPRODUCTS);
}

/* ---- choosing ---- */

/* The forward pass: gradients are computed as without a file. */
static const char *chosen_for(const tutti_tuned *tuned, bool canonical, int64_t m)
{
    const tutti_dense_attrs attrs = {.units = 256};
    const tutti_value in = tutti_value_plain(&(tutti_shape){2, {m, 256}});
    tutti_kernel_request r = request_of(TUTTI_PRECISION_F32, 1);
    tutti_kernel k, untuned;
    r.op = &tutti_op_dense, r.attrs = &attrs, r.in = &in, r.nin = 1, r.canonical = canonical;
    assert_int_equal(tutti_kernel_create(&r, &untuned, NULL), TUTTI_OK);
    r.tuned = tuned;
    assert_int_equal(tutti_kernel_create(&r, &k, NULL), TUTTI_OK);
    const char *name = k.chosen[TUTTI_PASS_FORWARD].name;
    for (int pass = TUTTI_PASS_PARAMS; pass < TUTTI_NPASSES; pass++)
        assert_string_equal(k.chosen[pass].name, untuned.chosen[pass].name);
    tutti_kernel_destroy(&k), tutti_kernel_destroy(&untuned);
    return name;
}

/* tnn from 64 rows on, nt below. */
static tutti_tune_file file_with_tree(void)
{
    tutti_tune_file f = {.place = tutti_tune_here(1)};
    tutti_tune_tree t = {
        .name = TUTTI_NT_TREE,
        .precision = "f32",
        .way = {"nt", "tnn"},
        .tree = {.nfeatures = TUTTI_NT_FEATURES,
                 .nways = 2,
                 .nnodes = 3,
                 .node = {{0, 6, 1, 2, 0}, {0, 0, -1, -1, 0}, {0, 0, -1, -1, 1}}},
    };
    for (int i = 0; i < TUTTI_NT_FEATURES; i++) t.feature[i] = tutti_nt_feature_name(i);
    tutti_tune_file_add_tree(&f, &t);
    return f;
}

static void a_tune_files_tree_chooses(void **state)
{
    (void)state;
    char library[96];
    tutti_kernel_engine_describe("onednn", library);
    if (!library[0]) skip();
    tutti_tune_file f = file_with_tree();
    tutti_tuned tuned = tutti_tune_file_tuned(&f);
    assert_int_equal(tutti_nt_check_tree(&f.tree[0], NULL), TUTTI_OK);
    assert_string_equal(chosen_for(&tuned, false, 63), "nt");
    assert_string_equal(chosen_for(&tuned, false, 64), "tnn");
    assert_string_equal(chosen_for(&tuned, true, 64), chosen_for(NULL, true, 64));
    /* what was measured at this very size counts more */
    tutti_tune_file_add(&f, &(tutti_tuned_entry){"dense", "64x256:units=256", "f32", "forward", "nt", 1e-3});
    tutti_tune_file_add(&f, &(tutti_tuned_entry){"dense", "64x256:units=256", "f32", "forward", "tnn", 2e-3});
    tuned = tutti_tune_file_tuned(&f);
    assert_string_equal(chosen_for(&tuned, false, 64), "nt");
    assert_string_equal(chosen_for(&tuned, false, 65), "tnn");
    tutti_tune_file_release(&f);
}

/* Where our loops or the way to transpose were not the soonest when measured, the library's way is left alone. */
static void without_a_file_makers_differ(void **state)
{
    (void)state;
    const bool ours = tutti_isa_by_amd() && tutti_gemm_row_is_here("avx512");
    const bool by_eight = tutti_isa_by_amd() && !ours && tutti_gemm_row_is_here("avx2");
    assert_string_equal(tutti_nt_choose(NULL, NULL, &(tutti_nt_size){64, 500, 800}), ours ? "gemm" : "onednn");
    assert_string_equal(tutti_nt_choose(NULL, NULL, &(tutti_nt_size){2048, 1024, 256}), ours ? "gemm" : "onednn");
    assert_string_equal(tutti_nt_choose(NULL, NULL, &(tutti_nt_size){512, 8192, 256}), ours ? "gemm" : "onednn");
    assert_string_equal(tutti_nt_choose(NULL, NULL, &(tutti_nt_size){1024, 2048, 4096}), ours ? "nt" : "onednn");
    /* rows that fill panels, weights of more than 256 inputs; more rows where weights lie pages apart */
    const char *turned = ours || by_eight ? "gemm" : "onednn", *not_turned = ours ? "gemm" : "onednn";
    assert_string_equal(tutti_nt_choose(NULL, NULL, &(tutti_nt_size){16, 300, 300}), turned);
    assert_string_equal(tutti_nt_choose(NULL, NULL, &(tutti_nt_size){64, 1000, 4096}), turned);
    assert_string_equal(tutti_nt_choose(NULL, NULL, &(tutti_nt_size){24, 300, 300}), not_turned);
    assert_string_equal(tutti_nt_choose(NULL, NULL, &(tutti_nt_size){16, 256, 256}), not_turned);
    assert_string_equal(tutti_nt_choose(NULL, NULL, &(tutti_nt_size){64, 768, 3072}), not_turned);
}

static void a_choice_takes_less_than_a_microsecond(void **state)
{
    (void)state;
    enum { ASKED = 50000 };
    tutti_tune_file f = file_with_tree();
    int64_t sum = 0;
    const double begin = tutti_clock_thread_s();
    for (int64_t i = 0; i < ASKED; i++)
        sum += tutti_nt_choose(&f.tree[0], &f.place.processor, &(tutti_nt_size){1 + i % 200, 256, 1 + i})[0];
    assert_true(sum > 0);
    assert_true(TESTING_SANITIZED || tutti_clock_thread_s() - begin < ASKED * 1e-6);
    tutti_tune_file_release(&f);
}

static void a_tree_of_other_features_is_refused(void **state)
{
    (void)state;
    tutti_tune_file f = file_with_tree();
    tutti_failure err = {0};
    f.tree[0].feature[2] = "log2_warps";
    assert_int_equal(tutti_nt_check_tree(&f.tree[0], &err), TUTTI_ERR_DATA);
    assert_non_null(strstr(err.text, "log2_warps"));
    tutti_tune_file_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_gives_what_the_reference_gives),
        cmocka_unit_test(a_tune_files_tree_chooses),
        cmocka_unit_test(without_a_file_makers_differ),
        cmocka_unit_test(a_choice_takes_less_than_a_microsecond),
        cmocka_unit_test(a_tree_of_other_features_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
