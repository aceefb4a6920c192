/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_fuse.c: what is merged into what, and what must stay as it is. */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel_impl.h"
#include "training/model/model.h"

typedef struct {
    tutti_model *read, *fused;
} pair;

static pair fuse(const char *layers)
{
    char text[2000];
    pair p;
    tutti_failure err = {0};
    snprintf(text, sizeof text, "name: net\ninput: [2, 4, 4]\nclasses: 3\nlayers:\n%s", layers);
    if (tutti_model_parse("net", text, strlen(text), &p.read, &err)) fail_msg("%s", err.text);
    p.fused = tutti_model_fuse(p.read);
    return p;
}

static void destroy(pair *p)
{
    tutti_model_destroy(p->fused);
    tutti_model_destroy(p->read);
}

static void expect_layers(const tutti_model *m, const char *names)
{
    char all[400] = "";
    for (int l = 0; l < m->nlayers; l++) {
        strcat(all, l ? " " : "");
        strcat(all, m->layers[l].name);
    }
    assert_string_equal(all, names);
}

#define HEAD "  - dense: {name: fc, units: 3}\n  - softmax-cross-entropy: {name: loss}\n"

static void relu_goes_into_the_layer_that_it_alone_reads(void **state)
{
    (void)state;
    pair p = fuse("  - conv: {name: c, out_channels: 3, kernel: 1}\n"
                  "  - relu: {name: r1}\n"
                  "  - conv: {name: d, out_channels: 3, kernel: 1}\n"
                  "  - batch-norm: {name: n}\n"
                  "  - relu: {name: r2}\n"
                  "  - dense: {name: e, units: 5}\n"
                  "  - relu: {name: r3}\n" HEAD);
    expect_layers(p.fused, "c d n e fc loss");
    const tutti_layer *l = p.fused->layers;
    assert_true(((const tutti_conv_attrs *)l[0].attrs)->relu);
    assert_false(((const tutti_conv_attrs *)l[1].attrs)->relu);
    assert_true(((const tutti_batch_norm_attrs *)l[2].attrs)->relu);
    assert_true(((const tutti_dense_attrs *)l[3].attrs)->relu);
    assert_false(((const tutti_dense_attrs *)l[4].attrs)->relu);
    assert_string_equal(l[0].merged, "r1");
    assert_null(l[1].merged);
    for (int i = 0; i < p.fused->nlayers; i++) assert_int_equal(l[i].in[0], i - 1);
    assert_int_equal(l[3].number, 5);
    assert_false(((const tutti_conv_attrs *)p.read->layers[0].attrs)->relu); /* the file's model stays as it is */
    assert_int_equal(tutti_model_nparams(p.fused), tutti_model_nparams(p.read));
    assert_ptr_equal(p.fused->text, p.read->text);
    destroy(&p);
}

static void end_of_a_residual_block_goes_into_its_batch_norm(void **state)
{
    (void)state;
    pair p = fuse("  - conv: {name: x, out_channels: 3, kernel: 1}\n"
                  "  - conv: {name: c, out_channels: 3, kernel: 1}\n"
                  "  - batch-norm: {name: n}\n"
                  "  - add: {name: join, from: [x, n]}\n"
                  "  - relu: {name: r}\n" HEAD);
    expect_layers(p.fused, "x c n fc loss");
    const tutti_layer *n = &p.fused->layers[2];
    assert_int_equal(n->nin, 2);
    assert_int_equal(n->in[0], 1);
    assert_int_equal(n->in[1], 0);
    assert_string_equal(n->merged, "join r");
    assert_int_equal(p.fused->layers[3].in[0], 2);
    destroy(&p);
}

/* As where a block changes the number of channels: both sides end in a batch norm. */
static void later_of_two_batch_norms_takes_the_other_as_its_addend(void **state)
{
    (void)state;
    pair p = fuse("  - conv: {name: x, out_channels: 3, kernel: 1}\n"
                  "  - conv: {name: c, out_channels: 3, kernel: 1}\n"
                  "  - batch-norm: {name: n}\n"
                  "  - conv: {name: short, out_channels: 3, kernel: 1, from: x}\n"
                  "  - batch-norm: {name: m}\n"
                  "  - add: {name: join, from: [n, m]}\n"
                  "  - relu: {name: r}\n" HEAD);
    expect_layers(p.fused, "x c n short m fc loss");
    const tutti_layer *m = &p.fused->layers[4];
    assert_int_equal(m->in[0], 3);
    assert_int_equal(m->in[1], 2);
    assert_false(((const tutti_batch_norm_attrs *)p.fused->layers[2].attrs)->relu);
    destroy(&p);
}

static void merged_layer_stands_behind_its_addend(void **state)
{
    (void)state;
    pair p = fuse("  - conv: {name: x, out_channels: 3, kernel: 1}\n"
                  "  - batch-norm: {name: n}\n"
                  "  - conv: {name: late, out_channels: 3, kernel: 1, from: x}\n"
                  "  - add: {name: join, from: [n, late]}\n"
                  "  - relu: {name: r}\n" HEAD);
    expect_layers(p.fused, "x late n fc loss");
    assert_int_equal(p.fused->layers[2].in[0], 0);
    assert_int_equal(p.fused->layers[2].in[1], 1);
    assert_int_equal(p.fused->layers[2].number, 1);
    destroy(&p);
}

static void value_that_another_layer_reads_as_well_is_kept(void **state)
{
    (void)state;
    pair p = fuse("  - conv: {name: c, out_channels: 3, kernel: 1}\n"
                  "  - relu: {name: r}\n"
                  "  - add: {name: join, from: [c, r]}\n"
                  "  - relu: {name: r2}\n" HEAD);
    expect_layers(p.fused, "c r join r2 fc loss");
    destroy(&p);
    p = fuse("  - batch-norm: {name: n}\n"
             "  - add: {name: join, from: [n, input]}\n"
             "  - relu: {name: r}\n"
             "  - add: {name: join2, from: [join, r]}\n" HEAD);
    expect_layers(p.fused, "n join r join2 fc loss");
    destroy(&p);
    p = fuse("  - batch-norm: {name: n}\n"
             "  - add: {name: join, from: [n, n]}\n"
             "  - relu: {name: r}\n" HEAD);
    expect_layers(p.fused, "n join r fc loss");
    destroy(&p);
}

static void other_functions_other_joins_and_second_relus_are_kept(void **state)
{
    (void)state;
    pair p = fuse("  - conv: {name: x, out_channels: 3, kernel: 1}\n"
                  "  - tanh: {name: t}\n"
                  "  - batch-norm: {name: n}\n"
                  "  - add: {name: three, from: [n, x, t]}\n"
                  "  - relu: {name: r}\n"
                  "  - relu: {name: rr}\n"
                  "  - max-pool: {name: p, kernel: 2}\n"
                  "  - relu: {name: rp}\n" HEAD);
    expect_layers(p.fused, "x t n three r rr p rp fc loss");
    destroy(&p);
    p = fuse("  - conv: {name: x, out_channels: 3, kernel: 1}\n"
             "  - relu: {name: r}\n"
             "  - relu: {name: rr}\n" HEAD);
    expect_layers(p.fused, "x rr fc loss");
    destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relu_goes_into_the_layer_that_it_alone_reads),
        cmocka_unit_test(end_of_a_residual_block_goes_into_its_batch_norm),
        cmocka_unit_test(later_of_two_batch_norms_takes_the_other_as_its_addend),
        cmocka_unit_test(merged_layer_stands_behind_its_addend),
        cmocka_unit_test(value_that_another_layer_reads_as_well_is_kept),
        cmocka_unit_test(other_functions_other_joins_and_second_relus_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
