#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# slurm_nodes.sh: examples/slurm/agents.sh under a Slurm of two nodes, which are network namespaces: a node fails, or the job is
# requeued, preempted or signalled. Each run of four ranks ends with the weights of the undisturbed run.
# usage: slurm_nodes.sh TUTTI SOURCE [--long]     --long: all cases, not a dead node alone     exit 77: Slurm or namespaces are not here
set -u
tutti=$(readlink -f "$1") scripts=$(readlink -f "$2")/examples/slurm long=${3:-}
source "$(dirname "${BASH_SOURCE[0]}")/slurm_cluster.sh"
source "$(dirname "${BASH_SOURCE[0]}")/slurm_jobs.sh"
slurm_leave "$0" "$@"
dir=$(mktemp -d /tmp/tutti_slurm_nodes_XXXXXX)
trap 'slurm_stop; pgrep -f "$dir/job.yaml" | xargs -r kill -KILL; rm -rf "$dir"' EXIT # a failed test leaves runs behind
limit_s=300 steps=150
[ -z "$long" ] || { steps=400 slurm_silence_s=10; } # an event must meet a run in its middle

cat >"$dir/job.yaml" <<JOB
model: lenet
data: {set: digits, train_samples: 2000, test_samples: 100}
batch: 24
steps: $steps
reduction: canonical
slots: 4
log_every: 1
threads: 1
eval_every_epochs: 0
checkpoint: {every_steps: 10}
exchange: {deadline_s: 10}
optimiser: {rule: momentum, lr: 0.02}
JOB

mkdir "$dir/bin"
ln -s "$tutti" "$dir/bin/tutti"
chmod 755 "$dir"
export PATH=$dir/bin:$PATH

has_begun() { # NAME
    grep -q '"step":20,' "$dir/$1/metrics.jsonl" 2>/dev/null
}

begin() { # NAME RANKS OPTIONS-OF-SBATCH...: submits a run and waits until it has done some steps
    submit "$1" "${@:3}" "$scripts/agents.sh" "$dir/job.yaml" --out "$dir/$1" --quiet --ranks "$2"
    wait_until "step 20 of $1" has_begun "$1"
}

expect_end() { # NAME: the run has ended with the weights of the undisturbed run, and left nothing behind
    grep -q "\"ev\":\"end\",\"weights\":\"$hash\",\"step\":$steps," "$dir/$1/metrics.jsonl" || complain "$1" "no weights $hash"
    [ -z "$(pgrep -f "$dir/job.yaml --out $dir/$1 ")" ] || complain "$1" "has left processes"
    echo "$1: $(grep -c 'group epoch 1: 4 ranks on 2 hosts' "$dir/$1.log") starts on two nodes, weights $hash"
}

expect_code() { # NAME CODE: the job's
    grep -q "ExitCode=$2:0" <(scontrol show job "${ids[$1]}") || complain "$1" "$(scontrol show job "${ids[$1]}" | grep ExitCode)"
}

expect_smaller() { # NAME: it went on without being started again
    grep -q "group epoch 2: 2 ranks on 1 host" "$dir/$1.log" || complain "$1" "has not gone on with one node"
    grep -q "Restarts=0" <(scontrol show job "${ids[$1]}") || complain "$1" "was started again"
    expect_code "$1" 0
    expect_end "$1"
}

expect_twice() { # NAME: a second start went on
    [ "$(grep -c 'group epoch 1: 4 ranks on 2 hosts' "$dir/$1.log")" = 2 ] || complain "$1" "has not begun twice"
    expect_code "$1" 0
    expect_end "$1"
}

expect_resumed() { # NAME: it saved at the signal, and a second start went on from there
    [ "$(grep -c ^weights "$dir/$1.log")" = 2 ] || complain "$1" "has not saved after the signal"
    expect_twice "$1"
}

node_is() { # NODE STATE
    [[ "$(sinfo -h -p all -n "node$1" -o %t)" == $2* ]]
}

bring_back() { # K COMMAND...: the command brings node K back
    "${@:2}"
    wait_until "node$1 back" node_is "$1" idle
}

# The other node goes on at once. With $long Slurm itself notices that the node is gone, which takes it up to half a minute.
a_node_dies() {
    begin dead 2:4
    slurm_node_kill 2
    wait_until "the weights of dead" grep -q "^weights" "$dir/dead.log"
    [ -n "$long" ] || scontrol update NodeName=node2 State=DOWN Reason=test
    wait_until "the end of all jobs" queue_is_empty
    expect_smaller dead
    grep -q "Node failure on node2" "$dir/dead.log" || complain dead "srun does not know that the node has failed"
}

a_link_dies() {
    begin cut 2:4
    slurm_node_cut 2
    wait_until "node2 down" node_is 2 down
    wait_until "the end of all jobs" queue_is_empty
    expect_smaller cut
    bring_back 2 slurm_node_mend 2
}

# The node that runs the script: the other agent ends the run, but no script is left to end the job.
the_first_node_dies() {
    begin first 2:4
    slurm_node_kill 1
    wait_until "node1 down" node_is 1 down
    wait_until "the end of first" grep -q '"ev":"end"' "$dir/first/metrics.jsonl"
    scancel "${ids[first]}"
    wait_until "the end of all jobs" queue_is_empty
    expect_end first
    bring_back 1 slurm_node_start 1
}

# Without --no-kill Slurm ends the job, which returns to the queue and waits for the node. The agent that is left has no other ranks and
# waits, too, until Slurm ends it.
a_node_dies_and_the_job_is_requeued() {
    TUTTI_DEADLINE_S=60 begin failed 4 --no-kill=off
    slurm_node_kill 2
    wait_until "node2 down" node_is 2 down
    bring_back 2 slurm_node_start 2
    wait_until "the end of all jobs" queue_is_empty
    expect_twice failed
}

requeue() {
    begin requeued 2:4
    scontrol requeue "${ids[requeued]}"
    wait_until "the end of all jobs" queue_is_empty
    expect_resumed requeued
}

preempt() {
    begin preempted 2:4 --partition=low
    submit urgent --partition=high --nodes=2 --exclusive --wrap "sleep 1"
    wait_until "the end of all jobs" queue_is_empty
    expect_resumed preempted
}

warn() {
    begin warned 2:4
    scancel --signal=USR1 "${ids[warned]}"
    wait_until "the end of all jobs" queue_is_empty
    expect_resumed warned
}

# The job is over after SIGTERM; the user submits it again.
terminate() {
    begin ended 2:4
    scancel --signal=TERM "${ids[ended]}"
    wait_until "the end of all jobs" queue_is_empty
    expect_code ended 143
    submit ended "$scripts/agents.sh" "$dir/job.yaml" --out "$dir/ended" --quiet --ranks 2:4
    wait_until "the end of all jobs" queue_is_empty
    expect_resumed ended
}

slurm_partitions="PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL Default=NO State=UP OverSubscribe=FORCE:8 PriorityTier=1
PartitionName=high Nodes=ALL Default=NO State=UP OverSubscribe=NO PriorityTier=2"
slurm_start 2 >"$dir/start"
code=$?
[ $code = 0 ] || { cat "$dir/start"; exit $code; }
srun --mpi=list 2>&1 | grep -q pmix || { echo "skipped: this Slurm has no PMIx (./dev setup --test)"; exit 77; }
hash=$("$tutti" train "$dir/job.yaml" --ranks 4 --quiet --out "$dir/plain" | awk '{print $2}')
[ -n "$long" ] || { a_node_dies; exit $((failures > 0)); }
for case in warn terminate requeue preempt a_link_dies a_node_dies_and_the_job_is_requeued the_first_node_dies a_node_dies; do
    began=$SECONDS
    $case
    echo "    $case: $((SECONDS - began)) s"
done
exit $((failures > 0))
