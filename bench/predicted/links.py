# SPDX-License-Identifier: Apache-2.0
"""links.py: exchanges over shaped links between namespaces, measured and predicted by figures that were fitted to
other traffic.

Fitted on a star of P hosts: the payload rate of plain TCP streams between two of them, the fastest of three; a step of
recursive doubling of 64 to 256 bytes among all P, in which each has one message: hosts that are namespaces share
cores, so that the work for a message grows with them; what each message more costs, from all-gathers by `direct` of as
few; and from the same of 1 to 2 MiB a rank, what a port loses for each further sender (`incast`). `burst` is how the
links were shaped. Nothing of that is judged."""
import dataclasses
import json
import math
import subprocess
import sys

import lab

MIB, STREAM_BYTES = 1 << 20, 16_000_000
PASSES, SHORT_S = 3, 0.02
SMALL, LARGE = (64, 128, 256), (MIB, 3 * MIB // 2, 2 * MIB)  # bytes of a rank
STREAM = """
import socket, sys, time
if sys.argv[1] == "listen":
    with socket.create_server(("0.0.0.0", 5001)) as s:
        c, _ = s.accept()
        c.recv(1)
        begin, buffer = time.monotonic(), bytearray(1 << 20)
        while c.recv_into(buffer):
            pass
        print(time.monotonic() - begin)
else:
    for _ in range(200):
        try:
            c = socket.create_connection((sys.argv[2], 5001))
            break
        except OSError:
            time.sleep(0.05)
    c.sendall(bytes(int(sys.argv[1])))
    c.close()
"""


class Hosts(lab.Lab):
    """Predictions have links and no congestion control: hosts use the plainest there is, which any kernel allows in a
    namespace. BBR paces what it
    sends by what it saw before, so that 16 KiB that idled take three times as long."""

    def __init__(self, nhosts: int, rate: str) -> None:
        super().__init__(nhosts, rate, congestion="reno")


@dataclasses.dataclass
class Figures:
    rate: str       # as given to tc
    bw: float       # payload bytes a second
    lat: float      # seconds
    soft: float
    incast: float

    def star(self) -> str:
        return f"star,bw={self.bw:.9g}B,{self.rest()}"

    def cluster(self, nhosts: int, ranks: int) -> str:
        return f"cluster,hosts={nhosts},ranks={ranks},nic={self.bw:.9g}B,{self.rest()}"

    def rest(self) -> str:
        return f"lat={self.lat:.9g}s,soft={self.soft:.9g}s,incast={self.incast:.6f},burst={lab.burst_of(self.rate)}B"

    def words(self) -> str:
        return (f"{8e-6 * self.bw:.1f} Mbit/s of payload, lat {1e6 * self.lat:.1f} us, soft {1e6 * self.soft:.1f} us, "
                f"incast {100 * self.incast:.1f} %")


def measure(hosts: lab.Lab,
            build: str,
            ranks_a_host: int,
            cases: list[str],
            seconds: float,
            collective: str = "allreduce") -> dict[str, float]:
    """Seconds of each ALGORITHM@BYTES."""
    ranks = hosts.run(ranks_a_host, [f"{build}/bench/bench_links", f"{seconds:g}", collective, *cases],
                      {"TUTTI_WIRE": "tcp"}, 600)
    if ranks[0].process.returncode:
        raise RuntimeError("\n".join(rank.text for rank in ranks)[-2000:])
    return {case: float(s) for case, s in (line.split() for line in ranks[0].text.splitlines())}


def measure_again(hosts: lab.Lab,
                  build: str,
                  ranks_a_host: int,
                  cases: list[str],
                  seconds: float,
                  collective: str = "allreduce") -> dict[str, float]:
    """The least of PASSES, of cases that are waits more than transfers: what else runs on the machine holds them up
    for seconds at a time."""
    out = measure(hosts, build, ranks_a_host, cases, seconds, collective)
    short = [case for case, s in out.items() if s < SHORT_S]
    for _ in range(PASSES - 1 if short else 0):
        for case, s in measure(hosts, build, ranks_a_host, short, seconds, collective).items():
            out[case] = min(out[case], s)
    return out


def fit(build: str, rate: str, nhosts: int, seconds: float) -> Figures:
    with Hosts(nhosts, rate) as hosts:
        once = min(measure_again(hosts, build, 1, [f"recursive-doubling@{k}"
                                                   for k in SMALL], seconds).values()) / math.log2(nhosts)
    with Hosts(max(nhosts, 4), rate) as many:
        n = many.nhosts
        at_once = measure_again(many, build, 1, [f"direct@{k * n}" for k in (*SMALL, *LARGE)], seconds, "all-gather")
        bw = max(stream_rate(many) for _ in range(3))
    soft = min(once, max(0, (min(at_once[f"direct@{k * n}"] for k in SMALL) - once) / (n - 2)))
    slower = min(at_once[f"direct@{k * n}"] * bw / ((n - 1) * k)
                 for k in LARGE)  # the others have waited for a lost packet's timer
    return Figures(rate, bw, once - soft, soft, max(0, slower - 1) / (n - 2))


def stream_rate(hosts: lab.Lab) -> float:
    """Payload bytes a second of a TCP stream from host 0 to host 1, but for what the links let through at once."""
    nbytes = STREAM_BYTES
    listen = subprocess.Popen(hosts.inside(1, [sys.executable, "-c", STREAM, "listen"]), stdout=subprocess.PIPE, text=True)
    subprocess.run(hosts.inside(0, [sys.executable, "-c", STREAM, str(nbytes), "10.77.0.2"]), check=True)
    seconds = float(listen.communicate(timeout=120)[0])
    return (nbytes - lab.burst_of(hosts.rate)) / seconds


def explained(build: str, topology: str, nranks: int, nbytes: int) -> dict[str, float]:
    """Predicted seconds of each algorithm, by its name with parameters."""
    done = subprocess.run([
        f"{build}/tutti", "coll", "explain", "--bytes", f"{nbytes}B", "--ranks",
        str(nranks), "--topology", topology, "--all", "--json"
    ],
                          check=True,
                          capture_output=True,
                          text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["algorithm"]: row["seconds"] for row in rows if row["can"]}


def chosen(known: dict[str, float], wanted: list[str]) -> list[str]:
    """The full names: of several variants the first."""
    return [next(name for name in known if name == w or name.startswith(w + ",")) for w in wanted if
            any(name == w or name.startswith(w + ",") for name in known)]


def group_of(nbytes: int) -> str:
    return "exchanges of 1 MiB and more" if nbytes >= MIB else "exchanges below 1 MiB"


def judge(judged, build: str, figures: Figures, nhosts: int, ranks_a_host: int, algorithms: list[str], sizes: list[int],
          seconds: float) -> None:
    nranks = nhosts * ranks_a_host
    lossless = dataclasses.replace(
        figures, incast=0)  # what ports lose is fitted to large messages of many; here two send to one at most
    topology = lossless.star() if ranks_a_host == 1 else lossless.cluster(nhosts, ranks_a_host)
    predicted = {nbytes: explained(build, topology, nranks, nbytes) for nbytes in sizes}
    names = chosen(predicted[sizes[0]], algorithms)
    with Hosts(nhosts, figures.rate) as hosts:
        measured = measure_again(hosts, build, ranks_a_host, [f"{name}@{nbytes}" for name in names for nbytes in sizes], seconds)
    for name in names:
        for nbytes in sizes:
            judged.row(group_of(nbytes),
                       f"{figures.rate} {nhosts}x{ranks_a_host} {name} {size_words(nbytes)}",
                       measured[f"{name}@{nbytes}"],
                       predicted[nbytes][name],
                       topology=topology)


def size_words(nbytes: int) -> str:
    return f"{nbytes >> 20} MiB" if nbytes >= MIB else f"{nbytes >> 10} KiB"


def run(judged, build: str, long: bool) -> None:
    """Long: 100, 300 and 500 Mbit/s, up to 8 ranks, 64 MiB at 500 only. Short: four hosts at 300."""
    judged.aim(group_of(MIB), 0.10)
    judged.aim(group_of(1), 0.25)
    seconds = 0.3
    rates = {"100mbit": MIB, "300mbit": 4 * MIB, "500mbit": 64 * MIB} if long else {"300mbit": 4 * MIB}
    for rate, most in rates.items():
        sizes = [n for n in [4096 << (2 * k) for k in range(8)] if n <= most]
        for nhosts in (2, 4, 8) if long else (4,):
            figures = fit(build, rate, nhosts, seconds)
            print(f"{rate}, {nhosts} hosts: {figures.words()}", flush=True)
            judge(judged, build, figures, nhosts, 1, ["ring", "halving-doubling", "double-tree"], sizes, seconds)
            if nhosts > 2:  # whole vectors, one phase after the other: large ones take minutes and say no more
                judge(judged, build, figures, nhosts, 1, ["binomial"], [n for n in sizes if n <= 4 * MIB], seconds)
            if nhosts == 4 or (long and nhosts == 2):
                judge(judged, build, figures, nhosts, 2,
                      ["hierarchical,group=2", "ring"] if long else ["hierarchical,group=2"], sizes, seconds)
