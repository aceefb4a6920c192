#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds a published table of measured training steps against the model of papers/ddl-table/NOTES.md. Needs numpy (./dev
setup --test).

usage: ddl_table.py --rows FILE [--json CELLS] | --fit FILE | --left-out FILE  [--layers MODEL=FILE]...
FILE is the user's: results/2020-05-29/README.md of https://github.com/HKBU-HPML/ddl-benchmarks, or rows of that layout.
--rows prints each cell, its prediction and the error, by constants.json; --fit prints such constants; --left-out
judges each model by constants that were fitted on the others. exit: 0; 1: what is wrong with the arguments or a line.
"""
import argparse
import json
import pathlib
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
# Each method: its schedule, whether it uses servers, whether it counts in the last line.
METHODS = {"BSP-A2A": ("bsp-one", False, True), "WFBP-A2A": ("wfbp", False, True), "MG-WFBP": ("mg-wfbp", False, False),
           "ByteScheduler-A2A": ("priority", False, False), "BSP-PS": ("bsp-one", True, False),
           "WFBP-PS": ("wfbp", True, False), "ByteScheduler-PS": ("priority", True, False)}
JUDGED = ("BSP-A2A", "WFBP-A2A")
FITTED, NODE, PCIE3_X16 = ("ResNet-50", "BERT-Base"), 4, 15.75e9


# ---- files ----

def figure(line, text):
    """Reads "925.020 +- 4.42" or "253.1"; "-" and nothing are None."""
    if text in ("", "-"):
        return None
    found = re.fullmatch(r"(\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?: *\+- *\d+(?:\.\d*)?)?", text)
    return float(found[1]) if found and float(found[1]) > 0 else sys.exit(f"line {line}: '{text}' is not a figure")


def read_rows(path):
    """(GPU counts, rows) of a table in Markdown; behind its head nothing but rows is allowed."""
    gpus, rows = None, []
    for line, text in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        cells = [c.strip() for c in text.strip()[1:-1].split("|")]
        if not text.strip() or (gpus is None and cells[0] != "DNN"):
            continue
        if gpus is None:
            gpus = [int(c.split()[0]) for c in cells[4:] if re.fullmatch(r"\d+ GPUs?", c)]
            if cells[:4] != ["DNN", "BS", "CONNECTION", "METHOD"] or len(gpus) < 2 or gpus[0] != 1 or gpus != sorted(set(gpus)):
                sys.exit(f"line {line}: the head is not | DNN | BS | CONNECTION | METHOD | 1 GPU | 4 GPUs | ... |")
        elif not all(re.fullmatch("[-:]+", c) for c in cells):
            if not 5 <= len(cells) <= 4 + len(gpus) or not re.fullmatch(r"[1-9]\d*", cells[1]):
                sys.exit(f"line {line}: no row of {4 + len(gpus)} columns with a batch")
            figures = {g: f for g, f in zip(gpus, (figure(line, c) for c in cells[4:])) if f}
            if 1 not in figures:
                sys.exit(f"line {line}: no figure of 1 GPU")
            rows.append(argparse.Namespace(line=line, model=cells[0], batch=int(cells[1]), connection=cells[2], method=cells[3],
                                           one=figures.pop(1), measured=figures))
    return (gpus[1:], rows) if rows else sys.exit(f"{path}: no row of measured figures in it")


def read_layers(rows, given):
    """{model: its layers in the order of the forward pass}, from layer files (docs/traces.md): only shares of the
    times count."""
    given, all_layers = dict(g.split("=", 1) for g in given), {}
    for name in dict.fromkeys(r.model for r in rows):
        path = pathlib.Path(given.pop(name, HERE / f"{name.lower()}.txt"))
        if not path.exists():
            sys.exit(f"no layers of {name}: {path} is not there; name a file, --layers '{name}=FILE'")
        lines = [line.split() for line in path.read_text().splitlines()[1:]]
        forward, backward, size = (np.array([float(x[c]) for x in lines if x[0] != "#"]) for c in (2, 3, 5))
        share, which = 1 / (forward.sum() + backward.sum()), np.flatnonzero(size)[::-1]  # in the order in which gradients come
        all_layers[name] = argparse.Namespace(forward=forward * share,
                                              behind=backward.sum() * share,
                                              which=which,
                                              bytes=size[which],
                                              ready=np.cumsum(backward[::-1])[::-1][which] * share,
                                              adam=any(x[:2] == ["#", "rule"] and x[2][:4] == "adam" for x in lines))
    return all_layers if not given else sys.exit(f"--layers {'='.join(given.popitem())}: no row is of that model")


# ---- a cell; the constants may be arrays, as the fit has them ----

def message(c, network, servers, gpus):
    """(seconds, seconds a byte) of one message on so many GPUs: a ring, or as many servers as nodes."""
    inside, beyond = c["inside"], gpus > NODE
    if not servers:
        ring = network if beyond else inside
        return 2 * (gpus - 1) * ring["hop_us"] * 1e-6, 2 * (gpus - 1) / gpus / (ring["line"] * ring["efficiency"])
    byte = 1 / (inside["line"] * inside["server_efficiency"])
    return 0.0, byte + 1 / (network["line"] * network["server_efficiency"]) if beyond else byte


def queue_end(ready, size, start, byte):
    """When the last message ends, each behind its gradient and the message before: the longest of all queues."""
    start, byte = np.asarray(start)[..., None], np.asarray(byte)[..., None]
    return (ready + np.arange(len(size), 0, -1) * start + np.cumsum(size[::-1])[::-1] * byte).max(axis=-1)


def merged_end(ready, size, start, byte):
    """The same with neighbours merged so that it ends soonest: the best last message of each prefix."""
    lane, sums = [0.0], np.concatenate([[0], np.cumsum(size)])
    for end in range(1, len(size) + 1):
        lane.append((np.maximum(np.array(lane), ready[end - 1]) + start + (sums[end] - sums[:end]) * byte).min())
    return lane[-1]


def needed_end(layers, one_s, start, byte):
    """A step whose next forward pass waits for each layer's own message; of what is ready the first layer goes
    first."""
    lane, there, left = 0.0, {}, list(range(len(layers.which)))
    while left:
        lane = max(lane, layers.ready[left[0]] * one_s)
        at = max(i for i in left if layers.ready[i] * one_s <= lane)
        lane = there[layers.which[at]] = lane + start + layers.bytes[at] * byte
        left.remove(at)
    now = layers.behind * one_s
    for layer, forward in enumerate(layers.forward):
        now = max(now, there.get(layer, 0.0)) + forward * one_s
    return now


def predict(c, row, layers, gpus):
    """Samples/s of all GPUs together."""
    schedule, servers, _ = METHODS[row.method]
    start, byte = message(c, c["networks"][row.connection], servers, gpus)
    step = one_s = row.batch / row.one
    if schedule == "bsp-one":
        step = one_s + start + layers.bytes.sum() * byte
    elif schedule == "priority":
        step = max(one_s, needed_end(layers, one_s, start, byte))
    else:
        end = {"wfbp": queue_end, "mg-wfbp": merged_end}[schedule](layers.ready * one_s, layers.bytes, start, byte)
        step = one_s + np.maximum(end - layers.behind * one_s, 0)
    return row.batch * gpus / (step + (0 if servers or not layers.adam else len(layers.which) * c["adam_us"] * 1e-6))


# ---- the fit: least squares of relative errors on a grid that is drawn together around its best ----

def look_through(cells, c, spans, grid, zooms):
    """spans: [where, key, least, most, by equal factors]."""
    for _ in range(zooms):
        steps = np.arange(grid + 1) / grid
        axes = [lo * (hi / lo) ** steps if factors else lo + (hi - lo) * steps for _, _, lo, hi, factors in spans]
        points = [p.ravel() for p in np.meshgrid(*axes, indexing="ij")]
        for span, values in zip(spans, points):
            span[0][span[1]] = values
        best = np.argmin(sum((predict(c, row, layers, gpus) / row.measured[gpus] - 1) ** 2 for row, layers, gpus in cells))
        for span, values in zip(spans, points):
            at, lo, hi = float(values[best]), span[2], span[3]
            span[0][span[1]], step = at, (hi / lo) ** (4 / grid) if span[4] else (hi - lo) * 4 / grid
            span[2:4] = (at / step, at * step) if span[4] else (max(at - step, 0), at + step)


def fit(rows, layers, names):
    c = {"models": list(names), "adam_us": 0.0, "networks": {},
         "inside": {"line": PCIE3_X16, "efficiency": 1.0, "server_efficiency": 1.0, "hop_us": 0.0}}
    rows = [r for r in rows if r.model in names]
    for r in rows:
        rate = re.match(r"([\d.]+)Gb", r.connection) or sys.exit(f"line {r.line}: '{r.connection}' does not begin with "
                                                                 f"its rate")
        c["networks"].setdefault(r.connection, {**c["inside"], "line": float(rate[1]) * 1e9 / 8})
    for servers in (False, True):
        for name, n in [(None, c["inside"]), *c["networks"].items()]:
            cells = [(r, layers[r.model], g) for r in rows for g in r.measured if (g > NODE) == (name is not None)
                     and r.method in (("BSP-PS",) if servers else JUDGED) and name in (None, r.connection)]
            if not cells:
                sys.exit(f"no figure of {', '.join(names)} to fit {name or 'what is inside a node'} on")
            spans = [[n, "server_efficiency" if servers else "efficiency", 1e-2, 1.5, True], [n, "hop_us", 0, 240, False],
                     [c, "adam_us", 0, 1000, False]][:1 if servers else 2 + (name is None and any(x[1].adam for x in cells))]
            look_through(cells, c, spans, 12 if len(spans) == 3 else 24, 24 if len(spans) == 3 else 16)
    return c


# ---- rows that do not go together, by measured figures alone (papers/ddl-table/NOTES.md has the rules) ----

def suspects(rows):
    where = {(r.model, r.batch, r.connection, r.method): r for r in reversed(rows)}
    for i, a in enumerate(rows):
        def says(words):
            return f"  line {a.line}, {a.model}, {a.connection}, {a.method}: {words}"
        for k, b in enumerate(rows):
            if k == i or where.get((a.model, a.batch, b.connection, a.method)) is not b:
                continue
            off = {g: abs(a.measured[g] / b.measured[g] - 1) for g in a.measured if g in b.measured}
            far = [off[g] for g in off if g > NODE]
            if len(far) > 1 and max(far) <= 0.01 and min(a.measured[g] / (a.one * g) for g in off if g > NODE) <= 0.95:
                yield says(f"two networks alike: within {100 * max(far):.2f} % of line {b.line}, {b.connection}")
            yield from (says(f"one node, two speeds: {g} GPUs {a.measured[g]:.0f}, over {b.connection} "
                             f"{b.measured[g]:.0f}")
                        for g in off if k < i and g <= NODE and off[g] > 0.05)
        above = [g for g in a.measured if a.measured[g] > 1.005 * a.one * g][:1]
        yield from (says(f"faster than linear: {100 * a.measured[g] / (a.one * g):.2f} % of {g} times one "
                         f"GPU") for g in above)
        bsp = where.get(
            (a.model, a.batch, a.connection, a.method.replace("WFBP-", "BSP-", 1))) if a.method[:5] == "WFBP-" else None
        for g in (g for g in a.measured if bsp and g <= NODE and g in bsp.measured):
            one, apart = a.batch / a.one, a.batch * g / bsp.measured[g]
            hidden, could = apart - a.batch * g / a.measured[g], min(apart - one, one * 2 / 3)
            if could > 0.05 * one and hidden < could / 2:
                yield says(f"overlap too small: on {g} GPUs it hides {1e3 * hidden:.0f} ms of {1e3 * could:.0f} ms "
                           f"that could be")
        each = where.get((a.model, a.batch, a.connection, "WFBP-A2A")) if a.method == "MG-WFBP" else None
        yield from (says(f"merging that loses: {g} GPUs {a.measured[g]:.0f}, a message a layer {each.measured[g]:.0f}")
                    for g in a.measured if each and g in each.measured and a.measured[g] < 0.98 * each.measured[g])


# ---- what is printed ----

def cells_of(c, rows, layers):
    for r in rows:
        if r.connection not in c["networks"] or r.method not in METHODS:
            sys.exit(f"line {r.line}: no constants for the connection '{r.connection}', or no method '{r.method}'")
        for gpus, measured in r.measured.items():
            ours = float(predict(c, r, layers[r.model], gpus))
            yield argparse.Namespace(row=r, gpus=gpus, measured=measured, predicted=ours, error=100 * (ours / measured - 1))


def spread(cells):
    """(median, 95th percentile by nearest rank, count) of absolute errors."""
    errors = np.sort([abs(x.error) for x in cells])
    return np.median(errors), errors[int(np.ceil(0.95 * len(errors))) - 1], len(errors)


def tell(model, what, methods, cells, more=""):
    own = [x for x in cells if x.row.model == model and x.row.method in methods]
    if own:
        print("  {:<12} {:<18} {:5.1f} % {:5.1f} % over {} cells{}".format(model, what, *spread(own), more))


def judge(path, constants, given, json_path):
    (gpus, rows), c = read_rows(path), json.loads(constants.read_text())
    cells = list(cells_of(c, rows, read_layers(rows, given)))
    print(f"{'model':<12} {'connection':<20} "
          f"{'method':<18}" + "".join(f" {g:5d} GPUs {'ours':>8} {'error':>6}" for g in gpus))
    for r in rows:
        own = {x.gpus: f" {x.measured:10.1f} {x.predicted:8.1f} {x.error:+5.1f}%" for x in cells if x.row is r}
        print(f"{r.model:<12} {r.connection:<20} {r.method:<18}" +
              "".join(own.get(g, f" {'-':>10} {'-':>8} {'-':>6}") for g in gpus))
    print("\nworst cells of BSP-A2A and WFBP-A2A")
    for x in sorted((x for x in cells if x.row.method in JUDGED), key=lambda x: -abs(x.error))[:5]:
        print(f"  line {x.row.line}, {x.row.model}, {x.row.connection}, {x.row.method}, {x.gpus} GPUs: {x.error:+.1f} "
              f"%")
    print("\nsuspect rows: measured figures that do not go together (papers/ddl-table/NOTES.md has the rules); none is "
          "left out")
    print(*suspects(rows), "\nerrors of predicted samples/s: median, 95th percentile", sep="\n")
    models = list(dict.fromkeys(r.model for r in rows))
    for m in models:
        tell(m, "BSP-A2A, WFBP-A2A", JUDGED, cells, ", in-sample: the constants were fitted on "
                                                    "them" if m in c["models"] else "")
    print("shown apart, in no figure below")
    for m in models:
        for method in (x for x in METHODS if x not in JUDGED):
            tell(m, method, [method], cells, ", in-sample" if m in c["models"] and method == "BSP-PS" else "")
    if json_path:
        pathlib.Path(json_path).write_text("".join(json.dumps(
            {"model": x.row.model, "connection": x.row.connection, "method": x.row.method, "gpus": x.gpus,
             "measured": x.measured, "predicted": x.predicted}) + "\n" for x in cells))
    return cells


def leave_out(path, given):
    _, rows = read_rows(path)
    layers, cells = read_layers(rows, given), []
    if len(layers) < 2:
        sys.exit(f"{path}: of one model alone nothing can be left out")
    print("errors of predicted samples/s by constants fitted on the other models: median, 95th percentile")
    for model in layers:
        own = list(cells_of(fit(rows, layers, [m for m in layers if m != model]), [r for r in rows if r.model == model], layers))
        for method in METHODS:
            tell(model, method, [method], own)
        tell(model, "BSP-A2A, WFBP-A2A", JUDGED, own)
        tell(model, "all methods", METHODS, own)
        cells += own
    print("all methods: median {:.1f} % p95 {:.1f} % over {} cells".format(*spread(cells)))
    return cells


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = p.add_mutually_exclusive_group(required=True)
    for flag in ("--rows", "--fit", "--left-out"):
        what.add_argument(flag, metavar="FILE")
    p.add_argument("--layers", action="append", default=[], metavar="MODEL=FILE", help="a model's layers, a row a "
                                                                                       "tensor")
    p.add_argument("--json", metavar="CELLS", help="of --rows: one object a cell and line")
    a = p.parse_args()
    if a.fit:
        rows = [r for r in read_rows(a.fit)[1] if r.model in FITTED]
        c = fit(rows, read_layers(rows, a.layers), FITTED)
        return print(json.dumps(json.loads(json.dumps(c), parse_float=lambda x: float(f"{float(x):.4g}")), indent=2))
    cells = judge(a.rows, HERE / "constants.json", a.layers, a.json) if a.rows else leave_out(a.left_out, a.layers)
    last = [x for x in cells if x.row.method in JUDGED]
    if last:
        print("median {:.1f} % p95 {:.1f} % over {} cells (BSP-A2A, WFBP-A2A)".format(*spread(last)))


main()
