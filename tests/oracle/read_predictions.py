# SPDX-License-Identifier: Apache-2.0
"""read_predictions.py PROGRAM [PYTHON]: trains small networks on sets that this script writes, and compares what
`tutti eval --predictions` and `tutti infer` say with NumPy: numpy.load reads the .npy; the probabilities are those of
the checkpoint's weights, multiplied here in double; CSV and JSON lines hold the same floats; accuracy recomputed is
the one that eval prints; pictures, encoded here, have the answers of their rows. Needs numpy (./dev setup --test);
PYTHON, if it is there, is an interpreter that has it. Without: exit code 77, saying so."""
import csv
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import interpreter

try:
    import numpy
except ImportError as missing:
    interpreter.go_on_elsewhere(missing, 2, "./dev setup --test")

SIDE, NCLASSES, NTRAIN, NTEST = 8, 5, 400, 230
MODEL = f"""name: linear
input: [{{channels}}, {{side}}, {{side}}]
classes: {NCLASSES}
layers:
  - flatten: {{{{}}}}
  - dense: {{{{units: {NCLASSES}}}}}
  - softmax-cross-entropy: {{{{}}}}
"""
JOB = """model: {model}
data: {data}
batch: 40
epochs: 2
threads: {threads}
optimiser: {{rule: momentum, lr: {lr}}}
"""
NAMES = ["ape", "bear", "cat", "dog", "eel"]


def run(program: str, *words: object) -> str:
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def write_png(path: pathlib.Path, pixels: numpy.ndarray) -> None:
    """(height, width) is grey, (height, width, 3) colour."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0 if pixels.ndim == 2 else 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def draw(dice: numpy.random.Generator, n: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Columns in noise: class k has a bright column k, but one of ten samples that of another class."""
    labels = dice.integers(0, NCLASSES, n).astype(numpy.uint8)
    shown = numpy.where(dice.random(n) < 0.9, labels, dice.integers(0, NCLASSES, n))
    pixels = dice.integers(0, 90, (n, SIDE, SIDE)).astype(numpy.uint8)
    pixels[numpy.arange(n), :, shown] += 120
    return pixels, labels


def write_idx(folder: pathlib.Path, split: str, pixels: numpy.ndarray, labels: numpy.ndarray) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{split}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, *pixels.shape) + pixels.tobytes())
    (folder / f"{split}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, len(labels)) + labels.tobytes())


def read_weights(out: pathlib.Path) -> dict[str, numpy.ndarray]:
    newest = sorted((out / "checkpoints").iterdir())[-1]
    data = (newest / "weights.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, what in json.loads(data[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + at for at in what["data_offsets"])
        tensors[name] = numpy.frombuffer(data[begin:end], "<f4").reshape(what["shape"]).astype(numpy.float64)
    return tensors


def softmax(logits: numpy.ndarray) -> numpy.ndarray:
    powers = numpy.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def check_forms(program: str, out: pathlib.Path, folder: pathlib.Path, labels: numpy.ndarray) -> numpy.ndarray:
    """All three forms and what eval prints agree; returns the probabilities."""
    said = run(program, "eval", out, "--predictions", folder / "p.csv")
    for form in ("jsonl", "npy"):
        assert run(program, "eval", out, "--predictions", folder / f"p.{form}") == said
    p = numpy.load(folder / "p.npy")
    assert p.dtype == numpy.float32 and p.shape == (len(labels), NCLASSES), (p.dtype, p.shape)
    assert numpy.abs(p.astype(numpy.float64).sum(1) - 1).max() < 1e-6
    with open(folder / "p.csv", encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()]
    assert list(rows[0]) == ["index", "label", "prediction", *(f"p{k}" for k in range(NCLASSES))]
    assert [int(row["index"]) for row in rows] == list(range(len(labels))) == [line["index"] for line in lines]
    assert [int(row["label"]) for row in rows] == labels.tolist() == [line["label"] for line in lines]
    predicted = numpy.array([int(row["prediction"]) for row in rows])
    assert predicted.tolist() == [line["prediction"] for line in lines]
    assert (numpy.array([[row[f"p{k}"] for k in range(NCLASSES)] for row in rows], numpy.float32) == p).all()
    assert (numpy.array([line["p"] for line in lines], numpy.float32) == p).all()
    assert (p[numpy.arange(len(p)), predicted] == p.max(1)).all()
    accuracy = float(re.search(r"accuracy ([0-9.]+)", said).group(1))
    assert abs(accuracy - (predicted == labels).mean()) <= 0.5001e-4, accuracy
    table = run(program, "eval", out, "--per-class")
    for k in range(NCLASSES):
        mine = labels == k
        want = rf"^  {k}(?: \w+)? +{mine.sum()} +{(predicted[mine] == k).sum()} +{(predicted[mine] == k).mean():.4f}$"
        assert re.search(want, table, re.M), (want, table)
    return p


def check_infer(program: str, out: pathlib.Path, pictures: pathlib.Path, p: numpy.ndarray, names: list[str] | None) -> None:
    lines = [json.loads(line) for line in run(program, "infer", out, pictures, "--json", "--top", NCLASSES).splitlines()]
    assert len(lines) == len(p)
    assert [line["file"] for line in lines] == sorted(line["file"] for line in lines)
    for line, row in zip(lines, p):
        for entry in line["top"]:
            assert abs(entry["p"] - row[entry["class"]]) < 1e-6, (line, row)
            assert entry.get("name") == (names[entry["class"]] if names else None)
        assert [entry["p"] for entry in line["top"]] == sorted((entry["p"] for entry in line["top"]), reverse=True)


def check_links_into_the_set(program: str, out: pathlib.Path, data: pathlib.Path) -> None:
    """An output that leads to a file of the set is refused, and the file is what it was; a new name beside them is a
    place as any."""
    samples, link = data / "t10k-images-idx3-ubyte", data.parent / "link.npy"
    before = samples.read_bytes()
    link.symlink_to(samples)
    done = subprocess.run([program, "eval", str(out), "--predictions", str(link)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "belongs to the data" in done.stderr and not done.stdout, done
    assert samples.read_bytes() == before and link.is_symlink()
    link.unlink()
    run(program, "eval", out, "--predictions", data / f"{out.name}.npy")


def bytes_of_a_set(program: str, folder: pathlib.Path) -> None:
    dice = numpy.random.default_rng(1)
    write_idx(folder / "idx", "train", *draw(dice, NTRAIN))
    pixels, labels = draw(dice, NTEST)
    write_idx(folder / "idx", "t10k", pixels, labels)
    (folder / "pictures").mkdir()
    for i, picture in enumerate(pixels):
        write_png(folder / "pictures" / f"{i:04}.png", picture)
    (folder / "linear.yaml").write_text(MODEL.format(channels=1, side=SIDE))
    for threads in (1, 2):
        (folder / "idx.yaml").write_text(JOB.format(model="linear.yaml", data="{set: idx, path: "
                                                                              "idx}", threads=threads, lr=0.02))
        out = folder / f"idx-{threads}"
        run(program, "train", folder / "idx.yaml", "--ranks", threads, "--out", out, "--quiet")
        p = check_forms(program, out, folder, labels)
        weights = read_weights(out)
        samples = (pixels.reshape(NTEST, -1) / 255.0 - 0.5) / 0.5
        want = softmax(samples @ next(w for name, w in weights.items() if name.endswith("weight")).T +
                       next(w for name, w in weights.items() if name.endswith("bias")))
        assert numpy.abs(p - want).max() < 1e-5, numpy.abs(p - want).max()
        check_links_into_the_set(program, out, folder / "idx")
        (folder / "idx").rename(folder / "elsewhere")  # nobody needs the set to be there
        check_infer(program, out, folder / "pictures", p, None)
        (folder / "elsewhere").rename(folder / "idx")
        print(f"idx, {threads} threads: largest difference from NumPy {numpy.abs(p - want).max():.1e}")


def pictures_of_a_folder(program: str, folder: pathlib.Path) -> None:
    dice = numpy.random.default_rng(2)
    labels = []
    for split, n in (("train", 24), ("test", 7)):
        for k, name in enumerate(NAMES):
            place = folder / "animals" / split / name
            place.mkdir(parents=True)
            for i in range(n):
                shape = (int(dice.integers(17, 40)), int(dice.integers(17, 40)), 3)
                picture = dice.integers(0, 160, shape).astype(numpy.uint8)
                picture[:, :, k % 3] += numpy.uint8(40 + 10 * k)
                write_png(place / f"{i:02}.png", picture if i else picture[:, :, 0])  # the first is grey
                labels += [k] if split == "test" else []
    (folder / "colour.yaml").write_text(MODEL.format(channels=3, side=12))
    (folder / "animals.yaml").write_text(
        JOB.format(model="colour.yaml", data="{set: images, path: animals, size: 12}", threads=1, lr=0.005))
    out = folder / "animals-run"
    run(program, "train", folder / "animals.yaml", "--ranks", 1, "--out", out, "--quiet")
    p = check_forms(program, out, folder, numpy.array(labels))
    check_infer(program, out, folder / "animals" / "test", p, NAMES)
    print(f"images: {len(labels)} pictures by name")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        bytes_of_a_set(sys.argv[1], pathlib.Path(name))
        pictures_of_a_folder(sys.argv[1], pathlib.Path(name))


main()
