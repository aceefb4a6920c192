# SPDX-License-Identifier: Apache-2.0
"""What `tutti coll convert --to goal | chakra | smpi` writes, judged by readers that are not ours: GOAL by its
grammar; Chakra by Protocol Buffers' own decoder with a schema written here; SMPI's traces by smpirun -replay, whose
time is that of the engine simgrid. All three must tell the same messages. Needs protobuf (./dev setup --test); without
SimGrid the replay is left out, saying so.

usage: read_exports.py PROGRAM [PYTHON]
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import interpreter
import simgrid_says as says

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.unknown_fields import UnknownFieldSet
except ImportError as missing:
    interpreter.go_on_elsewhere(missing, 2, "./dev setup --test")

CASES = [("ring", 4, 1 << 20), ("halving-doubling", 8, 10 << 20), ("binomial", 7, 1 << 16), ("double-tree", 8, 1 << 20),
         ("direct", 5, 999996), ("bruck", 6, 1 << 20)]
ONE_ROW = {"ring", "halving-doubling", "binomial", "bruck",
           "direct"}  # of what a rank does; of the others a trace puts side by side one behind the other
STATEMENT = re.compile(r"l(\d+): (?:(send) (\d+)b to (\d+) tag (\d+)|(recv) (\d+)b from (\d+) tag (\d+)|(calc) (\d+))")
NEEDS = re.compile(r"l(\d+) requires l(\d+)")


def convert(program: str, case: tuple, to: str, out: pathlib.Path) -> None:
    algorithm, ranks, nbytes = case
    subprocess.run([
        program, "coll", "convert", algorithm, "--ranks",
        str(ranks), "--to", to, "--bytes",
        str(nbytes), "--out", out
    ],
                   check=True)


def expect(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"FAILED: {what}")


def check_order(nodes: int, needs: list[tuple[int, int]], what: str) -> None:
    """No circle; numbers are those of nodes."""
    after = collections.defaultdict(list)
    left = collections.Counter()
    for node, before in needs:
        expect(1 <= node <= nodes and 1 <= before <= nodes, f"{what}: {node} needs {before}, of {nodes}")
        after[before].append(node)
        left[node] += 1
    ready = [node for node in range(1, nodes + 1) if not left[node]]
    for node in ready:
        for later in after[node]:
            left[later] -= 1
            if not left[later]:
                ready.append(later)
    expect(len(ready) == nodes, f"{what}: what needs what is a circle")


def check_pairs(sent: list, received: list, what: str) -> None:
    """The two ends tell of the same messages, and no tag stands for two."""
    expect(sorted(sent) == sorted(received), f"{what}: what is sent is not what is received")
    expect(len(set(message[:3] for message in sent)) == len(sent), f"{what}: a tag stands for two messages")


def read_goal(path: pathlib.Path, ranks: int) -> list:
    lines = path.read_text().splitlines()
    expect(lines[0] == f"num_ranks {ranks}", "GOAL: its first line")
    sent, received, rank, nodes, needs, seen = [], [], None, 0, [], 0
    for line in filter(None, lines[1:]):
        if rank is None:
            expect(line == f"rank {seen} {{", f"GOAL: '{line}' begins no rank")
            rank, nodes, needs = seen, 0, []
        elif line == "}":
            check_order(nodes, needs, f"GOAL, rank {rank}")
            rank, seen = None, seen + 1
        elif found := STATEMENT.fullmatch(line):
            nodes += 1
            expect(int(found[1]) == nodes, f"GOAL: '{line}' is not the next label")
            if found[2]:
                sent.append((rank, int(found[4]), int(found[5]), int(found[3])))
            elif found[6]:
                received.append((int(found[8]), rank, int(found[9]), int(found[7])))
        else:
            found = NEEDS.fullmatch(line)
            expect(bool(found), f"GOAL: '{line}' is none of its statements")
            needs.append((int(found[1]), int(found[2])))
    expect(seen == ranks and rank is None, "GOAL: ranks")
    check_pairs(sent, received, "GOAL")
    return sorted(sent)


# message, then (field, number, type, repeated) of those that we write; an int's type is one of Protocol Buffers' names
SCHEMA = {
    "About": [("version", 1, "STRING", False)],
    "Attribute": [("name", 1, "STRING", False), ("int32_val", 7, "INT32", False), ("int64_val", 9, "INT64", False),
                  ("uint64_val", 13, "UINT64", False), ("bool_val", 27, "BOOL", False)],
    "Node": [("id", 1, "UINT64", False), ("name", 2, "STRING", False), ("type", 3, "INT32", False),
             ("data_deps", 5, "UINT64", True), ("duration_micros", 7, "UINT64", False),
             ("attr", 10, ".tutti.Attribute", True)]
}
COMPUTES, SENDS, RECEIVES = 4, 5, 6
ATTRIBUTES = {
    SENDS: {
        "is_cpu_op": "bool_val",
        "comm_size": "int64_val",
        "comm_src": "int32_val",
        "comm_dst": "int32_val",
        "comm_tag": "int32_val"
    },
    COMPUTES: {
        "is_cpu_op": "bool_val",
        "num_ops": "int64_val",
        "tensor_size": "uint64_val"
    }
}
ATTRIBUTES[RECEIVES] = ATTRIBUTES[SENDS]


def schema() -> tuple:
    """Classes of Node and About."""
    file = descriptor_pb2.FileDescriptorProto(name="tutti.proto", package="tutti", syntax="proto2")
    for name, fields in SCHEMA.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            one = message.field.add(name=field, number=number, label=3 if repeated else 1)
            if kind.startswith("."):
                one.type, one.type_name = 11, kind
            else:
                one.type = descriptor_pb2.FieldDescriptorProto.Type.Value(f"TYPE_{kind}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return tuple(message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tutti.{name}")) for name in ("Node", "About"))


def messages(data: bytes) -> list[bytes]:
    """Each behind its length."""
    out, at = [], 0
    while at < len(data):
        length, shift = 0, 0
        while True:
            byte, at = data[at], at + 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        expect(at + length <= len(data), "Chakra: a message is cut short")
        out.append(data[at:at + length])
        at += length
    return out


def read_rank(data: bytes, rank: int, sent: list, received: list, classes: tuple) -> None:
    Node, About = classes
    first, *rest = messages(data)
    expect(About.FromString(first).version == "0.0.4", "Chakra: its version")
    needs = []
    for number, one in enumerate(rest, 1):
        node = Node.FromString(one)
        expect(not len(UnknownFieldSet(node)), "Chakra: a field that the schema has not")
        expect(node.id == number and node.name and node.type in ATTRIBUTES, f"Chakra, rank {rank}: node {number}")
        needs += [(number, dep) for dep in node.data_deps]
        value = {attr.name: getattr(attr, ATTRIBUTES[node.type][attr.name]) for attr in node.attr}
        expect(set(value) == set(ATTRIBUTES[node.type]), f"Chakra: attributes of node {number}: {sorted(value)}")
        for attr in node.attr:
            expect(attr.HasField(ATTRIBUTES[node.type][attr.name]),
                   f"Chakra: {attr.name} is of another kind than its readers want")
        if node.type == COMPUTES:
            expect(value["num_ops"] == value["tensor_size"] // 4, "Chakra: additions")
            expect(abs(node.duration_micros - value["tensor_size"] / 1e4) <= 0.5, "Chakra: 10 GB are added in a second")
        else:
            mine, other = (sent, "comm_src") if node.type == SENDS else (received, "comm_dst")
            expect(value[other] == rank, "Chakra: whose message")
            mine.append((value["comm_src"], value["comm_dst"], value["comm_tag"], value["comm_size"]))
    check_order(len(rest), needs, f"Chakra, rank {rank}")


def read_chakra(folder: pathlib.Path, ranks: int) -> list:
    sent, received, classes = [], [], schema()
    expect(
        sorted(path.name for path in folder.iterdir()) == sorted(f"schedule.{rank}.et" for rank in range(ranks)),
        "Chakra: its files")
    for rank in range(ranks):
        read_rank((folder / f"schedule.{rank}.et").read_bytes(), rank, sent, received, classes)
    check_pairs(sent, received, "Chakra")
    return sorted(sent)


def read_smpi(folder: pathlib.Path, ranks: int) -> list:
    expect((folder / "traces.txt").read_text().split() == [f"rank-{rank}.txt" for rank in range(ranks)], "SMPI: its list")
    sent, received = [], []
    for rank in range(ranks):
        waits = collections.Counter()
        for who, what, *words in map(str.split, (folder / f"rank-{rank}.txt").read_text().splitlines()):
            expect(int(who) == rank, "SMPI: whose action")
            if what == "isend":
                sent.append((rank, *map(int, words[:3])))
                waits[(rank, int(words[0]), int(words[1]))] += 1
            elif what == "irecv":
                received.append((int(words[0]), rank, *map(int, words[1:3])))
                waits[(int(words[0]), rank, int(words[1]))] += 1
            elif what == "wait":
                waits[tuple(map(int, words))] -= 1
            else:
                expect(what in ("init", "compute", "finalize"), f"SMPI: {what}")
        expect(not any(waits.values()), f"SMPI, rank {rank}: a wait for each message")
    check_pairs(sent, received, "SMPI")
    return sorted(sent)


def check_replay(program: str, case: tuple, where: pathlib.Path) -> None:
    algorithm, ranks, nbytes = case
    replayed = says.replayed(where / "traces", ranks, says.PLAIN)
    seconds = says.explained(program, "simgrid", algorithm_text(program, algorithm, ranks), ranks, nbytes, says.topology())
    print(f"{algorithm:24} {ranks} ranks, {nbytes} bytes: replayed {replayed * 1e6:.2f} us, ours {seconds * 1e6:.2f} "
          f"us")
    if algorithm in ONE_ROW:
        expect(abs(replayed / seconds - 1) < 0.01, "the replay takes another time")
    else:
        expect(replayed > seconds * 0.99, "the replay, which has less at once, takes less time")


def algorithm_text(program: str, algorithm: str, ranks: int) -> str:
    """With all parameters."""
    said = subprocess.run(
        [program, "coll", "compile", algorithm, "--ranks", str(ranks)], capture_output=True, text=True,
        check=True).stdout
    return re.search(r"^algorithm (.*)$", said, re.M)[1]


def main() -> None:
    program = sys.argv[1]
    simgrid = shutil.which("smpirun") and os.path.exists(pathlib.Path(program).parent / "tutti-simgrid")
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            where = pathlib.Path(folder)
            convert(program, case, "goal", where / "schedule.goal")
            convert(program, case, "chakra", where / "chakra")
            convert(program, case, "smpi", where / "traces")
            goal = read_goal(where / "schedule.goal", case[1])
            expect(goal == read_chakra(where / "chakra", case[1]), f"{case}: GOAL and Chakra tell of different "
                                                                   f"messages")
            expect(goal == read_smpi(where / "traces", case[1]), f"{case}: GOAL and SMPI tell of different messages")
            print(f"{case[0]}: {len(goal)} messages, {sum(message[3] for message in goal)} bytes, the same in all "
                  f"three")
            if simgrid:
                check_replay(program, case, where)
    if not simgrid:
        print("skipped: no SimGrid (./dev setup --test, then a new build)")


if __name__ == "__main__":
    main()
