#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole trainings on the fake card (TUTTI_CUDA_PATH) beside the same jobs on the processor.

usage: train_on_a_fake_card.py PROGRAM SCRATCH [--long]
--long: runs that change the device train LeNet instead of mlp, and LeNet trains in bf16, too. The fake card takes
seconds for a step of LeNet. Without --long, resnet20 is the network that trains in bf16.
exit 77: there is no NVRTC here, so no kernel can be compiled.
"""
import json
import os
import re
import shutil
import subprocess
import sys

PROGRAM, SCRATCH, IS_LONG = sys.argv[1], sys.argv[2], sys.argv[3:] == ["--long"]
DATA = ["data.set=digits", "data.train_samples=256", "data.test_samples=4", "epochs=0", "log_every=1", "optimiser.lr=0.01"]
failures, said = [], []  # said has what each run printed


def train(name, device, *settings, ranks=1, fresh=True):
    """Runs a job into a folder of its own; the losses of its steps and the hash of its weights."""
    folder = os.path.join(SCRATCH, name)
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    job = os.path.join(SCRATCH, name.split("-on-")[0] + ".yaml")
    with open(job, "w", encoding="utf-8") as file:
        # the second step moves what the rule keeps, the loss of the third tells; a step of LeNet takes the fake card 6 s
        file.write("model: %s\nbatch: 16\nsteps: 3\n" % next(s[6:] for s in settings if s.startswith("model=")))
    command = [PROGRAM, "train", job, "--out", folder, "--ranks", str(ranks), "--quiet", "--set", "device=" + device]
    for setting in DATA + [s for s in settings if not s.startswith("model=")]:
        command += ["--set", setting]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if ran.returncode:
        failures.append("%s on %s: exit %d: %s" % (name, device, ran.returncode, (ran.stderr + ran.stdout)[-800:]))
        return None, None
    with open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    said.append(ran.stdout + ran.stderr)
    return [line["loss"] for line in lines if line.get("ev") == "step"], re.search(r"weights ([0-9a-f]{16})", ran.stdout).group(1)


def compare(name, bound, *settings):
    cpu, _ = train(name + "-on-cpu", "cpu", *settings)
    card, _ = train(name + "-on-card", "cuda", *settings)
    if not cpu or not card:
        return
    if len(cpu) != len(card):
        failures.append("%s: %d steps on the cpu, %d on the card" % (name, len(cpu), len(card)))
        return
    worst = max(abs(a - b) / abs(a) for a, b in zip(cpu, card))
    print("%-20s losses %s | %s, apart by %.1e at most" % (name, cpu[-1], card[-1], worst))
    if not worst <= bound:
        failures.append("%s: losses are apart by %.2e, at most %.0e: %s on the cpu, %s on the card" %
                        (name, worst, bound, cpu, card))


def same_bits_at_any_number_of_ranks():
    settings = ["model=lenet", "batch=8", "steps=1", "reduction=canonical", "slots=2"]
    _, one = train("canonical-on-card-1", "cuda", *settings)
    _, two = train("canonical-on-card-2", "cuda", *settings, ranks=2)
    print("%-20s weights %s | %s" % ("canonical, 1 | 2 ranks", one, two))
    if one != two:
        failures.append("canonical sums: one rank ends with %s, two with %s" % (one, two))


def goes_on_elsewhere(name, first, second):
    """A run that stops on one device goes on on the other; its losses are those of a run on one."""
    settings = ["model=lenet" if IS_LONG else "model=mlp", "batch=8"]
    whole, _ = train(name + "-whole-on-cpu", "cpu", *settings)
    begun, _ = train(name + "-on-both", first, *settings, "steps=1")
    both, _ = train(name + "-on-both", second, *settings, fresh=False)
    if not whole or not begun or not both:
        return
    print("%-20s losses %s | %s" % (name, whole, both))
    if "resuming on" not in said[-1]:
        failures.append("%s: that it goes on on another device is not said: %s" % (name, said[-1]))
    if len(both) != 3 or max(abs(a - b) / abs(a) for a, b in zip(whole, both)) > 1e-4:
        failures.append("%s: %s in all, a run on one device has %s" % (name, both, whole))


def main():
    doctor = subprocess.run([PROGRAM, "doctor"], capture_output=True, text=True, timeout=60, check=True).stdout
    if re.search(r"nvrtc +missing", doctor):
        print("skipped: NVRTC is not here; pip install nvidia-cuda-nvrtc brings it")
        return 77
    if "fake" not in doctor.lower():
        print(doctor)
        failures.append("TUTTI_CUDA_PATH does not lead to the fake card")
        return 1
    linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, timeout=60, check=True).stdout
    if re.search(r"cuda|cublas|cudnn|nvrtc|nccl|nvidia", linked.replace(os.path.dirname(PROGRAM), "")):
        failures.append("the program is linked to a library of CUDA:\n" + linked)
    os.makedirs(SCRATCH, exist_ok=True)
    compare("mlp-f32", 1e-5, "model=mlp")
    compare("lenet-f32", 1e-5, "model=lenet")
    compare("mlp-adamw", 1e-4, "model=mlp", "optimiser.rule=adamw", "optimiser.lr=0.001", "optimiser.clip_norm=1")
    if IS_LONG:
        compare("lenet-bf16", 2e-2, "model=lenet", "precision=bf16")
    compare("resnet20-f32", 1e-3, "model=resnet20", "data.set=shapes", "batch=2", "steps=1")
    compare("resnet20-bf16", 3e-2, "model=resnet20", "data.set=shapes", "batch=2", "steps=1", "precision=bf16")
    same_bits_at_any_number_of_ranks()
    goes_on_elsewhere("cpu-then-card", "cpu", "cuda")
    goes_on_elsewhere("card-then-cpu", "cuda", "cpu")
    for failure in failures:
        print("FAILED " + failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
