# SPDX-License-Identifier: Apache-2.0
"""ranks.py: finds the ranks of a launcher, kills them, and reads what a run has written. Shared by the programs
beside it."""
import json
import os
import re
import signal
import time


def state_of(pid):
    """Returns the letter of the state of a process; an empty string if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return ""


def children(pid):
    """Returns the ranks of a launcher as a dictionary from rank to process number."""
    ranks = {}
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
            found = f.read().split()
    except OSError:
        return ranks
    for child in found:
        try:
            with open(f"/proc/{child}/environ", "rb") as f:
                variables = f.read().split(b"\0")
        except OSError:
            continue
        rank = [v[5:] for v in variables if v.startswith(b"RANK=")]
        if rank and state_of(child) not in ("", "Z"):
            ranks[int(rank[0])] = int(child)
    return ranks


def processes_with(words):
    """Returns the numbers of the living processes whose command line contains `words`."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as f:
                line = f.read()
        except OSError:
            continue
        if words.encode() in line and state_of(name) != "Z":
            found.append(int(name))
    return found


def lines(path):
    """Returns the whole lines of a metrics.jsonl; none if the file is missing."""
    try:
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.endswith("\n")]
    except OSError:
        return []


def lock_of(path):
    """Returns the process that has locked a file, and the first line of the file; 0 and nothing if nobody has."""
    try:
        node = f":{os.stat(path).st_ino}"
        with open("/proc/locks", encoding="utf-8") as f:
            held = [x.split() for x in f if " FLOCK " in x]
        with open(path, encoding="utf-8") as f:
            text = f.readline().strip()
    except OSError:
        return 0, ""
    return next(((int(x[4]), text) for x in held if x[1] == "FLOCK" and x[5].endswith(node)), (0, ""))


def kill(pid):
    """Kills a process; returns whether there was one."""
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def wait_until(holds, what, limit_s=60):
    """Waits until holds() returns something true, and returns that. Raises RuntimeError after limit_s."""
    until = time.monotonic() + limit_s
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > until:
            raise RuntimeError(f"no {what} within {limit_s} s")
        time.sleep(0.003)


def weights_in(text):
    """Returns the hash of the weights in the last line that a run prints; None if there is none."""
    found = re.findall(r"^weights (\w+)", text, re.M)
    return found[-1] if found else None


def print_times(kinds, times, counts=None):
    """Prints a table of recoveries: for each kind, and for all, the events, the median and the worst of their seconds.
    times: pairs of kind and seconds. counts: processes that were killed, one number for each event, or None."""
    head = f" {'kills':>6}" if counts else ""
    print(f"{'kind':10} {'events':>7}{head} {'median s':>9} {'worst s':>8}")
    for kind in (*kinds, "in all"):
        at = [i for i, (k, _) in enumerate(times) if kind in (k, "in all")]
        seconds = sorted(times[i][1] for i in at)
        if seconds:
            kills = f" {sum(counts[i] for i in at):6}" if counts else ""
            print(f"{kind:10} {len(at):7}{kills} {seconds[len(at) // 2]:9.3f} {seconds[-1]:8.3f}")
