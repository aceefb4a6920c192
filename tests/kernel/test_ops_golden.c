/* SPDX-License-Identifier: Apache-2.0 */
/* test_ops_golden.c: every op on every engine gives what PyTorch gives, forward and backward, dropout's mask and batch
 * norm's statistics included. tests/golden/ops/<op>.safetensors come from tests/oracle/ops_golden.py: a case is found
 * there by its words. */
#include "kernel/kernel_cases.h"

#include <math.h>

#include "base/file.h"
#include "kernel/choose/memory_order.h"
#include "training/run/train.h"

typedef struct {
    char *bytes;
    tutti_safetensors *tensors;
} golden;

static golden open_golden(const char *op)
{
    golden g = {0};
    size_t nbytes = 0;
    char path[256];
    tutti_failure err = {0};
    snprintf(path, sizeof path, TUTTI_SOURCE_DIR "/tests/golden/ops/%s.safetensors", op);
    if (tutti_file_read(path, 1 << 24, TUTTI_ERR_DATA, &g.bytes, &nbytes, &err) != TUTTI_OK ||
        tutti_safetensors_parse(path, g.bytes, nbytes, &g.tensors, &err) != TUTTI_OK)
        fail_msg("%s", err.text);
    return g;
}

static void close_golden(golden *g)
{
    tutti_safetensors_destroy(g->tensors);
    free(g->bytes);
}

static void compare(const golden *g, const kernel_case *c, const char *what, const float *got, int64_t n)
{
    char name[64];
    snprintf(name, sizeof name, "%s: %s", c->what, what);
    const tutti_tensor_ref *want = tutti_safetensors_find(g->tensors, name);
    if (!want || count_of(&want->shape) != n)
        fail_msg("%s, %s: missing in the golden file or of another size", c->op, name);
    for (int64_t e = 0; e < n; e++) {
        double error = fabs((double)want->data[e] - (double)got[e]);
        if (c->exact ? want->data[e] != got[e] : !(error <= 1e-5 * (1 + fabs((double)want->data[e]))))
            fail_msg("%s, %s: %s[%lld] is %.9g, PyTorch has %.9g", c->op, c->what, what, (long long)e, (double)got[e],
                     (double)want->data[e]);
    }
}

/* The same in the same orders, by this row. */
static void compute_by(bench *b, const tutti_kernel_row *row)
{
    tutti_failure err = {0};
    tutti_kernel k;
    const tutti_kernel_request request = {.engine = "reference",
                                          .op = b->k.op,
                                          .attrs = b->k.attrs,
                                          .in = b->k.in,
                                          .nin = b->k.ninputs,
                                          .training = true,
                                          .nthreads = 2,
                                          .order = tutti_order_of(&b->k.out)};
    if (tutti_kernel_create_by(row, &request, &k, &err) != TUTTI_OK) fail_msg("%s", err.text);
    tutti_kernel_destroy(&b->k);
    free(b->a.scratch);
    b->k = k;
    b->a.scratch = numbers(k.scratch_bytes);
}

/* row: NULL = the engine's. */
static void compare_case(const kernel_case *c, const char *engine, const tutti_kernel_row *row)
{
    golden g = open_golden(c->op);
    bench b;
    bench_open(&b, engine, c, NULL, true, 1);
    if (row) compute_by(&b, row);
    run_forward(&b);
    run_backward(&b);
    int64_t nout = count_of(&b.k.out.shape);
    float *plain = numbers((size_t)nout * sizeof(float));
    if (b.k.op->is_loss) {
        compare(&g, c, "loss", &b.loss, 1);
    } else {
        tutti_value_to_plain(&b.k.out, b.out, plain);
        compare(&g, c, "out", plain, nout);
    }
    free(plain);
    for (int in = 0; in < b.k.ninputs; in++) {
        int64_t nin = count_of(&b.k.in[in].shape);
        char name[16] = "din";
        if (in > 0) snprintf(name, sizeof name, "din%d", in + 1);
        plain = numbers((size_t)nin * sizeof(float));
        tutti_value_to_plain(&b.k.in[in], b.din[in], plain);
        compare(&g, c, name, plain, nin);
        free(plain);
    }
    for (int p = 0; p < b.k.nparams; p++) {
        int64_t n = count_of(&b.k.params[p].shape);
        plain = numbers((size_t)n * sizeof(float));
        tutti_param_to_plain(&b.k.params[p], b.dparam[p], plain);
        compare(&g, c, b.k.params[p].name, plain, n);
        free(plain);
    }
    bench_close(&b);
    close_golden(&g);
}

static void reference_kernels_give_what_pytorch_gives(void **state)
{
    (void)state;
    for (int i = 0; i < NCASES; i++) compare_case(&kernel_cases[i], "reference", NULL);
}

static void onednn_kernels_give_what_pytorch_gives(void **state)
{
    (void)state;
    char text[96];
    tutti_kernel_engine_describe("onednn", text);
    if (!text[0]) skip();
    for (int i = 0; i < NCASES; i++) compare_case(&kernel_cases[i], "auto", NULL);
}

static void sparse_convolutions_give_what_pytorch_gives(void **state)
{
    (void)state;
    for (int i = 0; i < NCASES; i++)
        if (strcmp(kernel_cases[i].op, "conv") == 0) compare_case(&kernel_cases[i], "reference", &tutti_sparse_conv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_kernels_give_what_pytorch_gives),
        cmocka_unit_test(onednn_kernels_give_what_pytorch_gives),
        cmocka_unit_test(sparse_convolutions_give_what_pytorch_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
