#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# launchers.sh: four ranks by each launcher train to the same weights as `tutti train --ranks 4`, and end with the right codes.
# usage: launchers.sh TUTTI hand | taskset | mpirun | mpich | torchrun [PROGRAM] | slurm     exit 77: the launcher is not here
set -u
tutti=$(readlink -f "$1") launcher=$2 torchrun=${3:-}
source "$(dirname "${BASH_SOURCE[0]}")/slurm_cluster.sh"
dir=$(mktemp -d /tmp/tutti_launchers_XXXXXX)
trap 'slurm_stop; rm -rf "$dir"' EXIT
failures=0

cat >"$dir/job.yaml" <<'JOB'
model: mlp
data: {set: digits, train_samples: 64, test_samples: 32}
batch: 16
steps: 6
optimiser: {rule: momentum, lr: 0.02}
JOB
train="$tutti train $dir/job.yaml --quiet --fresh --out $dir/out"

need() { command -v "$1" >/dev/null || { echo "skipped: no $1 (./dev setup --test)"; exit 77; }; }

complain() {
    echo "$*"
    sed 's/^/    /' "$dir/log"
    failures=$((failures + 1))
}

# expect CODE WORDS COMMAND...: ends with the code and says the words.
expect() {
    local code=$1 words=$2 got
    shift 2
    if [ "$(type -t "$1")" = function ]; then "$@"; else timeout 60 "$@"; fi >"$dir/log" 2>&1
    got=$?
    [ $got = "$code" ] || complain "exit $got, not $code: $*"
    grep -qF -- "$words" "$dir/log" || complain "does not say '$words': $*"
}

# Common to launchers that can: PREFIX starts four ranks.
check_launcher() {
    expect 0 "weights $hash step 6" "$@" $train
    expect 0 "weights $hash step 6" "$@" $train --ranks 4
    expect 2 "--ranks 3, but" "$@" $train --ranks 3
    expect 2 "says 4" "$@" $train --ranks 3
    expect 3 "/nowhere: no file" "$@" $train --set data.set=mnist --set data.path=/nowhere
    expect 0 "Out of bounds values : 0 OK" "$@" "$tutti" coll bench --bytes 1KB --iters 20
}

# PREFIX starts two ranks, each bound to a core of its own: together they have two, and figures fitted for two are theirs.
check_cores() {
    local bench="$tutti coll bench --bytes 1KB --iters 20"
    [ "$(nproc)" -ge 2 ] || { echo "skipped: bound ranks on one core (a host with two)"; return; }
    echo "host,lat=200ns,cores=2" >"$dir/tuned"
    export TUTTI_TOPOLOGY=$dir/tuned
    expect 0 "# 2 ranks on 2 cores of this machine: who waits spins first" "$@" $bench
    ! grep -F "are not used" "$dir/log" || complain "two bound ranks do not use the figures of two cores"
    expect 0 "# 2 ranks on 1 core of this machine: who waits yields and sleeps" "$@" $bench --cores 1
    expect 0 "fitted for 2 cores, not for 1, and are not used" "$@" $bench --cores 1
    unset TUTTI_TOPOLOGY
}

# PREFIX starts four ranks and binds none: they share out the host's cores by themselves.
check_partition() {
    expect 0 "weights $hash step 6" "$@" $train --partition $(($(nproc) < 2 ? 1 : 2)) --set threads=1
}

# PREFIX starts two ranks, each bound to a core of its own: those are two machines.
check_bound_partition() {
    [ "$(nproc)" -ge 2 ] || return
    expect 2 "ranks of one host must share out the same cores, but rank 0 was started on cores" "$@" $train --partition 1
    expect 2 "if a launcher has bound it, let it not (mpirun --bind-to none" "$@" $train --partition 2
    expect 0 "step 6" env TUTTI_CORES="$(IFS=,; echo "${cores[*]:0:2}")" "$@" $train --partition 2
}

# by_hand COMMAND...: two ranks, each on one core of this shell's.
by_hand() {
    local port
    port=$(slurm_ports 1)
    env RANK=1 WORLD_SIZE=2 MASTER_PORT="$port" "$dir/bound.sh" "$@" &
    env RANK=0 WORLD_SIZE=2 MASTER_PORT="$port" "$dir/bound.sh" "$@" && wait $!
}

# bound.sh COMMAND...: on one of this shell's first two cores, by the rank's number.
cores=($(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | awk -F- '{for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i}') 0)
first_core=${cores[0]}
printf '#!/bin/bash\ncores=(%s %s)\nexec taskset -c "${cores[${RANK:-$SLURM_PROCID}]}" "$@"\n' "${cores[@]:0:2}" >"$dir/bound.sh"
chmod 755 "$dir" "$dir/bound.sh"

$train --ranks 4 >"$dir/log" 2>&1 || complain "no result to compare with"
hash=$(awk '/^weights/ {print $2}' "$dir/log")
if [ "$(id -u)" = 0 ]; then as_root="--allow-run-as-root"; else as_root=""; fi

# other_build PROGRAM COPY: as another build, by one bit of the build id that the linker has left in it; without one, by a byte more.
other_build() {
    python3 - "$1" "$2" <<'PYTHON'
import os, sys
text = bytearray(open(sys.argv[1], "rb").read())
at = text.find(bytes([4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0]) + b"GNU\0")
if at < 0:
    text += b"x"
else:
    text[at + 16] ^= 1
open(sys.argv[2], "wb").write(text)
os.chmod(sys.argv[2], 0o755)
PYTHON
}

# By hand: rank 0 as it is, rank 1 with these variables and these arguments. Both must end with CODE and say the words.
expect_pair() {
    local code=$1 words=$2 program=$3 variables=$4 port zero got
    shift 4
    port=$(slurm_ports 1)
    env RANK=0 TUTTI_DEADLINE_S=15 WORLD_SIZE=2 MASTER_PORT="$port" $train >"$dir/log" 2>&1 &
    zero=$!
    env RANK=1 TUTTI_DEADLINE_S=15 WORLD_SIZE=2 MASTER_PORT="$port" $variables ${train/$tutti/$program} "$@" >"$dir/log1" 2>&1
    got=$?
    [ $got = "$code" ] || complain "rank 1: exit $got, not $code: $variables $*"
    wait $zero
    got=$?
    [ $got = "$code" ] || complain "rank 0: exit $got, not $code: $variables $*"
    grep -qF -- "$words" "$dir/log" || complain "rank 0 does not say '$words': $variables $*"
    [ "$code" = 0 ] || grep -qF -- "$words" "$dir/log1" || complain "rank 1 does not say '$words': $variables $*"
}

case $launcher in
hand)
    $train --ranks 2 >"$dir/log" 2>&1 || complain "no result to compare with"
    pair=$(awk '/^weights/ {print $2}' "$dir/log")
    other_build "$tutti" "$dir/other"
    expect_pair 0 "weights $pair step 6" "$tutti" A=0
    expect_pair 5 "rank 0 has 2 ranks, rank 1" "$tutti" WORLD_SIZE=4
    expect_pair 5 "has 4 ranks" "$tutti" WORLD_SIZE=4
    expect_pair 5 "different builds of the program" "$dir/other" A=0
    expect_pair 5 "rank 0 has 'threads: 1', rank 1 has 'threads: 2'" "$tutti" A=0 --set threads=2
    expect_pair 5 "rank 1 has '  algorithm: \"ring\"'" "$tutti" A=0 --set exchange.algorithm=ring
    if grep -q avx2 /proc/cpuinfo; then # a processor that has only the generic row takes no other
        expect_pair 5 "instruction set (TUTTI_ISA)" "$tutti" TUTTI_ISA=generic
        expect_pair 5 "has generic" "$tutti" TUTTI_ISA=generic
    fi
    ;;
taskset)
    check_cores by_hand
    expect 0 "# 2 ranks on 1 core of this machine" taskset -c "$first_core" "$tutti" coll bench --ranks 2 --bytes 1KB --iters 20
    [ "$(nproc)" -ge 2 ] || exit $((failures > 0))
    echo "host,lat=123ns,cores=$(nproc)" >"$dir/tuned"
    export TUTTI_TOPOLOGY=$dir/tuned
    "$tutti" coll explain --bytes 4096 >"$dir/free"
    taskset -c "$first_core" "$tutti" coll explain --bytes 4096 2>"$dir/log" | cmp - "$dir/free" || complain "a bound process explains another host"
    expect 0 "this process may use 1 of the host's $(nproc) cores" taskset -c "$first_core" "$tutti" coll explain --bytes 4096
    expect 0 "fitted for $(nproc) cores, not for 1, and are not used" taskset -c "$first_core" "$tutti" coll explain --bytes 4096 --cores 1
    expect 0 "lat      123ns          fitted" cat "$dir/free"
    ;;
mpirun)
    need mpirun.openmpi
    check_cores mpirun.openmpi $as_root --use-hwthread-cpus --bind-to hwthread -n 2
    check_launcher mpirun.openmpi $as_root --oversubscribe -n 4
    check_partition mpirun.openmpi $as_root --oversubscribe --bind-to none -n 4
    check_bound_partition mpirun.openmpi $as_root --use-hwthread-cpus --bind-to hwthread -n 2
    expect 2 "--ranks-as-threads, but PMIx" mpirun.openmpi $as_root --oversubscribe -n 4 $train --ranks-as-threads
    expect 0 "batch" mpirun.openmpi $as_root -n 1 $train --dry-run
    ;;
mpich)
    need mpirun.mpich
    expect 5 "srun --mpi=pmix or torchrun" mpirun.mpich -n 4 $train
    expect 5 "of 4 by a launcher with PMI-1" mpirun.mpich -n 4 $train --ranks 4
    expect 5 "of 2 by" mpirun.mpich -n 2 "$tutti" coll bench
    expect 0 "weights $hash step 6" mpirun.mpich -n 1 $train --ranks 4
    expect 0 "weights $hash step 6" mpirun.mpich -n 4 sh -c \
        "RANK=\$PMI_RANK WORLD_SIZE=\$PMI_SIZE MASTER_ADDR=127.0.0.1 MASTER_PORT=$(slurm_ports 1) exec $train"
    ;;
torchrun)
    [ -x "$torchrun" ] || { echo "skipped: no PyTorch (./dev setup --peers)"; exit 77; }
    port=$(slurm_ports 1)
    expect 0 "weights $hash step 6" "$torchrun" --nproc-per-node 4 --master-port "$port" --no-python $train
    check_partition "$torchrun" --nproc-per-node 4 --master-port "$port" --no-python
    expect 1 "exitcode  : 2" "$torchrun" --nproc-per-node 4 --master-port "$port" --no-python $train --ranks 3
    ;;
slurm)
    slurm_start >"$dir/log"
    code=$?
    [ $code = 0 ] || { cat "$dir/log"; exit $code; }
    check_launcher srun --mpi=pmix --overcommit -n 4
    check_cores srun --mpi=pmix --overcommit -n 2 "$dir/bound.sh"
    check_partition srun --mpi=pmix --overcommit --cpu-bind=none -n 4
    check_bound_partition srun --mpi=pmix --overcommit -n 2 "$dir/bound.sh"
    expect 5 "use srun --mpi=pmix" srun --mpi=none --overcommit -n 4 $train
    expect 5 "srun with PMI-2" srun --mpi=pmi2 --overcommit -n 4 $train
    printf '#!/bin/sh\n%s --ranks 4\n' "$train" >"$dir/batch.sh" # a batch shell is no task: tutti starts the ranks
    chmod 755 "$dir/batch.sh"
    expect 0 "Submitted" sbatch --overcommit -n 4 --wait -o "$dir/batch.out" "$dir/batch.sh"
    expect 0 "weights $hash step 6" cat "$dir/batch.out"
    ;;
*) complain "unknown launcher $launcher" ;;
esac
exit $((failures > 0))
