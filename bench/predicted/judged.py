# SPDX-License-Identifier: Apache-2.0
"""judged.py: measured beside predicted: a row each, a line of medians for each group of rows, JSON lines for
programs."""
import json
import math
import statistics


class Judged:
    def __init__(self, json_path: str | None) -> None:
        self.file = open(json_path, "w") if json_path else None
        self.rows: list[dict] = []
        self.others_met = True
        self.aims: dict[str, tuple[float, float | None]] = {}
        print(f"{'case':58} {'measured':>12} {'predicted':>12} {'error':>8}", flush=True)

    def aim(self, group: str, median: float, p95: float | None = None) -> None:
        """Errors that are wanted at most, as parts of one; they change nothing but what the last lines say."""
        self.aims[group] = (median, p95)

    def row(self, group: str, case: str, measured_s: float, predicted_s: float, **more: object) -> None:
        error = predicted_s / measured_s - 1
        print(f"{case:58} {1e3 * measured_s:9.3f} ms {1e3 * predicted_s:9.3f} ms {100 * error:+7.1f}%", flush=True)
        row = {"group": group, "case": case, "measured_s": measured_s, "predicted_s": predicted_s, "error": error, **more}
        self.rows.append(row)
        self.put(row)

    def put(self, row: dict) -> None:
        if self.file:
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()

    def errors(self, group: str) -> list[float]:
        return sorted(abs(r["error"]) for r in self.rows if r["group"] == group)

    def sum_up(self) -> bool:
        """Prints each group's median and 95th percentile; whether all aims were met."""
        met = self.others_met
        print()
        for group in dict.fromkeys(r["group"] for r in self.rows):
            errors = self.errors(group)
            median, p95 = statistics.median(errors), errors[math.ceil(0.95 * len(errors)) - 1]
            words = f"{group}: median {100 * median:.1f} % p95 {100 * p95:.1f} % over {len(errors)} cases"
            wanted, most = self.aims.get(group, (None, None))
            if wanted is not None:
                fine = median <= wanted and (most is None or p95 <= most)
                met &= fine
                words += f" (aim: {100 * wanted:g} %" + (f", p95 {100 * most:g} %"
                                                         if most else "") + f": {'met' if fine else 'missed'})"
            print(words, flush=True)
            self.put({"group": group, "median": median, "p95": p95, "cases": len(errors)})
        return met
