#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds one thing of each kind of ARCHITECTURE.md's table "Adding one thing" to a copy of the tree, each in a step of its own, counts the files
that it touched and compares them with the table, builds the copy once, and runs what must hold for each.

usage: tests/adding/add_each.py SOURCE_DIR BUILD_DIR [--keep FOLDER]

tests/adding/KIND/ has the new files and edits.json: where the files go ("new"), and what is put into others ("edits": before or after a text
that stands there once). Generated pages (docs/commands.md, the list of keys in docs/jobs.md) are made anew by their tools and not counted.

The copy is configured by CMake, whose globs must find the new files. What neither it nor any file that it includes was touched is the same
object as in BUILD_DIR and is taken from there; the rest is compiled by CMake's own commands.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

KINDS = ("algorithm", "op", "rule", "method", "topology", "data_set", "wire", "command", "key", "key_with_behaviour")
TESTS = ("test_ops", "test_ops_golden", "test_onednn", "test_orders", "test_precision", "test_update", "test_update_golden", "test_networks", "test_dataset",
         "test_job_docs")


def run(*words, cwd=None, environment=None, expect=0):
    """Standard output of a command that must end with this code."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **(environment or {})}, check=False)
    if done.returncode != expect:
        sys.exit(f"FAILED: {' '.join(str(word) for word in words)[-200:]}: ended with {done.returncode}\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


# ---- the copy, and what is added to it ----

def copy_tree(source, copy):
    """All files that git would carry, with their times."""
    for name in run("git", "ls-files", "-co", "--exclude-standard", cwd=source).splitlines():
        if (source / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, copy / name)


def put(path, edit):
    place = edit.get("after") or edit["before"]
    text = path.read_text(encoding="utf-8")
    if text.count(place) != 1:
        sys.exit(f"FAILED: {path.name}: '{place.strip()}' stands there {text.count(place)} times, not once; tests/adding is old")
    both = place + edit["insert"] if "after" in edit else edit["insert"] + place
    path.write_text(text.replace(place, both), encoding="utf-8")


def add(copy, kind):
    """Adds it; the word by which the table calls it, the files that it touched, and those of them that are new."""
    folder = copy / "tests/adding" / kind
    what = json.loads((folder / "edits.json").read_text(encoding="utf-8"))
    for name, place in what["new"].items():
        shutil.copy(folder / name, copy / place / name)
    for edit in what["edits"]:
        put(copy / edit["file"], edit)
    new = {f"{place}/{name}" for name, place in what["new"].items()}
    return what["says"], new | {e["file"] for e in what["edits"]}, new


def claimed(copy):
    """Of the table by its first column: files of code, and of tests and pages; and where the new file goes."""
    text = (copy / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("\n## Adding one thing\n")[2].partition("\n## ")[0]
    return {row[0]: row[1:] for row in re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|([^|]*)\|", text, re.M)}


def differs(table, name, files, new):
    """What the row of the table says otherwise than it was."""
    says, place = table.get(name, ("no", ""))
    if says != f"**{count(files)}**":
        return f"{name}: ARCHITECTURE.md says {says} files, it took **{count(files)}**"
    ways = [re.escape(way).replace("<name>", r"\w+") for way in re.findall(r"`(src/[^`]*<name>[^`]*)`", place)]
    for file in new:
        if file.startswith("src/") and not any(re.fullmatch(way, file) for way in ways):
            return f"{name}: ARCHITECTURE.md does not say that {file} goes there"
    return None


def count(touched):
    code = sum(name.startswith(("src/", "include/")) for name in touched)
    others = len(touched) - code
    return f"{code} + {others}" if others else str(code)


# ---- building what differs ----

def includes(build):
    """Of each object of a build the files that it was made of, as ninja knows them: a compiler may have named them from the build's folder."""
    made, now = {}, None
    for line in run("ninja", "-C", build, "-t", "deps").splitlines():
        if line.startswith(" "):
            made[now].add(os.path.normpath(build / line.strip()))
        elif ": #deps" in line:
            now = line.split(":")[0]
            made[now] = set()
    return made


def compile_changed(source, build, copy, touched):
    """Objects of the copy: compiled where a touched file is in them, else those of the build. Returns how many were compiled."""
    work, old = copy / "build", includes(build)
    commands = json.loads((work / "compile_commands.json").read_text(encoding="utf-8"))
    wanted, todo = {str(source / name) for name in touched}, []
    for entry in commands:
        target = re.search(r" -o (\S+)", entry["command"]).group(1)
        (work / target).parent.mkdir(parents=True, exist_ok=True)
        if re.search(rf"^tests/.*/({'|'.join(TESTS)})\.dir/", target):
            todo.append(entry)  # in any case: they know where their tree is
        elif target.startswith(("tests/", "bench/")):
            continue
        elif target in old and not old[target] & wanted and (build / target).exists():
            take(build / target, work / target)
        else:
            todo.append(entry)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda entry: run("sh", "-c", entry["command"], cwd=work), todo))
    return len(todo), len(commands)


def take(there, here):
    """The same file under another name, or where that cannot be, a copy."""
    try:
        os.link(there, here)
    except OSError:
        shutil.copy2(there, here)


def link(copy, target):
    run("sh", "-c", run("ninja", "-C", copy / "build", "-t", "commands", "-s", target).splitlines()[-1], cwd=copy / "build")


def build_copy(source, build, copy, touched):
    work = copy / "build"
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    same = re.findall(r"^((?:TUTTI_\w+|CMAKE_C_COMPILER|CMAKE_C_FLAGS|CMAKE_BUILD_TYPE):\w+=.*)$", cache, re.M)
    run("cmake", "-S", copy, "-B", work, "-G", "Ninja", *(f"-D{line}" for line in same))
    for made in build.glob("tutti_*.c"):  # texts of src as C
        shutil.copy2(made, work / made.name)
    ncompiled, nall = compile_changed(source, build, copy, touched)
    (work / "tests").mkdir(exist_ok=True)
    library = (build / "libtutti.so").resolve().name
    for target in (library, "libtutti.so", "libtutti_internal.so", "tutti", *(f"tests/{name}" for name in TESTS)):
        link(copy, target)
    print(f"built: {ncompiled} of {nall} objects compiled, the others are those of {build}")


# ---- what must hold ----

def job(copy, name, *settings):
    """A small run of it: its last loss."""
    keys = ("epochs=0", "batch=48", "data.train_samples=480", "data.test_samples=100", "steps=40", "ranks=2", "optimiser.lr=0.05", *settings)
    words = [word for key in keys for word in ("--set", key)]
    out = run(copy / "build/tutti", "train", copy / "examples/mlp.yaml", "--out", copy / "runs" / name, *words)
    found = re.search(r"^weights \w+ step \d+ loss ([\d.]+)", out, re.M)
    if not found or not float(found.group(1)) < 2.0:
        sys.exit(f"FAILED: {name}: loss did not fall below 2 (ten classes begin at 2.3): {out[-300:]}")
    return f"40 steps on 2 ranks end at loss {found.group(1)}"


def test(copy, *names):
    for name in names:
        run(copy / "build/tests" / name)
    return ", ".join(names)


def sums_are_exact(copy, *words, environment=None):
    """A measured collective, whose every element is compared."""
    out = run(copy / "build/tutti", "coll", "bench", "--ranks", 3, "--bytes", "64KiB", *words, environment=environment)
    if "Out of bounds values : 0 OK" not in out:
        sys.exit(f"FAILED: {words}: wrong sums: {out}")
    return out.splitlines()[0].partition(": ")[2].partition(",")[0]


def check_algorithm(copy):
    out = run(copy / "build/tutti", "coll", "verify-all", "--ranks", "1,2,3,4,5,8")
    proofs = re.search(r"^chain +(\d+)", out, re.M)
    sums_are_exact(copy, "--algo", "chain,chunks=2")
    return f"coll verify-all: {proofs.group(1)} schedules; sums are exact; " + job(
        copy, "chain", "exchange.algorithm=chain", "exchange.update=replicated")


def check_op(copy):
    model = copy / "softsign.yaml"
    zoo = (copy / "src/training/model/zoo/mlp.yaml").read_text(encoding="utf-8")
    model.write_text(zoo.replace("name: mlp", "name: mlp-softsign").replace("  - relu\n", "  - softsign\n"), encoding="utf-8")
    return test(copy, "test_ops", "test_ops_golden", "test_onednn", "test_orders", "test_precision") + "; " + job(copy, "softsign", f"model={model}")


def check_rule(copy):
    return test(copy, "test_update", "test_update_golden") + "; " + job(copy, "rmsprop", "optimiser.rule=rmsprop", "optimiser.lr=0.001")


def check_method(copy):
    tutti = copy / "build/tutti"
    for ranks in (1, 2, 3, 5):
        proof = run(tutti, "plan", "check", copy / "examples/mlp.yaml", "--set", "method.name=central-sgd", "--set", "batch=60", "--ranks", ranks)
    refused = subprocess.run([tutti, "plan", "check", copy / "examples/mlp.yaml", "--set", "method.name=central-sgd", "--set",
                              "optimiser.clip_norm=1"], capture_output=True, text=True, check=False)
    if refused.returncode != 2:
        sys.exit(f"FAILED: central-sgd took clip_norm: {refused.stdout}{refused.stderr}")
    return f"plan check at 1, 2, 3, 5 ranks: {proof.strip().splitlines()[-1]}; " + job(copy, "central", "method.name=central-sgd")


def check_topology(copy):
    run(copy / "build/tutti", "coll", "explain", "--bytes", "1MiB", "--ranks", 8, "--topology", "ring,hosts=8")
    return test(copy, "test_networks") + ", coll explain"


def check_data_set(copy):
    return test(copy, "test_dataset") + "; " + job(copy, "stripes", "data.set=stripes")


def check_wire(copy):
    return "sums are exact: " + sums_are_exact(copy, "--algo", "ring", environment={"TUTTI_WIRE": "tcp-direct"})


def check_command(copy):
    tutti, newest = copy / "build/tutti", sorted((copy / "runs/rmsprop/checkpoints").iterdir())[-1]
    said = run(tutti, "digest", newest / "weights.safetensors").split()[0]
    manifest = (newest / "MANIFEST.json").read_text(encoding="utf-8")
    if said not in manifest or "digest" not in run(tutti, "--help"):
        sys.exit(f"FAILED: digest says {said}, which is not in {newest}/MANIFEST.json, or --help does not list it")
    run(sys.executable, copy / "tools/check_docs.py", copy, "--program", tutti, "--write")
    return "its checksum of weights.safetensors is the manifest's; check_docs.py has put it into docs/commands.md"


def check_key(copy):
    tutti, page = copy / "build/tutti", copy / "docs/jobs.md"
    keys = run(tutti, "train", "--help").partition("\nkeys of a job:\n")[2]
    head, _, rest = page.read_text(encoding="utf-8").partition("```text\n")
    page.write_text(head + "```text\n" + keys + "```" + rest.partition("```")[2], encoding="utf-8")
    out = run(tutti, "train", copy / "examples/mlp.yaml", "--dry-run", "--set", "note=a first try")
    if "\nnote: \"a first try\"\n" not in out or "\n# note: a first try\n" not in out:
        sys.exit(f"FAILED: the key is not shown: {out}")
    return test(copy, "test_job_docs") + ", train --dry-run"


def check_key_with_behaviour(copy):
    """The key changes which steps write a line, and a resumed run may say something else."""
    def lines(*settings):
        said = job(copy, "log_first", "log_every=20", *settings)
        metrics = (copy / "runs/log_first/metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return said, [line["step"] for line in map(json.loads, metrics) if line["ev"] == "step"]
    said, steps = lines("log_first=3")
    if steps != [1, 2, 3, 20, 40]:
        sys.exit(f"FAILED: log_first=3: steps {steps} have lines")
    _, more = lines("log_first=0", "steps=50")
    if more != [*steps, 50]:
        sys.exit(f"FAILED: the resumed run with log_first=0: steps {more} have lines")
    return f"steps {steps} have lines, a resumed run may change it; {said}"


def main():
    arguments = sys.argv[1:]
    keep = arguments.pop(arguments.index("--keep") + 1) if "--keep" in arguments else None
    source, build = (pathlib.Path(argument).resolve() for argument in arguments[:2])
    if not (source / ".git").exists():
        print("skipped: this tree is not a checkout, so what belongs to it is not known (git clone)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        copy = pathlib.Path(keep or folder) / "tutti"
        copy.mkdir(parents=True)
        copy_tree(source, copy)
        table, touched, wrong = claimed(copy), set(), []
        for kind in KINDS:
            name, files, new = add(copy, kind)
            touched |= files
            print(f"{name}: {count(files)} files: {', '.join(sorted(files))}")
            wrong.append(differs(table, name, files, new))
        if any(wrong):
            sys.exit("FAILED: " + "\n".join(filter(None, wrong)))
        build_copy(source, build, copy, touched)
        for kind in KINDS:
            print(f"{kind}: {globals()['check_' + kind](copy)}", flush=True)
        run(sys.executable, copy / "tools/check_layers.py", copy)
        run(sys.executable, copy / "tools/check_docs.py", copy, "--program", copy / "build/tutti")
        print("layers and documents of the copy: nothing to say")


if __name__ == "__main__":
    main()
