# SPDX-License-Identifier: Apache-2.0
# slurm_cluster.sh: sourced: a Slurm in a temporary folder, for as long as the script runs: own munge, own ports, so that a real one on
# this machine is not touched. Slurm's daemons want root. Returns 77 from `slurm_start` where something is missing.
# Sets SLURM_CONF for srun and sbatch. $slurm_partitions: more lines of slurm.conf. $slurm_silence_s: seconds after which a silent node
# is down; 300, Slurm's default, where a busy machine must not matter. slurm_stop is to be trapped by the caller.
#
# `slurm_start` has one node, this host. `slurm_start N` has the nodes node1 to nodeN, each with a network namespace of its own, and
# `slurm_leave` must come first: it starts the script again in a namespace, which is the cluster's login host. slurm_node_start,
# _kill, _cut and _mend take the number of a node.
slurm_need() {
    local what
    for what in munged slurmctld slurmd srun sbatch runuser python3; do
        command -v "$what" >/dev/null || { echo "skipped: no $what (./dev setup --test)"; return 77; }
    done
    [ "$(id -u)" = 0 ] || { echo "skipped: slurmd needs root (run as root)"; return 77; }
    id munge >/dev/null 2>&1 || { echo "skipped: no user munge (./dev setup --test)"; return 77; }
}

slurm_leave() { # COMMAND...: goes on as this command, in a network namespace with the host name `login`
    [ -z "${SLURM_LOGIN:-}" ] || return 0
    slurm_need || exit 77
    local tried="tutti$$try"
    { ip netns add "$tried" && ip netns del "$tried"; } 2>/dev/null || { echo "skipped: no network namespaces here"; exit 77; }
    exec env SLURM_LOGIN=yes unshare --net --uts sh -c 'hostname login; exec "$@"' sh "$@"
}

slurm_ports() { # N: so many free ones
    python3 -c "
import socket
held = [socket.create_server(('127.0.0.1', 0)) for _ in range($1)]
print(*[s.getsockname()[1] for s in held])"
}

slurm_connect() { # N: joins this namespace and those of N nodes by a switch
    local k
    ip link set lo up && ip link add br0 type bridge && ip addr add 10.77.0.254/24 dev br0 && ip link set br0 up || return 1
    for k in $(seq "$1"); do
        ip netns add "$slurm_net$k"
        ip link add "p$k" type veth peer name eth0 netns "$slurm_net$k"
        ip link set "p$k" master br0 up
        ip -n "$slurm_net$k" addr add "10.77.0.$k/24" dev eth0
        ip -n "$slurm_net$k" link set eth0 up
        ip -n "$slurm_net$k" link set lo up
    done
}

slurm_node_start() { # K: starts a node, also one that was killed; its temporary folder is empty, as after a boot
    rm -rf "$slurm_dir"/{spool,tmp}."node$1"
    mkdir "$slurm_dir"/{spool,tmp}."node$1"
    # Not `ip netns exec`, which hides the control groups that slurmd wants.
    nsenter --net="/run/netns/$slurm_net$1" unshare --uts sh -c 'hostname "$1"; exec slurmd -f "$SLURM_CONF" -N "$1"' sh "node$1"
}

slurm_node_kill() { # K: the node's daemon and all that it has started, at once
    ip netns pids "$slurm_net$1" | xargs -r kill -KILL
}

slurm_node_cut() { ip link set "p$1" down; } # K: the node's cable is pulled
slurm_node_mend() { ip link set "p$1" up; }

slurm_write_conf() { # ADDRESS, then the lines of the nodes
    cat <<CONF
ClusterName=tutti
SlurmctldHost=$(hostname -s)($1)
SlurmctldPort=$slurm_port
SlurmdPort=$slurm_node_port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_dir/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$slurm_dir/state
SlurmdSpoolDir=$slurm_dir/spool.%n
TmpFS=$slurm_dir/tmp.%n
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmdPidFile=$slurm_dir/slurmd.%n.pid
SlurmctldLogFile=$slurm_dir/slurmctld.log
SlurmdLogFile=$slurm_dir/slurmd.%n.log
SlurmdTimeout=${slurm_silence_s:-300}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/linear
$2
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:8
${slurm_partitions:-}
CONF
}

slurm_start() { # [N]
    slurm_need || return 77
    slurm_dir=$(mktemp -d /tmp/tutti_slurm_XXXXXX)
    chmod 755 "$slurm_dir"
    local k
    slurm_net=tutti$$node
    read -r slurm_port slurm_node_port < <(slurm_ports 2)
    mkdir -p "$slurm_dir"/{munge,state}
    head -c 64 /dev/urandom >"$slurm_dir/munge/key"
    chmod 400 "$slurm_dir/munge/key"
    chown -R munge "$slurm_dir/munge"
    runuser -u munge -- "$(command -v munged)" --force --key-file="$slurm_dir/munge/key" --socket="$slurm_dir/munge/socket" \
        --pid-file="$slurm_dir/munge/pid" --log-file="$slurm_dir/munge/log" --seed-file="$slurm_dir/munge/seed" \
        2>"$slurm_dir/munge/said" # in a namespace it complains that nobody knows its name
    export SLURM_CONF=$slurm_dir/slurm.conf
    if [ -n "${1:-}" ]; then
        slurm_connect "$1" || return 1
        slurm_write_conf 10.77.0.254 "$(for k in $(seq "$1"); do echo "NodeName=node$k NodeAddr=10.77.0.$k CPUs=2 State=UNKNOWN"; done)" \
            >"$SLURM_CONF"
        slurmctld -f "$SLURM_CONF"
        for k in $(seq "$1"); do slurm_node_start "$k"; done
    else
        slurm_write_conf 127.0.0.1 "NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN" >"$SLURM_CONF"
        slurmctld -f "$SLURM_CONF"
        mkdir "$slurm_dir"/{spool,tmp}."$(hostname -s)"
        slurmd -f "$SLURM_CONF" -N "$(hostname -s)"
    fi
    for _ in $(seq 100); do
        [ "$(sinfo -h -p all -o '%t %D' 2>/dev/null)" = "idle ${1:-1}" ] && return 0
        sleep 0.1
    done
    echo "slurm does not come up:"
    sinfo
    tail -n 20 "$slurm_dir"/*.log
    return 1
}

slurm_stop() {
    [ -n "${slurm_dir:-}" ] || return 0
    local file pid job net
    for job in $(squeue -h -o %A 2>/dev/null); do scancel --signal=KILL --full "$job"; scancel "$job"; done # a failed test has left them
    for _ in $(seq 50); do
        [ -n "$(squeue -h 2>/dev/null)" ] || break
        sleep 0.1
    done
    for file in "$slurm_dir"/slurmd.*.pid "$slurm_dir"/{slurmctld.pid,munge/pid}; do
        pid=$(cat "$file" 2>/dev/null) && kill "$pid" 2>/dev/null
    done
    for _ in $(seq 50); do # they write their state as they go
        pgrep -f "$slurm_dir" >/dev/null || break
        sleep 0.1
    done
    for net in $(ip netns list 2>/dev/null | awk -v of="^$slurm_net[0-9]" '$1 ~ of {print $1}'); do
        ip netns pids "$net" | xargs -r kill -KILL
        ip netns del "$net"
    done
    rm -rf "$slurm_dir"
}
