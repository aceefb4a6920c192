# SPDX-License-Identifier: Apache-2.0
# slurm_cluster.sh: sourced: a Slurm of one node in a temporary folder, for as long as the script runs: own munge, own ports, so that a
# real one on this machine is not touched. Slurm's daemons want root. Returns 77 from `slurm_start` where something is missing.
# Sets SLURM_CONF for srun and sbatch. $slurm_partitions: more lines of slurm.conf. slurm_stop is to be trapped by the caller.
slurm_need() {
    local what
    for what in munged slurmctld slurmd srun sbatch runuser python3; do
        command -v "$what" >/dev/null || { echo "skipped: no $what (./dev setup --test)"; return 77; }
    done
    [ "$(id -u)" = 0 ] || { echo "skipped: slurmd needs root (run as root)"; return 77; }
    id munge >/dev/null 2>&1 || { echo "skipped: no user munge (./dev setup --test)"; return 77; }
}

slurm_ports() { # N: so many free ones
    python3 -c "
import socket
held = [socket.create_server(('127.0.0.1', 0)) for _ in range($1)]
print(*[s.getsockname()[1] for s in held])"
}

slurm_start() {
    slurm_need || return 77
    slurm_dir=$(mktemp -d /tmp/tutti_slurm_XXXXXX)
    chmod 755 "$slurm_dir"
    local ctl node host
    read -r ctl node < <(slurm_ports 2)
    host=$(hostname -s)
    mkdir -p "$slurm_dir"/{munge,state,spool}
    head -c 64 /dev/urandom >"$slurm_dir/munge/key"
    chmod 400 "$slurm_dir/munge/key"
    chown -R munge "$slurm_dir/munge"
    runuser -u munge -- "$(command -v munged)" --force --key-file="$slurm_dir/munge/key" --socket="$slurm_dir/munge/socket" \
        --pid-file="$slurm_dir/munge/pid" --log-file="$slurm_dir/munge/log" --seed-file="$slurm_dir/munge/seed"
    cat >"$slurm_dir/slurm.conf" <<CONF
ClusterName=tutti
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$ctl
SlurmdPort=$node
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_dir/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$slurm_dir/state
SlurmdSpoolDir=$slurm_dir/spool
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmdPidFile=$slurm_dir/slurmd.pid
SlurmctldLogFile=$slurm_dir/slurmctld.log
SlurmdLogFile=$slurm_dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/linear
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:8
${slurm_partitions:-}
CONF
    export SLURM_CONF=$slurm_dir/slurm.conf
    slurmctld -f "$SLURM_CONF"
    slurmd -f "$SLURM_CONF" -N "$host"
    for _ in $(seq 100); do
        [ "$(sinfo -h -o %t 2>/dev/null)" = idle ] && return 0
        sleep 0.1
    done
    echo "slurm does not come up:"
    sinfo
    tail -n 20 "$slurm_dir"/*.log
    return 1
}

slurm_stop() {
    [ -n "${slurm_dir:-}" ] || return 0
    local file pid job
    for job in $(squeue -h -o %A 2>/dev/null); do scancel --signal=KILL --full "$job"; scancel "$job"; done # a failed test has left them
    for _ in $(seq 50); do
        [ -n "$(squeue -h 2>/dev/null)" ] || break
        sleep 0.1
    done
    for file in slurmd.pid slurmctld.pid munge/pid; do
        pid=$(cat "$slurm_dir/$file" 2>/dev/null) && kill "$pid" 2>/dev/null
    done
    for _ in $(seq 50); do # they write their state as they go
        pgrep -f "$slurm_dir" >/dev/null || break
        sleep 0.1
    done
    rm -rf "$slurm_dir"
}
