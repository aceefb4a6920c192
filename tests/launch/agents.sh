#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# agents.sh: two agents started by a launcher go on when one of them is killed (docs/elastic.md).
# usage: agents.sh TUTTI mpirun | slurm | torchrun [PROGRAM]     exit 77: the launcher is not here
set -u
tutti=$(readlink -f "$1") launcher=$2 torchrun=${3:-}
source "$(dirname "${BASH_SOURCE[0]}")/slurm_cluster.sh"
dir=$(mktemp -d /tmp/tutti_agents_XXXXXX)
chmod 755 "$dir"
trap 'slurm_stop; rm -rf "$dir"' EXIT
failures=0

cat >"$dir/job.yaml" <<'JOB'
model: lenet
data: {set: digits, train_samples: 2000, test_samples: 100}
batch: 24
steps: 200
reduction: canonical
slots: 4
log_every: 1
threads: 1
eval_every_epochs: 0
checkpoint: {every_steps: 10}
exchange: {deadline_s: 10}
optimiser: {rule: momentum, lr: 0.02}
JOB

# Where Slurm has no PMIx: each task tells its agent by torchrun's variables.
by_variables='
    RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS TUTTI_COOKIE=$SLURM_JOB_ID
    MASTER_ADDR=$(scontrol show hostnames "$SLURM_STEP_NODELIST" | head -n 1) MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
    export RANK WORLD_SIZE TUTTI_COOKIE MASTER_ADDR MASTER_PORT
    exec "$@"'

complain() {
    echo "$*"
    sed 's/^/    /' "$dir/log"
    failures=$((failures + 1))
}

# agent N VARIABLE: the process number of agent N; an agent has no link to another one, as its ranks have.
agent() {
    local pid
    for pid in $(pgrep -f "^$tutti train $dir/job.yaml"); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -q '^TUTTI_LINK_FD=' && continue
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "$2=$1" && echo "$pid" && return
    done
}

# play VICTIM VARIABLE PREFIX...: runs two agents of two ranks and kills the agent VICTIM (none: no agent) after 20 steps.
# The run must go on to the undisturbed weights.
play() {
    local victim=$1 variable=$2 run pid=
    shift 2
    rm -rf "$dir/out"
    timeout 120 "$@" "$tutti" train "$dir/job.yaml" --quiet --out "$dir/out" --ranks 2:4 --ranks-per-host 2 --max-restarts 9 \
        >"$dir/log" 2>&1 &
    run=$!
    if [ "$victim" != none ]; then
        for _ in $(seq 600); do
            grep -q '"step":20,' "$dir/out/metrics.jsonl" 2>/dev/null && pid=$(agent "$victim" "$variable") && break
            sleep 0.05
        done
        [ -n "$pid" ] && kill -KILL "$pid" || complain "agent $victim is not found: $*"
    fi
    wait $run
    echo "agent $victim killed: exit $? of $*"
    grep -q "weights $hash step 200" "$dir/log" || complain "no weights $hash: agent $victim killed, $*"
    [ "$victim" = none ] || grep -q "group epoch [23]: 2 ranks on 1 host" "$dir/log" || complain "no second epoch: $*"
    [ -z "$(pgrep -f "^$tutti train $dir/job.yaml")" ] || complain "processes are left: $*"
}

case $launcher in
mpirun) command -v mpirun.openmpi >/dev/null || { echo "skipped: no mpirun.openmpi (./dev setup --test)"; exit 77; } ;;
torchrun) [ -x "$torchrun" ] || { echo "skipped: no PyTorch (./dev setup --peers)"; exit 77; } ;;
esac
"$tutti" train "$dir/job.yaml" --ranks 4 --quiet --out "$dir/plain" >"$dir/log" 2>&1 || complain "no result to compare with"
hash=$(awk '/^weights/ {print $2}' "$dir/log")
if [ "$(id -u)" = 0 ]; then as_root="--allow-run-as-root"; else as_root=""; fi

case $launcher in
mpirun)
    for victim in none 1 0; do
        play $victim OMPI_COMM_WORLD_RANK mpirun.openmpi $as_root --enable-recovery --oversubscribe --bind-to none -n 2
    done
    ;;
slurm)
    slurm_start >"$dir/log"
    code=$?
    [ $code = 0 ] || { cat "$dir/log"; exit $code; }
    for victim in none 1 0; do
        play $victim SLURM_PROCID srun --mpi=pmix --overcommit -n 2 -K0 --no-kill
        play $victim SLURM_PROCID srun --mpi=none --overcommit -n 2 -K0 --no-kill sh -c "$by_variables" sh
    done
    ;;
torchrun)
    play none RANK "$torchrun" --nproc-per-node 2 --master-port "$(slurm_ports 1)" --no-python
    ;;
*) complain "unknown launcher $launcher" ;;
esac
exit $((failures > 0))
