#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives tutti-server over HTTP with short commands: states, stops, priorities, keys, who may ask, and kills.

usage: test_server.py TUTTI_SERVER [PART...] [--kills N]
PART: a name of a test without "test_"; none: all but kills
--kills N: part "kills": the server is killed N times while jobs are submitted and stopped
exit 0: all held; 1: one did not
"""
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

DEADLINE_S = 20
ENDS = ("done", "failed", "stopped", "lost")


class Server:
    """A server on a folder of its own; started again as often as a test likes."""

    def __init__(self, program, home, *flags):
        self.program, self.home, self.flags, self.process = program, home, flags, None
        self.start()

    def start(self):
        address = os.path.join(self.home, "address")
        if os.path.exists(address):  # of a server that was killed
            os.unlink(address)
        argv = [self.program, "--home", self.home, "--port", "0", *self.flags]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
        end = time.monotonic() + DEADLINE_S
        while not os.path.exists(address):
            assert time.monotonic() < end and self.process.poll() is None, "the server does not start"
            time.sleep(0.005)
        self.port = int(open(address).read().strip().rsplit(":", 1)[1])
        self.token = open(os.path.join(self.home, "token")).read().strip()
        self.read_token = open(os.path.join(self.home, "token-read")).read().strip()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(DEADLINE_S) == 0

    def raw(self, method, path, body=None, headers=None):
        """The answer's code, headers and bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def ask(self, method, path, body=None, **headers):
        all_headers = {"Authorization": "Bearer " + self.token, **{k.replace("_", "-"): v for k, v in headers.items()}}
        text = None
        if body is not None:
            all_headers["Content-Type"] = "application/json"
            text = json.dumps(body)
        code, _, answer = self.raw(method, path, text, all_headers)
        return code, json.loads(answer) if answer else None

    def submit(self, *argv, folder="/", key=None, **more):
        headers = {"Idempotency_Key": key} if key else {}
        code, job = self.ask("POST", "/api/v1/jobs", {"kind": "command", "argv": argv, "folder": folder, **more}, **headers)
        assert code in (200, 201), job
        return job["id"]

    def job(self, number):
        code, job = self.ask("GET", f"/api/v1/jobs/{number}")
        assert code == 200, job
        return job

    def await_state(self, number, *states):
        end = time.monotonic() + DEADLINE_S
        while True:
            job = self.job(number)
            if job["state"] in states:
                return job
            assert time.monotonic() < end and job["state"] not in ENDS, f"job {number} is {job['state']}, not {states}: {job}"
            time.sleep(0.02)

    def events(self, after=0):
        code, answer = self.ask("GET", f"/api/v1/events?after={after}", Accept="application/json")
        assert code == 200, answer
        return answer["events"]


def equal(got, wanted, what=""):
    assert got == wanted, f"{what}: {got!r} and not {wanted!r}"


# ---- states ----


def test_ends(server, folder):
    """A job ends as its command does, and its log and events tell of it."""
    good = server.submit("sh", "-c", "echo out; echo err >&2", name="good")
    bad = server.submit("sh", "-c", "echo why it failed; exit 7")
    missing = server.submit("/no/such/program")
    nowhere = server.submit("true", folder="/no/such/folder")
    job = server.await_state(good, "done")
    equal((job["code"], job["cause"], job["attempt"], job["name"]), (0, None, 1, "good"))
    assert job["created"] <= job["started"] <= job["ended"], job
    equal([e["state"] for e in server.events() if e["job"] == good and e["state"] != "running"], ["queued", "placing", "done"])
    job = server.await_state(bad, "failed")
    equal((job["code"], job["cause"]), (7, "ended with 7: why it failed"))
    job = server.await_state(missing, "failed")
    equal(job["code"], 127)
    assert "No such file" in job["cause"], job
    assert "/no/such/folder" in server.await_state(nowhere, "failed")["cause"]
    code, headers, text = server.raw("GET", f"/api/v1/jobs/{good}/logs", headers={"Authorization": "Bearer " + server.token})
    equal((code, sorted(text.split()), headers["X-Tutti-Next"]), (200, [b"err", b"out"], "8"))
    code, headers, text = server.raw("GET", f"/api/v1/jobs/{bad}/logs?from=-7&limit=3",
                                     headers={"Authorization": "Bearer " + server.token})
    equal((code, text, headers["X-Tutti-Next"]), (200, b"fai", "10"))


def test_stops(server, folder):
    """A stop asks to save first; a stop at once kills; a job in the queue never begins."""
    traps = server.submit("sh", "-c", "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    deaf = server.submit("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    queued = server.submit("touch", os.path.join(folder, "never"), priority=-1)
    for number in (traps, deaf):
        server.await_state(number, "running")
        await_log(server, number, b"ready")
    for number in (queued, traps, deaf):  # the queued one first, while nothing is free
        code, job = server.ask("POST", f"/api/v1/jobs/{number}/stop")
        equal(code, 202)
    job = server.await_state(queued, "stopped")
    equal((job["attempt"], job["attempts"]), (0, []))
    job = server.await_state(traps, "stopped")
    equal(job["code"], 0)
    await_log(server, traps, b"saved\n")
    time.sleep(0.5)
    for _ in range(3):  # asking again is the same wish
        equal(server.ask("POST", f"/api/v1/jobs/{deaf}/stop")[0], 202)
    time.sleep(2)
    equal(server.job(deaf)["state"], "running")
    equal(server.ask("POST", f"/api/v1/jobs/{deaf}/stop", {"now": True})[0], 202)
    job = server.await_state(deaf, "stopped")
    equal(job["code"], 128 + signal.SIGKILL)
    equal(server.ask("POST", f"/api/v1/jobs/{deaf}/stop")[0], 409)
    assert not os.path.exists(os.path.join(folder, "never"))


def await_log(server, number, text):
    end = time.monotonic() + DEADLINE_S
    while True:
        _, _, log = server.raw("GET", f"/api/v1/jobs/{number}/logs", headers={"Authorization": "Bearer " + server.token})
        if text in log:
            return
        assert time.monotonic() < end, log
        time.sleep(0.02)


def test_resumes(server, folder):
    """A job that has failed is run again as a second attempt; what cannot be resumed or removed is refused."""
    mark = os.path.join(folder, "mark")
    number = server.submit("sh", "-c", f"test -e {mark} || {{ touch {mark}; exit 1; }}")
    server.await_state(number, "failed")
    equal(server.ask("POST", f"/api/v1/jobs/{number}/resume")[0], 202)
    job = server.await_state(number, "done")
    equal([(a["number"], a["code"]) for a in job["attempts"]], [(1, 1), (2, 0)])
    code, answer = server.ask("POST", f"/api/v1/jobs/{number}/resume")
    equal((code, answer["error"]["code"]), (409, "wrong_state"))
    equal(server.ask("POST", f"/api/v1/jobs/{number}/report")[0], 409)
    runs = server.submit("sleep", "60")
    server.await_state(runs, "running")
    equal(server.ask("DELETE", f"/api/v1/jobs/{runs}")[0], 409)
    equal(server.ask("POST", f"/api/v1/jobs/{runs}/stop")[0], 202)
    server.await_state(runs, "stopped")
    equal(server.ask("DELETE", f"/api/v1/jobs/{runs}")[0], 204)
    equal(server.ask("GET", f"/api/v1/jobs/{runs}")[0], 404)
    end = time.monotonic() + DEADLINE_S
    while os.path.exists(os.path.join(server.home, "jobs", str(runs))):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_queue(server, folder):
    """Priorities go first, then ids; what does not fit waits and is not overtaken; what is too wide runs alone."""
    def submit(name, ranks, priority=0):
        return server.submit("sleep", "0.3", name=name, ranks={"min": 1, "max": ranks}, priority=priority)

    holder = server.submit("sleep", "0.5", ranks={"min": 2, "max": 2})
    server.await_state(holder, "running")
    numbers = [submit("low", 1, -1), submit("wide", 5), submit("narrow", 1), submit("first", 2, 7)]
    for number in numbers:
        server.await_state(number, "done")
    jobs = {number: server.job(number) for number in numbers}
    order = sorted(jobs.values(), key=lambda job: job["started"])
    equal([job["name"] for job in order], ["first", "wide", "narrow", "low"])
    for other in (holder, *numbers[2:]):
        assert not overlap(jobs[numbers[1]], server.job(other)), "the job that is too wide did not run alone"
    assert overlap(jobs[numbers[0]], jobs[numbers[2]]), "two that fit did not run together"


def overlap(a, b):
    return a["started"] < b["ended"] and b["started"] < a["ended"]


def test_keys(server, folder):
    """A key makes one job, however often it comes; submissions that make no sense are refused."""
    first = server.submit("true", key="a key")
    equal(server.submit("true", key="a key"), first)
    assert server.submit("true", key="another") != first
    wrong = [{}, [], {"kind": "command"}, {"kind": "command", "argv": [], "folder": "/"}, {"kind": "train"},
             {"kind": "command", "argv": ["true"], "folder": "relative"}, {"kind": "command", "argv": [1], "folder": "/"},
             {"kind": "command", "argv": ["true"], "folder": "/", "ranks": {"min": 2, "max": 1}},
             {"kind": "command", "argv": ["true"], "folder": "/", "priorty": 1},
             {"kind": "command", "argv": ["true"], "folder": "/", "threads": 1.5},
             {"kind": "command", "argv": ["true"], "folder": "/", "name": "a\nb"}]
    for body in wrong:
        code, answer = server.ask("POST", "/api/v1/jobs", body)
        equal((code, answer["error"]["code"]), (400, "wrong_job"), body)
    listed = server.ask("GET", "/api/v1/jobs?limit=2")[1]["jobs"]
    equal([j["id"] for j in listed], [first + 1, first])
    equal([j["id"] for j in server.ask("GET", f"/api/v1/jobs?after={first + 1}&limit=1")[1]["jobs"]], [first])
    server.await_state(first, "done")
    server.await_state(first + 1, "done")
    equal(server.ask("GET", "/api/v1/jobs?state=failed")[1]["jobs"], [])
    equal(server.ask("GET", "/api/v1/jobs?limit=0")[0], 400)


# ---- who may ask ----


def test_who_may_ask(server, folder):
    """Without a token, with a foreign Host or Origin, or with the token that reads, nothing can be changed."""
    operate, read = {"Authorization": "Bearer " + server.token}, {"Authorization": "Bearer " + server.read_token}
    json_type = {"Content-Type": "application/json"}
    job = json.dumps({"kind": "command", "argv": ["true"], "folder": "/"})
    cases = [("GET", "/healthz", None, {}, 200), ("GET", "/readyz", None, {}, 200), ("GET", "/", None, {}, 200),
             ("GET", "/metrics", None, {}, 401), ("GET", "/metrics", None, read, 200),
             ("GET", "/api/v1/jobs", None, {}, 401), ("GET", "/api/v1/jobs", None, {"Authorization": "Bearer x"}, 401),
             ("GET", "/api/v1/jobs", None, {"Authorization": "Basic " + server.token}, 401),
             ("GET", "/api/v1/jobs", None, read, 200), ("HEAD", "/api/v1/jobs", None, read, 200),
             ("POST", "/api/v1/jobs", job, {**read, **json_type}, 403), ("POST", "/api/v1/jobs", job, json_type, 401),
             ("POST", "/api/v1/jobs", job, {**operate, "Content-Type": "text/plain"}, 415),
             ("POST", "/api/v1/jobs", "x" * (1 << 20) + "y", {**operate, **json_type}, 413),
             ("POST", "/api/v1/jobs", job, {**operate, **json_type, "Origin": "http://evil.example"}, 403),
             ("POST", "/api/v1/jobs", job, {**operate, **json_type, "Origin": "null"}, 403),
             ("POST", "/api/v1/jobs", job, {**operate, **json_type, "Origin": f"http://127.0.0.1:{server.port}"}, 201),
             ("GET", "/api/v1/jobs", None, {**operate, "Host": "evil.example"}, 421),
             ("GET", "/api/v1/jobs", None, {**operate, "Host": f"evil.example:{server.port}"}, 421),
             ("GET", "/api/v1/jobs", None, {**operate, "Host": f"127.0.0.1:{server.port + 1}"}, 421),
             ("GET", "/api/v1/jobs", None, {**operate, "Host": f"localhost:{server.port}"}, 200),
             ("PUT", "/api/v1/jobs", None, operate, 405), ("GET", "/api/v1/nothing", None, operate, 404),
             ("GET", "/api/v1/jobs/0", None, operate, 404), ("GET", "/api/v1/jobs/x", None, operate, 404),
             ("GET", "/../token", None, operate, 404), ("GET", "/%2e%2e/token", None, operate, 404)]
    for method, path, body, headers, wanted in cases:
        code, got, _ = server.raw(method, path, body, headers)
        equal(code, wanted, f"{method} {path} {headers}")
        equal(got["X-Content-Type-Options"], "nosniff")
        assert got["Content-Security-Policy"].startswith("default-src 'self'") and "Access-Control-Allow-Origin" not in got
    no_host = b"GET /healthz HTTP/1.0\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), DEADLINE_S) as s:
        s.sendall(no_host)
        assert b" 400 " in s.recv(100)


def test_sessions(server, folder):
    """A browser gives the token once and has a cookie then, until it signs out."""
    def begin(token):
        return server.raw("POST", "/api/v1/session", json.dumps({"token": token}), {"Content-Type": "application/json"})

    equal(begin("wrong")[0], 401)
    code, headers, _ = begin(server.read_token)
    equal(code, 204)
    cookie, *rest = headers["Set-Cookie"].split("; ")
    equal(sorted(rest), ["HttpOnly", "Path=/", "SameSite=Strict"])
    equal(server.raw("GET", "/api/v1/jobs", None, {"Cookie": "a=b; " + cookie})[0], 200)
    equal(json.loads(server.raw("GET", "/api/v1/version", None, {"Cookie": cookie})[2])["role"], "read")
    equal(server.raw("POST", "/api/v1/jobs/1/stop", None, {"Cookie": cookie})[0], 403)
    equal(server.raw("GET", "/api/v1/jobs", None, {"Cookie": cookie[:-1] + "x"})[0], 401)
    equal(server.raw("DELETE", "/api/v1/session", None, {"Cookie": cookie})[0], 204)
    equal(server.raw("GET", "/api/v1/jobs", None, {"Cookie": cookie})[0], 401)


def try_to_serve(server, home, *flags):
    argv = [server.program, "--home", home, "--port", "0", *flags]
    return subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S)


def test_folder(server, folder):
    """The folder is closed to others; a second server on it is refused and names the first one."""
    equal(os.stat(server.home).st_mode & 0o777, 0o700)
    for name in ("token", "token-read", "store.sqlite", "address"):
        equal(os.stat(os.path.join(server.home, name)).st_mode & 0o777, 0o600, name)
    second = try_to_serve(server, server.home)
    equal(second.returncode, 2)
    assert f"process {server.process.pid} serves" in second.stderr, second.stderr
    open_door = try_to_serve(server, folder + "/x", "--address", "0.0.0.0")
    equal(open_door.returncode, 2)
    assert "--token-file" in open_door.stderr, open_door.stderr
    server.stop()
    assert not os.path.exists(os.path.join(server.home, "address"))
    server.start()


# ---- events ----


def test_events(server, folder):
    """A stream tells each state once, in order, and goes on behind the event that the client has had."""
    def read(sock, until):
        text = b""
        while until not in text:
            got = sock.recv(65536)
            assert got, text
            text += got
        return text

    def stream(last):
        sock = socket.create_connection(("127.0.0.1", server.port), DEADLINE_S)
        sock.settimeout(DEADLINE_S)
        sock.sendall((f"GET /api/v1/events HTTP/1.1\r\nHost: localhost:{server.port}\r\n"
                      f"Authorization: Bearer {server.read_token}\r\n{last}\r\n").encode())
        return sock

    with stream("") as sock:
        head = read(sock, b"retry: 1000\n\n")
        assert b"200 OK" in head and b"text/event-stream" in head, head
        number = server.submit("true")
        text = read(sock, b'"state":"done"')
    ids = [int(line[4:]) for line in text.decode().splitlines() if line.startswith("id: ")]
    assert ids == list(range(ids[0], ids[0] + len(ids))) and f'"job":{number}'.encode() in text, text
    with stream(f"Last-Event-ID: {ids[0]}\r\n") as sock:
        again = read(sock, b'"state":"done"')
    equal([int(line[4:]) for line in again.decode().splitlines() if line.startswith("id: ")], ids[1:])
    equal([e["id"] for e in server.events(ids[0])], ids[1:])


# ---- ends of the server ----


def test_restarts(server, folder):
    """A killed server stops no job: the next one finds it running, stops it, and starts what was in the queue."""
    count = os.path.join(folder, "count")
    runs = server.submit("sh", "-c", f"echo x >>{count}; trap 'exit 3' TERM; while :; do sleep 0.02; done", ranks={"min": 2})
    waits = server.submit("true")
    ended = server.submit("true", priority=-1)
    server.await_state(runs, "running")
    server.kill()
    time.sleep(0.2)
    server.start()
    equal((server.job(runs)["state"], server.job(waits)["state"]), ("running", "queued"))
    equal(server.ask("POST", f"/api/v1/jobs/{runs}/stop")[0], 202)
    equal(server.await_state(runs, "stopped")["code"], 3)
    server.await_state(waits, "done")
    server.await_state(ended, "done")
    equal(open(count).read(), "x\n")
    # one ends while no server runs; of another the keeper is killed
    short, long = server.submit("sh", "-c", "sleep 0.4; exit 5"), server.submit("sleep", "60")
    server.await_state(short, "running")
    server.await_state(long, "running")
    server.kill()
    lease = json.load(open(os.path.join(server.home, "jobs", str(long), "attempt-1", "lease")))
    os.kill(lease["pid"], signal.SIGKILL)
    time.sleep(0.7)
    server.start()
    job = server.job(short)
    equal((job["state"], job["code"], job["attempt"]), ("failed", 5, 1))
    equal(server.job(long)["state"], "lost")


def kill_at_random(server, folder, nkills):
    """Kills the server at random moments of submits and stops. Each job exists once, each attempt ran once."""
    rng, accepted, wanted = random.Random(nkills), {}, set()
    done, lock = threading.Event(), threading.Lock()

    def ask(method, path, body=None, **headers):
        """Asks until there is an answer, as a client that retries: None when time is over."""
        end = time.monotonic() + 4 * DEADLINE_S
        while time.monotonic() < end:
            try:
                return server.ask(method, path, body, **headers)
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                time.sleep(0.01)
        raise AssertionError("the server does not answer")

    def client(which):
        own, n = random.Random(1000 * nkills + which), 0
        while not done.is_set():
            n += 1
            key = f"{which}-{n}"
            script = f"echo x >>{folder}/{key}; sleep {own.choice(('0', '0.05', '0.3'))}; exit {own.choice('03')}"
            code, job = ask("POST", "/api/v1/jobs", {"kind": "command", "argv": ["sh", "-c", script], "folder": "/"},
                            Idempotency_Key=key)
            assert code in (200, 201), job
            with lock:
                accepted[key] = job["id"]
            if own.random() < 0.3:
                code, _ = ask("POST", f"/api/v1/jobs/{job['id']}/stop")
                assert code in (202, 409), code  # 409, too, if an answer was lost and the job has stopped since
                with lock:
                    wanted.add(key)
            time.sleep(own.random() * 0.1)

    clients = [threading.Thread(target=client, args=(i,), daemon=True) for i in range(2)]
    for thread in clients:
        thread.start()
    for _ in range(nkills):
        time.sleep(rng.random() * 0.3)
        server.kill()
        server.start()
    done.set()
    for thread in clients:
        thread.join(5 * DEADLINE_S)
        assert not thread.is_alive()
    return accepted, wanted


def test_kills(server, folder, nkills=20):
    """No kill of the server loses a job, doubles one, or starts an attempt a second time."""
    accepted, wanted = kill_at_random(server, folder, nkills)
    for key, number in accepted.items():
        job = server.await_state(number, *ENDS)
        runs = os.path.join(folder, key)
        nruns = len(open(runs).read().split()) if os.path.exists(runs) else 0
        state, attempts = job["state"], len(job["attempts"])
        assert state in ("done", "failed", "stopped"), job
        assert attempts <= 1 and nruns <= 1, f"{key} ran {nruns} times in {attempts} attempts: {job}"
        assert state == "stopped" or nruns == 1, f"{key} is {state} and never ran"
        assert state != "stopped" or key in wanted, f"{key} was stopped and nobody asked"
    listed, after = [], 0
    while True:
        page = server.ask("GET", f"/api/v1/jobs?limit=1000&after={after}")[1]["jobs"]
        listed += [job["id"] for job in page]
        if not page:
            break
        after = page[-1]["id"]
    equal(sorted(listed), sorted(accepted.values()), "jobs in the store and jobs that were accepted")
    equal(len(set(accepted.values())), len(accepted), "two keys share a job")
    ends = [e["job"] for e in server.events() if e["state"] in ENDS]
    equal(len(ends), len(set(ends)), "a job ended twice")
    print(f"{nkills} kills, {len(accepted)} jobs, {len(wanted)} asked to stop")


def main():
    arguments = sys.argv[1:]
    nkills = 20
    if "--kills" in arguments:
        at = arguments.index("--kills")
        nkills = int(arguments[at + 1])
        del arguments[at:at + 2]
    program, parts = os.path.abspath(arguments[0]), arguments[1:]
    tests = {name[5:]: test for name, test in globals().items() if name.startswith("test_")}
    failed = 0
    for name in parts or [n for n in tests if n != "kills"]:
        with tempfile.TemporaryDirectory() as folder:
            server = Server(program, os.path.join(folder, "home"), "--cores", "2")
            begin = time.monotonic()
            try:
                tests[name](server, folder, *([nkills] if name == "kills" else []))
                print(f"ok   {name} ({time.monotonic() - begin:.1f} s)", flush=True)
            except AssertionError as problem:
                failed += 1
                print(f"FAIL {name}: {problem}", flush=True)
            finally:
                for job in server.ask("GET", "/api/v1/jobs?limit=1000")[1]["jobs"]:
                    if job["state"] not in ENDS:
                        server.ask("POST", f"/api/v1/jobs/{job['id']}/stop", {"now": True})
                        server.await_state(job["id"], *ENDS)
                server.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
