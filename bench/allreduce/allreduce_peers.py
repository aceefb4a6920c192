# SPDX-License-Identifier: Apache-2.0
"""allreduce_peers.py: who ./dev bench allreduce compares with. A peer is one class: how it is built, which settings it
may run in, and how its ranks are started. Each prints "BYTES MICROSECONDS" lines; a setting that a peer refuses gives
no lines."""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import runs  # noqa: E402


@dataclasses.dataclass
class Setting:
    options: list = dataclasses.field(default_factory=list)
    env: dict = dataclasses.field(default_factory=dict)


def first_line(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def times_of(command: list, setting: Setting, env: dict | None = None) -> dict[int, float]:
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, **(env or {}), **setting.env))
    except subprocess.TimeoutExpired:
        return {}
    lines = [line.split() for line in done.stdout.splitlines()]
    return {int(line[0]): float(line[1]) for line in lines if len(line) == 2} if done.returncode == 0 else {}


def compiled(build: pathlib.Path, source: str, suffix: str, *command: str) -> pathlib.Path:
    program = build / "bench" / (pathlib.Path(source).stem + suffix)
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([command[0], "-O3", "-o", str(program), str(HERE / source), *command[1:]], check=True)
    return program


class OpenMpi:
    tuned = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm"]
    settings = {
        "default": Setting(),
        "bound to cores": Setting(["--bind-to", "core"]),
        "pml ucx": Setting(["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]),
        "no single copy": Setting(["--mca", "btl_vader_single_copy_mechanism", "none"]),
        "recursive doubling": Setting(tuned + ["3"]),
        "ring": Setting(tuned + ["4"]),
        "Rabenseifner": Setting(tuned + ["6"]),
    }

    def __init__(self, build: pathlib.Path) -> None:
        self.run = shutil.which("mpirun.openmpi") or "mpirun"
        self.name = "Open MPI " + first_line(self.run, "--version").split()[-1]
        self.program = compiled(build, "mpi_allreduce.c", "_openmpi", shutil.which("mpicc.openmpi") or "mpicc")

    def times(self, ranks: int, sizes: list[int], setting: Setting) -> dict[int, float]:
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return times_of([self.run, *root, "--oversubscribe", "-n", ranks, *setting.options, self.program, *sizes], setting)


class Mpich:
    algorithm = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"
    settings = {
        "default": Setting(),
        "bound to cores": Setting(["-bind-to", "core"]),
        "UCX posix,cma": Setting(env={"UCX_TLS": "posix,cma,self"}),
        "UCX sysv": Setting(env={"UCX_TLS": "sysv,self"}),
        "recursive doubling": Setting(env={algorithm: "recursive_doubling"}),
        "Rabenseifner": Setting(env={algorithm: "reduce_scatter_allgather"}),
    }

    def __init__(self, build: pathlib.Path) -> None:
        version = re.search(r"Version:\s*(\S+)", subprocess.run(["mpirun.mpich", "--version"], capture_output=True, text=True,
                                                               check=True).stdout)
        self.name = f"MPICH {version.group(1)}"
        self.program = compiled(build, "mpi_allreduce.c", "_mpich", "mpicc.mpich")

    def times(self, ranks: int, sizes: list[int], setting: Setting) -> dict[int, float]:
        return times_of(["mpirun.mpich", "-n", ranks, *setting.options, self.program, *sizes], setting)


class Gloo:
    settings = {"default": Setting()}

    def __init__(self, build: pathlib.Path) -> None:
        self.python = build / "peers/bin/python"
        self.name = "gloo of PyTorch " + first_line(str(self.python), "-c",
                                                    "import torch; print(torch.__version__)").split("+")[0]

    def times(self, ranks: int, sizes: list[int], setting: Setting) -> dict[int, float]:
        first, *rest = [env | {"OMP_NUM_THREADS": "1"} for env in runs.environments(ranks)]
        command = [self.python, HERE / "gloo_allreduce.py", *sizes]
        others = [subprocess.Popen(list(map(str, command)), env=dict(os.environ, **env), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL) for env in rest]
        times = times_of(command, setting, first)
        for process in others:
            process.kill() if not times else process.wait(30)
        return times


class OneCcl:
    """The CPU library of PyPI's oneccl-devel over Intel MPI, with its launcher. It starts a thread beside the caller's
    only where
    cores are left."""
    settings = {
        "default": Setting(),
        "ofi, tcp": Setting(env={"CCL_ATL_TRANSPORT": "ofi", "FI_PROVIDER": "tcp"}),
        "recursive doubling": Setting(env={"CCL_ALLREDUCE": "recursive_doubling"}),
        "ring": Setting(env={"CCL_ALLREDUCE": "ring"}),
        "Rabenseifner": Setting(env={"CCL_ALLREDUCE": "rabenseifner"}),
    }

    def __init__(self, build: pathlib.Path) -> None:
        self.root = build / "peers-oneccl"
        lib = self.root / "lib"
        version = next(self.root.glob("lib/python3*/site-packages/oneccl_devel-*.dist-info")).name
        self.name = "oneCCL " + version.split("-")[1].removesuffix(".dist")
        self.program = compiled(build, "ccl_allreduce.cc", "", "g++", "-std=c++17", f"-I{self.root}/include",
                                str(lib / "ccl/cpu/lib/libccl.a"), f"-L{lib}", "-lirc", "-lsvml", "-limf", "-lintlc", "-lhwloc",
                                "-lpthread", "-ldl", "-lrt", f"-Wl,-rpath,{lib}")

    def times(self, ranks: int, sizes: list[int], setting: Setting) -> dict[int, float]:
        lib = str(self.root / "lib")
        with tempfile.TemporaryDirectory() as folder:
            line = f"exec {self.program} $PMI_RANK {ranks} {folder}/meet " + " ".join(map(str, sizes))
            return times_of([self.root / "bin/mpiexec.hydra", "-n", ranks, "sh", "-c", line], setting,
                            {"LD_LIBRARY_PATH": lib, "FI_PROVIDER_PATH": lib, "I_MPI_ROOT": str(self.root)})


def found(build: pathlib.Path) -> list:
    """Those that are here; the others are named on stderr."""
    peers = []
    for kind in (OpenMpi, Mpich, Gloo, OneCcl):
        try:
            peers.append(kind(build))
        except (OSError, StopIteration, subprocess.CalledProcessError) as problem:
            print(f"bench allreduce: without {kind.__name__}: {problem or 'not installed'}", file=sys.stderr)
    return peers
