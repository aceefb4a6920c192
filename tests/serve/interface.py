#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The document src/serve/page/openapi.json is valid, and the server answers as it says: each route of the server is
described, each described route answers, each field of each answer is described, and so is each refusal.

usage: tests/serve/interface.py TUTTI_SERVER TUTTI
exit 0: as described; 1: not
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from described import ROOT, Description, ask

JOB = """model: mlp
data: {set: digits, train_samples: 640, test_samples: 100}
batch: 64
steps: %d
log_every: 2
optimiser: {rule: sgd, lr: 0.05}
"""


class Server:
    """A server with a folder of its own."""

    def __init__(self, program, tutti):
        self.home = tempfile.mkdtemp(prefix="tutti-interface-")
        self.process = subprocess.Popen([program, "--program", tutti, "--home", self.home, "--port", "0"],
                                        stdout=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while not os.path.exists(f"{self.home}/address"):
            assert self.process.poll() is None and time.monotonic() < end, "the server did not begin to listen"
            time.sleep(0.02)
        self.base, self.token, self.reader = (pathlib.Path(self.home, name).read_text(encoding="utf-8").strip()
                                              for name in ("address", "token", "token-read"))

    def __enter__(self):
        return self

    def jobs_at_work(self):
        jobs = json.loads(ask(self.base, "/api/v1/jobs?limit=1000", token=self.token)[3])["jobs"]
        return [job["id"] for job in jobs if job["state"] not in ("done", "failed", "stopped", "lost")]

    def __exit__(self, *_):
        end = time.monotonic() + 60
        while (left := self.jobs_at_work()) and time.monotonic() < end:  # jobs outlive a server
            for job in left:  # the newest first: none of those that wait begins
                ask(self.base, f"/api/v1/jobs/{job}/stop", "post", self.token, {"now": True})
            time.sleep(0.2)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        shutil.rmtree(self.home)


class Walk:
    """Asks the server and collects what is not as described."""

    def __init__(self, server, description):
        self.server, self.description, self.wrong = server, description, []

    def ask(self, path, method="get", expected=200, described=None, **more):
        """Asks, compares status and answer, and returns the body: a value if it is JSON."""
        token = more.pop("token", self.server.token)
        answer = ask(self.server.base, path, method, token, **more)
        described = described or re.sub(r"/jobs/\d+", "/jobs/{job}", path.split("?")[0])
        difference = self.description.compare(described, method, answer)
        if difference:
            self.wrong.append(difference)
        if answer[0] != expected:
            self.wrong.append(f"{method} {path}: {answer[0]} and not {expected}: {answer[3][:300]!r}")
        return json.loads(answer[3]) if answer[1] == "application/json" and answer[3] else answer[3]

    def wait(self, job, states, least=0):
        """Waits until a job is in one of these states, and has taken the least number of steps."""
        end = time.monotonic() + 60
        while (now := self.ask(f"/api/v1/jobs/{job}"))["state"] not in states or (now["step"] or 0) < least:
            if time.monotonic() > end:
                self.wrong.append(f"job {job} is {now['state']} ({now['cause']}) and not one of {states}")
                break
            time.sleep(0.1)
        return now


def walk_jobs(walk, folder):
    one = {"ranks": {"min": 1, "max": 1}, "threads": 1}
    train = {"name": "a <b>name</b>", "kind": "train", "job": JOB % 20, **one}
    key = {"Idempotency-Key": "interface-1"}
    first = walk.ask("/api/v1/jobs", "post", 201, body=train, headers=key)
    again = walk.ask("/api/v1/jobs", "post", 200, body=train, headers=key)
    if first["id"] != again["id"]:
        walk.wrong.append("a key gave two jobs")
    walk.ask("/api/v1/jobs", "post", 201, body={"name": "command", "kind": "command", "argv": ["pwd"], "folder": folder, **one})
    number = first["id"]
    done = walk.wait(number, ("done", "failed", "lost"))
    if done["state"] != "done" or done["step"] != 20 or not done["weights"]:
        walk.wrong.append(f"the training ended so: {done}")
    walk.ask(f"/api/v1/jobs/{number}")
    tags = walk.ask(f"/api/v1/jobs/{number}/tags")["tags"]
    for tag in tags:
        curve = walk.ask(f"/api/v1/jobs/{number}/series?tag={tag}&points=5")
        if not curve["points"] or len(curve["step"]) != curve["points"] or sum(curve["count"]) != curve["total"]:
            walk.wrong.append(f"the series {tag} does not add up: {curve}")
    if "loss" not in tags:
        walk.wrong.append(f"no losses: {tags}")
    walk.ask(f"/api/v1/jobs/{number}/logs?from=-100&limit=50")
    walk.ask("/api/v1/jobs?limit=1&state=done")
    walk_orders(walk, walk.ask("/api/v1/jobs", "post", 201, body={**train, "job": JOB % 1000000})["id"])
    return number


def walk_orders(walk, number):
    """Stops, resumes, ends and removes a long training."""
    path = f"/api/v1/jobs/{number}"
    walk.wait(number, ("running",), 20)
    walk.ask(f"{path}/resume", "post", 409, body={})
    walk.ask(path, "delete", 409)
    walk.ask(f"{path}/report", "post", 202, body={})
    walk.ask(f"{path}/stop", "post", 202, body={})
    stopped = walk.wait(number, ("stopped",))
    walk.ask(f"{path}/report", "post", 409, body={})
    walk.ask(f"{path}/resume", "post", 202, body={})
    again = walk.wait(number, ("running",), 1)
    if not stopped["checkpoints"] or again["attempt"] != 2 or (again["step"] or 0) < (stopped["step"] or 1):
        walk.wrong.append(f"it did not go on from its checkpoint: {stopped}, then {again}")
    walk.ask(f"{path}/stop", "post", 202, body={"now": True})
    walk.wait(number, ("stopped",))
    walk.ask(path, "delete", 204)
    walk.ask(path, expected=404)


def walk_refusals(walk, number):
    text = {"Content-Type": "text/plain"}
    for path in ("/api/v1/version", "/api/v1/jobs", f"/api/v1/jobs/{number}", f"/api/v1/jobs/{number}/tags", "/metrics",
                 "/api/v1/events", f"/api/v1/jobs/{number}/logs", f"/api/v1/jobs/{number}/series?tag=loss"):
        walk.ask(path, expected=401, token="wrong")
    for verb in ("stop", "resume", "report"):
        walk.ask(f"/api/v1/jobs/{number}/{verb}", "post", 403, token=walk.server.reader, body={})
        walk.ask(f"/api/v1/jobs/{number + 99}/{verb}", "post", 404, body={})
    walk.ask(f"/api/v1/jobs/{number}/stop", "post", 409, body={})
    walk.ask(f"/api/v1/jobs/{number}", "delete", 403, token=walk.server.reader)
    walk.ask("/api/v1/jobs", "post", 400, body={"kind": "train"})
    walk.ask("/api/v1/jobs", "post", 400, body=b"{")
    walk.ask("/api/v1/jobs", "post", 403, body={"kind": "train", "job": JOB % 20}, headers={"Origin": "http://elsewhere.example"})
    walk.ask("/api/v1/jobs", "post", 413, body=b" " * (1 << 20) + b"{}")
    walk.ask("/api/v1/jobs", "post", 415, body=b"{}", headers=text)
    walk.ask("/api/v1/jobs?limit=none", expected=400)
    walk.ask(f"/api/v1/jobs/{number}/series?tag=weather", expected=404)
    walk.ask(f"/api/v1/jobs/{number}/series", expected=400)
    walk.ask(f"/api/v1/jobs/{number}/logs?attempt=99", expected=404)
    walk.ask("/api/v1/session", "post", 401, token=None, body={"token": "wrong"})
    walk.ask("/nothing.js", expected=404, described="/{file}")


def walk_rest(walk):
    json_ = {"Accept": "application/json"}
    for path in ("/healthz", "/readyz", "/", "/openapi.json"):
        walk.ask(path, token=None)
    for name in ("app.js", "style.css", "icon.svg"):
        walk.ask(f"/{name}", token=None, described="/{file}")
    walk.ask("/metrics")
    roles = [walk.ask("/api/v1/version", token=token)["role"] for token in (walk.server.token, walk.server.reader)]
    if roles != ["operate", "read"]:
        walk.wrong.append(f"the tokens have the roles {roles}")
    events = walk.ask("/api/v1/events?after=0", headers=json_)
    if not events["events"] or walk.ask("/api/v1/events", headers=json_) != {"events": [], "last": events["last"]}:
        walk.wrong.append("the events after 0 are not all, or those from now on are some")
    status, _, headers, _ = ask(walk.server.base, "/api/v1/session", "post", body={"token": walk.server.reader})
    cookie = headers["Set-Cookie"].split(";")[0]
    walk.ask("/api/v1/session", "post", 204, token=None, body={"token": walk.server.reader})
    walk.ask("/api/v1/version", token=None, headers={"Cookie": cookie})
    walk.ask("/api/v1/session", "delete", 204, token=None, headers={"Cookie": cookie})
    walk.ask("/api/v1/version", expected=401, token=None, headers={"Cookie": cookie})
    return status


def routes_of_the_server():
    """Methods and paths in the table of routes."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/serve").rglob("*.c")))
    rows = re.findall(r'\{"(GET|POST|DELETE)", ((?:[A-Z]+ )?"[^"]*")', text)
    assert len(rows) > 10, "the table of routes was not found"
    for method, path in rows:
        yield method.lower(), re.sub(r"[A-Z]+ ", "/api/v1", path).replace('"', "").replace("{id}", "{job}")


def compare_routes(description):
    described = {(method, path) for path, method, _ in description.operations()} - {("get", "/"), ("get", "/openapi.json")}
    there = set(routes_of_the_server())
    return [f"{m} {p} is a route that is not described" for m, p in sorted(there - described)
            ] + [f"{m} {p} is described and is no route" for m, p in sorted(described - there)]


def main():
    description = Description()
    wrong = description.check() + compare_routes(description)
    with Server(sys.argv[1], os.path.abspath(sys.argv[2])) as server:
        walk = Walk(server, description)
        number = walk_jobs(walk, server.home)
        walk_refusals(walk, number)
        walk_rest(walk)
        walk.ask(f"/api/v1/jobs/{number}", "delete", 204)
    wrong += walk.wrong
    wrong += [f"{method} {path}: no success was seen" for path, method, _ in description.operations()
              if not any(p == path and m == method and s < 300 for p, m, s in description.seen)]
    print("\n".join(wrong) if wrong else f"{len(description.seen)} kinds of answers are as described")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
