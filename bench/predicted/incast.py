# SPDX-License-Identifier: Apache-2.0
"""incast.py: what it costs that k hosts send to one at a time, over namespaces: 1 to 7 ranks bring 1 MiB each to rank
0 (a gather by `direct`, one after the other without a pause). Its port of the switch is a token bucket that cuts what
comes into packets of a wire's size and keeps so many of them; what does not fit is dropped, and TCP (reno, as in
links.py) sends it again. So the figure is one of that queue, of TCP and of the sizes.

`incast` is as in docs/topologies.md: a port to which k send has 1 / (1 + incast (k - 1)) of its rate, here by least
squares over k."""
import lab
import links

MOST, RATE, BUCKET, BYTES = 7, "300mbit", 16384, 1 << 20
QUEUES = (32 << 10, 128 << 10, 512 << 10, 1 << 20)  # bytes


def narrow(hosts: lab.Lab, queue: int) -> None:
    """Host 0's port: no packet that a card would cut fits into the bucket, so that it is cut here."""
    lab.call("tc", "-n", hosts.switch, "qdisc", "replace", "dev", "p0", "root", "tbf", "rate", hosts.rate, "burst",
             str(BUCKET), "limit", str(queue))


def measure(build: str, queue: int, wanted: float) -> list[float]:
    """Seconds a MiB that comes in, with 1, 2, .. senders."""
    out = []
    for k in range(1, MOST + 1):
        with links.Hosts(k + 1, RATE) as hosts:
            narrow(hosts, queue)
            case = f"direct@{BYTES * (k + 1)}"
            out.append(links.measure(hosts, build, 1, [case], wanted, "gather")[case] / k)
    return out


def longer(seconds: list[float]) -> list[float]:
    """Than the shortest, as parts of one: a single sender loses nothing that several would not."""
    return [s / min(seconds) - 1 for s in seconds]


def slope(parts: list[float]) -> float:
    return sum(k * part for k, part in enumerate(parts)) / sum(k * k for k in range(len(parts)))


def run(judged, build: str, long: bool) -> None:
    """Long: all queues; short: one."""
    for queue in QUEUES if long else QUEUES[2:3]:
        seconds = measure(build, queue, 1 if long else 0.3)
        parts = longer(seconds)
        words = " ".join(f"{100 * part:.0f}" for part in parts)
        print(
            f"{RATE}, {queue >> 10} KiB behind the port: at best {8e-6 * BYTES / min(seconds):.0f} Mbit/s; 1 to {MOST} "
            f"senders take {words} % longer: "
            f"incast {100 * slope(parts):.1f} %",
            flush=True)
        judged.put({"group": "incast", "queue_bytes": queue, "seconds_a_mib": seconds, "incast": slope(parts)})
