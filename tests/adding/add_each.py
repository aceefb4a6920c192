#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds one thing of each kind of ARCHITECTURE.md's table "Adding one thing" to a copy of the tree, each in a step of
its own, counts the files that it touched and compares them with the table, builds the copy once, and runs what must
hold for each.

usage: tests/adding/add_each.py SOURCE_DIR BUILD_DIR [--keep FOLDER]

tests/adding/KIND/ has the new files and edits.json: where the files go ("new"), and what is put into others ("edits":
before or after a text that stands there once). Generated pages (docs/commands.md, docs/keys.md)
are made anew by their tools and not counted.

The copy is configured by CMake, whose globs must find the new files. What neither it nor any file that it includes was
touched is the same object as in BUILD_DIR and is taken from there; the rest is compiled by CMake's own commands,
without optimising. With TUTTI_LONG in the environment the op is also run in every memory order and type, and against
oneDNN.
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

from additions import additions

KINDS = ("algorithm", "op", "rule", "method", "topology", "data_set", "wire", "command", "key", "key_with_behaviour",
         "action", "centre_rule", "method_with_key", "kernel")
IS_LONG = bool(os.environ.get("TUTTI_LONG"))
OP_TESTS = ("test_ops", "test_ops_golden", *(("test_onednn", "test_orders", "test_precision") if IS_LONG else ()))
KERNEL_TESTS = ("test_candidates",) if IS_LONG else ()
TESTS = (*OP_TESTS, *KERNEL_TESTS, "test_update", "test_update_golden", "test_networks", "test_dataset",
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


def add(copy, kind):
    """Adds it; the word by which the table calls it, the files that it touched, and those of them that are new."""
    says, files = additions(copy, kind)
    for name, (_, after) in files.items():
        (copy / name).write_bytes(after)
    return says, set(files), {name for name, (before, _) in files.items() if before is None}


def claimed(copy):
    """Of the table by its first column: files of code, and of tests and pages; and where the new file goes."""
    text = (copy / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("\n## Adding one "
                                                                            "thing\n")[2].partition("\n## ")[0]
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

def configure(source, build, work):
    """As the build was; what CMake has found out about the compiler and the libraries it need not ask again."""
    work.mkdir()
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    for key, there, here in (("CMAKE_CACHEFILE_DIR", build, work), (r"\w+_BINARY_DIR", build, work),
                             ("CMAKE_HOME_DIRECTORY", source, work.parent), (r"\w+_SOURCE_DIR", source, work.parent)):
        cache = re.sub(rf"^({key}:\w+=){re.escape(str(there))}(?=/|$)", rf"\g<1>{here}", cache, flags=re.M)
    (work / "CMakeCache.txt").write_text(cache, encoding="utf-8")
    for found in (build / "CMakeFiles").glob("[0-9]*"):
        shutil.copytree(found, work / "CMakeFiles" / found.name)
    run("cmake", "-S", work.parent, "-B", work, "-G", "Ninja")
    for made in build.glob("tutti_*.c"):  # texts of src as C
        shutil.copy2(made, work / made.name)


def includes(build):
    """Of each object of a build the files that it was made of, as ninja knows them: a compiler may have named them
    from the build's folder."""
    made, now, path = {}, None, {}
    for line in run("ninja", "-C", build, "-t", "deps").splitlines():
        if line.startswith(" "):
            word = line.strip()
            if word not in path:
                path[word] = os.path.normpath(build / word)
            made[now].add(path[word])
        elif ": #deps" in line:
            now = line.split(":")[0]
            made[now] = set()
    return made


def at_once(function, items):
    """The function of all items, as many at a time as there are cores; what it returns, in their order."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, items))


def compile_changed(source, build, copy, touched):
    """Objects of the copy: compiled where a touched file is in them, else those of the build. Returns how many were
    compiled, of how many."""
    work, old = copy / "build", includes(build)
    wanted, todo, nall = {str(source / name) for name in touched}, [], 0
    for entry in json.loads((work / "compile_commands.json").read_text(encoding="utf-8")):
        target = re.search(r" -o (\S+)", entry["command"]).group(1)
        is_test = re.search(rf"^tests/.*/({'|'.join(TESTS)})\.dir/", target)
        if not is_test and (not target.startswith("CMakeFiles/tutti_") or "tutti_simgrid.dir" in target):
            continue
        nall += 1
        (work / target).parent.mkdir(parents=True, exist_ok=True)
        if not is_test and target in old and not old[target] & wanted and (build / target).exists():
            take(build / target, work / target)
        else:  # tests in any case: they know where their tree is
            todo.append(re.sub(r" -o ", " -O1 -g0 -o " if is_test else " -O0 -g0 -o ", entry["command"], count=1))
    at_once(lambda command: run("sh", "-c", command, cwd=work), todo)
    return len(todo), nall


def take(there, here):
    """The same file under another name, or where that cannot be, a copy."""
    try:
        os.link(there, here)
    except OSError:
        shutil.copy2(there, here)


def link(build, work):
    """The library, the program, what tests link to, and the tests."""
    library = (build / "libtutti.so").resolve().name
    tests = [f"tests/{name}" for name in TESTS]
    every = run("ninja", "-C", work, "-t", "commands", library, "libtutti.so", "libtutti_internal.so", "tutti",
                *tests).splitlines()

    def make(target):
        made = [line for line in every if f" -o {target} " in line
                ] or [line for line in every if f" {target} " in line and "symlink" in line]
        if len(made) != 1:
            sys.exit(f"FAILED: {len(made)} commands of the build make {target}")
        run("sh", "-c", made[0], cwd=work)
    (work / "tests").mkdir(exist_ok=True)
    at_once(make, [library, "libtutti_internal.so"])
    make("libtutti.so")
    at_once(make, ["tutti", *tests])


def build_copy(source, build, copy, touched):
    configure(source, build, copy / "build")
    ncompiled, nall = compile_changed(source, build, copy, touched)
    link(build, copy / "build")
    print(f"built: {ncompiled} of {nall} objects compiled, the others are those of {build}")


# ---- what must hold ----

def train(copy, name, *settings):
    """A small run of it: the checksum of its weights, and its last loss."""
    keys = ("epochs=0", "batch=48", "data.train_samples=480", "data.test_samples=100", "steps=40", "ranks=2",
            "optimiser.lr=0.05", *settings)
    words = [word for key in keys for word in ("--set", key)]
    out = run(copy / "build/tutti", "train", copy / "examples/mlp.yaml", "--out", copy / "runs" / name, *words)
    found = re.search(r"^weights (\w+) step \d+ loss ([\d.]+)", out, re.M)
    if not found or not float(found.group(2)) < 2.0:
        sys.exit(f"FAILED: {name}: loss did not fall below 2 (ten classes begin at 2.3): {out[-300:]}")
    return found.groups()


def job(copy, name, *settings):
    return f"40 steps on 2 ranks end at loss {train(copy, name, *settings)[1]}"


def equal(copy, name, one, other, unlike):
    """Runs with these settings end with equal weights, and with the third ones they do not."""
    first, second = train(copy, f"{name}-1", *one), train(copy, f"{name}-2", *other)
    if first[0] != second[0]:
        sys.exit(f"FAILED: {name}: weights are {first[0]} by {one}, {second[0]} by {other}")
    if train(copy, f"{name}-3", *unlike)[0] == first[0]:
        sys.exit(f"FAILED: {name}: {unlike} change nothing")
    return f"weights {first[0]} as by {', '.join(other)}"


def test(copy, *names):
    for name in names:
        run(copy / "build/tests" / name)
    return ", ".join(names)


def sums_are_exact(copy, *words, environment=None):
    """A measured collective, whose every element is compared."""
    out = run(copy / "build/tutti",
              "coll",
              "bench",
              "--ranks",
              3,
              "--bytes",
              "64KiB",
              "--iters",
              20,
              *words,
              environment=environment)
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
    return test(copy, *OP_TESTS) + "; " + job(copy, "softsign", f"model={model}")


def check_rule(copy):
    return test(copy, "test_update", "test_update_golden") + "; " + job(copy, "rmsprop", "optimiser.rule=rmsprop",
                                                                        "optimiser.lr=0.001")


def check_method(copy):
    tutti = copy / "build/tutti"
    for ranks in (1, 2, 3, 5):
        proof = run(tutti, "plan", "check", copy / "examples/mlp.yaml", "--set", "method.name=central-sgd", "--set",
                    "batch=60", "--ranks", ranks)
    run(tutti,
        "plan",
        "check",
        copy / "examples/mlp.yaml",
        "--set",
        "method.name=central-sgd",
        "--set",
        "optimiser.clip_norm=1",
        expect=2)
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
    tutti = copy / "build/tutti"
    run(sys.executable, copy / "tools/check_docs.py", copy, "--program", tutti, "--write")
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


LOOKAHEAD = ("method.name=lookahead", "method.period=4")


def check_action(copy):
    """States that are 0 before every step are as no states."""
    plan = run(copy / "build/tutti", "plan", copy / "examples/mlp.yaml", "--ranks", 2, "--set", LOOKAHEAD[0], "--set",
               "method.slow.anew=1")
    if "\n  clear bucket 0: momentum\n" not in plan:
        sys.exit(f"FAILED: the plan does not list the action: {plan[-1500:]}")
    each = ("method.name=lookahead", "method.period=1")
    return "listed by the plan; " + equal(copy, "clear", (*each, "optimiser.rule=momentum", "method.slow.anew=1"),
                                          (*each, "optimiser.rule=sgd"), (*each, "optimiser.rule=momentum"))


def check_centre_rule(copy):
    """Lookahead is DiLoCo without momentum, to the bit."""
    return equal(copy, "lookahead", (*LOOKAHEAD, "method.slow.rate=0.25"),
                 ("method.name=diloco", "method.period=4", "method.outer.rate=0.25", "method.outer.momentum=0"), LOOKAHEAD)


def check_method_with_key(copy):
    tutti, mlp = copy / "build/tutti", copy / "examples/mlp.yaml"
    words = [word for key in LOOKAHEAD for word in ("--set", key)]
    for ranks in (1, 2, 3, 5):
        run(tutti, "plan", "check", mlp, *words, "--set", "method.slow.anew=1", "--set", "batch=60", "--ranks", ranks)
    if not re.search(r"^method\.slow\.anew ", run(tutti, "train", "--help").replace("  method.", "method."), re.M):
        sys.exit("FAILED: train --help does not list method.slow.anew")
    run(tutti, "plan", "check", mlp, "--set", "method.slow.anew=1", expect=2)  # of another method
    run(tutti, "plan", "check", mlp, *words, "--set", "method.slow.anew=2", expect=2)
    run(tutti, "plan", "check", mlp, *words, "--set", "method.slow.rate=0", expect=2)
    return "plan check at 1, 2, 3, 5 ranks, its keys in train --help, three wrong uses refused; " + job(copy, "slow", *LOOKAHEAD,
                                                                                                        "method.slow.anew=1")


def check_kernel(copy):
    """Asked for it computes the forward pass of both layers, to losses that are near those of the reference."""
    plan = run(copy / "build/tutti", "plan", copy / "examples/mlp.yaml", "--set", "kernels.name=rows")
    if len(re.findall(r"^  fc[12] +forward +rows +", plan, re.M)) != 2:
        sys.exit(f"FAILED: the plan does not take the row for both layers: {plan[:2000]}")
    losses = [float(train(copy, f"rows-{name}", f"kernels.name={name}")[1]) for name in ("rows", "reference")]
    if abs(losses[0] - losses[1]) > 1e-3:
        sys.exit(f"FAILED: rows: loss {losses[0]}, the reference has {losses[1]}")
    return f"{test(copy, *KERNEL_TESTS)} two layers take it; 40 steps end at loss {losses[0]}, the reference's {losses[1]}"


def check_pages(copy):
    """What docs/howto shows is printed by the copy. Pages have the program and its tests in build/test; that is build."""
    (copy / "build/test").symlink_to(".")
    pages = sorted((copy / "docs/howto").glob("*.md"))
    return run(sys.executable, copy / "tools/page_commands.py", copy, *pages).strip()


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
        print(check_pages(copy))
        run(sys.executable, copy / "tools/check_layers.py", copy)
        run(sys.executable, copy / "tools/check_docs.py", copy, "--program", copy / "build/tutti")
        print("layers and documents of the copy: nothing to say")


if __name__ == "__main__":
    main()
