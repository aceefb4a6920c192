# SPDX-License-Identifier: Apache-2.0
"""kineto_golden.py: traces of PyTorch's own profiler, for `tutti trace convert`.

  python3 tests/oracle/kineto_golden.py --write           makes tests/golden/kineto/small.json: three steps of the
  network below, of its
                                                          events those that can matter, with whole nanoseconds
  python3 tests/oracle/kineto_golden.py TUTTI [PYTHON]    makes a trace anew, whole, converts it with that program, and
  holds it against
                                                          the network: layers, order, bytes of parameters, and that
                                                          forward and backward passes are no longer than the steps.
                                                          PYTHON: one that has torch; exit code 77 without
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import interpreter

try:
    import torch
    from torch import nn
    from torch.profiler import ProfilerActivity, profile, schedule
except ImportError as missing:
    interpreter.go_on_elsewhere(missing, 2, "./dev setup --peers")

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "kineto" / "small.json"
STEPS = 3


class Residual(nn.Module):
    """Its addition and its own scale are operators of no module inside it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.norm(self.conv(x)))


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.words(x)).mean(1)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 5, stride=2), nn.ReLU(), Residual(8), nn.Flatten())
        self.tokens = Tokens()
        self.head = nn.Linear(8 * 14 * 14 + 16, 10)

    def forward(self, pictures: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        return self.head(torch.cat([self.body(pictures), self.tokens(words)], 1))


# In the order of their first operators, with the bytes of their own parameters. The profiler counts modules of a class
# from 0.
LAYERS = [
    ("Conv2d_0", (3 * 8 * 25 + 8) * 4),
    ("ReLU_0", 0),
    ("Conv2d_1", 8 * 8 * 9 * 4),
    ("BatchNorm2d_0", 16 * 4),
    ("Residual_0", 0),
    ("Flatten_0", 0),
    ("Embedding_0", 50 * 16 * 4),
    ("LayerNorm_0", 32 * 4),
    ("Tokens_0", 0),
    ("Network_0", 0),
    ("Linear_0", ((8 * 14 * 14 + 16) * 10 + 10) * 4),
    ("outside", 0),
]


def record(path: pathlib.Path) -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = Network()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    pictures, words, labels = torch.randn(4, 3, 32, 32), torch.randint(50, (4, 7)), torch.randint(10, (4,))
    assert sum(n for _, n in LAYERS) == sum(p.numel() * 4 for p in network.parameters())
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=2, active=STEPS, repeat=1),
        on_trace_ready=lambda p: p.export_chrome_trace(str(path)),
        record_shapes=True,
        with_stack=True,
    ) as profiler:
        for _ in range(2 + STEPS):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(pictures, words), labels).backward()
            optimiser.step()
            profiler.step()


def write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        record(path)
        trace = json.loads(path.read_text())
    kept = []
    for e in trace["traceEvents"]:
        module = e.get("cat") == "python_function" and e["name"].startswith("nn.Module: ")
        if e.get("ph") == "X" and (module or e.get("cat") in ("cpu_op", "user_annotation")):
            args = {
                k: v
                for k, v in e.get("args", {}).items()
                if k in ("Sequence number", "Fwd thread id", "Input Dims", "Input type")
            }
            if not e["name"].startswith("autograd") and "Input Dims" in args and e["name"] not in KNOWN:
                del args["Input Dims"], args["Input type"]
            kept.append({k: e[k] for k in ("ph", "cat", "name", "pid", "tid", "ts", "dur")} | {"args": args})
    first = min(e["ts"] for e in kept)
    for e in kept:
        e["ts"], e["dur"] = round(e["ts"] - first, 3), round(e["dur"], 3)
    made_by = f"tests/oracle/kineto_golden.py --write, torch {torch.__version__}"
    lines = ",\n".join(json.dumps(e, separators=(",", ":")) for e in kept)
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    GOLDEN.write_text(f'{{"schemaVersion":1,"madeBy":"{made_by}","traceEvents":[\n{lines}\n]}}\n')


KNOWN = {"aten::conv2d", "aten::batch_norm", "aten::embedding", "aten::layer_norm", "aten::linear"}


def check(tutti: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace, layers = pathlib.Path(folder) / "trace.json", pathlib.Path(folder) / "layers.txt"
        record(trace)
        subprocess.run([tutti, "trace", "convert", str(trace), "-o", str(layers)], check=True)
        rows = [line.split("\t") for line in layers.read_text().splitlines()[1:]]
        steps = [e["dur"] for e in json.loads(trace.read_text())["traceEvents"] if str(e.get("name")).startswith("ProfilerStep#")]
        predicted = subprocess.run([tutti, "predict", str(layers), "--batch", "4", "--ranks", "1,8", "--topology", "star"],
                                   check=True, capture_output=True, text=True).stdout
    assert len(steps) == STEPS, steps
    assert [(r[1], int(r[5])) for r in rows] == LAYERS, rows
    forward, backward = sum(float(r[2]) for r in rows), sum(float(r[3]) for r in rows)
    step = sum(steps) / STEPS
    assert forward > 0 and backward > 0 and forward + backward <= step, (forward, backward, step)
    for name in ("Conv2d_0", "Conv2d_1", "BatchNorm2d_0", "Embedding_0", "LayerNorm_0", "Linear_0", "Residual_0", "outside"):
        row = next(r for r in rows if r[1] == name)
        assert float(row[3]) > 0, row
    assert "speed-up" in predicted
    print(
        f"forward {forward:.0f} us and backward {backward:.0f} us of steps of {step:.0f} us, {len(rows)} layers, torch "
        f"{torch.__version__}"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    elif len(sys.argv) in (2, 3):
        check(sys.argv[1])
    else:
        sys.exit(__doc__)
