/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_cases.c: the shapes on which devices are compared with the CPU: layers of LeNet, ResNet-20, ResNet-50 and
 * AlexNet, and odd ones: few channels, one sample, windows of 1 to 11, groups, classes up to 1000. */
#include "gpu_cases.h"

#include <stdio.h>

#include "kernel/choose/memory_order.h"

#define CONV(n, k, s, p, g) (&(const tutti_conv_attrs){(n), (k), (s), (p), (g), 0, true, false})
#define BARE(n, k, s, p)    (&(const tutti_conv_attrs){(n), (k), (s), (p), 1, 0, false, false})
#define DENSE(n)            (&(const tutti_dense_attrs){.units = (n), .bias = true})
#define POOL(k, s, p)       (&(const tutti_pool_attrs){.kernel = (k), .stride = (s), .pad = (p)})
#define UP(k, s, p)         (&(const tutti_pool_attrs){.kernel = (k), .stride = (s), .pad = (p), .ceil = true})
#define DROP(r)             (&(const tutti_dropout_attrs){r})
#define LOSS(w, s)          (&(const tutti_loss_attrs){w, s})
#define LRN(n, a, b, k)     (&(const tutti_lrn_attrs){n, a, b, k})
static const tutti_batch_norm_attrs norm = {.eps = 1e-5, .momentum = 0.1, .scale_init = 1};

static const gpu_case cases[] = {
    /* ---- small and odd: an interpreter runs these too ---- */
    {"conv", "one channel", CONV(4, 5, 1, 0, 1), .in = {4, {2, 1, 9, 8}}, .image = true, .quick = true},
    {"conv", "3 channels, 3 samples", CONV(8, 3, 1, 1, 1), .in = {4, {3, 3, 6, 5}}, .image = true, .quick = true},
    {"conv", "20 channels to 50", CONV(50, 5, 1, 0, 1), .in = {4, {1, 20, 6, 6}}, .quick = true},
    {"conv", "stride 2, 7 channels, one sample", CONV(7, 3, 2, 1, 1), .in = {4, {1, 7, 7, 6}}, .quick = true},
    {"conv", "1x1 without bias", BARE(16, 1, 1, 0), .in = {4, {3, 16, 4, 4}}, .quick = true},
    {"conv", "1x1, stride 2", BARE(12, 1, 2, 0), .in = {4, {2, 8, 5, 5}}, .quick = true},
    {"conv", "7x7", CONV(5, 7, 2, 3, 1), .in = {4, {1, 3, 9, 11}}, .quick = true},
    {"conv", "11x11", CONV(6, 11, 4, 2, 1), .in = {4, {1, 3, 19, 15}}, .quick = true},
    {"conv", "two groups", CONV(6, 3, 1, 1, 2), .in = {4, {2, 4, 6, 5}}, .quick = true},
    {"conv", "each channel alone", CONV(6, 3, 1, 1, 6), .in = {4, {2, 6, 5, 5}}, .quick = true},
    {"dense", "odd sizes", DENSE(7), .in = {2, {5, 13}}, .quick = true},
    {"dense", "one sample, one unit", DENSE(1), .in = {2, {1, 33}}, .quick = true},
    {"dense", "without bias", &(const tutti_dense_attrs){.units = 10}, .in = {2, {3, 20}}, .quick = true},
    {"dense", "behind planes", DENSE(10), .in = {4, {3, 7, 2, 3}}, .quick = true},
    {"dense", "behind planes of 20 channels", DENSE(11), .in = {4, {1, 20, 4, 4}}, .quick = true},
    {"relu", "7 channels", NULL, .in = {4, {2, 7, 3, 3}}, .quick = true},
    {"relu", "one sample", NULL, .in = {2, {1, 13}}, .quick = true},
    {"sigmoid", "7 channels", NULL, .in = {4, {2, 7, 3, 3}}, .quick = true},
    {"sigmoid", "two dims", NULL, .in = {2, {3, 5}}, .quick = true},
    {"tanh", "7 channels", NULL, .in = {4, {2, 7, 3, 3}}, .quick = true},
    {"tanh", "two dims", NULL, .in = {2, {3, 5}}, .quick = true},
    {"max-pool", "a column left over", POOL(2, 0, 0), .in = {4, {2, 3, 6, 5}}, .quick = true},
    {"max-pool", "overlap and padding", POOL(3, 2, 1), .in = {4, {1, 7, 5, 6}}, .quick = true},
    {"max-pool", "every position", POOL(3, 1, 0), .in = {4, {2, 2, 5, 5}}, .quick = true},
    {"max-pool", "rounded up", UP(3, 2, 0), .in = {4, {2, 3, 6, 5}}, .quick = true},
    {"max-pool", "out of the padding", UP(4, 3, 1), .in = {4, {1, 7, 7, 5}}, .quick = true},
    {"avg-pool", "a column left over", POOL(2, 0, 0), .in = {4, {2, 3, 6, 5}}, .quick = true},
    {"avg-pool", "overlap and padding", POOL(3, 2, 1), .in = {4, {1, 7, 5, 6}}, .quick = true},
    {"avg-pool", "rounded up", UP(3, 2, 0), .in = {4, {2, 3, 6, 5}}, .quick = true},
    {"avg-pool", "out of the padding", UP(4, 3, 1), .in = {4, {1, 7, 7, 5}}, .quick = true},
    {"global-avg-pool", "7 channels", NULL, .in = {4, {2, 7, 2, 4}}, .quick = true},
    {"lrn", "7 channels", LRN(5, 1e-4, 0.75, 1), .in = {4, {2, 7, 3, 2}}, .quick = true},
    {"lrn", "strong", LRN(5, 1, 0.75, 2), .in = {4, {2, 16, 3, 3}}, .quick = true},
    {"lrn", "two dims", LRN(5, 1, 0.75, 2), .in = {2, {3, 6}}, .quick = true},
    {"lrn", "an even window", LRN(4, 0.5, 0.5, 1), .in = {4, {2, 3, 2, 2}}, .quick = true},
    {"batch-norm", "planes", &norm, .in = {4, {3, 7, 3, 2}}, .quick = true},
    {"batch-norm", "one channel", &norm, .in = {4, {2, 1, 5, 5}}, .quick = true},
    {"batch-norm", "two dims", &norm, .in = {2, {6, 5}}, .quick = true},
    {"dropout", "planes", DROP(0.25), .in = {4, {2, 7, 3, 3}}, .quick = true},
    {"dropout", "two dims", DROP(0.5), .in = {2, {3, 10}}, .quick = true},
    {"flatten", "planes", NULL, .in = {4, {2, 7, 3, 2}}, .quick = true},
    {"add", "two", NULL, .in = {4, {2, 7, 3, 2}}, .nmore = 1, .quick = true},
    {"add", "three, two dims", NULL, .in = {2, {3, 5}}, .nmore = 2, .quick = true},
    {"concat", "two, odd channels", NULL, .in = {4, {2, 3, 2, 3}}, .nmore = 1, .channels = {5}, .quick = true},
    {"concat", "three", NULL, .in = {4, {2, 16, 3, 3}}, .nmore = 2, .channels = {32, 16}, .quick = true},
    {"concat", "four, two dims", NULL, .in = {2, {3, 4}}, .nmore = 3, .channels = {1, 20, 3}, .quick = true},
    {"softmax-cross-entropy", "ten classes", LOSS(1, 0), .in = {2, {6, 10}}, .quick = true},
    {"softmax-cross-entropy", "one sample, smoothed", LOSS(0.3, 0.1), .in = {2, {1, 3}}, .quick = true},
    /* These have channels that fill vectors, or more than a warp's share. */
    {"conv", "16 to 32 channels", BARE(32, 3, 1, 1), .in = {4, {2, 16, 7, 6}}, .quick = true},
    {"dense", "sizes of eights", DENSE(32), .in = {2, {8, 64}}, .quick = true},
    {"dense", "behind planes of 16 channels", DENSE(24), .in = {4, {4, 16, 3, 3}}, .quick = true},
    {"relu", "more than a block", NULL, .in = {4, {3, 24, 9, 7}}, .quick = true},
    {"batch-norm", "16 channels", &norm, .in = {4, {5, 16, 7, 6}}, .quick = true},
    {"batch-norm", "two dims of 24", &norm, .in = {2, {37, 24}}, .quick = true},
    {"max-pool", "16 channels", POOL(3, 2, 1), .in = {4, {2, 16, 7, 8}}, .quick = true},
    {"max-pool", "8 channels, apart", POOL(2, 2, 0), .in = {4, {2, 8, 6, 7}}, .quick = true},
    {"avg-pool", "16 channels", POOL(3, 1, 1), .in = {4, {2, 16, 5, 6}}, .quick = true},
    {"global-avg-pool", "16 channels", NULL, .in = {4, {3, 16, 7, 7}}, .quick = true},
    {"lrn", "24 channels", LRN(5, 0.1, 0.75, 2), .in = {4, {2, 24, 4, 3}}, .quick = true},
    {"dropout", "positions in fours", DROP(0.4), .in = {4, {2, 8, 4, 5}}, .quick = true},
    {"add", "two of 16 channels", NULL, .in = {4, {2, 16, 5, 5}}, .nmore = 1, .quick = true},
    {"softmax-cross-entropy", "200 classes", LOSS(1, 0.1), .in = {2, {5, 200}}, .quick = true},
    /* ---- LeNet, 64 samples ---- */
    {"conv", "LeNet, first", CONV(20, 5, 1, 0, 1), .in = {4, {64, 1, 28, 28}}, .image = true},
    {"max-pool", "LeNet, first", POOL(2, 2, 0), .in = {4, {64, 20, 24, 24}}},
    {"conv", "LeNet, second", CONV(50, 5, 1, 0, 1), .in = {4, {64, 20, 12, 12}}},
    {"max-pool", "LeNet, second", POOL(2, 2, 0), .in = {4, {64, 50, 8, 8}}},
    {"dense", "LeNet, behind planes", DENSE(500), .in = {4, {64, 50, 4, 4}}},
    {"dense", "LeNet, classes", DENSE(10), .in = {2, {64, 500}}},
    {"softmax-cross-entropy", "LeNet", LOSS(1, 0), .in = {2, {64, 10}}},
    {"tanh", "LeNet", NULL, .in = {2, {64, 500}}},
    {"sigmoid", "planes of 50", NULL, .in = {4, {64, 50, 8, 8}}},
    /* ---- ResNet-20, 64 samples ---- */
    {"conv", "ResNet-20, image", BARE(16, 3, 1, 1), .in = {4, {64, 3, 32, 32}}, .image = true},
    {"conv", "ResNet-20, 16", BARE(16, 3, 1, 1), .in = {4, {64, 16, 32, 32}}},
    {"conv", "ResNet-20, 16 to 32", BARE(32, 3, 2, 1), .in = {4, {64, 16, 32, 32}}},
    {"conv", "ResNet-20, shortcut", BARE(64, 1, 2, 0), .in = {4, {64, 32, 16, 16}}},
    {"conv", "ResNet-20, 64", BARE(64, 3, 1, 1), .in = {4, {64, 64, 8, 8}}},
    {"batch-norm", "ResNet-20, 16", &norm, .in = {4, {64, 16, 32, 32}}},
    {"batch-norm", "ResNet-20, 64", &norm, .in = {4, {64, 64, 8, 8}}},
    {"add", "ResNet-20", NULL, .in = {4, {64, 32, 16, 16}}, .nmore = 1},
    {"relu", "ResNet-20", NULL, .in = {4, {64, 16, 32, 32}}},
    {"global-avg-pool", "ResNet-20", NULL, .in = {4, {64, 64, 8, 8}}},
    {"flatten", "ResNet-20", NULL, .in = {4, {64, 64, 8, 8}}},
    /* ---- ResNet-50, 16 samples ---- */
    {"conv", "ResNet-50, image", BARE(64, 7, 2, 3), .in = {4, {16, 3, 224, 224}}, .image = true, .merged = GPU_RELU_NO},
    {"batch-norm", "ResNet-50, image", &norm, .in = {4, {16, 64, 112, 112}}, .merged = GPU_RELU},
    {"max-pool", "ResNet-50", POOL(3, 2, 1), .in = {4, {16, 64, 112, 112}}},
    {"conv", "ResNet-50, 1x1 64 to 256", BARE(256, 1, 1, 0), .in = {4, {16, 64, 56, 56}}, .merged = GPU_RELU_NO},
    {"conv", "ResNet-50, 3x3 64", BARE(64, 3, 1, 1), .in = {4, {16, 64, 56, 56}}, .merged = GPU_RELU_NO},
    {"conv", "ResNet-50, shortcut", BARE(512, 1, 2, 0), .in = {4, {16, 256, 56, 56}}, .merged = GPU_RELU_NO},
    {"conv", "ResNet-50, 3x3 stride 2", BARE(128, 3, 2, 1), .in = {4, {16, 128, 56, 56}}, .merged = GPU_RELU_NO},
    {"conv", "ResNet-50, 3x3 512", BARE(512, 3, 1, 1), .in = {4, {16, 512, 7, 7}}, .merged = GPU_RELU_NO},
    {"conv", "ResNet-50, 1x1 2048 to 512", BARE(512, 1, 1, 0), .in = {4, {16, 2048, 7, 7}}, .merged = GPU_RELU_NO},
    {"batch-norm", "ResNet-50, 256", &norm, .in = {4, {16, 256, 56, 56}}, .merged = GPU_ADDEND},
    {"batch-norm", "ResNet-50, 2048", &norm, .in = {4, {16, 2048, 7, 7}}, .merged = GPU_RELU_NO | GPU_ADDEND},
    {"global-avg-pool", "ResNet-50", NULL, .in = {4, {16, 2048, 7, 7}}},
    {"dense", "ResNet-50, classes", DENSE(1000), .in = {2, {16, 2048}}},
    {"softmax-cross-entropy", "1000 classes, smoothed", LOSS(1, 0.1), .in = {2, {64, 1000}}},
    /* ---- AlexNet, 16 samples ---- */
    {"conv", "AlexNet, first", CONV(96, 11, 4, 0, 1), .in = {4, {16, 3, 227, 227}}, .image = true, .merged = GPU_RELU},
    {"lrn", "AlexNet, first", LRN(5, 1e-4, 0.75, 2), .in = {4, {16, 96, 55, 55}}},
    {"max-pool", "AlexNet, first", POOL(3, 2, 0), .in = {4, {16, 96, 55, 55}}},
    {"conv", "AlexNet, second", CONV(256, 5, 1, 2, 2), .in = {4, {16, 96, 27, 27}}, .merged = GPU_RELU},
    {"conv", "AlexNet, third", CONV(384, 3, 1, 1, 1), .in = {4, {16, 256, 13, 13}}, .merged = GPU_RELU},
    {"max-pool", "AlexNet, last", POOL(3, 2, 0), .in = {4, {16, 256, 13, 13}}},
    {"dense", "AlexNet, behind planes", DENSE(4096), .in = {4, {16, 256, 6, 6}}, .merged = GPU_RELU},
    {"dropout", "AlexNet", DROP(0.5), .in = {2, {64, 4096}}},
    /* ---- other networks ---- */
    {"concat", "Inception", NULL, .in = {4, {16, 64, 28, 28}}, .nmore = 3, .channels = {128, 32, 33}},
    {"avg-pool", "Inception", POOL(3, 1, 1), .in = {4, {16, 192, 28, 28}}},
    {"avg-pool", "DenseNet", POOL(2, 2, 0), .in = {4, {16, 128, 28, 28}}},
    {"add", "four", NULL, .in = {4, {16, 64, 28, 28}}, .nmore = 3},
    {"dropout", "planes", DROP(0.3), .in = {4, {16, 96, 27, 27}}},
};

const gpu_case *gpu_case_at(int i)
{
    return i >= 0 && i < (int)(sizeof cases / sizeof *cases) ? &cases[i] : NULL;
}

static bool is_merged(const gpu_case *c, const gpu_setting *at)
{
    const tutti_op_row *op = tutti_op_find(c->op);
    const unsigned this = at->addend ? GPU_ADDEND : at->relu ? GPU_RELU : GPU_RELU_NO;
    if ((at->relu && !op->relu_at) || (at->addend && !op->takes_addend)) return false;
    return !c->merged || c->merged & this;
}

/* Large cases take time. They run in f16 only in the order of cards, and without training once in f32 and once in
 * bf16. */
static bool is_wanted(const gpu_case *c, const gpu_setting *at)
{
    const bool nhwc = at->order == TUTTI_ORDER_NHWC, planes = c->in.ndims == 4;
    if (!is_merged(c, at) || (nhwc && !planes)) return false;
    if (c->quick) return true;
    if (at->training) return at->precision != TUTTI_PRECISION_F16 || nhwc || !planes;
    return at->precision == TUTTI_PRECISION_F32 ? !nhwc : at->precision == TUTTI_PRECISION_BF16 && (nhwc || !planes);
}

bool gpu_setting_at(const gpu_case *c, int i, gpu_setting *out)
{
    enum { MERGED = 3, ORDERS = 2, ALL = MERGED * TUTTI_NPRECISIONS * ORDERS * 2 };
    for (int n = 0; n < ALL; n++) {
        const int merged = n / 2 / ORDERS / TUTTI_NPRECISIONS;
        *out = (gpu_setting){.training = n % 2 == 0,
                             .order = n / 2 % ORDERS ? TUTTI_ORDER_NHWC : TUTTI_ORDER_NCHW,
                             .precision = (tutti_precision)(n / 2 / ORDERS % TUTTI_NPRECISIONS),
                             .relu = merged > 0,
                             .addend = merged > 1};
        if (is_wanted(c, out) && i-- == 0) return true;
    }
    return false;
}

void gpu_setting_text(const gpu_setting *at, char out[64])
{
    snprintf(out, 64, "%s %s %s%s%s", tutti_precision_name(at->precision), tutti_order_name(at->order),
             at->training ? "training" : "inference", at->relu ? " relu" : "", at->addend ? " addend" : "");
}
