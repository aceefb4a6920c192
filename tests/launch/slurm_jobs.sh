# SPDX-License-Identifier: Apache-2.0
# slurm_jobs.sh: sourced: submits batch jobs to the Slurm of slurm_cluster.sh and waits for them. The caller sets dir, a folder that has
# each job's words in NAME.log, and limit_s. `failures` counts complaints; `ids` has each job's number.
failures=0
declare -A ids=()

complain() { # NAME WORDS
    echo "$1: $2"
    sed 's/^/    /' "$dir/$1.log"
    failures=$((failures + 1))
}

submit() { # NAME OPTIONS-OF-SBATCH... SCRIPT ARGUMENTS...
    local name=$1
    shift
    ids[$name]=$(sbatch --parsable --output="$dir/$name.log" "$@") || complain "$name" "sbatch: $*"
}

wait_until() { # WORDS COMMAND...: until the command succeeds
    local words=$1 end=$((SECONDS + limit_s))
    shift
    until "$@"; do
        if ((SECONDS >= end)); then
            echo "never: $words"
            squeue
            tail -n 20 "$dir"/*.log
            exit 1
        fi
        sleep 0.1
    done
}

# A requeued job waits for cred_expire seconds, two minutes by default. One second is enough: Slurm's clock counts whole ones.
hurry() {
    local job
    for job in $(squeue -h -t PD -o '%A %r' | awk '/BeginTime/ {print $1}'); do
        [[ " ${hurried:-} " == *" $job "* ]] || { scontrol update JobId="$job" StartTime=now+1 && hurried="${hurried:-} $job"; }
    done
}

queue_is_empty() {
    hurry
    [ -z "$(squeue -h)" ]
}
