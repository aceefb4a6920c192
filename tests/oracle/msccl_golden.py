#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the MSCCL programs that the tests read: right ones into tests/golden/msccl, wrong ones into tests/must_fail.

Both are made from the published schema alone, step by step, without our exporter, so that reader and writer do not
judge each other. A wrong one promises the words of its refusal in its first line.

usage: tests/oracle/msccl_golden.py [ROOT]
"""
import os
import sys


class Program:
    def __init__(self, name, coll, ngpus, nchunks, i, o, s, inplace=0, proto="Simple", nchannels=1):
        self.head = dict(name=name, proto=proto, nchannels=nchannels, nchunksperloop=nchunks, ngpus=ngpus, coll=coll,
                         inplace=inplace)
        self.chunks, self.gpus = (i, o, s), [[] for _ in range(ngpus)]

    def block(self, gpu, send=-1, recv=-1, chan=0):
        self.gpus[gpu].append(dict(send=send, recv=recv, chan=chan, steps=[]))
        return len(self.gpus[gpu]) - 1

    def step(self, gpu, block, kind, src=("i", -1), dst=("o", -1), cnt=1, dep=(-1, -1)):
        """Returns (block, step), what others may wait for."""
        steps = self.gpus[gpu][block]["steps"]
        steps.append(dict(type=kind, src=src, dst=dst, cnt=cnt, dep=dep, hasdep=0))
        if dep[0] >= 0:
            self.gpus[gpu][dep[0]]["steps"][dep[1]]["hasdep"] = 1
        return block, len(steps) - 1

    def text(self, must_fail=None):
        out = [f"<!-- must fail: {must_fail} -->"] if must_fail else []
        out.append("<algo " + " ".join(f'{k}="{v}"' for k, v in self.head.items()) + ">")
        for g, blocks in enumerate(self.gpus):
            i, o, s = self.chunks
            out.append(f'  <gpu id="{g}" i_chunks="{i}" o_chunks="{o}" s_chunks="{s}">')
            for b, block in enumerate(blocks):
                out.append(f'    <tb id="{b}" send="{block["send"]}" recv="{block["recv"]}" chan="{block["chan"]}">')
                for n, x in enumerate(block["steps"]):
                    out.append(f'      <step s="{n}" type="{x["type"]}" srcbuf="{x["src"][0]}" srcoff="{x["src"][1]}" '
                               f'dstbuf="{x["dst"][0]}" dstoff="{x["dst"][1]}" cnt="{x["cnt"]}" depid="{x["dep"][0]}" '
                               f'deps="{x["dep"][1]}" hasdep="{x["hasdep"]}"/>')
                out.append("    </tb>")
            out.append("  </gpu>")
        return "\n".join(out + ["</algo>", ""])


def ring_allreduce(p):
    """In place, one block a GPU, fused steps: rrs on the way, rrcs where a sum is done, rcs, r. All send first."""
    a = Program("Ring_Fused", "allreduce", p, p, p, p, 0, inplace=1)
    for r in range(p):
        b = a.block(r, (r + 1) % p, (r - 1) % p)
        for t in range(2 * p - 1):
            at = ("o", (r - t) % p)
            kind = "s" if t == 0 else "rrs" if t < p - 1 else "rrcs" if t == p - 1 else "rcs" if t < 2 * p - 2 else "r"
            a.step(r, b, kind, at if kind != "r" else ("i", -1), at if kind != "s" else ("o", -1))
    return a


def all_pairs(p):
    """Everybody gets everybody's slice r in scratch, sums it in a run of re, and sends it round."""
    a = Program("allpairs", "allreduce", p, p, p, p, p - 1)
    for r in range(p):
        work = a.block(r)
        gets = []
        for k in range(1, p):
            q = (r + k) % p
            b = a.block(r, q, q)
            a.step(r, b, "s", ("i", q))
            gets.append(a.step(r, b, "r", dst=("s", k - 1)))
        a.step(r, work, "cpy", ("i", r), ("o", r), dep=gets[0])
        for g in gets[1:-1]:
            a.step(r, work, "nop", cnt=0, dep=g)
        last = gets[-1] if p > 2 else (-1, -1)
        for k in range(1, p):
            done = a.step(r, work, "re", ("s", k - 1), ("o", r), dep=last if k == 1 else (-1, -1))
        for k in range(1, p):
            q = (r + k) % p
            b = a.block(r, q, q, 1)
            a.step(r, b, "s", ("o", r), dep=done)
            a.step(r, b, "r", dst=("o", q))
    return a


def bruck_all_gather(p):
    """Output serves as a rotated heap first: what rank r has of rank r + k lies in place k; scratch turns it round."""
    a = Program("bruck rotated", "allgather", p, p, 1, p, p)
    for r in range(p):
        w = a.block(r)
        last, have, chan, sent = a.step(r, w, "cpy", ("i", 0), ("o", 0)), 1, 0, []
        while have < p:
            n = min(have, p - have)
            b = a.block(r, (r - have) % p, -1, chan)
            c = a.block(r, -1, (r + have) % p, chan)
            sent.append(a.step(r, b, "s", ("o", 0), cnt=n, dep=last))
            last = a.step(r, c, "r", dst=("o", have), cnt=n, dep=last)
            have, chan = have + n, chan + 1
        if p > 1:
            for s in sent:
                a.step(r, w, "nop", cnt=0, dep=s)
            a.step(r, w, "cpy", ("o", 0), ("s", r), cnt=p - r, dep=last)
            if r:
                a.step(r, w, "cpy", ("o", p - r), ("s", 0), cnt=r)
            a.step(r, w, "cpy", ("s", 0), ("o", 0), cnt=p)
    return a


def all_to_all(p):
    a = Program("pairs", "alltoall", p, p, p, p, 0)
    for r in range(p):
        a.step(r, a.block(r), "cpy", ("i", r), ("o", r))
        for k in range(1, p):
            a.step(r, a.block(r, (r + k) % p, -1), "s", ("i", (r + k) % p))
            a.step(r, a.block(r, -1, (r - k) % p), "r", dst=("o", (r - k) % p))
    return a


def reduce_scatter(p):
    """A ring that stores what it adds, out of place: rrc and rrcs with src != dst, rightly."""
    a = Program("ring_rs", "reduce_scatter", p, p, p, 1, p)
    for r in range(p):
        b = a.block(r, (r + 1) % p, (r - 1) % p)
        a.step(r, b, "s", ("i", (r - 1) % p))
        for t in range(1, p - 1):
            at = (r - 1 - t) % p
            a.step(r, b, "rrcs", ("i", at), ("s", at))
        a.step(r, b, "rrc", ("i", r), ("o", 0))
    return a


def broadcast(p):
    a = Program("chain", "broadcast", p, 2, 2, 2, 0)
    for r in range(p):
        b = a.block(r, r + 1 if r < p - 1 else -1, r - 1)
        if r == 0:
            a.step(r, b, "cpy", ("i", 0), ("o", 0), cnt=2)
            a.step(r, b, "s", ("o", 0), cnt=2)
        else:
            a.step(r, b, "rcs" if r < p - 1 else "r", dst=("o", 0), cnt=2)
    return a


def exchange(**changes):
    """Two GPUs swap everything and add: what the wrong programs are made of."""
    a = Program("swap", "allreduce", 2, 1, 1, 1, changes.get("s", 1), inplace=changes.get("inplace", 0))
    for r in range(2):
        b = a.block(r, 1 - r, 1 - r)
        changes["body"](a, r, b)
    return a


def must_fail():
    def plain(a, r, b):
        a.step(r, b, "s", ("i", 0))
        a.step(r, b, "r", dst=("o", 0))

    def added_twice(a, r, b):
        plain(a, r, b)
        a.step(r, b, "re", ("i", 0), ("o", 0))
        a.step(r, b, "re", ("i", 0), ("o", 0))

    def receives_first(a, r, b):
        a.step(r, b, "r", dst=("o", 0))
        a.step(r, b, "s", ("i", 0))
        a.step(r, b, "re", ("i", 0), ("o", 0))

    def nobody_waits(a, r, b):
        plain(a, r, b)
        a.step(r, a.block(r), "re", ("i", 0), ("o", 0))

    def senders_operand(a, r, b):
        a.step(r, b, "s", ("i", 0))
        a.step(r, b, "rrc", ("s", 0), ("o", 0))

    def adds_after(a, r, b):
        plain(a, r, b)
        a.step(r, b, "re", ("i", 0), ("o", 0))

    yield "missing", "lacks the contribution of rank 1", exchange(body=plain)
    yield "twice", "holds the contribution of rank 1 twice", exchange(body=added_twice)
    yield "receives_first", "deadlock: gpu 0 tb 0 step 0 (r -> o[0] from gpu 1", exchange(body=receives_first)
    yield "nobody_waits", "which nothing before it has written", exchange(body=nobody_waits)
    yield "operand", "gpu 1 tb 0 step 1 (rrc s[0] -> o[0] from gpu 0, line 12) reads", exchange(body=senders_operand)
    yield "in_place", "holds the contribution of rank 0 twice", exchange(body=adds_after, inplace=1)

    def ahead(n, proto):
        """GPU 0 sends n messages that GPU 1 takes only after one that is sent last."""
        a = Program("ahead", "broadcast", 2, n, n, n, 0, proto=proto, nchannels=2)
        b, c, d, e = a.block(0, 1), a.block(0, 1, -1, 1), a.block(1, -1, 0), a.block(1, -1, 0, 1)
        a.step(0, b, "cpy", ("i", 0), ("o", 0), cnt=n)
        done = [a.step(0, b, "s", ("i", k)) for k in range(n)][-1]
        a.step(0, c, "s", ("i", 0), dep=done)
        got = a.step(1, e, "r", dst=("o", 0))
        for k in range(n):
            a.step(1, d, "r", dst=("o", k), dep=got if k == 0 else (-1, -1))
        return a

    yield "nine_ahead", "even where connections hold 8 messages", ahead(9, "LL")
    yield "three_ahead", "connections must hold 8 messages, those of its protocol hold 2", ahead(3, "Simple")

    turned = Program("turned", "allgather", 2, 2, 1, 2, 0)
    for r in range(2):
        b = turned.block(r, 1 - r, 1 - r)
        turned.step(r, b, "cpy", ("i", 0), ("o", 0))
        turned.step(r, b, "s", ("i", 0))
        turned.step(r, b, "r", dst=("o", 1))
    yield "turned", "holds other elements of the vector", turned

    reused = Program("reused", "allgather", 2, 4, 2, 4, 1)
    for r in range(2):
        b, w = reused.block(r, 1 - r, 1 - r), reused.block(r)
        reused.step(r, b, "cpy", ("i", 0), ("o", 2 * r), cnt=2)
        reused.step(r, b, "s", ("i", 0))
        one = reused.step(r, b, "r", dst=("s", 0))
        reused.step(r, w, "cpy", ("s", 0), ("o", 2 - 2 * r), dep=one)
        reused.step(r, b, "s", ("i", 1))
        reused.step(r, b, "r", dst=("s", 0))
        reused.step(r, b, "cpy", ("s", 0), ("o", 3 - 2 * r))
    yield "scratch_reused", "race on", reused


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "..")
    good = {"ring_fused_4": ring_allreduce(4), "all_pairs_4": all_pairs(4), "bruck_5": bruck_all_gather(5),
            "all_to_all_3": all_to_all(3), "reduce_scatter_4": reduce_scatter(4), "broadcast_3": broadcast(3)}
    for name, program in good.items():
        with open(os.path.join(root, "tests", "golden", "msccl", name + ".xml"), "w") as f:
            f.write(program.text())
    for name, words, program in must_fail():
        with open(os.path.join(root, "tests", "must_fail", "msccl_" + name + ".xml"), "w") as f:
            f.write(program.text(words))


if __name__ == "__main__":
    main()
