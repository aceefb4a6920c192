# SPDX-License-Identifier: Apache-2.0
"""peer.py [options]: measures PyTorch at its best on one card: training steps of LeNet, ResNet-20, AlexNet and
ResNet-50 on made-up samples that lie on the card, and the card's own ceilings. Each figure is a line of JSON; a figure
that fails or does not fit into the time is a line with words.

The order is by importance: each variant runs all networks, and the cheap variants come first. Times are between events
on the card's stream, over at least 30 steps after a warm-up: median `ms`, quartiles, extremes. Products and
convolutions of f32 compute in f32 (no TF32)."""
import argparse
import json
import os
import pathlib
import selectors
import signal
import subprocess
import sys
import time

import card_figures

# model: (name in the zoo, batch, precision)
CASES = {"resnet50": ("resnet50", 256, "bf16"), "lenet": ("lenet", 64, "f32"), "alexnet": ("alexnet-torch", 256, "bf16"),
         "resnet20": ("resnet20", 128, "f32")}
# variant: networks for which it may be the best. `graph` runs eager kernels as one CUDA graph; `compile` also gives
# graph-compile, its step as one graph
VARIANTS = {
    "eager": CASES,
    "graph": CASES,
    "compile": CASES,
    "graph-nchw": ("lenet", "alexnet", "resnet20"),
    "reduce-overhead": CASES,
    "max-autotune": CASES
}
MOST_S = {"max-autotune": 150}  # seconds that a variant may take for one network; others may take 90


def driver_of() -> str | None:
    try:
        return card_figures.ask_cards("driver_version")[0]
    except (OSError, subprocess.TimeoutExpired, IndexError):
        return None


class Worker:
    """The process of peer_worker.py; it is started anew after it was killed or died."""

    def __init__(self, log) -> None:
        self.log, self.process = log, None

    def start(self) -> None:
        path = pathlib.Path(__file__).with_name("peer_worker.py")
        self.process = subprocess.Popen([sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        start_new_session=True)
        self.left = b""

    def stop(self) -> None:
        """Kills the process with all that it has started: compilers are processes, too."""
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
        self.process = None

    def read_lines(self, until: float) -> list[bytes]:
        """Reads whole lines, at least one. TimeoutError: there was none until then; EOFError: the process has ended."""
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.left:
                if not ready.select(max(until - time.monotonic(), 0)):
                    raise TimeoutError
                more = os.read(self.process.stdout.fileno(), 1 << 16)
                if not more:
                    raise EOFError
                self.left += more
        *lines, self.left = self.left.split(b"\n")
        return lines

    def ask(self, task: dict, seconds: float) -> tuple[list[dict], str | None]:
        """Gives the worker a task; returns the lines that it answered with, and why there are not more."""
        answers, until = [], time.monotonic() + seconds
        try:
            if not self.process:
                self.start()
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()
            while True:
                for line in self.read_lines(until):
                    words = json.loads(line) if line.startswith(b"{") else {}
                    if words.get("done"):
                        return answers, words.get("failed")
                    answers += [words] if words else []
        except TimeoutError:
            why = f"over {seconds:.0f} s"
        except (EOFError, BrokenPipeError):
            why = f"its process ended with {self.process.wait()}"
        except (OSError, ValueError) as failure:
            why = str(failure)
        self.stop()
        return answers, why


class Peer:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.until = args, time.monotonic() + args.limit_s
        self.file = open(args.json, "a") if args.json else None
        self.worker = Worker(open(args.log, "a") if args.log else None)
        self.best = {}

    def say(self, words: dict) -> None:
        for file in (sys.stdout, self.file):
            if file:
                print(json.dumps(words), file=file, flush=True)

    def ask(self, task: dict, most: float, name: dict) -> bool:
        left = self.until - time.monotonic()
        if left < min(10, self.args.limit_s / 2):
            self.say({**name, "left_out": f"no time left of {self.args.limit_s:.0f} s"})
            return False
        answers, why = self.worker.ask({**task, "device": self.args.device}, min(left, most))
        for words in answers:
            self.say({**words, **self.about})
            if "variant" in words:
                key = words["model"], words["batch"], words["precision"]
                self.best[key] = min(self.best.get(key, words), words, key=lambda w: w["ms"])
        if why:
            self.say({**name, "failed": why})
        return not why

    def versions(self) -> bool:
        self.about = {}
        answers, why = self.worker.ask({"kind": "about", "device": self.args.device}, min(120, self.args.limit_s))
        if why:
            self.say({"ev": "peer", "failed": f"PyTorch cannot be asked: {why}"})
            return False
        self.about = {key: answers[0][key] for key in ("torch", "cuda", "cudnn", "card")} | {"driver": driver_of()}
        self.say({**answers[0], **self.about})
        return True

    def run(self) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            if self.versions():
                self.measure()
        finally:
            self.worker.stop()

    def measure(self) -> None:
        if not self.args.no_ceilings:
            self.ask({"kind": "ceilings"}, 60, {"ev": "ceiling"})
        for variant in self.args.variants:
            for name in self.args.models:
                model, batch, precision = CASES[name]
                if name not in VARIANTS[variant]:
                    continue
                case = {"model": model, "batch": self.args.batch or batch, "precision": self.args.precision or precision}
                self.ask({
                    "kind": "measure",
                    "variant": variant,
                    **case
                }, MOST_S.get(variant, 90), {
                    "ev": "peer",
                    "variant": variant,
                    **case
                })
        for words in self.best.values():
            self.say({**words, "ev": "peer-best"})


def listed(known):
    def parse(text: str) -> list[str]:
        for word in text.split(","):
            if word not in known:
                raise argparse.ArgumentTypeError(f"no {word}; there are {', '.join(known)}")
        return text.split(",")
    return parse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=listed(CASES), default=list(CASES))
    parser.add_argument("--variants", type=listed(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--batch",
                        type=int,
                        help="of all models (default: " + ", ".join(f"{m} {b}" for m, (_, b, _) in CASES.items()) + ")")
    parser.add_argument("--precision", choices=("f32", "bf16"), help="of all models (default: " +
                        ", ".join(f"{m} {p}" for m, (_, _, p) in CASES.items()) + ")")
    parser.add_argument("--limit-s", type=float, default=300, help="seconds that all may take")
    parser.add_argument("--device",
                        choices=("cuda", "cpu"),
                        default="cuda",
                        help="cpu: to try the program where there is no card")
    parser.add_argument("--no-ceilings", action="store_true", help="leave out copies, products and launches")
    parser.add_argument("--json", help="also append the lines to this file")
    parser.add_argument("--log", help="what PyTorch says goes there")
    Peer(parser.parse_args()).run()


if __name__ == "__main__":
    main()
