#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs from `tutti serve` to `tutti rm`, with the server that users have: each ends with the weights of a plain run, also
when it was stopped, when its files were edited after it was submitted, and when the server was killed.

usage: tests/serve/test_client.py TUTTI [PART OF A TEST'S NAME]      exit 77: skipped, says why
"""
import json
import os
import re
import subprocess
import sys
import time

from commands import ROOT, TUTTI, expect, expect_end, run_tests, surroundings, tutti, write

LENET = "examples/lenet.yaml"
MODEL = "name: n\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - dense: {name: fc, units: %d}\n  - relu\n" \
        "  - dense: {name: last, units: 10}\n  - softmax-cross-entropy\n"
JOB = "model: ./net.yaml\ndata: {set: digits, train_samples: 640, test_samples: 100}\nbatch: 16\nsteps: %d\n" \
      "optimiser: {rule: sgd, lr: 0.02}\n"
HOLD = "touch held; while [ ! -e go ]; do sleep 0.05; done"  # keeps its cores until a file is there


class Server:
    """`tutti serve` for a folder, on a port that the kernel chooses."""

    def __init__(self, home, cores=2):
        self.home = home
        self.process = subprocess.Popen([TUTTI, "serve", "--port", "0", "--cores", str(cores)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=surroundings(home))
        self.words = self.process.stdout.readline()
        found = re.match(r"tutti-server: (http://127\.0\.0\.1:\d+)\b", self.words)
        expect(found, f"the first line has the page's address: {self.words}")
        with open(os.path.join(home, "token"), encoding="utf-8") as f:
            self.link = f"{found[1]}/#token={f.read()}"

    def __enter__(self):
        return self

    def __exit__(self, *args):
        if self.process.poll() is None:
            self.process.terminate()
            rest = self.process.communicate(timeout=30)[0]
            expect(self.process.returncode in (0, 143), f"the server ends with {self.process.returncode}: {rest}")

    def kill(self):
        self.process.kill()
        self.process.communicate()


def submit(home, *words, folder=None):
    """Submits; returns the number of the job."""
    text = expect_end(tutti(home, "submit", *words, folder=folder), 0, "", f"submit {words}")
    return text.splitlines()[-1]


def shown(home, job):
    return json.loads(expect_end(tutti(home, "show", job, "--json"), 0, "", f"show {job}"))


def wait_until(home, job, holds, what):
    end = time.monotonic() + 60
    while not holds(state := shown(home, job)):
        expect(time.monotonic() < end, f"job {job} {what}: {state}")
        time.sleep(0.05)
    return state


def plain_hash(home, *words, folder=None):
    """Trains without the server; returns the hash of the weights."""
    out = os.path.join(home, f"plain{len(os.listdir(home))}")
    text = expect_end(tutti(home, "train", *words, "--quiet", "--out", out, folder=folder), 0, "weights ", f"train {words}")
    return text.split()[1]


def hold_cores(home):
    """Submits a command that keeps both cores; returns its number, and what lets it end."""
    folder = os.path.join(home, "hold")
    os.makedirs(folder, exist_ok=True)
    job = submit(home, "--ranks", "2", "--", "sh", "-c", HOLD, folder=folder)
    wait_until(home, job, lambda j: j["state"] == "running" and os.path.exists(os.path.join(folder, "held")),
               "holds the cores")
    return job, lambda: write(folder, "go", "")


def test_a_job_ends_with_the_weights_of_a_plain_run(home):
    job = [LENET, "--set", "steps=60", "--set", "log_every=10"]
    with Server(home) as s:
        expect(tutti(home, "serve", "--link")[1] == s.link, "--link prints the same address")
        number = submit(home, *job)
        text = expect_end(tutti(home, "wait", number), 0, "done", "wait")
        expect(f"job {number} (lenet) done, step 60 of 60" in text.splitlines()[-1], text)
        state, weights = shown(home, number), plain_hash(home, *job)
        expect(state["weights"] == weights and state["state"] == "done" and state["code"] == 0, f"{weights}: {state}")
        expect(f"weights {weights}" in tutti(home, "show", number)[1].splitlines(), "show prints the hash")
        table = tutti(home, "ps")[1].splitlines()
        expect(table[0].split() == ["id", "name", "state", "ranks", "step", "loss", "age"], table)
        expect(table[1].split()[:5] == [number, "lenet", "done", "2", "60/60"], table)
        expect(f"weights {weights} step 60" in tutti(home, "logs", number)[1], "the log has the last line of train")
        expect("steps: 60\n" in tutti(home, "show", number, "--job")[1], "--job prints the resolved job")


def test_a_terminal_gets_the_link_of_the_page(home):
    ours, its = os.openpty()
    server = subprocess.Popen([TUTTI, "serve", "--port", "0"], stdout=its, env=surroundings(home))
    with os.fdopen(ours, encoding="utf-8") as terminal:
        line = terminal.readline()
        link = tutti(home, "serve", "--link")[1]
        expect(re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[0-9a-f]{64}\n", link), f"--link prints the link: {link}")
        expect(line.strip() == f"tutti-server: {link.strip()}", f"the first line has the link: {line}")
        server.terminate()
        server.wait(30)
    os.close(its)


def test_a_job_goes_on_after_stop_and_resume(home):
    job = [LENET, "--set", "steps=400", "--set", "log_every=5"]
    with Server(home):
        number = submit(home, *job)
        following = subprocess.Popen([TUTTI, "logs", number, "-f"], stdout=subprocess.PIPE, text=True, env=surroundings(home))
        wait_until(home, number, lambda j: j["state"] == "running" and (j["step"] or 0) >= 5, "runs")
        expect_end(tutti(home, "resume", number), 1, "", "resume of a job that runs")
        expect_end(tutti(home, "rm", number), 1, "", "rm of a job that runs")
        expect_end(tutti(home, "stop", number), 0, f"job {number}", "stop")
        expect_end(tutti(home, "wait", number), 143, "stopped", "wait for a job that is stopped")
        text = following.communicate(timeout=30)[0]
        expect(following.returncode == 0 and "stopped by signal 15" in text, f"logs -f ends with the attempt: {text}")
        step = shown(home, number)["step"]
        expect(5 <= step < 400, f"it stopped after step {step}")
        expect_end(tutti(home, "resume", number), 0, f"job {number}", "resume")
        expect_end(tutti(home, "wait", number), 0, "done", "wait for a job that went on")
        state, weights = shown(home, number), plain_hash(home, *job)
        expect(state["weights"] == weights and state["attempt"] == 2 and len(state["attempts"]) == 2, f"{weights}: {state}")
        expect("stopped by signal 15" in tutti(home, "logs", number, "--attempt", "1")[1], "each attempt has its log")
        expect(f"weights {weights}" in tutti(home, "logs", number)[1], "the newest attempt's log is printed")


def test_edits_after_the_submission_change_nothing(home):
    folder = os.path.join(home, "w")
    os.mkdir(folder)
    write(folder, "net.yaml", MODEL % 16)
    write(folder, "job.yaml", JOB % 20)
    weights = plain_hash(home, "job.yaml", folder=folder)
    with Server(home):
        holder, let_go = hold_cores(home)
        first, second = submit(home, "job.yaml", folder=folder), submit(home, "job.yaml", "--set", "seed=2", folder=folder)
        write(folder, "net.yaml", MODEL % 8)
        write(folder, "job.yaml", JOB % 3)
        third = submit(home, "job.yaml", folder=folder)
        edited = plain_hash(home, "job.yaml", folder=folder)
        os.remove(os.path.join(folder, "net.yaml"))
        os.remove(os.path.join(folder, "job.yaml"))
        expect(shown(home, first)["state"] == "queued", "the jobs wait for the cores")
        let_go()
        for number in (holder, first, second, third):
            expect_end(tutti(home, "wait", number), 0, "done", f"wait {number}")
        got = [shown(home, number)["weights"] for number in (first, second, third)]
        expect(got[0] == weights and got[2] == edited and len(set(got)) == 3, f"{got}, plain {weights} and {edited}")


def test_any_command_runs_in_its_folder(home):
    folder = os.path.join(home, "w")
    os.mkdir(folder)
    with Server(home):
        number = submit(home, "--", "sh", "-c", "pwd; echo to stderr >&2; exit 3", folder=folder)
        expect_end(tutti(home, "wait", number), 3, "failed, exit code 3", "wait for a command that fails")
        expect(tutti(home, "logs", number)[1] == f"{folder}\nto stderr\n", tutti(home, "logs", number))
        expect(shown(home, number)["name"] == "sh", "its name is the program's")
        os.symlink(TUTTI, os.path.join(folder, "svm-train"))
        data = os.path.join(ROOT, "tests/golden/svm/two.svm")
        number = submit(home, "--name", "svm", "--", "./svm-train", "-q", data, "model", folder=folder)
        expect_end(tutti(home, "wait", number), 0, "(svm) done", "svm-train")
        expect(os.path.getsize(os.path.join(folder, "model")) > 0, "it wrote its model")


def test_a_key_is_taken_once(home):
    with Server(home):
        first = submit(home, "--idempotency-key", "k", "--", "true")
        expect(submit(home, "--idempotency-key", "k", "--", "true") == first, "the same key is the same job")
        expect(submit(home, "--", "true") != first, "another one is not")
        tutti(home, "wait", first)
        expect(len(tutti(home, "ps")[1].splitlines()) == 3, tutti(home, "ps"))


def test_higher_priorities_start_first(home):
    with Server(home):
        _, let_go = hold_cores(home)
        jobs = {p: submit(home, "--ranks", "2", "--priority", p, "--", "sh", "-c", f"echo {p} >>'{home}/order'")
                for p in ("0", "-5", "7")}
        let_go()
        for number in jobs.values():
            expect_end(tutti(home, "wait", number), 0, "done", f"wait {number}")
        with open(os.path.join(home, "order"), encoding="utf-8") as f:
            expect(f.read().split() == ["7", "0", "-5"], "the highest first")


def test_tokens_say_who_may_do_what(home):
    with Server(home):
        job, let_go = hold_cores(home)
        with open(os.path.join(home, "address"), encoding="utf-8") as f:
            address = f.read().strip()
        wrong = write(home, "wrong", "0" * 64)
        for at in (["--home", home], ["--server", address]):
            expect_end(tutti(home, "ps", *at, "--token-file", wrong), 1, wrong, "a wrong token")
        read = ["--server", address, "--token-file", os.path.join(home, "token-read")]
        expect_end(tutti(home, "ps", *read), 0, "running", "ps with the token for reading")
        expect_end(tutti(home, "stop", job, *read), 1, "", "stop with the token for reading")
        expect_end(tutti(home, "submit", *read, "--", "true"), 1, "", "submit with the token for reading")
        let_go()
        expect_end(tutti(home, "wait", job), 0, "done", "the job was not stopped")
        for name in ("token", "token-read"):
            expect(os.stat(os.path.join(home, name)).st_mode & 0o777 == 0o600, f"{name} is for its user alone")


def test_rm_takes_the_folder_away(home):
    with Server(home):
        number = submit(home, LENET, "--set", "steps=2")
        expect_end(tutti(home, "wait", number), 0, "done", "wait")
        folder = os.path.dirname(shown(home, number)["folder"])
        expect(os.path.exists(os.path.join(folder, "job.yaml")), f"{folder} is the job's")
        expect_end(tutti(home, "rm", number), 0, "removed", "rm")
        expect_end(tutti(home, "show", number), 1, "", "show of a job that was removed")
        expect(number not in tutti(home, "ps")[1].split(), "ps does not list it")
        end = time.monotonic() + 10
        while os.path.exists(folder) and time.monotonic() < end:
            time.sleep(0.05)
        expect(not os.path.exists(folder), f"{folder} is gone")
        expect(submit(home, "--", "true") != number, "its number is not used again")


def test_a_killed_server_stops_no_job(home):
    job = [LENET, "--set", "steps=300", "--set", "log_every=5"]
    first = Server(home)
    number = submit(home, *job)
    waiting = subprocess.Popen([TUTTI, "wait", number], stdout=subprocess.PIPE, text=True, env=surroundings(home))
    wait_until(home, number, lambda j: (j["step"] or 0) >= 5, "runs")
    first.kill()
    expect_end(tutti(home, "ps"), 4, "`tutti serve` starts one", "ps without a server")
    with Server(home):
        text = waiting.communicate(timeout=60)[0]
        expect(waiting.returncode == 0 and "done" in text, f"wait goes on with the next server: {text}")
        state = shown(home, number)
        expect(state["attempt"] == 1 and state["weights"] == plain_hash(home, *job), f"it went on by itself: {state}")
    expect_end(tutti(home, "ps"), 4, "no job server runs", "ps after the server's end")


def test_submissions_while_the_server_is_killed_are_taken_once(home):
    submissions, server = [], Server(home)
    for kill in range(6):
        submissions += [subprocess.Popen([TUTTI, "submit", "--quiet", "--", "true"], stdout=subprocess.PIPE, text=True,
                                         env=surroundings(home)) for _ in range(5)]
        time.sleep(0.02 * kill)
        server.kill()
        server = Server(home)
    with server:
        numbers = [s.communicate(timeout=60)[0].strip() for s in submissions]
        expect(all(s.returncode == 0 for s in submissions), f"each is taken: {[s.returncode for s in submissions]}")
        expect(len(set(numbers)) == len(numbers), f"each has a number of its own: {numbers}")
        for number in numbers:
            expect_end(tutti(home, "wait", number), 0, "done", f"wait {number}")
        listed = json.loads(tutti(home, "ps", "--json", "--limit", "1000")[1])["jobs"]
        expect(sorted(str(j["id"]) for j in listed) == sorted(numbers), f"no other job is there: {listed}")


if not os.path.exists(os.path.join(os.path.dirname(TUTTI), "tutti-server")):
    print("skipped: tutti-server is not built (./dev setup, then ./dev build)")
    sys.exit(77)
run_tests(globals())
