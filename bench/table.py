# SPDX-License-Identifier: Apache-2.0
"""table.py: rows of a benchmark: printed as `ours | peer | bound | ratio`, and as JSON lines. ratio > 1: ours is
better."""
import json


class Table:
    def __init__(self, bench: str, json_path: str | None) -> None:
        self.bench, self.file = bench, open(json_path, "w") if json_path else None
        print(f"{'case':44} {'unit':8} {'ours':>10} {'peer':>10} {'bound':>10} {'ratio':>7}  peer's name")

    def row(self, case: str, unit: str, ours: float | None, peer_name: str, peer: float | None, bound: float | None = None,
            more_is_better: bool = False) -> None:
        ratio = None
        if peer and ours:
            ratio = ours / peer if more_is_better else peer / ours

        def shown(value: float | None) -> str:
            return "-" if value is None else f"{value:.4g}"

        print(f"{case:44} {unit:8} {shown(ours):>10} {shown(peer):>10} {shown(bound):>10} {shown(ratio):>7}  "
              f"{peer_name}",
              flush=True)
        if self.file:
            row = {"bench": self.bench, "case": case, "unit": unit, "ours": ours, "peer_name": peer_name, "peer": peer,
                   "bound": bound, "ratio": ratio}
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()
