#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""zoo_resnet.py: writes the residual networks of src/training/model/zoo (He et al., Deep residual learning for image recognition,
arXiv 1512.03385): too long to be typed, regular enough to be said. usage: tools/zoo_resnet.py [FOLDER]"""
import pathlib
import sys

ZOO = pathlib.Path(__file__).resolve().parents[1] / "src/training/model/zoo"
MADE = "# Made by tools/zoo_resnet.py.\n"
IMAGENET = """# ResNet-50 v1.5: He et al., Deep residual learning for image recognition, arXiv 1512.03385, table 1, with the
# stride of a block on its 3x3 convolution instead of its first (v1.5). The last batch norm of each block starts at 0, so
# that a block starts as the identity (Goyal et al., arXiv 1706.02677, section 5.1). Parameters are named and shaped as
# torchvision's resnet50's.
"""
CIFAR = """# ResNet-{depth} for 32x32 images: He et al., Deep residual learning for image recognition, arXiv 1512.03385,
# section 4.2: {n} blocks of two 3x3 convolutions at each of 16, 32, 64 channels. Where the shape changes, the shortcut is
# a 1x1 convolution with batch norm (option B); the paper's option A pads with zeros and has {more} parameters fewer.
"""


class Layers:
    def __init__(self, head: str) -> None:
        self.lines = [MADE + head.rstrip("\n")]

    def add(self, op: str, **attributes) -> str:
        inside = ", ".join(f"{key}: {value}" for key, value in attributes.items())
        self.lines.append(f"  - {op}" + (f": {{{inside}}}" if inside else ""))
        return attributes.get("name", "")

    def conv_norm(self, conv: str, norm: str, channels: int, kernel: int, stride: int, read: str = "", **more) -> str:
        """read: the layer that the convolution reads, where it is not the one above."""
        given = {"from": read} if read else {}
        given |= {"out_channels": channels, "kernel": kernel} | ({"stride": stride} if stride > 1 else {})
        given |= {"pad": kernel // 2} if kernel > 1 else {}
        self.add("conv", name=conv, **given, bias="false", init="he")
        return self.add("batch-norm", name=norm, **more)

    def block(self, name: str, convs: list, read: str, project: bool, **last) -> str:
        """convs: (channels, kernel, stride) each; read: the layer above the block. Returns the layer that ends it."""
        for i, (channels, kernel, stride) in enumerate(convs, 1):
            is_last = i == len(convs)
            end = self.conv_norm(f"{name}.conv{i}", f"{name}.bn{i}", channels, kernel, stride, **(last if is_last else {}))
            if not is_last:
                self.add("relu")
        if project:
            stride = max(stride for _, _, stride in convs)
            read = self.conv_norm(f"{name}.downsample.0", f"{name}.downsample.1", convs[-1][0], 1, stride, read)
        self.add("add", **{"from": f"[{end}, {read}]"})
        return self.add("relu", name=f"{name}.relu")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def head(text: str, name: str, side: int, classes: int) -> Layers:
    return Layers(f"{text}name: {name}\ninput: [3, {side}, {side}]\nclasses: {classes}\nlayers:")


def tail(layers: Layers, classes: int) -> str:
    layers.add("global-avg-pool")
    layers.add("dense", name="fc", units=classes)
    layers.add("softmax-cross-entropy")
    return layers.text()


def resnet50() -> str:
    layers = head(IMAGENET, "resnet50", 224, 1000)
    layers.conv_norm("conv1", "bn1", 64, 7, 2)
    layers.add("relu")
    read = layers.add("max-pool", name="maxpool", kernel=3, stride=2, pad=1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for b in range(blocks):
            stride = 2 if stage and b == 0 else 1
            convs = [(width, 1, 1), (width, 3, stride), (4 * width, 1, 1)]
            read = layers.block(f"layer{stage + 1}.{b}", convs, read, b == 0, scale_init=0)
    return tail(layers, 1000)


def resnet_cifar(depth: int) -> str:
    n, more = (depth - 2) // 6, f"{16 * 32 + 2 * 32 + 32 * 64 + 2 * 64:,}"
    layers = head(CIFAR.format(depth=depth, n=n, more=more), f"resnet{depth}", 32, 10)
    layers.conv_norm("conv1", "bn1", 16, 3, 1)
    read = layers.add("relu", name="relu0")
    for stage in range(3):
        for b in range(n):
            stride, width = 2 if stage and b == 0 else 1, 16 << stage
            read = layers.block(f"layer{stage + 1}.{b}", [(width, 3, stride), (width, 3, 1)], read, stride == 2)
    return tail(layers, 10)


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ZOO
    for name, text in (("resnet50", resnet50()), ("resnet20", resnet_cifar(20)), ("resnet56", resnet_cifar(56))):
        (folder / f"{name}.yaml").write_text(text)


if __name__ == "__main__":
    main()
