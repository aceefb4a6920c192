#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/map.md: each file of include and src with the first sentence of its purpose comment, by folder.

usage: tools/map.py [ROOT] [--write]
--write: writes docs/map.md; without it the page is compared with what the files say.
exit 0: the page is as the files say; 1: it is not, or a folder or a file has no purpose
"""
import difflib
import os
import re
import subprocess
import sys

HEAD = """# Map of the source

Each folder of `include` and `src`, each file in it, and the first sentence of the file's purpose comment. Search this
page for the word that you have in mind. [ARCHITECTURE.md](../ARCHITECTURE.md) says how the folders work together.

`tools/map.py --write` makes this page from the files, and a test compares them: to change a line here, change the comment.
"""

FOLDERS = {
    "include/tutti": "The public C API that is installed. Each header is the contract of one part.",
    "src/base": "Tools without tensors and ranks: memory, failures, files, hashes, random numbers, clocks, threads, processes.",
    "src/base/host": "What this host is and allows: cores, memory, huge pages, control groups, libraries, helper programs.",
    "src/base/text": "Text in and out: YAML, JSON, growing strings, tables of options, files of figures with sources.",
    "src/cli": "The program: flags, the table of commands, progress, signals. Each command is a file `cmd_<name>.c`.",
    "src/cli/coll": "The verbs of `tutti coll`: compile, check, explain, bench, tune, convert, pack.",
    "src/cli/papers": "The command `tutti papers`.",
    "src/cli/predict": "The command `tutti predict`.",
    "src/cli/program": "`main` of the program, which calls the library.",
    "src/cli/show": "Commands that read and show: graph, plan, report, eval, infer, ckpt, devices, doctor, methods, tune, trace.",
    "src/cli/svm": "The commands `svm-train` and `svm-predict`.",
    "src/cli/topo": "The verbs of `tutti topo`: detect, make, map, bounds.",
    "src/cli/train": "The commands `train` and `compare`.",
    "src/collective/check": "The checker, which proves a schedule for all timings by one interleaving on symbols.",
    "src/collective/comm": "The public collective calls of `tutti/comm.h` for any C program.",
    "src/collective/compile": "From the name of an algorithm to a schedule: the table of algorithms and what they share.",
    "src/collective/compile/algorithm": "The algorithms of collectives, one file each.",
    "src/collective/exchange": "The executor, which runs one rank's part of a lowered schedule over memory and wires.",
    "src/collective/group": "What joined ranks do together: deaths, deadlines, control calls, shared memory, reports of hangs.",
    "src/collective/interchange": "Schedules in other formats: MSCCL's XML, pictures, inputs of other simulators.",
    "src/collective/interpret": "The interpreter: it tests the checker and plays schedules on numbers under many interleavings.",
    "src/collective/launch": "How ranks start and find each other: fork and exec, other launchers, rendezvous, threads.",
    "src/collective/lower": "From a schedule of sends and receives to one for mapped memory, for put and signal, or for hosts.",
    "src/collective/pack": "Trees packed into the links of a topology, for the algorithm `trees`.",
    "src/collective/schedule": "The schedule as a value: parts of ranks, steps, slices, hash, text form.",
    "src/collective/simulate": "How long a schedule takes on a topology: traffic by stages, and the round evaluator.",
    "src/collective/simulate/choose": "The chooser of algorithms, closed forms, and lower bounds.",
    "src/collective/simulate/engines": "The table of engines, and problems as files for the event player and SimGrid.",
    "src/collective/simulate/events": "The event player: flows with fair shares of links; and the mapper of ranks to seats.",
    "src/collective/simulate/simgrid": "The program `tutti-simgrid`, which plays a schedule in SimGrid.",
    "src/collective/simulate/tell": "Answers of the chooser and the engines in words, tables and pictures.",
    "src/collective/tune": "Fits the figures of this host to measured exchanges.",
    "src/collective/verify": "The matrix of schedules that must be right.",
    "src/collective/wire": "What carries bytes between hosts: the wires tcp and ucx.",
    "src/compare": "Runs of one job by several methods, side by side.",
    "src/data": "Data sets: the table of sets, the order of an epoch, readers, the loader.",
    "src/data/picture": "Pictures: JPEG, PNG, resampling.",
    "src/data/sets": "The sets of pictures and drawn samples, one file each.",
    "src/data/tables": "The sets of numbers: CSV and NumPy.",
    "src/device": "Where vectors lie and what computes on them: the table of devices, and the row `cpu`.",
    "src/device/cuda": "The row `cuda`: NVIDIA cards without a build dependency on CUDA.",
    "src/job": "The job file: its keys, checks and choices, and the way from a job to a plan and a session.",
    "src/job/run": "The life of a run on one rank: seat, join, build, train, release; and the dry run.",
    "src/job/trained": "Trained weights for commands that compute with them.",
    "src/kernel": "Kernels: the passes of ops on one rank, their threads, their creation.",
    "src/kernel/choose": "The table of candidates, the chooser of kernels, memory orders, and adapters.",
    "src/kernel/cuda": "Candidates that compute on a CUDA card.",
    "src/kernel/cuda/library": "Candidates for a card by cuBLASLt and cuDNN.",
    "src/kernel/cuda/text": "The texts of the CUDA kernels, which NVRTC compiles at run time.",
    "src/kernel/gemm": "Matrix products of our own, and convolutions by them.",
    "src/kernel/lanes": "Vector loops for what memory bounds (norms, pools, sums, dropout), and small convolutions.",
    "src/kernel/library": "Products and convolutions by oneDNN.",
    "src/kernel/op": "The ops, one file each, with shapes, parameters and a reference kernel.",
    "src/kernel/sparse": "Convolutions that skip zeros.",
    "src/kernel/tune": "Measured times of kernels as files.",
    "src/kernel/winograd": "Convolutions by Winograd's products.",
    "src/metrics": "Numbers and traces of a run: metrics.jsonl, TensorBoard, Chrome traces, layer traces, HTML pages.",
    "src/metrics/chart": "Charts as SVG.",
    "src/papers": "Published figures beside ours.",
    "src/partition": "The cores of a host in groups with their nearest memory.",
    "src/predict": "Predicted step times: costs of exchanges, memory of ranks, other frameworks, changed machines.",
    "src/predict/choice": "The choice of how a job's exchanges travel, by predicted step time.",
    "src/predict/devices": "Processor models that come with the program, for `--device`.",
    "src/predict/frameworks": "Training frameworks as data, for `--framework`.",
    "src/predict/plan": "What planners ask: whole runs, nodes, costs, advice, pages.",
    "src/predict/play": "The timeline of a predicted step, and runs of asynchronous workers.",
    "src/predict/probes": "Small networks by which a processor model is fitted.",
    "src/predict/profile": "Seconds of the nodes of a step graph: measured here, or computed by a processor model.",
    "src/svm": "Support vector machines: training of many classes, classes, traces, reports.",
    "src/svm/checkpoint": "Checkpoints of an SVM training.",
    "src/svm/data": "LIBSVM's data files.",
    "src/svm/model": "Models in LIBSVM's format, prediction, probabilities, cross validation.",
    "src/svm/solve": "The solver over all ranks: working set, kernel values, cache, shrinking.",
    "src/tensor": "Shapes and types; vector loops for each instruction set; sums and copies, the only arithmetic of collectives.",
    "src/topology": "Machines as values: kinds of network, figures, text form, places of ranks, pictures.",
    "src/topology/detect": "What this machine is: cores, caches, network interfaces, cards.",
    "src/topology/machines": "Named machines with the sources of their figures.",
    "src/training/graph": "The step graph: nodes of one step, gradients, freezing, split layers.",
    "src/training/method": "Training methods: how ranks agree on weights, one file each.",
    "src/training/method/rule": "Update rules: how gradients change weights, one file each; learning rate and loss scale.",
    "src/training/method/visiting": "Asynchronous methods, whose workers visit a centre.",
    "src/training/model": "Networks: parsing, shapes, fusion.",
    "src/training/model/zoo": "Networks that come with the program.",
    "src/training/plan": "The plan: buckets, memory offsets, exchanges, loops; its builder, text and hash.",
    "src/training/plan/action": "The actions of a plan's loops, one row each.",
    "src/training/plan/prove": "The proof of a plan.",
    "src/training/run": "Training on one rank: proof before the first step, the loop over steps.",
    "src/training/run/cuda": "Step work on a CUDA card, and the rules' loops for it.",
    "src/training/run/keep": "What a run keeps: checkpoints, safetensors, resuming, initial weights.",
    "src/training/run/step": "One step of a rank: actions, kernels, exchanges, updates, tests.",
    "src/training/run/tell": "What a run reports: metrics, traces, divergence, predictions.",
    "src/training/run/visit": "Steps of asynchronous workers, and workers that are lost.",
    "src/training/run/visit/board": "The board in shared memory by which asynchronous workers take shares and turns.",
}
MOST_LETTERS = 200  # of a longer sentence the map has what stands before its first semicolon
# A period after these ends no sentence.
ABBREVIATION = re.compile(r"(?:\b(?:al|vs|cf|e\.g|i\.e|no)|\.)\.$")


def first_sentence(text):
    """Up to the first period that ends a sentence, neither an abbreviation nor inside parentheses."""
    for match in re.finditer(r"[.?](?=\s|$)", text):
        head = text[:match.end()]
        if not ABBREVIATION.search(head) and head.count("(") <= head.count(")"):
            return head
    return text


def purpose_of_code(text):
    """The first paragraph of the comment `/* name: ... */` or `// name: ...` at the top of a file."""
    text = re.sub(r"\A(?:/\*|//) SPDX[^\n]*\n", "", text)
    block = re.match(r"/\* \S+: (.*?)\*/", text, re.S)
    lines = block.group(1).split("\n") if block else re.match(r"(?://[^\n]*\n)*", text).group(0).split("\n")
    if not block:
        lines[0] = re.sub(r"^// \S+: ", "", lines[0])
    found = []
    for line in lines:
        words = re.sub(r"^ ?(?:\*|//)", "", line)
        if not words.strip() or found and words.startswith("   "):
            break
        found.append(words.strip())
    return " ".join(found)


def purpose_of_data(text):
    """What `about:` says, else the first comment."""
    about = re.search(r"^about: (.*)", text, re.M)
    if about:
        return about.group(1)
    comment = re.match(r"(?:# [^\n]*\n)*", text).group(0).replace("# Made by tools/zoo_resnet.py.\n", "")
    return " ".join(line[2:] for line in comment.splitlines())


def purpose_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    purpose = first_sentence((purpose_of_data if path.endswith((".txt", ".yaml")) else purpose_of_code)(text))
    if len(purpose) > MOST_LETTERS:
        purpose = purpose.partition(";")[0]
    return purpose.rstrip(":;, ").replace("|", "\\|")


def make_map(root, findings):
    listing = ["git", "ls-files", "-co", "--exclude-standard", "include", "src"]
    names = subprocess.run(listing, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    folders = {}
    for name in names:
        if os.path.isfile(os.path.join(root, name)):
            folders.setdefault(os.path.dirname(name), []).append(name)
    parts = [HEAD]
    for folder in sorted(folders):
        if folder not in FOLDERS:
            findings.append(f"{folder}: has no purpose in FOLDERS of tools/map.py")
        lines = []
        for name in sorted(folders[folder]):
            purpose = purpose_of(os.path.join(root, name))
            if not purpose:
                findings.append(f"{name}: has no purpose comment")
            lines.append(f"- `{os.path.basename(name)}`: {purpose}")
        parts.append(f"## {folder}\n\n{FOLDERS.get(folder, '')}\n\n" + "\n".join(lines) + "\n")
    findings += [f"{folder}: is in FOLDERS of tools/map.py and holds no file" for folder in FOLDERS if folder not in folders]
    return "\n".join(parts)


def main():
    args = sys.argv[1:]
    root = next((arg for arg in args if not arg.startswith("--")), ".")
    findings, page = [], os.path.join(root, "docs/map.md")
    made = make_map(root, findings)
    if "--write" in args:
        with open(page, "w", encoding="utf-8") as out:
            out.write(made)
    with open(page, encoding="utf-8") as file:
        there = file.read()
    if there != made:
        changes = difflib.unified_diff(there.splitlines(), made.splitlines(), "docs/map.md", "the files", n=0, lineterm="")
        findings += [*list(changes)[:20], "docs/map.md is old: tools/map.py --write makes it anew"]
    print("\n".join(findings) if findings else "map: docs/map.md is as the files say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
