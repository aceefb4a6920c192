# SPDX-License-Identifier: Apache-2.0
"""norm_golden.py: makes, by norm_rules.py, tests/golden/updates/{lars,lamb}.safetensors (as update_golden.py makes
those of PyTorch's rules), with lars-falling.safetensors, a rate that falls by which both forms of LARS differ, and
tests/golden/norm_rules/CASE.json: the losses of 20 steps of mlp and lenet. Some minutes; needs nothing but Python."""
import json
import pathlib
import sys

import norm_rules

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
STEPS, N, LR, DECAY = 20, 16, 0.01, 0.1  # as in update_golden.py
FALLING = {"eta": 0.25, "mu": 0.9}


def play(rule, rate) -> dict[str, list[float]]:
    """A weight and a bias, and what is kept beside the weight."""
    now = {kind: [(i - 8) / 16 for i in range(N)] for kind in ("weight", "bias")}
    path = {"weight": [], "bias": []}
    for step in range(STEPS):
        g = [((7 * i + 3 * step) % 11 - 5) / 8 for i in range(N)]
        for kind in now:
            now[kind] = rule.step(kind, now[kind], g, rate(step), kind == "weight")
            path[kind] += now[kind]
    return path | rule.states("weight")


def write_updates(name: str, found: dict[str, list[float]]) -> None:
    shaped = {key: ((len(v) // N, N) if len(v) > N else (N,), v) for key, v in found.items()}
    said = {"made by": "norm_rules.py, float64, from arXiv 1708.03888 and 1904.00962"}
    (GOLDEN / f"updates/{name}.safetensors").write_bytes(norm_rules.safetensors(shaped, said))


def main() -> None:
    write_updates("lars", play(norm_rules.Lars(DECAY), lambda _: LR))
    write_updates("lamb", play(norm_rules.Lamb(DECAY), lambda _: LR))
    falling = {}
    for form in ("scaled", "unscaled"):
        rule = norm_rules.Lars(DECAY, scaled=form == "scaled", **FALLING)
        falling[form] = play(rule, lambda step: 0.5 if step < 10 else 0.125)["weight"]
    write_updates("lars-falling", falling)
    (GOLDEN / "norm_rules").mkdir(exist_ok=True)
    for case in sys.argv[1:] or norm_rules.CASES:
        found = norm_rules.losses(case)
        (GOLDEN / f"norm_rules/{case}.json").write_text(json.dumps(found) + "\n")
        print(case, *(f"{v:.5f}" for v in (*found[:2], found[-1])), flush=True)


if __name__ == "__main__":
    main()
