#!/usr/bin/env bash
# comm_examples.sh SOURCE BUILD: installs into an empty folder, builds examples/comm outside the tree against that, and runs each as
# three processes, one of them with a schedule that must be refused.
set -euo pipefail
. "$(dirname "$0")/installed.sh"
ranks=3
example comm
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

start() { # start PROGRAM ...: as $ranks processes, found through torchrun's variables; the worst exit code
    local pids=() worst=0 code
    for ((rank = 0; rank < ranks; rank++)); do
        RANK=$rank WORLD_SIZE=$ranks MASTER_PORT=$port TUTTI_DEADLINE_S=20 "$@" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        code=0
        wait "$pid" || code=$?
        [ "$code" -gt "$worst" ] && worst=$code
    done
    return "$worst"
}

start "$work/comm/build/hello_allreduce" | grep -F "3 ranks: sum 6, largest 2 on rank 2"
start "$work/comm/build/overlap" | grep -F ": 0 elements wrong"
"$work/prefix/bin/tutti" coll compile ring --ranks $ranks >"$work/ring.sched"
start "$work/comm/build/own_schedule" "$work/ring.sched" | grep -F "1000 elements by the schedule"
sed 's/(s0\[0\/3\] in\[0\/3\])/(s0[0\/3] s0[0\/3])/' "$work/ring.sched" >"$work/bad.sched"
cmp -s "$work/ring.sched" "$work/bad.sched" && { echo "nothing was broken"; exit 1; }
code=0
start "$work/comm/build/own_schedule" "$work/bad.sched" 2>"$work/words" || code=$?
cat "$work/words"
[ "$code" = 1 ] && grep -qE "rank [0-9]" "$work/words"
