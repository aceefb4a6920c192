/* SPDX-License-Identifier: Apache-2.0 */
/* test_ops_golden.c: every op on every engine gives what PyTorch gives, forward and backward, dropout's mask and batch norm's
 * statistics included. tests/golden/ops.safetensors comes from tests/oracle/ops_golden.py. */
#include "kernel/kernel_cases.h"

#include <math.h>

#include "base/file.h"
#include "training/run/checkpoint.h"

#define GOLDEN TUTTI_SOURCE_DIR "/tests/golden/ops.safetensors"

typedef struct {
    char *bytes;
    tutti_safetensors *tensors;
} golden;

static golden open_golden(void)
{
    golden g = {0};
    size_t nbytes = 0;
    tutti_failure err = {0};
    if (tutti_file_read(GOLDEN, 1 << 24, TUTTI_ERR_DATA, &g.bytes, &nbytes, &err) != TUTTI_OK ||
        tutti_safetensors_parse("ops.safetensors", g.bytes, nbytes, &g.tensors, &err) != TUTTI_OK)
        fail_msg("%s", err.text);
    return g;
}

static void close_golden(golden *g)
{
    tutti_safetensors_destroy(g->tensors);
    free(g->bytes);
}

static void compare(const golden *g, int i, const char *what, const float *got, int64_t n)
{
    const kernel_case *c = &kernel_cases[i];
    char name[64];
    snprintf(name, sizeof name, "%d.%s", i, what);
    const tutti_tensor_ref *want = tutti_safetensors_find(g->tensors, name);
    if (!want || count_of(&want->shape) != n)
        fail_msg("%s of %s, %s: missing or of another size", name, c->op, c->what);
    for (int64_t e = 0; e < n; e++) {
        double error = fabs((double)want->data[e] - (double)got[e]);
        if (c->exact ? want->data[e] != got[e] : !(error <= 1e-5 * (1 + fabs((double)want->data[e]))))
            fail_msg("%s, %s: %s[%lld] is %.9g, PyTorch has %.9g", c->op, c->what, what, (long long)e, (double)got[e],
                     (double)want->data[e]);
    }
}

static void compare_case(const golden *g, int i, const char *engine)
{
    bench b;
    bench_open(&b, engine, &kernel_cases[i], NULL, true, 1);
    run_forward(&b);
    run_backward(&b);
    int64_t nout = count_of(&b.k.out.shape);
    float *plain = numbers((size_t)nout * sizeof(float));
    if (b.k.op->is_loss) {
        compare(g, i, "loss", &b.loss, 1);
    } else {
        tutti_value_to_plain(&b.k.out, b.out, plain);
        compare(g, i, "out", plain, nout);
    }
    free(plain);
    for (int in = 0; in < b.k.ninputs; in++) {
        int64_t nin = count_of(&b.k.in[in].shape);
        char name[16] = "din";
        if (in > 0) snprintf(name, sizeof name, "din%d", in + 1);
        plain = numbers((size_t)nin * sizeof(float));
        tutti_value_to_plain(&b.k.in[in], b.din[in], plain);
        compare(g, i, name, plain, nin);
        free(plain);
    }
    for (int p = 0; p < b.k.nparams; p++) {
        int64_t n = count_of(&b.k.params[p].shape);
        plain = numbers((size_t)n * sizeof(float));
        tutti_param_to_plain(&b.k.params[p], b.dparam[p], plain);
        compare(g, i, b.k.params[p].name, plain, n);
        free(plain);
    }
    bench_close(&b);
}

static void reference_kernels_give_what_pytorch_gives(void **state)
{
    (void)state;
    golden g = open_golden();
    for (int i = 0; i < NCASES; i++) compare_case(&g, i, "reference");
    close_golden(&g);
}

static void onednn_kernels_give_what_pytorch_gives(void **state)
{
    (void)state;
    char text[96];
    tutti_kernel_engine_describe("onednn", text);
    if (!text[0]) skip();
    golden g = open_golden();
    for (int i = 0; i < NCASES; i++) compare_case(&g, i, "onednn");
    close_golden(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_kernels_give_what_pytorch_gives),
        cmocka_unit_test(onednn_kernels_give_what_pytorch_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
