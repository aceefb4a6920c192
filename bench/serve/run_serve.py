# SPDX-License-Identifier: Apache-2.0
"""run_serve.py BUILD [--pages N] [--minutes M] [--json FILE]: see run. There is no peer: rows say what the server does.

A page is played as the browser plays it: one stream of events, the job and its log each second, five curves of 500
points every two seconds; but each has a stream of its own, as pages of different browsers have."""
import argparse
import asyncio
import json
import math
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/serve")]
from interface import JOB, Server  # noqa: E402
from table import Table  # noqa: E402

SUBMITS, POINTS, TAGS = 200, 1_000_000, ("loss", "accuracy", "step_ms", "comm_ms", "ips")


class Client:
    """One connection that is kept."""

    def __init__(self, server):
        self.server = server

    async def connect(self):
        host, port = self.server.base.removeprefix("http://").split(":")
        self.reader, self.writer = await asyncio.open_connection(host, int(port), limit=1 << 20)
        return self

    async def ask(self, path, method="GET", body=None):
        """Returns the status and the bytes of an answer."""
        data = b"" if body is None else json.dumps(body).encode()
        head = (f"{method} {path} HTTP/1.1\r\nHost: {self.server.base[7:]}\r\nAuthorization: Bearer {self.server.token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n")
        self.writer.write(head.encode() + data)
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        length = next(int(line[15:]) for line in lines if line.lower().startswith("content-length:"))
        return int(lines[0].split()[1]), await self.reader.readexactly(length)

    async def listen(self):
        """Reads the stream of events; returns how many came."""
        self.writer.write((f"GET /api/v1/events HTTP/1.1\r\nHost: {self.server.base[7:]}\r\n"
                           f"Authorization: Bearer {self.server.token}\r\nAccept: text/event-stream\r\n\r\n").encode())
        n = 0
        try:
            while piece := await self.reader.read(1 << 16):
                n += piece.count(b"event: ")
        except asyncio.CancelledError:
            pass
        return n


def command(name):
    return {"name": name, "kind": "command", "argv": ["sleep", "100000"], "folder": "/",
            "ranks": {"min": 2, "max": 2}, "threads": 64}


async def submit(server, nclients):
    """Submits of that many clients together, in a second."""
    clients = [await Client(server).connect() for _ in range(nclients)]

    async def one(client, n):
        for i in range(n):
            status, body = await client.ask("/api/v1/jobs", "POST", command(f"queued {i}"))
            assert status == 201, body

    begin = time.monotonic()
    await asyncio.gather(*(one(client, SUBMITS // nclients) for client in clients))
    return SUBMITS / (time.monotonic() - begin)


async def time_of(client, path, times=30):
    """The median seconds of an answer, and its bytes."""
    seconds = []
    for _ in range(times):
        begin = time.monotonic()
        status, body = await client.ask(path)
        seconds.append(time.monotonic() - begin)
        assert status == 200, body
    return statistics.median(seconds), len(body)


async def wait(client, job, want):
    while True:
        shown = json.loads((await client.ask(f"/api/v1/jobs/{job}"))[1])
        if want(shown):
            return shown
        assert shown["state"] not in ("failed", "lost"), shown["cause"]
        await asyncio.sleep(0.1)


async def ask_for_a_million(server, client, table):
    """Puts a long run's numbers in the place of those of a short one."""
    body = {"name": "short", "kind": "train", "job": JOB % 20, "ranks": {"min": 1, "max": 1}}
    job = json.loads((await client.ask("/api/v1/jobs", "POST", body))[1])["id"]
    await wait(client, job, lambda shown: shown["state"] == "done")
    with open(f"{server.home}/jobs/{job}/run/metrics.jsonl", "w", encoding="utf-8") as file:
        for i in range(1, POINTS + 1):
            loss = 1 / (1 + 1e-4 * i) + 0.01 * math.sin(i)
            file.write(f'{{"ev":"step","step":{i},"epoch":{i / 156:.4f},"loss":{loss:.10g},"lr":0.05,"ips":54236.3,'
                       '"step_ms":1.18,"comm_ms":0.49,"ts":1795261234.5}\n')
    path, begin = f"/api/v1/jobs/{job}/series?tag=loss&points=1000", time.monotonic()
    while json.loads((await client.ask(path))[1])["total"] < POINTS:
        pass
    table.row("reading a run of a million lines", "s", time.monotonic() - begin, "-", None)
    seconds, nbytes = await time_of(client, path)
    table.row("a curve of a million points in 1000", "ms", 1e3 * seconds, "-", None, 50)
    table.row("bytes of this curve", "kB", 1e-3 * nbytes, "-", None, 200)


async def play_page(server, job, end, seconds):
    """One page until a time; puts the seconds of its looks at the job into a list. Returns its events."""
    client = await Client(server).connect()
    stream = asyncio.create_task((await Client(server).connect()).listen())
    for n in range(1 << 30):
        begin = time.monotonic()
        if begin > end:
            break
        status, body = await client.ask(f"/api/v1/jobs/{job}")
        seconds.append(time.monotonic() - begin)
        assert status == 200, body
        await client.ask(f"/api/v1/jobs/{job}/logs?from=-2000&limit=2000")
        for tag in TAGS if n % 2 == 0 else ():
            await client.ask(f"/api/v1/jobs/{job}/series?tag={tag}&points=500")
        await asyncio.sleep(max(0, begin + 1 - time.monotonic()))
    stream.cancel()
    return await stream


def memory_of(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(text.split("VmRSS:")[1].split()[0]) * 1024


def core_seconds(pid):
    words = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


async def open_pages(server, client, options, table):
    body = {"name": "at work", "kind": "train", "job": JOB % 1000000000, "ranks": {"min": 1, "max": 1}}
    body["job"] = body["job"].replace("log_every: 2", "log_every: 500")
    job = json.loads((await client.ask("/api/v1/jobs", "POST", body))[1])["id"]
    await wait(client, job, lambda shown: shown["step"] and shown["step"] > 1000)
    pid, seconds, begin = server.process.pid, [], time.monotonic()
    end, used = begin + 60 * options.minutes, core_seconds(server.process.pid)
    pages = [asyncio.create_task(play_page(server, job, end, seconds)) for _ in range(options.pages)]
    await asyncio.sleep(12 * options.minutes)
    early = memory_of(pid)
    events = await asyncio.gather(*pages)
    late, elapsed = memory_of(pid), time.monotonic() - begin
    assert min(events) > 0, "a page heard nothing"
    case = f"{options.pages} pages for {options.minutes:g} min"
    table.row(f"{case}: a look at the job", "ms", 1e3 * statistics.median(seconds), "-", None)
    table.row(f"{case}: slowest of 100 looks", "ms", 1e3 * sorted(seconds)[len(seconds) * 99 // 100], "-", None)
    table.row(f"{case}: share of a core", "%", 100 * (core_seconds(pid) - used) / elapsed, "-", None)
    table.row(f"{case}: memory", "MB", 1e-6 * late, "after a fifth", 1e-6 * early)
    client = await Client(server).connect()  # a new one: the server has ended a connection that was silent for minutes
    await client.ask(f"/api/v1/jobs/{job}/stop", "POST", {"now": True})
    await wait(client, job, lambda shown: shown["state"] == "stopped")


async def measure(server, options, table):
    client = await Client(server).connect()
    await ask_for_a_million(server, client, table)
    await open_pages(server, client, options, table)
    client = await Client(server).connect()
    first = json.loads((await client.ask("/api/v1/jobs", "POST", command("at work")))[1])["id"]
    await wait(client, first, lambda shown: shown["state"] != "queued")  # the others wait behind it
    table.row("submits, one client", "1/s", await submit(server, 1), "-", None, more_is_better=True)
    table.row("submits, eight clients", "1/s", await submit(server, 8), "-", None, more_is_better=True)
    for limit in (50, 400):
        seconds, _ = await time_of(client, f"/api/v1/jobs?limit={limit}")
        table.row(f"list of {limit} of 403 jobs", "ms", 1e3 * seconds, "-", None)
    used = core_seconds(server.process.pid)
    await asyncio.sleep(10)
    table.row("share of a core with 400 queued jobs", "%", 10 * (core_seconds(server.process.pid) - used), "-", None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    table = Table("serve", options.json)
    with Server(f"{options.build}/tutti-server", os.path.abspath(f"{options.build}/tutti")) as server:
        asyncio.run(measure(server, options, table))


if __name__ == "__main__":
    main()
