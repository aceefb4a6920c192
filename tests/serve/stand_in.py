#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for tutti-server before a browser: the same routes and headers, over jobs that are made up.

usage: tests/serve/stand_in.py [--port N] [--empty] [--still] [--plain] [--slow]
--empty: no jobs. --still: nothing moves. --plain: without dygraphs, as a build that did not have it. --slow: each answer
about jobs takes 1.5 s.
Prints its address as the first line. Tokens: "operate" and "read". A name is an attack, numbers are NaN, a rank is lost:
the page has to bear what runs bring. Times move with the clock: job 1 takes 20 steps a second.
"""
import argparse
import functools
import http.server
import json
import math
import pathlib
import sys
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "src/serve/page"
DYGRAPHS = {"dygraph.js": "dygraph.min.js", "dygraph.css": "dygraph.min.css"}
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json"}
POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
ATTACK = "<img src=x onerror=\"document.title='hit'\">"
STEPS = 4000
TAGS = ("loss", "lr", "ips", "step_ms", "comm_ms", "accuracy", "test_loss")


class Jobs:
    """The jobs as they are now."""

    def __init__(self, still, empty):
        self.begin, self.still, self.empty, self.stopped = time.time(), still, empty, set()

    def step(self):
        seconds = 60 if self.still else time.time() - self.begin
        return min(STEPS, int(1000 + 20 * seconds))

    def job(self, number):
        now = time.time()
        base = {"id": number, "kind": "train", "priority": 0, "ranks": {"min": 2, "max": 2}, "threads": 1, "created": now - 3600,
                "started": now - 3000, "ended": None, "attempt": 1, "code": None, "cause": None, "step": None, "steps": None,
                "epoch": None, "loss": None, "accuracy": None, "ips": None, "weights": None, "progress_at": None,
                "liveness": "none", "stopping": False, "folder": f"/home/somebody/.local/state/tutti/jobs/{number}/run"}
        made = {
            1: {"name": "lenet", "state": "running", "step": self.step(), "steps": STEPS, "epoch": self.step() / 1000,
                "attempt": 2, "loss": loss(1, self.step()), "accuracy": 0.91, "ips": 54236.3, "progress_at": now - 0.4,
                "liveness": "live"},
            2: {"name": "lenet with lars", "state": "done", "step": STEPS, "steps": STEPS, "epoch": 4, "loss": loss(2, STEPS),
                "accuracy": 0.9434, "ips": 48110, "ended": now - 1200, "code": 0, "weights": "48bb630d1fac5ffa",
                "progress_at": now - 1200},
            3: {"name": ATTACK, "state": "failed", "step": 620, "steps": STEPS, "epoch": 0.62, "loss": None, "ips": 41000,
                "ended": now - 2400, "code": 1, "cause": "the loss became infinite at step 620 <b>on rank 1</b>"},
            4: {"name": "svm", "kind": "command", "state": "queued", "started": None, "attempt": 0,
                "ranks": {"min": 2, "max": 4}},
            5: {"name": "resnet", "state": "running", "step": 88, "steps": 90000, "epoch": 0.01, "loss": 6.9, "ips": 31.5,
                "progress_at": now - 400, "liveness": "stalled"},
        }[number]
        job = {**base, **made}
        if number in self.stopped and job["state"] in ("running", "queued"):
            job.update(state="stopped", ended=now, liveness="none")
        return job

    def numbers(self):
        return [] if self.empty else [5, 4, 3, 2, 1]

    def full(self, number):
        job, now = self.job(number), time.time()
        attempt = {"number": 1, "started": now - 3000, "ended": None, "code": None, "cause": None, "engine": "local",
                   "handle": "4711"}
        first = {**attempt, "ended": now - 2000, "code": 143, "cause": "stopped by a user"}
        job["attempts"] = {1: [first, {**attempt, "number": 2, "started": now - 1900}], 4: []}.get(number, [attempt])
        job["checkpoints"] = [{"step": k * 1000, "bytes": 1775124, "at": now - 900 + k} for k in range(1, job["step"] // 1000 + 1)
                              ] if number < 3 else []
        job["restarts"] = [{"step": 700, "seconds": 0.31, "lost": 1}] if number == 1 else []
        job["cost"] = {"compute": 31.2, "exchange": 6.1, "initialisation": 0.9, "data_io": 0.4, "update": 2.2, "evaluation": 1.3,
                       "checkpoint": 0.2, "other": 0.3} if number == 2 else {}
        job["tags"] = list(TAGS) if number < 4 else []
        job["argv"] = ["tutti", "svm-train", "a9a"] if number == 4 else ["tutti", "train", "job.yaml"]
        job["job"] = None if number == 4 else "model: lenet\ndata: {set: digits}\nbatch: 64\n"
        return job


def loss(number, step):
    return 2.3 * math.exp(-step / (500 + 300 * number)) + 0.05 + 0.04 * math.sin(step * number * 0.7)


def value(number, tag, step):
    curve = loss(number, step)
    return {"loss": curve, "test_loss": curve * 1.1, "accuracy": 0.99 - 0.35 * curve, "lr": 0.02 * (1 - step / STEPS),
            "ips": 54000 - 400 * math.cos(step / 9), "step_ms": 1.18 + 0.2 * abs(math.sin(step)), "comm_ms": 0.49}[tag]


def series(jobs, number, query):
    tag, points = query["tag"][0], int(query.get("points", ["1000"])[0])
    last = jobs.job(number)["step"] or 0
    begin, end = int(query.get("from", ["0"])[0]), min(last, int(query.get("to", [str(last)])[0]))
    every = 250 if tag in ("accuracy", "test_loss") else 5
    steps = [s for s in range(every, last + 1, every) if begin <= s <= end]
    size = 1
    while len(steps) > size * points:
        size *= 2
    groups = [steps[i:i + size] for i in range(0, len(steps), size)]
    is_nan = number == 3
    rows = [[None if is_nan and s > 500 else value(number, tag, s) for s in group] for group in groups]
    known = [[v for v in row if v is not None] for row in rows]
    return {"tag": tag, "points": len(groups), "step": [group[0] for group in groups],
            "min": [min(row, default=None) for row in known], "max": [max(row, default=None) for row in known],
            "mean": [sum(row) / len(row) if row else None for row in known], "count": [len(row) for row in known],
            "total": len(steps)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, jobs, options, *rest):
        self.jobs, self.options = jobs, options
        super().__init__(*rest)

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="application/json", headers=()):
        self.send_response(status)
        for name, text in (("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))),
                           ("Cache-Control", "no-store"), ("Content-Security-Policy", POLICY),
                           ("X-Content-Type-Options", "nosniff"), *headers):
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def tell(self, value_, status=200):
        self.answer(status, json.dumps(value_).encode())

    def refuse(self, status, words):
        self.tell({"error": {"code": "refused", "message": words}}, status)

    def role(self):
        cookie = self.headers.get("Cookie", "")
        return next((role for role in ("operate", "read") if f"tutti_session={role}" in cookie), None)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query, parts = urllib.parse.parse_qs(url.query), url.path.strip("/").split("/")
        if parts[0] != "api":
            self.page_file(url.path)
        elif not self.role():
            self.refuse(401, "A token is wanted.")
        elif parts[2] == "version":
            self.tell({"version": "0.0", "api": 1, "engine": "local", "cores": 2, "started": self.jobs.begin, "now": time.time(),
                       "role": self.role()})
        elif parts[2] == "events":
            self.events(query)
        else:
            time.sleep(1.5 if self.options.slow else 0)
            self.about_jobs(parts, query)

    def about_jobs(self, parts, query):
        if parts[2:] == ["jobs"]:
            found = [self.jobs.job(n) for n in self.jobs.numbers()]
            wanted = query.get("state", [""])[0]
            self.tell({"jobs": [job for job in found if wanted in ("", job["state"])], "as_of": time.time()})
        elif not parts[3].isdigit() or int(parts[3]) not in self.jobs.numbers():
            self.refuse(404, "There is no such job.")
        else:
            self.about(int(parts[3]), parts[4] if len(parts) > 4 else "", query)

    def about(self, number, what, query):
        if what == "series":
            if number < 4:
                self.tell(series(self.jobs, number, query))
            else:
                self.refuse(404, "The run has no such number.")
        elif what == "logs":
            steps = range(100, self.jobs.step(), 100)
            text = "".join(f"step {s:6d}  loss {loss(1, s):.4f}  54,236 samples/s\n" for s in steps).encode()
            begin = int(query["from"][0])
            begin = max(0, len(text) + begin) if begin < 0 else begin
            piece = text[begin:begin + int(query["limit"][0])] if number != 4 else b""
            self.answer(200, piece, "text/plain", [("X-Tutti-Next", str(begin + len(piece)))])
        else:
            self.tell(self.jobs.full(number))

    def events(self, query):
        if "text/event-stream" not in self.headers.get("Accept", ""):
            self.tell({"events": [], "last": int(query.get("after", ["7"])[0])})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"retry: 1000\n\n")
        streams = self.server.open_streams = self.server.open_streams + 1
        self.server.streams.add(streams)
        try:
            while True:
                time.sleep(1)
                self.wfile.write(b"event: progress\ndata: {\"job\": 1}\n\n")
        except OSError:
            self.close_connection = True
            self.server.open_streams -= 1

    def page_file(self, path):
        name = path.strip("/") or "index.html"
        place = PAGE / name
        if name in DYGRAPHS and not self.options.plain:
            place = pathlib.Path("/usr/share/javascript/dygraphs") / DYGRAPHS[name]
        if "/" in name or not place.is_file():
            self.refuse(404, "There is no such file.")
        else:
            self.answer(200, place.read_bytes(), TYPES.get(place.suffix, "text/plain"))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        parts = self.path.strip("/").split("/")
        if parts[-1] == "session":
            if body.get("token") not in ("operate", "read"):
                self.refuse(401, "This is not the token.")
            else:
                cookie = f"tutti_session={body['token']}; HttpOnly; SameSite=Strict; Path=/"
                self.answer(204, headers=[("Set-Cookie", cookie)])
        elif self.role() != "operate":
            self.refuse(403, "This token may only read.")
        else:
            number = int(parts[3])
            (self.jobs.stopped.discard if parts[-1] == "resume" else self.jobs.stopped.add)(number)
            self.tell(self.jobs.job(number), 202)

    def do_DELETE(self):
        self.answer(204, headers=[("Set-Cookie", "tutti_session=; Max-Age=0; Path=/")])


class StandIn(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *given):
        if not isinstance(sys.exc_info()[1], OSError):  # pages that are left hang up
            super().handle_error(*given)


def make(options):
    handler = functools.partial(Handler, Jobs(options.still, options.empty), options)
    server = StandIn(("127.0.0.1", options.port), handler)
    server.open_streams, server.streams = 0, set()  # streams: how many were open at once, at any time
    return server


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    for name in ("empty", "still", "plain", "slow"):
        parser.add_argument(f"--{name}", action="store_true")
    server = make(parser.parse_args())
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
