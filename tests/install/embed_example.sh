#!/usr/bin/env bash
# embed_example.sh SOURCE BUILD: installs into an empty folder, builds examples/embed outside the tree against that, and trains a job with it,
# alone and as two processes. The weights are those of the installed `tutti train`. A run that is interrupted goes on to them, too.
set -euo pipefail
. "$(dirname "$0")/installed.sh"
example embed
cd "$work"
train=$work/embed/build/train_job
keys=(epochs=0 steps=40 log_every=10 data.train_samples=1280 data.test_samples=128)
sets=()
for key in "${keys[@]}"; do sets+=(--set "$key"); done
weights() { grep -o 'weights [0-9a-f]\{16\}' "$1" | tail -1; } # of a run, by what it printed

"$work/prefix/bin/tutti" train "$source/examples/mlp.yaml" --ranks 1 "${sets[@]}" --out one >one.log
"$train" "$source/examples/mlp.yaml" called "${keys[@]}" ranks=1 | tee called.log
grep -q "step 40 of 40: loss" called.log
[ "$(weights called.log)" = "$(weights one.log)" ]

"$work/prefix/bin/tutti" train "$source/examples/mlp.yaml" --ranks 2 "${sets[@]}" --out two >two.log
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for rank in 1 0; do
    RANK=$rank WORLD_SIZE=2 MASTER_PORT=$port TUTTI_DEADLINE_S=20 "$train" "$source/examples/mlp.yaml" pair "${keys[@]}" ranks=2 >"pair$rank.log" &
done
wait %1
wait %2
[ "$(weights pair0.log)" = "$(weights two.log)" ]
[ "$(weights pair1.log)" = "$(weights two.log)" ]

code=0
timeout --signal INT 1 "$train" "$source/examples/mlp.yaml" stopped "${keys[@]}" steps=1000000 ranks=1 >stopped.log || code=$?
[ "$code" = 124 ]
tail -1 stopped.log
grep -q "^stopped at step" stopped.log

code=0
"$train" "$source/examples/mlp.yaml" refused ranks=4 2>words || code=$?
cat words
[ "$code" = 2 ] && grep -q "the job has 4 ranks" words
