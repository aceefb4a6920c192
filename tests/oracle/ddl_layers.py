# SPDX-License-Identifier: Apache-2.0
"""Writes papers/ddl-table/*.txt: layer files (six columns, docs/traces.md) of the networks of the measured table.

A row is a tensor, since that is what travels alone: its bytes in f32 are arithmetic, and its share of the time is that
of the multiplications that it takes part in; biases and norms take none. Times are those of one sample at 1 TFLOP/s,
backward twice forward: only shares count, the table says how long a step is.

ResNet-50 is that of our zoo (src/training/model/zoo/resnet50.yaml). BERT is what the authors of the table trained: for
pre-training, with the heads of masked words and of the next sentence, the first's matrix being the word embeddings',
64 tokens a sentence, the vocabulary filled up from 30,522 to a multiple of 8. The word embeddings' gradient is
complete at the very end of the backward pass, so the head's product stands in a row of no bytes.

The rule is that of the authors' scripts for Horovod (horovod/bert_benchmark.py, horovod/imagenet_benchmark.py).

  python3 tests/oracle/ddl_layers.py --write     writes them
  python3 tests/oracle/ddl_layers.py             exit code 1 if the committed ones are not what it would write
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "papers" / "ddl-table"
TOKENS, VOCABULARY, POSITIONS = 64, 30528, 512


def resnet50():
    rows = []

    def conv(name, inputs, outputs, kernel, size, stride=1):
        size //= stride
        rows.append((f"{name}.weight", outputs * inputs * kernel**2, 2 * outputs * inputs * kernel**2 * size**2))
        rows.append((f"{name}.norm.scale", outputs, 0))
        rows.append((f"{name}.norm.shift", outputs, 0))
        return size

    conv("conv1", 3, 64, 7, 224, 2)
    size, channels = 56, 64
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], 1):
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 1 else 1
            name = f"stage{stage}.{block}"
            conv(f"{name}.a", channels, width, 1, size)
            smaller = conv(f"{name}.b", width, width, 3, size, stride)
            conv(f"{name}.c", width, 4 * width, 1, smaller)
            if block == 0:
                conv(f"{name}.shortcut", channels, 4 * width, 1, size, stride)
            size, channels = smaller, 4 * width
    rows.append(("fc.weight", 1000 * channels, 2 * 1000 * channels))
    rows.append(("fc.bias", 1000, 0))
    assert len(rows) == 161 and sum(n for _, n, _ in rows) == 25_557_032
    return rows


def bert(width, layers, parameters):
    rows = []

    def dense(name, inputs, outputs, tokens=TOKENS, products=0):
        rows.append((f"{name}.weight", inputs * outputs, 2 * inputs * outputs * tokens + products))
        rows.append((f"{name}.bias", outputs, 0))

    def norm(name):
        rows.append((f"{name}.scale", width, 0))
        rows.append((f"{name}.shift", width, 0))

    rows.append(("words", VOCABULARY * width, 0))
    rows.append(("positions", POSITIONS * width, 0))
    rows.append(("segments", 2 * width, 0))
    norm("embeddings.norm")
    for layer in range(layers):
        name = f"layer{layer}"
        for part in ("query", "key", "value"):
            dense(f"{name}.{part}", width, width)
        dense(f"{name}.attended", width, width, products=4 * TOKENS**2 * width)  # scores and their product with the values
        norm(f"{name}.norm1")
        dense(f"{name}.wide", width, 4 * width)
        dense(f"{name}.narrow", 4 * width, width)
        norm(f"{name}.norm2")
    dense("pooler", width, width, tokens=1)
    dense("masked.dense", width, width)
    norm("masked.norm")
    rows.append(("masked.words", 0, 2 * width * VOCABULARY * TOKENS))
    rows.append(("masked.bias", VOCABULARY, 0))
    dense("next-sentence", width, 2, tokens=1)
    assert sum(n for _, n, _ in rows) == parameters
    return rows


def text_of(rows, rule):
    lines = ["Id\tName\tForward\tBackward\tComm\tSize", f"# rule {rule}"]
    for number, (name, elements, flops) in enumerate(rows):
        lines.append(f"{number}\t{name}\t{flops / 1e6:.10g}\t{2 * flops / 1e6:.10g}\t0\t{4 * elements}")
    return "\n".join(lines) + "\n"


def main():
    files = {
        "resnet-50.txt": (resnet50(), "sgd"),
        "bert-base.txt": (bert(768, 12, 110_111_042), "adamw"),
        "bert-large.txt": (bert(1024, 24, 336_232_258), "adamw"),
    }
    differ = 0
    for name, (rows, rule) in files.items():
        path = FOLDER / name
        if "--write" in sys.argv[1:]:
            path.write_text(text_of(rows, rule))
        elif not path.exists() or path.read_text() != text_of(rows, rule):
            print(f"{path} is not what {sys.argv[0]} writes", file=sys.stderr)
            differ = 1
    return differ


if __name__ == "__main__":
    sys.exit(main())
