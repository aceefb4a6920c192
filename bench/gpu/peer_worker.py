# SPDX-License-Identifier: Apache-2.0
"""peer_worker.py: measures what peer.py asks for. It reads one JSON object a line from its standard input and answers
each with lines of JSON, the last of which has `done`. It is a process of its own, so that a variant that hangs or
breaks the card's context costs itself alone."""
import contextlib
import gc
import json
import pathlib
import statistics
import sys
import time

import card_figures
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/oracle"))

# The number of timed steps fills ENOUGH_S seconds, but lies between STEPS and MOST_STEPS.
STEPS, MOST_STEPS, ENOUGH_S = 30, 2000, 1.0
WARM_STEPS, WARM_S = 5, 0.5
LR, MOMENTUM, DECAY = 1e-3, 0.9, 1e-4


class Clock:
    """Times between marks: by events of the card's stream, or by the host's clock where there is no card."""

    def __init__(self, device: str) -> None:
        self.card, self.marks = device == "cuda", []

    def mark(self) -> None:
        if not self.card:
            self.marks.append(time.perf_counter())
            return
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.marks.append(event)

    def wait(self) -> None:
        if self.card:
            torch.cuda.synchronize()

    def ms(self) -> list[float]:
        self.wait()
        if self.card:
            return [a.elapsed_time(b) for a, b in zip(self.marks, self.marks[1:])]
        return [1e3 * (b - a) for a, b in zip(self.marks, self.marks[1:])]


def timed(work, device: str, least: int = STEPS) -> dict:
    """Times calls of work after a warm-up: median, quartiles, extremes."""
    begin, warm, clock = time.perf_counter(), 0, Clock(device)
    while warm < WARM_STEPS or time.perf_counter() - begin < WARM_S:
        work()
        clock.wait()
        warm += 1
    begin = time.perf_counter()
    work()
    clock.wait()
    one = max(time.perf_counter() - begin, 1e-6)
    for _ in range(1 + max(least, min(MOST_STEPS, int(ENOUGH_S / one)))):
        clock.mark()
        work()
    ms = clock.ms()
    return {**card_figures.spread(ms), "mean_ms": statistics.fmean(ms), "steps": len(ms)}


class Case:
    """A network of the zoo, with a batch that lies on the card and an optimiser."""

    def __init__(self, model: str, batch: int, precision: str, device: str, nhwc: bool) -> None:
        import torch_models  # wants pyyaml, which the ceilings do not
        torch.manual_seed(1)
        self.device, self.precision = device, precision
        self.model = torch_models.load(model).in_place()
        images, classes = len(self.model.input) == 3, self.model.shapes[self.model.losses[-1][0]][0]
        layout = torch.channels_last if nhwc and images else torch.contiguous_format
        self.model = self.model.to(device).to(memory_format=layout)
        self.x = torch.randn(batch, *self.model.input, device=device)
        self.x = self.x.to(memory_format=layout) if images else self.x
        self.y = torch.arange(batch, device=device) % classes
        self.optimiser = torch.optim.SGD(torch_models.optimiser_groups(self.model, DECAY), lr=LR, momentum=MOMENTUM, fused=True)
        self.objective = lambda x, y: self.model.loss(self.model(x), y)
        self.loss = None

    def compile(self, mode: str) -> None:
        self.objective = torch.compile(self.objective, mode=mode)

    def step(self) -> None:
        self.loss = None
        torch.compiler.cudagraph_mark_step_begin()
        # without the cache of cast weights, which a recording could not keep
        half = torch.autocast(self.device, dtype=torch.bfloat16,
                              cache_enabled=False) if self.precision == "bf16" else contextlib.nullcontext()
        self.optimiser.zero_grad(set_to_none=True)
        with half:
            loss = self.objective(self.x, self.y)
        loss.backward()
        self.optimiser.step()
        self.loss = loss.detach()

    def recorded(self):
        """Records a whole step as one CUDA graph; returns the call that replays it."""
        if self.device != "cuda":
            raise ValueError("graphs are a card's")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(4):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return graph.replay


def answer(words: dict) -> None:
    print(json.dumps(words), flush=True)


COMPILED = {"compile": "default", "max-autotune": "max-autotune-no-cudagraphs", "reduce-overhead": "reduce-overhead"}


def measure(task: dict) -> None:
    """Answers with a figure for the variant, and for a compiled one that records no graphs of its own also with one
    for its recording."""
    variant, device = task["variant"], task["device"]
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    case = Case(task["model"], task["batch"], task["precision"], device, not variant.endswith("-nchw"))
    set_up = time.perf_counter()
    if variant in COMPILED:
        case.compile(COMPILED[variant])
    work = case.recorded() if variant.startswith("graph") else case.step
    work()
    first = float(case.loss)
    set_up = time.perf_counter() - set_up
    peak = torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else None
    shown = {key: task[key] for key in ("model", "batch", "precision")}
    line = {
        "ev": "peer",
        "variant": variant,
        **shown,
        **timed(work, device), "set_up_s": set_up,
        "loss_first": first,
        "loss_last": float(case.loss),
        "mib": peak
    }
    answer(line)
    if variant in ("compile", "max-autotune") and device == "cuda":
        set_up = time.perf_counter()
        work = case.recorded()
        answer({
            **line, "variant": f"graph-{variant}",
            **timed(work, device), "set_up_s": time.perf_counter() - set_up,
            "loss_last": float(case.loss)
        })


def rate(name: str, unit: str, amount: float, found: dict) -> None:
    """Answers with a ceiling. amount: work of one call, such that amount by milliseconds is in `unit`."""
    answer({"ev": "ceiling", "name": name, "unit": unit, "value": amount / found["ms"], **found})


def ceilings(task: dict) -> None:
    """Answers with what the card itself does: copies, products, launches."""
    device = task["device"]
    small = device != "cuda"
    for megabytes in (1,) if small else (100, 2048):
        a = torch.randn(megabytes * 10**6 // 4, device=device)
        b = torch.empty_like(a)
        found = timed(lambda: b.copy_(a), device)
        rate(f"device copy of {megabytes} MB, bytes read and written", "GB/s", 2 * megabytes * 1e6 / 1e6, found)
    for n, kind in ((256, torch.bfloat16),) if small else ((8192, torch.bfloat16), (4096, torch.float32)):
        a, b = (torch.randn(n, n, device=device, dtype=kind) for _ in range(2))
        out = torch.empty_like(a)
        found = timed(lambda: torch.mm(a, b, out=out), device)
        rate(f"product {n}^3 {str(kind).removeprefix('torch.')}", "TFLOP/s", 2 * n**3 / 1e9, found)
    launches(device)


def launches(device: str) -> None:
    x, many = torch.zeros(32, device=device), 1000

    def loop() -> None:
        for _ in range(many):
            x.add_(1)

    def microseconds(name: str, work, count: int) -> None:
        found = timed(work, device)
        answer({"ev": "ceiling", "name": name, "unit": "us", "value": 1e3 * found["ms"] / count, **found})

    microseconds("launch of a small kernel from PyTorch", loop, many)
    if device != "cuda":
        return
    for count in (many, 1):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                x.add_(1)
        microseconds("small kernel inside a "
                     "graph" if count > 1 else "replay of a graph of one kernel", graph.replay, count)


def about(task: dict) -> None:
    """Answers with the versions and the card."""
    card = torch.cuda.get_device_properties(0) if task["device"] == "cuda" else None
    answer({"ev": "versions", "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
            "card": card and card.name, "capability": card and f"{card.major}.{card.minor}",
            "multiprocessors": card and card.multi_processor_count, "memory_mib": card and card.total_memory // 2**20})


def main() -> None:
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # products have it off by rule
    kinds = {"about": about, "ceilings": ceilings, "measure": measure}
    for line in sys.stdin:
        task = json.loads(line)
        try:
            kinds[task["kind"]](task)
            answer({"done": True})
        except Exception as failure:  # any failure is said, and the next variant has its turn
            words = f"{type(failure).__name__}: {failure}".strip().splitlines()
            answer({"done": True, "failed": words[0][:400]})
        if "torch._dynamo" in sys.modules:
            torch._dynamo.reset()
        gc.collect()
        if task["device"] == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
