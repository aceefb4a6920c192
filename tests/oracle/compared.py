# SPDX-License-Identifier: Apache-2.0
"""compared.py: what comparisons of losses with golden ones share: the worst relative difference, and cases that run
side by side."""
import collections.abc
import concurrent.futures
import os

Found = tuple[str, float, float]  # a run's name, what its losses may differ by, what they do


def worst(ours: list[float], theirs: list[float]) -> float:
    return max(abs(a - b) / abs(b) for a, b in zip(ours, theirs)) if len(ours) == len(theirs) else float("inf")


def run_all(compare: collections.abc.Callable[[str], list[Found]], cases: collections.abc.Iterable[str]) -> int:
    """As many cases at a time as there are processors, a line for each run in the order of cases; an exit code."""
    wrong = ran = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(compare, cases):
            for name, most, difference in found:
                is_wrong = not difference <= most
                wrong, ran = wrong + is_wrong, ran + 1
                print(f"{name} worst relative difference {difference:.1e}  {'WRONG' if is_wrong else 'ok'}", flush=True)
    print(f"{ran - wrong} passed, {wrong} failed")
    return wrong != 0
