# SPDX-License-Identifier: Apache-2.0
"""attack_tables.py: attacks that are one command, or one case of attack_ranks.c: settings, exit codes that are right,
words that must be said.

Rows: (command, environment, codes, words). Commands run in a folder that has FILES; `tutti ` in front is the program.
"""

FILES = {
    "job.yaml": "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 32}\nbatch: 16\nsteps: 2\n"
                "optimiser: {rule: momentum, lr: 0.02}\n",
    "adamw.yaml": "model: mlp\ndata: {set: digits, train_samples: 64, test_samples: 32}\nbatch: 16\nsteps: 4\n"
                  "optimiser: {rule: adamw, lr: 0.001}\n",
    "odd.yaml": "model: ./odd-net.yaml\ndata: {set: digits, train_samples: 64, test_samples: 32}\nbatch: 16\nsteps: 2\n"
                "optimiser: {rule: momentum, lr: 0.02}\n",
    "odd-net.yaml":
        "name: odd\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - conv: {name: c1, out_channels: 7, kernel: 5}\n"
        "  - batch-norm\n  - relu\n  - max-pool: {kernel: 3, stride: 2}\n  - conv: {name: c2, out_channels: 17, "
        "kernel: 3}\n"
        "  - batch-norm\n  - relu\n  - lrn\n  - dense: {name: fc, units: 10}\n  - softmax-cross-entropy\n",
    "one.yaml": "model: ./one-net.yaml\ndata: {set: digits, train_samples: 64, test_samples: 32}\nbatch: 16\nsteps: 2\n"
                "optimiser: {rule: momentum, lr: 0.02}\n",
    "one-net.yaml":
        "name: one\ninput: [1, 28, 28]\nclasses: 10\nlayers:\n  - conv: {name: c1, out_channels: 1, kernel: 28}\n"
        "  - batch-norm\n  - relu\n  - dense: {name: fc, units: 10}\n  - softmax-cross-entropy\n",
    "wrong.svm": "1 1:0.5 1:0.5\n-1 2:1\n",
    "set.svm": "".join(f"{1 if i % 2 else -1} 1:{i % 7} 2:{i % 5} 3:{(i * 7) % 11}\n" for i in range(60)),
    "file": "a file, and no folder\n",
}


def net(layers, shape="[1, 28, 28]"):
    return f"name: n\ninput: {shape}\nclasses: 10\nlayers:\n" + "".join(f"  - {line}\n" for line in layers)


TAIL = ["dense: {name: fc, units: 10}", "softmax-cross-entropy"]
NETS = {
    "net_zero_channels": net(["conv: {name: c, out_channels: 0, kernel: 3}", *TAIL]),
    "net_zero_kernel": net(["conv: {name: c, out_channels: 4, kernel: 0}", *TAIL]),
    "net_zero_stride": net(["conv: {name: c, out_channels: 4, kernel: 3, stride: 0}", *TAIL]),
    "net_zero_groups": net(["conv: {name: c, out_channels: 4, kernel: 3, groups: 0}", *TAIL]),
    "net_odd_groups": net(["conv: {name: c, out_channels: 4, kernel: 3, groups: 3}", *TAIL]),
    "net_large_kernel": net(["conv: {name: c, out_channels: 4, kernel: 29}", *TAIL]),
    "net_huge_channels": net(["conv: {name: c, out_channels: 2000000000, kernel: 3}", *TAIL]),
    "net_huge_pad": net(["conv: {name: c, out_channels: 4, kernel: 3, pad: 2000000000}", *TAIL]),
    "net_huge_units": net(["dense: {name: h, units: 2000000000}", *TAIL]),
    "net_overflow": net(["dense: {name: h, units: 9223372036854775807}", *TAIL]),
    "net_zero_units": net(["dense: {name: h, units: 0}", *TAIL]),
    "net_zero_input": net(TAIL, "[0, 28, 28]"),
    "net_negative_input": net(TAIL, "[1, -28, 28]"),
    "net_huge_input": net(TAIL, "[1, 2000000000, 2000000000]"),
    "net_pool_zero": net(["max-pool: {kernel: 0}", *TAIL]),
    "net_pool_pad": net(["avg-pool: {kernel: 2, pad: 2}", *TAIL]),
    "net_lrn_zero": net(["lrn: {size: 0}", *TAIL]),
    "net_dropout_one": net(["dropout: {rate: 1.5}", *TAIL]),
    "net_eps_negative": net(["batch-norm: {eps: -1}", *TAIL]),
    "net_nothing": "name: n\ninput: [1, 28, 28]\nclasses: 10\nlayers: []\n",
}
for _name, _text in NETS.items():
    FILES[_name + ".yaml"] = _text

TRAIN = "tutti train job.yaml --quiet --fresh --out out"
PAIR = "two ranks: coll bench --algo ring --bytes 4KB --iters 5"
USAGE, REFUSED = (2,), (2, 3)


def wire(settings, codes, words):
    """Two ranks over tcp on one host, with settings."""
    return PAIR, {"TUTTI_WIRE": "tcp", **settings}, codes, words


COMMANDS = {
    "wire": [
        wire({"TUTTI_NET_IF": "nosuch0"}, USAGE, ["TUTTI_NET_IF='nosuch0': no such interface", "there are"]),
        wire({"TUTTI_NET_IF": ","}, USAGE, ["TUTTI_NET_IF"]),
        wire({"TUTTI_NET_IF": "lo,lo,lo"}, (0, ), ["0 OK"]),
        wire({"TUTTI_NET_IF": "x" * 4000}, USAGE, ["TUTTI_NET_IF"]),
        wire({"TUTTI_NET_IF": "lo,../../etc"}, USAGE, ["TUTTI_NET_IF"]),
        wire({"TUTTI_NET_IF": "%s%s%n"}, USAGE, ["TUTTI_NET_IF"]),
        wire({"TUTTI_NET_IF": "fe80::1"}, USAGE, ["TUTTI_NET_IF"]),
        wire({"TUTTI_NET_CONNECTIONS": "0"}, (0, ), ["0 OK"]),
        wire({"TUTTI_NET_CONNECTIONS": "17"}, USAGE, ["TUTTI_NET_CONNECTIONS"]),
        wire({"TUTTI_NET_CONNECTIONS": "-1"}, USAGE, ["TUTTI_NET_CONNECTIONS"]),
        wire({"TUTTI_NET_CONNECTIONS": "many"}, USAGE, ["TUTTI_NET_CONNECTIONS"]),
        wire({"TUTTI_NET_CONNECTIONS": "99999999999999999999"}, USAGE, ["TUTTI_NET_CONNECTIONS"]),
        wire({"TUTTI_NET_CHECKSUM": "maybe"}, USAGE, ["TUTTI_NET_CHECKSUM"]),
        wire({"TUTTI_NET_ZEROCOPY": "2"}, USAGE, ["TUTTI_NET_ZEROCOPY"]),
        wire({"TUTTI_NET_CONGESTION": "nosuch"}, USAGE, ["TUTTI_NET_CONGESTION"]),
        wire({"TUTTI_NET_CONGESTION": "r" * 200}, USAGE, ["TUTTI_NET_CONGESTION"]),
        wire({"TUTTI_NET_PORTS": "70000-70001"}, USAGE, ["TUTTI_NET_PORTS"]),
        wire({"TUTTI_NET_PORTS": "400-300"}, USAGE, ["TUTTI_NET_PORTS"]),
        wire({"TUTTI_NET_PORTS": "40000"}, (1, 2, 5), ["ports 40000"]),
        wire({"TUTTI_NET_PORTS": "-"}, USAGE, ["TUTTI_NET_PORTS"]),
        (PAIR, {
            "TUTTI_WIRE": "tpc"
        }, USAGE, ["TUTTI_WIRE='tpc' is not a wire", "tcp"]),
        (PAIR, {
            "TUTTI_WIRE": "shm,tcp"
        }, USAGE, ["TUTTI_WIRE"]),
        (PAIR, {
            "TUTTI_WIRE": "ucx",
            "TUTTI_UCX_LIBRARY": "/nowhere.so"
        }, (5, ), ["/nowhere.so"]),
        (PAIR, {
            "TUTTI_WIRE": "ucx",
            "TUTTI_UCX_LIBRARY": "libm.so.6"
        }, (5, ), ["libm.so.6"]),
        (PAIR, {
            "TUTTI_DEADLINE_S": "-5"
        }, USAGE, ["TUTTI_DEADLINE_S"]),
        (PAIR, {
            "TUTTI_DEADLINE_S": "nan"
        }, USAGE, ["TUTTI_DEADLINE_S"]),
    ],
    "kernels": [
        (TRAIN, {
            "TUTTI_ISA": "sse9"
        }, USAGE, ["TUTTI_ISA"]),
        (TRAIN, {
            "TUTTI_ISA": "AVX2"
        }, (0, 2), []),
        (TRAIN, {
            "TUTTI_ISA": "avx2,avx512"
        }, USAGE, ["TUTTI_ISA"]),
        (TRAIN, {
            "TUTTI_ISA": "x" * 5000
        }, USAGE, ["TUTTI_ISA"]),
        (TRAIN, {
            "TUTTI_ORDER": "nchw7c"
        }, USAGE, ["TUTTI_ORDER"]),
        (TRAIN, {
            "TUTTI_ORDER": "NHWC"
        }, USAGE, ["TUTTI_ORDER"]),
        (TRAIN, {
            "TUTTI_ORDER": "nhwc nchw"
        }, USAGE, ["TUTTI_ORDER"]),
        *[(f"tutti train {job}.yaml --quiet --fresh --out out --set precision={p}", {
            "TUTTI_ORDER": order
        }, (0, ), ["step 2"])
          for job, p in (("odd", "f32"), ("odd", "bf16"), ("one", "bf16"))
          for order in ("nchw", "nchw8c", "nchw16c", "nchw32c", "nhwc")],
        ("tutti train odd.yaml --quiet --fresh --out out --set threads=64", {}, (0, ), ["step 2"]),
        ("tutti train odd.yaml --quiet --fresh --out out --set threads=3 --set precision=bf16", {
            "TUTTI_ISA": "avx2"
        }, (0, ), ["step 2"]),
        ("tutti train odd.yaml --quiet --fresh --out out --set kernels=fast", {}, USAGE, ["kernels"]),
        *[(f"tutti train job.yaml --quiet --fresh --out out --set model=./{name}.yaml", {},
           (1, 2, 3), [name if name != "net_huge_units" else "memory are needed"]) for name in NETS],
    ],
    "rules": [
        *[(f"tutti train adamw.yaml --quiet --fresh --out out --set optimiser.{key}={value}", {}, USAGE, [key])
          for key, value in (("beta1", "1"), ("beta1", "-0.1"), ("beta2", "nan"), ("beta2", "1"), ("eps", "0"),
                             ("eps", "-1e-8"), ("momentum", "0.8"), ("lr", "0"), ("lr", "inf"), ("lr", "-1"),
                             ("weight_decay", "-1"), ("weight_decay", "nan"), ("rule", "adam"), ("beta3", "0.9"),
                             ("warmup_epochs", "-1"), ("eps", ""))],
        ("sh -c '$T train adamw.yaml --quiet --fresh --out r1 && $T train adamw.yaml --quiet --out r1 --set "
         "optimiser.rule=momentum --set steps=6'",
         {}, REFUSED, ["rule"]),
        ("sh -c '$T train job.yaml --quiet --fresh --out r2 && $T train job.yaml --quiet --out r2 --set "
         "optimiser.rule=nesterov --set steps=4'",
         {}, REFUSED, ["rule"]),
        ("sh -c '$T train job.yaml --quiet --fresh --out r3 && $T train adamw.yaml --quiet --out r3'", {}, REFUSED,
         ["r3"]),
        ("sh -c '$T train adamw.yaml --quiet --fresh --out r4 && rm $(find r4 -name exp_avg_sq.safetensors) && "
         "$T train adamw.yaml --quiet --out r4 --set steps=6'", {}, (0, ),
         ["passed over a checkpoint that is not whole", "exp_avg_sq"]),
        ("sh -c '$T train adamw.yaml --quiet --fresh --out r5 && f=$(find r5 -name exp_avg.safetensors | head -1) && "
         "truncate -s 100 $f && "
         "$T train adamw.yaml --quiet --out r5 --set steps=6'", {}, (0, ),
         ["passed over a checkpoint that is not whole", "exp_avg"]),
        ("sh -c '$T train adamw.yaml --quiet --fresh --out r6 && rm r6/checkpoints/*/exp_avg.safetensors && $T ckpt "
         "verify r6/checkpoints/*'",
         {}, (3, ), ["exp_avg"]),
        ("sh -c '$T train adamw.yaml --quiet --fresh --out r7 && sed -i s/adamw/sgd/ r7/checkpoints/*/job.yaml && $T "
         "ckpt verify r7/checkpoints/*'",
         {}, (3, ), ["job.yaml"]),
    ],
    "places": [
        (TRAIN + "/deeper/\u00e9\u2603", {}, (0, ), ["step 2"]),
        ("tutti train job.yaml --quiet --out file", {}, USAGE, ["file", "not a folder"]),
        ("tutti train job.yaml --quiet --out file/under", {}, (1, 2), ["file/under"]),
        ("tutti train job.yaml --quiet --out /proc/nowhere", {}, (1, 2), ["/proc/nowhere"]),
        ("tutti train job.yaml --quiet --out /dev/null", {}, USAGE, ["/dev/null"]),
        ("tutti train job.yaml --quiet --out ''", {}, USAGE, ["--out"]),
        (f"tutti train job.yaml --quiet --out {'o' * 300}", {}, (1, 2), ["too long"]),
        ("sh -c 'mkdir -p loop; ln -sfn loop loop/loop; ln -sfn circle circle; $T train job.yaml --quiet --out circle'",
         {}, (1, 2), ["circle"]),
        ("sh -c 'ln -sfn /nowhere/at/all dangling; $T train job.yaml --quiet --out dangling'", {}, (1, 2), ["dangling"
                                                                                                            ]),
        ("sh -c '$T coll list >/dev/full'", {}, (1, ), []),
        ("sh -c '$T topo detect --describe >/dev/full'", {}, (1, ), []),
        ("sh -c '$T train job.yaml --quiet --fresh --out full >/dev/full'", {}, (0, 1), []),
        ("sh -c 'ulimit -f 40; $T train job.yaml --quiet --fresh --out small'", {}, (1, 153), ["small"]),
        ("sh -c 'ulimit -n 8; $T train job.yaml --quiet --fresh --out files'", {}, (1, ), ["Too many open files"]),
        ("sh -c 'ulimit -v 60000; $T train job.yaml --quiet --fresh --out memory'", {}, (1, 127), ["memory"]),
        ("sh -c '$T train job.yaml --quiet --fresh --out gone --set steps=100000 & p=$!; sleep 1.5; rm -rf gone; wait "
         "$p'",
         {}, (1, 3), ["gone"]),
        ("sh -c 'mkfifo -m 600 pipe; $T train pipe --quiet --out out'", {}, USAGE, ["pipe"]),
        ("sh -c '$T svm-train -q set.svm set.svm'", {}, USAGE, ["set.svm"]),
        ("tutti svm-train -q wrong.svm out.model", {}, (3, ), ["wrong.svm", "1"]),
        ("tutti svm-train -q --ranks 0 set.svm out.model", {}, USAGE, ["ranks"]),
        ("tutti svm-train -q --ranks 1000000 set.svm out.model", {}, (2, 5), ["open files", "ulimit -Hn"]),
        ("tutti svm-train -q set.svm /nowhere/model", {}, (1, 2), ["/nowhere/model"]),
        ("tutti svm-train -q set.svm file/model", {}, (2, ), ["file/model", "there is no such folder"]),
        ("tutti topo detect --cores 0", {}, USAGE, ["cores"]),
        ("tutti coll explain --topology host,cores=0 --bytes 1KB", {}, USAGE, ["cores"]),
        ("tutti coll explain --bytes 1KB", {
            "TUTTI_TOPOLOGY": "file"
        }, (2, 3), ["file"]),
        ("tutti coll explain --bytes 1KB", {
            "TUTTI_TOPOLOGY": "/dev/zero"
        }, (2, 3), ["/dev/zero"]),
    ],
}

RANK = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29850", "TUTTI_DEADLINE_S": "2"}


def rank(codes, words, **settings):
    """One rank of two with wrong variables."""
    return "tutti coll bench --bytes 4KB --iters 2", {**RANK, **settings}, codes, words


COMMANDS["launch"] = [
    rank((4, 5), ["rank 1"]),
    rank(USAGE, ["RANK"], RANK="2"),
    rank(USAGE, ["RANK"], RANK="-1"),
    rank(USAGE, ["RANK"], RANK="1x"),
    rank(USAGE, ["RANK"], RANK=""),
    rank(USAGE, ["WORLD_SIZE"], WORLD_SIZE="0"),
    rank(USAGE, ["WORLD_SIZE"], WORLD_SIZE="-3"),
    rank(USAGE, ["WORLD_SIZE"], WORLD_SIZE="99999999999"),
    rank(USAGE, ["MASTER_PORT"], MASTER_PORT="99999"),
    rank(USAGE, ["MASTER_PORT"], MASTER_PORT="0"),
    rank(USAGE, ["MASTER_PORT"], MASTER_PORT="ssh"),
    rank((2, 5), ["nosuch.invalid"], RANK="1", MASTER_ADDR="nosuch.invalid"),
    rank((2,), ["fe80::1", "%eth0"], RANK="1", MASTER_ADDR="fe80::1"),
    rank((2, 4, 5), ["fe80::1%nosuch0"], RANK="1", MASTER_ADDR="fe80::1%nosuch0"),
    rank((2, 4, 5), ["256.1.1.1"], RANK="1", MASTER_ADDR="256.1.1.1"),
    rank((2, 4, 5), ["[::1]"], RANK="1", MASTER_ADDR="[::1]"),
    rank((2, 4, 5), ["a" * 60], RANK="1", MASTER_ADDR="a" * 5000),
    rank((4, 5), ["127.0.0.1"], RANK="1", MASTER_ADDR=""),
    rank((4, 5), ["127.0.0.1"], RANK="1", MASTER_PORT="9"),
    rank((4, 5), ["rank 1"], TUTTI_HOST_ID="x" * 3000),
]

# Folders that refuse, in a namespace of our own; where that is not allowed they are not tried.
COMMANDS["mounts"] = [
    (f"unshare -rm sh -c 'mkdir -p m{i} && {mount} m{i} && {command}'", {}, codes, words)
    for i, (mount, command, codes, words) in enumerate((
        ("mount -t tmpfs -o size=100k none", "$T train job.yaml --quiet --fresh --out m0/out", (1, ),
         ["m0/out", "No space left"]),
        ("mount -t tmpfs -o size=100k none",
         "$T svm-train -q set.svm m1/deep.model && $T train job.yaml --quiet --fresh --out m1/out", (1, ),
         ["No space left"]),
        ("mount -t tmpfs -o ro none", "$T train job.yaml --quiet --fresh --out m2/out", (1, ), ["m2/out", "Read-only"]),
        ("mount -t tmpfs -o ro none", "$T svm-train -q set.svm m3/model", (2, ), ["m3/model", "Read-only"]),
        ("mount -t tmpfs -o size=16k none", "$T svm-train -q --trace m4/trace set.svm out.model", (0, 1), []),
        ("mount -t tmpfs -o nr_inodes=2 none", "$T train job.yaml --quiet --fresh --out m5/out", (1, ),
         ["No space left"]),
        ("mount -t tmpfs -o ro none", "$T coll tune --out m6/t", (2, ), ["m6/t", "Read-only"]),
    ))
]

# Cases of attack_ranks.c, on two ranks that are processes.
CASES = [(name, (0, ), ["as it should"])
         for name in ("enrol-no-descriptor", "enrol-closed-descriptor", "enrol-a-folder", "enrol-a-socket",
                      "enrol-an-eventfd", "enrol-dev-zero", "enrol-beyond-the-file", "enrol-size-max",
                      "enrol-negative-offset", "enrol-null", "enrol-odd-address", "enrol-the-stack", "enrol-the-heap",
                      "enrol-code", "enrol-twice", "enrol-by-one-alone", "enrol-another-size", "forget-twice",
                      "forget-the-middle", "forget-what-was-allocated", "forget-by-one-alone", "free-what-was-enrolled",
                      "enrol-then-close", "enrol-then-unmap-and-forget", "enrol-sealed", "enrol-file-cut-short",
                      "call-null", "call-null-input", "call-unmapped-input", "call-read-only-output", "call-overlap",
                      "call-count-negative", "call-count-max", "call-type-99", "call-root-7", "call-no-algorithm",
                      "not-dumpable", "one-dies-asleep", "one-never-calls", "destroy-in-flight")]
