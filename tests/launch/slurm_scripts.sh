#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# slurm_scripts.sh: the batch scripts of examples/slurm, under a Slurm of one node: each job is interrupted as Slurm does it, returns to
# the queue, and ends with the weights of an undisturbed run.
# usage: slurm_scripts.sh TUTTI SOURCE [--long]     --long: real time limits, preemption, a failed node     exit 77: Slurm is not here
set -u
tutti=$(readlink -f "$1") scripts=$(readlink -f "$2")/examples/slurm long=${3:-}
source "$(dirname "${BASH_SOURCE[0]}")/slurm_cluster.sh"
source "$(dirname "${BASH_SOURCE[0]}")/slurm_jobs.sh"
dir=$(mktemp -d /tmp/tutti_slurm_scripts_XXXXXX)
trap 'slurm_stop; pgrep -f "$dir/job.yaml" | xargs -r kill -KILL; rm -rf "$dir"' EXIT # a failed test leaves runs behind
limit_s=60
[ -z "$long" ] || limit_s=300

cat >"$dir/job.yaml" <<'JOB'
model: mlp
data: {set: digits, train_samples: 64, test_samples: 32}
batch: 16
steps: 400
optimiser: {rule: momentum, lr: 0.02}
log_every: 10
checkpoint: {every_steps: 100000, every_minutes: 0}
JOB

# What the scripts find as `tutti`: in a job's first start rank 0 stands still at step 200 until a signal comes, so each interruption
# meets a run in its middle, however fast the machine is. With $slow_end its end takes two seconds more and leaves that file.
mkdir "$dir/bin"
cat >"$dir/bin/tutti" <<WRAPPER
#!/bin/sh
[ "\${SLURM_RESTART_COUNT:-0}" = 0 ] && set -- "\$@" --stall 0=250@200
[ -n "\${slow_end:-}" ] || exec $tutti "\$@"
trap 'sleep 2; touch "\$slow_end"' TERM
$tutti "\$@" &
wait
wait \$!
WRAPPER
chmod 755 "$dir" "$dir/bin/tutti"

is_at_the_stall() { # NAME
    grep -q "step 190/" "$dir/$1.log" 2>/dev/null
}

expect_interrupted() { # NAME SIGNAL HASH: saved at the signal, went on from there, and ended with these weights
    local log=$dir/$1.log
    grep -q "stopped by signal $2 at step 20[0-9];" "$log" || complain "$1" "has not saved at signal $2"
    grep -q "resuming at step 20[0-9] of 400" "$log" || complain "$1" "has not gone on"
    [ "$(tail -n 1 "$log" | cut -d ' ' -f 1-4)" = "weights $3 step 400" ] || complain "$1" "does not end with the weights $3"
    [ "$(grep -c '^plan:' "$log")" = 2 ] || complain "$1" "has not begun twice"
    grep -q "ExitCode=0:0" <(scontrol show job "${ids[$1]}") || complain "$1" "$(scontrol show job "${ids[$1]}" | grep ExitCode)"
}

train_undisturbed() { # SEED
    "$tutti" train "$dir/job.yaml" --ranks 2 --seed "$1" --out "$dir/plain$1" --quiet | awk '{print $2}'
}

slurm_partitions="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL Default=NO State=UP OverSubscribe=FORCE:8 PriorityTier=1
PartitionName=high Nodes=ALL Default=NO State=UP OverSubscribe=NO PriorityTier=2"
[ -n "$long" ] || slurm_partitions=
slurm_start >"$dir/start"
code=$?
[ $code = 0 ] || { cat "$dir/start"; exit $code; }
export PATH=$dir/bin:$PATH

interrupt_by_hand() {
    submit requeue "$scripts/requeue.sh" "$dir/job.yaml" --out "$dir/requeue"
    submit warn-shell "$scripts/warn-shell.sh" "$dir/job.yaml" --out "$dir/warn-shell"
    submit warn-step --nodes=1 --overcommit "$scripts/warn-step.sh" "$dir/job.yaml" --out "$dir/warn-step"
    submit pool --array=1-2 --output="$dir/pool%a.log" "$scripts/pool.sh" "$dir/job.yaml" "$dir/pool"
    hash=$(train_undisturbed 1)
    hash2=$(train_undisturbed 2)
    local name
    for name in requeue warn-shell warn-step pool1 pool2; do wait_until "$name at the stall" is_at_the_stall $name; done
    ids[pool1]=${ids[pool]}_1 ids[pool2]=${ids[pool]}_2
    scontrol requeue "${ids[requeue]}"
    scancel --signal=USR1 --batch "${ids[warn-shell]}"
    scancel --signal=USR1 "${ids[warn-step]}"
    scontrol requeue "${ids[pool1]}"
    scontrol requeue "${ids[pool2]}"
    wait_until "the end of all jobs" queue_is_empty
    expect_interrupted requeue 15 "$hash"
    expect_interrupted warn-shell 10 "$hash"
    expect_interrupted warn-step 10 "$hash"
    expect_interrupted pool1 15 "$hash"
    expect_interrupted pool2 15 "$hash2"
}

# The warnings come from Slurm, which looks at time limits every 30 s.
interrupt_by_time_limit() {
    submit shell-limit --time=1 --signal=B:USR1@30 "$scripts/warn-shell.sh" "$dir/job.yaml" --out "$dir/shell-limit"
    submit step-limit --time=1 --signal=USR1@30 --nodes=1 --overcommit "$scripts/warn-step.sh" "$dir/job.yaml" --out "$dir/step-limit"
    wait_until "the end of all jobs" queue_is_empty
    expect_interrupted shell-limit 10 "$hash"
    expect_interrupted step-limit 10 "$hash"
}

# SIGTERM comes while the save that the warning has asked for takes long: rank 1 is stopped meanwhile.
term_while_it_saves() {
    local rank
    submit slow-save "$scripts/warn-shell.sh" "$dir/job.yaml" --out "$dir/slow-save"
    wait_until "slow-save at the stall" is_at_the_stall slow-save
    rank=$(pgrep -f "^tutti train $dir/job.yaml --out $dir/slow-save" | tail -n 1)
    kill -STOP "$rank"
    scancel --signal=USR1 --batch "${ids[slow-save]}"
    sleep 1.5
    scancel --signal=TERM --full "${ids[slow-save]}"
    sleep 1.5
    kill -CONT "$rank" || complain slow-save "has not waited for rank 1"
    wait_until "the end of all jobs" queue_is_empty
    expect_interrupted slow-save 10 "$hash"
}

waits_for_its_second_start() { # NAME
    squeue -h -t PD -j "${ids[$1]}" -o %r | grep -q BeginTime
}

# The job stays until tutti has ended, however long that takes: no second start meets the first one.
requeue_while_it_saves() {
    slow_end=$dir/slow-requeue.end submit slow-requeue "$scripts/requeue.sh" "$dir/job.yaml" --out "$dir/slow-requeue"
    wait_until "slow-requeue at the stall" is_at_the_stall slow-requeue
    scontrol requeue "${ids[slow-requeue]}"
    wait_until "slow-requeue in the queue" waits_for_its_second_start slow-requeue
    [ -e "$dir/slow-requeue.end" ] || complain slow-requeue "returned to the queue before tutti had ended"
    wait_until "the end of all jobs" queue_is_empty
    expect_interrupted slow-requeue 15 "$hash"
}

interrupt_by_preemption() {
    submit preempted --partition=low "$scripts/requeue.sh" "$dir/job.yaml" --out "$dir/preempted"
    wait_until "preempted at the stall" is_at_the_stall preempted
    submit urgent --partition=high --exclusive --wrap "sleep 1"
    wait_until "the end of all jobs" queue_is_empty
    expect_interrupted preempted 15 "$hash"
}

interrupt_by_node_failure() {
    local node
    node=$(sinfo -h -o %n)
    submit failed-node "$scripts/requeue.sh" "$dir/job.yaml" --out "$dir/failed-node"
    wait_until "failed-node at the stall" is_at_the_stall failed-node
    scontrol update NodeName="$node" State=DOWN Reason=test
    sleep 2
    [[ "$(sinfo -h -n "$node" -o %t)" != down* ]] || scontrol update NodeName="$node" State=RESUME
    wait_until "the end of all jobs" queue_is_empty
    expect_interrupted failed-node 15 "$hash"
}

if [ -n "$long" ]; then
    hash=$(train_undisturbed 1)
    requeue_while_it_saves
    term_while_it_saves
    interrupt_by_preemption
    interrupt_by_node_failure
    interrupt_by_time_limit
else
    interrupt_by_hand
fi
exit $((failures > 0))
