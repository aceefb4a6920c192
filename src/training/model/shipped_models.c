/* SPDX-License-Identifier: Apache-2.0 */
/* shipped_models.c: networks that come with the program, as text in the format of docs/models.md, so that they are
 * handled like anybody's and can be copied and changed (each checkpoint has its model's text). All read 28x28 digits. */
#include <string.h>

#include "model.h"

/* The smallest network that is not linear. 101,770 parameters. */
static const char mlp[] = "name: mlp\n"
                          "input: [1, 28, 28]\n"
                          "classes: 10\n"
                          "layers:\n"
                          "  - dense: {name: fc1, units: 128}\n"
                          "  - relu\n"
                          "  - dense: {name: fc2, units: 10}\n"
                          "  - softmax-cross-entropy\n";

/* LeNet as Caffe's MNIST example has it (after LeCun et al., Proc. IEEE 1998). 431,080 parameters. */
static const char lenet[] = "name: lenet\n"
                            "input: [1, 28, 28]\n"
                            "classes: 10\n"
                            "layers:\n"
                            "  - conv: {name: conv1, out_channels: 20, kernel: 5}\n"
                            "  - max-pool: {kernel: 2}\n"
                            "  - conv: {name: conv2, out_channels: 50, kernel: 5}\n"
                            "  - max-pool: {kernel: 2}\n"
                            "  - dense: {name: fc1, units: 500}\n"
                            "  - relu\n"
                            "  - dense: {name: fc2, units: 10}\n"
                            "  - softmax-cross-entropy\n";

/* Small, with every op that keeps statistics or draws random numbers. */
static const char convnet_bn[] = "name: convnet-bn\n"
                                 "input: [1, 28, 28]\n"
                                 "classes: 10\n"
                                 "layers:\n"
                                 "  - conv: {name: conv1, out_channels: 16, kernel: 3, pad: 1, bias: false}\n"
                                 "  - batch-norm: {name: bn1}\n"
                                 "  - relu\n"
                                 "  - max-pool: {kernel: 2}\n"
                                 "  - conv: {name: conv2, out_channels: 32, kernel: 3, pad: 1, bias: false}\n"
                                 "  - batch-norm: {name: bn2}\n"
                                 "  - relu\n"
                                 "  - avg-pool: {kernel: 2}\n"
                                 "  - dropout: {rate: 0.25}\n"
                                 "  - dense: {name: fc1, units: 64}\n"
                                 "  - tanh\n"
                                 "  - dropout: {rate: 0.5}\n"
                                 "  - dense: {name: fc2, units: 10}\n"
                                 "  - softmax-cross-entropy\n";

static const struct {
    const char *name, *text;
} shipped[] = {{"mlp", mlp}, {"lenet", lenet}, {"convnet-bn", convnet_bn}};

enum { NSHIPPED = sizeof shipped / sizeof *shipped };

const char *tutti_model_shipped_at(int i)
{
    return i >= 0 && i < NSHIPPED ? shipped[i].name : NULL;
}

const char *tutti_model_shipped_text(const char *name)
{
    for (int i = 0; i < NSHIPPED; i++)
        if (strcmp(shipped[i].name, name) == 0) return shipped[i].text;
    return NULL;
}
