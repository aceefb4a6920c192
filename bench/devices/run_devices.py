# SPDX-License-Identifier: Apache-2.0
"""Predicted throughput of one device beside what was published: published.txt has the rows and their sources. Nothing
is measured.

  run BUILD                  one line a row, as Markdown: device, precision, network, batch, predicted, published,
  their ratio, source run BUILD --check PERCENT  exit code 1 where a row that was fitted is off by more
  run BUILD --fit DEVICE     fits the figures that its file marks `fitted: by bench/devices` to its rows of use "fit";
  prints their lines

A fit makes the sum of log(predicted / published)^2 smallest, each network of each source counted once; the figures go
up and down in turn by steps that shrink. Figures of one value and one precision are one figure (conv, conv1x1 and
conv3x3 of f16)."""

import argparse
import json
import math
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEVICES = ROOT / "src" / "predict" / "devices"
MARK = "fitted: by bench/devices"
# Rows of a card of the same chip, and what differs: kernels that reach a share of one reach it of the other.
SAME_CHIP = {"p40": ("p6000", {"peak.f32": "12.63TFLOP/s", "memory": "432.8GB/s"})}


def rows():
    for line in (HERE / "published.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            device, precision, network, batch, rate, use, source = [cell.strip() for cell in line.split("|")]
            over, _, under = rate.partition("/")
            published = float(over) / float(under.removesuffix("ms") or 1) * (1000 if under.endswith("ms") else 1)
            yield dict(device=device,
                       precision=precision,
                       network=network,
                       batch=int(batch),
                       published=published,
                       use=use,
                       source=source)


def predict(program, device, row):
    network = str(HERE / "vgg-16.yaml") if row["network"] == "vgg-16" else row["network"]
    fuse = "true" if row["device"].partition(":")[0] not in REFERENCE else "false"
    command = [
        program, "predict",
        str(ROOT / "examples/resnet50/job.yaml"), "--device", device, "--topology", "star", "--ranks", "1", "--set",
        f"fuse={fuse}", "--set", f"model={network}", "--set", f"batch={row['batch']}", "--set",
        f"precision={row['precision']}", "--set", f"data.train_samples={max(640, row['batch'])}", "--json", "-"
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[0])["samples_per_s"]


REFERENCE = {"v100", "k80", "k20", "p100", "p40", "p6000", "gtx1080"}  # published runs whose frameworks merged nothing


def table(program, only, out):
    print(
        "| device | precision | network | batch | predicted | published | ratio | used | source "
        "|\n|---|---|---|---|---|---|---|---|---|"
    )
    seen, lines = set(), []
    for row in rows():
        name = row["device"].partition(":")[0]
        if row["device"] == "p6000" or (only and name != only):
            continue
        row["predicted"] = predict(program, row["device"], row)
        row["ratio"] = row["predicted"] / row["published"]
        precision = "tf32" if row["device"].endswith(":tf32") else row["precision"]
        print(f"| {name} | {precision} | {row['network']} | {row['batch']} | {row['predicted']:.1f} | "
              f"{row['published']:.1f} | "
              f"{row['ratio']:.2f} | {'fitted' if row['use'] == 'fit' else 'held out'} | {row['source']} |", flush=True)
        seen.add(name)
        lines.append(row)
    for file in sorted(DEVICES.glob("*.txt")):
        if file.stem not in seen and (not only or file.stem == only):
            precision = "bf16" if re.search(r"^peak.bf16|^like: ", file.read_text(), re.M) else "f32"
            row = dict(device=file.stem, precision=precision, network="resnet50", batch=64)
            print(
                f"| {file.stem} | {precision} | resnet50 | 64 | {predict(program, file.stem, row):.1f} | no published "
                f"figure found | | | |"
            )
    for use in ("fit", "held"):
        errors = sorted(abs(row["ratio"] - 1) for row in lines if row["use"] == use)
        if errors:
            print(
                f"\n{'fitted' if use == 'fit' else 'held out'}: {len(errors)} rows, median error "
                f"{100 * errors[len(errors) // 2]:.1f} %, "
                f"largest {100 * errors[-1]:.1f} %")
    if out:
        pathlib.Path(out).write_text("".join(json.dumps(row) + "\n" for row in lines))


def check(program, most):
    """Exit code 1 where a row that was fitted is off by more per cent than that."""
    off = [(abs(predict(program, row["device"], row) / row["published"] - 1) * 100, row)
           for row in rows() if row["use"] == "fit" and row["device"] != "p6000"]
    for percent, row in off:
        if percent > most:
            print(
                f"{row['device']}, {row['network']}, batch {row['batch']}, {row['source']}: {percent:.1f} % off, at "
                f"most {most:g}"
            )
    worst = max(percent for percent, _ in off)
    print(f"{len(off)} rows that were fitted: at most {worst:.1f} % off")
    return 1 if worst > most else 0


def with_values(text, values):
    for key, value in values.items():
        text = re.sub(rf"^({re.escape(key)}\s+)\S+",
                      rf"\g<1>{value:.4g}" if isinstance(value, float) else rf"\g<1>{value}",
                      text,
                      flags=re.M)
    return text


def fit(program, name):
    path = DEVICES / f"{name}.txt"
    text = path.read_text()
    rows_of, changes = SAME_CHIP.get(name, (name, {}))
    used = [row for row in rows() if row["use"] == "fit" and row["device"].partition(":")[0] == rows_of]
    marked = re.findall(rf"^(\S+)\s+(\S+)\s+{MARK}", text, re.M)
    if not used or not marked:
        raise SystemExit(f"{name}: no rows to fit, or no figure whose line says '{MARK}'")
    groups = {}
    for key, value in marked:
        precision = re.search(r"/(\w+)\.", key)
        groups.setdefault((precision.group(1), value) if precision else key, []).append((key, value))
    unit = {"us": 1e-6, "ms": 1e-3}
    start = [float(re.match(r"[\d.e+-]*\d", keys[0][1]).group()) * unit.get(keys[0][1][-2:], 1) for keys in groups.values()]

    def cost(values, show=None):
        spread = {key: float(v) for keys, v in zip(groups.values(), values) for key, _ in keys}
        with tempfile.NamedTemporaryFile("w", suffix=".device") as file:
            file.write(with_values(with_values(text, changes), spread))
            file.flush()
            networks = {}
            for row in used:
                suffix = ":tf32" if row["device"].endswith(":tf32") else ""
                off = math.log(predict(program, file.name + suffix, row) / row["published"])
                networks.setdefault((row["network"], row["source"]), []).append(off * off)
        return sum(sum(each) / len(each) for each in networks.values())

    best, least, step = start, cost(start), 1.4
    print(f"{name}: {len(used)} rows, error before {least:.4f}")
    while step > 1.004:
        better = False
        for i in range(len(best)):
            for factor in (step, 1 / step):
                trial = best[:i] + [best[i] * factor] + best[i + 1:]
                found = cost(trial)
                if found < least:
                    best, least, better = trial, found, True
                    break
        if not better:
            step = 1 + (step - 1) / 2
    print(f"error after {least:.4f}")
    for keys, value in zip(groups.values(), best):
        for key, _ in keys:
            print(f"{key} {value:.4g}")


def main():
    asked = argparse.ArgumentParser(prog="run")
    asked.add_argument("build")
    asked.add_argument("--fit", metavar="DEVICE")
    asked.add_argument("--only", metavar="DEVICE")
    asked.add_argument("--check", metavar="PERCENT", type=float)
    asked.add_argument("--json", metavar="FILE")
    asked = asked.parse_args()
    program = str((pathlib.Path.cwd() / asked.build / "tutti").resolve())
    if asked.fit:
        fit(program, asked.fit)
    elif asked.check is not None:
        raise SystemExit(check(program, asked.check))
    else:
        table(program, asked.only, asked.json)


if __name__ == "__main__":
    main()
