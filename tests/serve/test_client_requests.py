#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that ask the job server, beside a server made for the test, which answers as each test wants: what they
send, what they print, how they end, and what they do when answers are torn, wrong or late.

usage: tests/serve/test_client_requests.py TUTTI [PART OF A TEST'S NAME]
"""
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time

from commands import ROOT, TUTTI, expect, expect_end, run_tests, tutti, write

TOKEN = "0123456789abcdef"
JOB = {"id": 7, "name": "lenet", "kind": "train", "state": "queued", "priority": 0, "ranks": {"min": 2, "max": 2},
       "threads": 1, "created": 1000.0, "started": None, "ended": None, "attempt": 0, "code": None, "cause": None,
       "step": None, "steps": None, "epoch": None, "loss": None, "accuracy": None, "ips": None, "weights": None,
       "progress_at": None, "liveness": "none", "folder": "/f"}
MODEL = "name: n\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - dense: {name: fc, units: 10}\n  - softmax-cross-entropy\n"


class Torn(Exception):
    """The connection ends without an answer."""


class Server:
    """Answers requests on a port of its own by a function: (method, path, body) to (status, value). A value is text,
    bytes or something for JSON; a dictionary `headers` may follow."""

    def __init__(self, home, answer):
        self.home, self.asked = home, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.asked.append((self.command, self.path, dict(self.headers), body))
                try:
                    status, value, *more = answer(self.command, self.path, json.loads(body) if body else None)
                except Torn:
                    self.close_connection = True
                    return
                text = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else \
                    json.dumps(value).encode()
                self.send_response(status)
                for key, word in (more[0] if more else {}).items():
                    self.send_header(key, word)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                try:
                    self.wfile.write(text)
                except OSError:  # the client has read enough
                    self.close_connection = True

            do_POST = do_DELETE = do_GET

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        write(home, "address", f"http://127.0.0.1:{self.http.server_port}\n")
        write(home, "token", TOKEN + "\n")

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.http.shutdown()
        self.http.server_close()


def comparable(text):
    """What `train --dry-run` prints, without times."""
    return [line for line in text.splitlines() if " s" not in line or not line.startswith("# exchange")]


def accepts(method, path, body):
    return 201, JOB


def test_without_a_server_the_code_is_4(home):
    for words in (["ps"], ["show", "1"], ["submit", "examples/lenet.yaml"], ["wait", "1"], ["logs", "1", "-f"], ["stop", "1"]):
        expect_end(tutti(home, *words), 4, "`tutti serve` starts one", " ".join(words))
    with socket.socket() as s:  # a port on which nobody listens
        s.bind(("127.0.0.1", 0))
        write(home, "address", f"http://127.0.0.1:{s.getsockname()[1]}\n")
        write(home, "token", TOKEN)
        began = time.monotonic()
        got = tutti(home, "ps")
        expect_end(got, 4, "`tutti serve` starts one", "ps")
        expect(f"{home}/address" in got[2] and time.monotonic() - began > 2, f"says where it looked, and tries: {got}")
        expect("tutti: waiting for the job server at" in got[2], f"says that it waits: {got}")
    expect_end(tutti(home, "ps", env={"TUTTI_HOME": "", "HOME": ""}), 2, "--home", "without a home")
    expect_end(tutti(home, "ps", "--server", "http://a"), 2, "--token-file", "an address without a token")
    token = os.path.join(home, "token")
    expect_end(tutti(home, "ps", "--server", "https://a", "--token-file", token), 2, "TLS", "an address of TLS")
    write(home, "token", "two words")
    expect_end(tutti(home, "ps"), 1, "token", "a token that is none")


def test_another_user_on_the_port_does_not_get_the_token(home):
    if os.geteuid() != 0:
        print("(not root: no other user can be had)")
        return
    told, tell = os.pipe()
    other = os.fork()
    if other == 0:
        os.setuid(65534)
        listener = socket.create_server(("127.0.0.1", 0))
        os.write(tell, str(listener.getsockname()[1]).encode())
        listener.accept()
        os._exit(1)
    write(home, "address", f"http://127.0.0.1:{os.read(told, 20).decode()}")
    write(home, "token", TOKEN)
    expect_end(tutti(home, "ps"), 4, "another user (65534)", "a port of another user")
    expect(os.waitpid(other, os.WNOHANG) == (0, 0), "nobody called there")
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)


def test_a_job_is_sent_resolved(home):
    folder = os.path.join(home, "w")
    os.makedirs(os.path.join(folder, "pictures"))
    write(folder, "net.yaml", MODEL)
    job = write(folder, "small.yaml", "model: ./net.yaml\ndata: {set: csv, path: pictures, shape: [784]}\n"
                                      "batch: 16\nsteps: 4\noptimiser: {rule: sgd, lr: 0.1}\ninit: old.safetensors\n")
    with Server(home, accepts) as s:
        got = tutti(home, "submit", job, "--set", "batch=8", "--ranks", "2:4", "--priority", "5", "--max-restarts", "3")
        expect_end(got, 0, "job 7 (lenet) queued", "submit")
        expect(got[1].splitlines()[-1] == "7", f"the number is the last line: {got}")
        method, path, headers, body = s.asked[0]
        expect((method, path) == ("POST", "/api/v1/jobs"), (method, path))
        expect(headers["Authorization"] == f"Bearer {TOKEN}" and headers["Content-Type"] == "application/json", headers)
        sent = json.loads(body)
        text = sent.pop("job")
        expect(sent == {"name": "small", "kind": "train", "ranks": {"min": 2, "max": 4}, "threads": 1, "priority": 5,
                        "max_restarts": 3, "model": MODEL}, f"what is sent: {sent}")
        for words in ('model: "model.yaml"', f'path: "{folder}/pictures"', f'from: "{folder}/old.safetensors"', "batch: 8"):
            expect(words in text, f"no '{words}' in the job:\n{text}")
        tutti(home, "submit", "examples/lenet.yaml", "--name", "a/\u00fc", "--quiet")
        sent = json.loads(s.asked[1][3])
        expect(sent["name"] == "a/\u00fc" and "model" not in sent and 'model: "lenet"' in sent["job"], f"{sent}")
        expect(sent["ranks"] == {"min": 2, "max": 2}, "the ranks are the job's")
        tutti(home, "submit", write(home, "\u00fc" * 65 + ".yaml", sent["job"]))
        expect(json.loads(s.asked.pop()[3])["name"] == "\u00fc" * 64, "a long name is cut behind a character")
        # the text means the same elsewhere as the job does here
        tutti(home, "submit", "examples/lenet.yaml", "--set", "steps=1")
        alone = write(folder, "alone.yaml", json.loads(s.asked[2][3])["job"])
        here, there = (tutti(home, "train", path, "--set", "steps=1", "--dry-run", "--out", f"{home}/none", folder=at)
                       for path, at in (("examples/lenet.yaml", ROOT), (alone, home)))
        expect(here[0] == 0 and comparable(here[1]) == comparable(there[1]), f"{here}\n{there}")


def test_what_cannot_be_submitted_is_not_sent(home):
    long = write(home, "long.yaml", "# " + "x" * 1100000 + MODEL)
    with Server(home, accepts) as s:
        for words, code, said in (
            (["no/such.yaml"], 2, "no/such.yaml"),
            (["examples/lenet.yaml", "--set", "bach=8"], 2, "did you mean 'batch'"),
            (["examples/lenet.yaml", "--ranks", "3"], 2, "batch"),
            (["examples/lenet.yaml", "--ranks", "4:2"], 2, "MIN:MAX"),
            (["examples/lenet.yaml", "--ranks", "1:2", "--set", "partition=2"], 2, "range"),
            (["examples/lenet.yaml", "--threads", "2"], 2, "--set threads"),
            (["examples/lenet.yaml", "--set", "model=./missing.yaml"], 2, "missing.yaml"),
            (["examples/lenet.yaml", "--set", f"model={long}"], 2, "long.yaml"),
            (["examples/lenet.yaml", "--priority", "9999"], 2, "--priority"),
            (["examples/lenet.yaml", "--idempotency-key", "a b"], 2, "--idempotency-key"),
            (["examples/lenet.yaml", "--name", ""], 2, "--name"),
            (["examples/lenet.yaml", "--name", "x" * 129], 2, "128 bytes"),
            (["examples/lenet.yaml", "--name", "a\n"], 2, "control"),
            ([], 2, "one job file is wanted"),
            (["--"], 2, "a command is wanted"),
            (["a.yaml", "--", "true"], 2, "a command is wanted"),
            (["--", "no-such-program-of-ours"], 2, "no such program"),
            (["--set", "a=b", "--", "true"], 2, "--set"),
            (["--ranks", "1:2", "--", "true"], 2, "range"),
        ):
            expect_end(tutti(home, "submit", *words), code, said, f"submit {words}")
        expect(not s.asked, f"nothing is sent: {s.asked}")


def test_a_command_is_sent_with_its_folder(home):
    folder = os.path.join(home, "here")
    os.mkdir(folder)
    os.symlink(TUTTI, os.path.join(folder, "svm-train"))
    with Server(home, accepts) as s:
        got = tutti(home, "submit", "--ranks", "2", "--threads", "3", "--", "./svm-train", "-c", "--", "\u00fc", folder=folder)
        expect_end(got, 0, "job 7", "submit a command")
        sent = json.loads(s.asked[0][3])
        expect(sent == {"name": "svm-train", "kind": "command", "ranks": {"min": 2, "max": 2}, "threads": 3, "priority": 0,
                        "max_restarts": 0, "argv": [f"{folder}/svm-train", "-c", "--", "\u00fc"], "folder": folder}, sent)
        tutti(home, "submit", "--", "sh", "-c", "exit 3", folder=folder)
        sent = json.loads(s.asked[1][3])
        expect(os.path.isabs(sent["argv"][0]) and sent["argv"][1:] == ["-c", "exit 3"], sent)
        expect_end(tutti(home, "submit", "--", "sh", b"\xff"), 2, "UTF-8", "an argument that JSON cannot hold")
        expect(len(s.asked) == 2, "... is not sent")


def test_a_torn_submission_is_repeated_with_its_key(home):
    tears = [Torn(), Torn()]

    def answer(method, path, body):
        if tears:
            raise tears.pop()
        return accepts(method, path, body)
    with Server(home, answer) as s:
        expect_end(tutti(home, "submit", "examples/lenet.yaml"), 0, "7", "submit")
        keys = [headers["Idempotency-Key"] for _, _, headers, _ in s.asked]
        expect(len(keys) == 3 and len(set(keys)) == 1 and len(keys[0]) == 32, f"three requests with one key: {keys}")
        tutti(home, "submit", "examples/lenet.yaml")
        expect(s.asked[-1][2]["Idempotency-Key"] != keys[0], "another submission has another key")
        tutti(home, "submit", "examples/lenet.yaml", "--idempotency-key", "mine.1")
        expect(s.asked[-1][2]["Idempotency-Key"] == "mine.1", "the key of the user")
        # an action is not repeated: the server may have done it
        tears.append(Torn())
        n = len(s.asked)
        expect_end(tutti(home, "stop", "7"), 4, "in the middle", "a torn stop")
        expect(len(s.asked) == n + 1, "a torn stop is sent once")


def test_refusals_are_said_in_the_servers_words(home):
    error = {"error": {"code": "not_ended", "message": "job 7 is running", "hint": "stop it first"}}
    for status, value, code, said in ((409, error, 1, "job 7 is running; stop it first"), (500, "<html>", 1, "status 500"),
                                      (401, {"error": {"code": "t", "message": "wrong token"}}, 1, f"{home}/token"),
                                      (200, "no JSON", 1, "no JSON"), (200, {"a": 1}, 1, "no id"),
                                      (302, "", 1, "status 302"), (200, "x" * (17 << 20), 1, "allowed")):
        with Server(home, lambda *_: (status, value)):
            expect_end(tutti(home, "show", "7"), code, said, f"an answer of {status}")
    for words in (["show", "x"], ["show", "0"], ["show", "99999999999999999999"], ["stop"], ["show"], ["wait", "1", "2"],
                  ["ps", "--limit", "0"], ["ps", "--state", "a&b"], ["logs", "1", "--attempt", "0"], ["rm", "1x"]):
        expect_end(tutti(home, *words), 2, "", " ".join(words))
    with socket.create_server(("127.0.0.1", 0)) as s:  # not a server of HTTP
        write(home, "address", f"http://127.0.0.1:{s.getsockname()[1]}")

        def greet():
            connection = s.accept()[0]
            connection.sendall(b"SSH-2.0-x\r\n")
            connection.recv(4096)
            connection.close()
        threading.Thread(target=greet, daemon=True).start()
        expect_end(tutti(home, "ps"), 1, "no job server", "something else that listens")


def test_jobs_are_a_table(home):
    jobs = [{**JOB, "id": 12, "state": "running", "step": 120, "steps": 500, "loss": 0.31239, "created": 880.0},
            {**JOB, "id": 7, "name": "gr\u00fcn \x1b[31m", "ranks": {"min": 2, "max": 4}, "created": 1000 - 7200}]
    with Server(home, lambda *_: (200, {"jobs": jobs, "as_of": 1000.0})) as s:
        got = tutti(home, "ps", "--state", "running", "--limit", "5")
        expect(got[1] == "id  name        state    ranks     step    loss    age\n"
                         "12  lenet       running      2  120/500  0.3124  2 min\n"
                         " 7  gr\u00fcn ?[31m  queued     2:4        -       -    2 h\n", f"the table:\n{got[1]}{got}")
        expect(s.asked[0][1] == "/api/v1/jobs?limit=5&state=running", s.asked[0][1])
        expect(json.loads(tutti(home, "ps", "--json")[1])["jobs"] == jobs, "--json is the answer")


def test_a_job_is_shown_in_full(home):
    job = {**JOB, "state": "failed", "attempt": 2, "code": 3, "cause": "bad data", "step": 4, "steps": 9, "epoch": 0.5,
           "loss": 1.25, "accuracy": 0.875, "ips": 1000, "weights": "00ff", "argv": ["/bin/x", "a"], "job": "model: lenet\n",
           "attempts": [{"number": 1, "started": 1.0, "ended": 2.0, "code": None, "cause": "lost", "engine": "local"},
                        {"number": 2, "started": 3.0, "ended": 4.0, "code": 3, "cause": None, "engine": "local"}],
           "checkpoints": [{"step": 3, "bytes": 17, "at": 3.5}], "restarts": [{"step": 2, "seconds": 0.25, "lost": 1}],
           "cost": {"compute": 1.5, "wait": 0.5}}
    with Server(home, lambda *_: (200, job)):
        code, text, _ = tutti(home, "show", "7", env={"TZ": "UTC"})
        for line in ("job 7 (lenet) failed, step 4 of 9, loss 1.2500, exit code 3: bad data", "command /bin/x a",
                     "ranks 2, threads 1, priority 0, attempt 2, none", "created 1970-01-01 00:16:40, started -, ended -",
                     "step 4 of 9, epoch 0.50, loss 1.250000, accuracy 87.50 %, 1000 samples/s",
                     "restart: went on after step 2, 250.0 ms after the loss",
                     "checkpoint: step 3, 17 bytes, 1970-01-01 00:00:03",
                     "attempt 1 by local: started 1970-01-01 00:00:01, ended 1970-01-01 00:00:02, lost",
                     "attempt 2 by local: started 1970-01-01 00:00:03, ended 1970-01-01 00:00:04, exit code 3",
                     "time: compute 1.500 s, wait 500.0 ms", "folder /f", "weights 00ff"):
            expect(code == 0 and line in text.splitlines(), f"no line '{line}' in\n{text}")
        expect(json.loads(tutti(home, "show", "7", "--json")[1]) == job, "--json is the answer")
        expect(tutti(home, "show", "7", "--job")[1] == "model: lenet\n", "--job is the job")


def test_wait_ends_with_the_jobs_code(home):
    ends = (({"state": "done", "code": 0}, 0), ({"state": "failed", "code": 3}, 3), ({"state": "lost"}, 1),
            ({"state": "stopped", "code": 143}, 143), ({"state": "stopped"}, 1), ({"state": "failed", "code": 0}, 1))
    for end, code in ends:
        states = [{"state": "queued"}, {"state": "running", "step": 1, "steps": 2}, {"state": "running"}, end]
        with Server(home, lambda *_: (200, {**JOB, **(states.pop(0) if len(states) > 1 else states[0])})):
            got = tutti(home, "wait", "7")
            expect(got[0] == code, f"{end}: {got}")
            lines = got[1].splitlines()
            expect(len(lines) == 3 and lines[1] == "job 7 (lenet) running, step 1 of 2", f"a line for each state: {lines}")
            expect(tutti(home, "wait", "7", "--quiet")[:2] == (code, ""), "--quiet prints nothing")
    with Server(home, lambda *_: (200, {**JOB, "state": "unknown"})):
        expect_end(tutti(home, "wait", "7", "--deadline", "1"), 4, "has not ended within 1 s: it is unknown", "a deadline")


def test_a_terminal_gets_one_line_that_moves(home):
    states = [{"state": "running", "step": n, "steps": 4} for n in (0, 2, 4)] + [{"state": "done", "code": 0}]
    with Server(home, lambda *_: (200, {**JOB, **(states.pop(0) if len(states) > 1 else states[0])})):
        ours, its = os.openpty()
        done = subprocess.run([TUTTI, "wait", "7", "--home", home], stdout=its, timeout=30, check=False)
        os.close(its)
        text = b""
        try:
            while piece := os.read(ours, 4096):
                text += piece
        except OSError:  # the other end is closed
            os.close(ours)
        lines = text.decode().replace("\r\n", "\n").split("\r")
        expect(done.returncode == 0 and lines[0] == "" and len(lines) == 5, f"{done.returncode} {lines}")
        expect(lines[2].startswith("job 7 (lenet) running, step 2 of 4 [############............] "), lines[2])
        expect(lines[4] == "job 7 (lenet) done\x1b[K\n", f"the last line stays: {lines[4]!r}")


def test_wait_outlives_the_server(home):
    first = Server(home, lambda *_: (200, {**JOB, "state": "running"}))
    waiting = subprocess.Popen([TUTTI, "wait", "7", "--home", home], stdout=subprocess.PIPE, text=True)
    while not first.asked:
        time.sleep(0.02)
    first.__exit__()
    time.sleep(0.5)
    os.remove(os.path.join(home, "address"))
    time.sleep(0.5)
    expect(waiting.poll() is None, "it waits for the server to come back")
    with Server(home, lambda *_: (200, {**JOB, "state": "done", "code": 0})):  # on another port
        out, _ = waiting.communicate(timeout=30)
    expect(waiting.returncode == 0 and out.splitlines()[-1] == "job 7 (lenet) done", f"{waiting.returncode} {out}")


def test_logs_are_followed_to_the_end(home):
    whole = b"".join(b"line %d \xff\n" % n for n in range(100000))
    state = {"n": 0, "asked": 0}

    def answer(method, path, body):
        if "/logs?" not in path:
            state["asked"] += 1
            state["n"] = min(len(whole), state["n"] + 700000)
            ended = state["n"] == len(whole)
            return 200, {**JOB, "attempt": int(state["asked"] > 1), "state": "done" if ended else "running"}
        words = dict(word.split("=") for word in path.partition("?")[2].split("&"))
        begin, limit = int(words["from"]), int(words["limit"])
        piece = whole[begin:min(state["n"], begin + limit)]
        expect(words["attempt"] == "1", path)
        return 200, piece, {"X-Tutti-Next": str(begin + len(piece)), "Content-Type": "text/plain"}
    with Server(home, answer):
        done = subprocess.run([TUTTI, "logs", "7", "-f", "--home", home], capture_output=True, timeout=60, check=False)
        expect(done.returncode == 0 and done.stdout == whole, f"every byte, in order: {len(done.stdout)} of {len(whole)}")
        state.update(n=0, asked=0)
        expect_end(tutti(home, "logs", "7"), 0, "not been started", "a job that waits")


def test_actions_are_taken_one_by_one(home):
    def answer(method, path, body):
        if method == "DELETE":
            return 204, ""
        return 202, {**JOB, "id": int(path.split("/")[4]), "state": "running"}
    with Server(home, answer) as s:
        expect_end(tutti(home, "stop", "7", "8"), 0, "job 8 (lenet) running", "stop")
        expect([body for *_, body in s.asked] == [b"", b""], "stop says no more")
        expect_end(tutti(home, "stop", "8", "--now"), 0, "job 8", "stop --now")
        expect(json.loads(s.asked.pop()[3]) == {"now": True}, "stop --now says so")
        expect_end(tutti(home, "resume", "9"), 0, "job 9", "resume")
        expect_end(tutti(home, "rm", "7"), 0, "job 7 removed", "rm")
        expect([(m, p) for m, p, _, _ in s.asked] ==
               [("POST", "/api/v1/jobs/7/stop"), ("POST", "/api/v1/jobs/8/stop"), ("POST", "/api/v1/jobs/9/resume"),
                ("DELETE", "/api/v1/jobs/7")], s.asked)
        port = s.http.server_port
        expect(tutti(home, "serve", "--link")[1] == f"http://127.0.0.1:{port}/#token={TOKEN}\n", "the link of the page")
        token = write(home, "elsewhere", TOKEN)
        env = {"TUTTI_HOME": "", "TUTTI_SERVER": f"http://localhost:{port}/", "TUTTI_TOKEN_FILE": token}
        expect_end(tutti(home, "stop", "7", env=env), 0, "job 7", "an address in the environment")


run_tests(globals())
