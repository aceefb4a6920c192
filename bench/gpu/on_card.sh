#!/usr/bin/env bash
# on_card.sh BUNDLE OUT [--parts ops,train,time,ipc,tnn,peer] [--limit-s N] [--device cuda|cpu] [--trial]: measures all that needs a card, in at most
# eight minutes. The machine needs only libc, a driver, CUDA's libraries and a python3 with PyTorch (PYTHON names another). BUNDLE is the folder that
# ./dev bundle made. OUT gets figures.jsonl, table.txt and a log a part. Exit code 1: something of ours failed or is beyond its bounds.
# --trial runs a few steps of small batches, to try the script; --device cpu runs where there is no card.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,5p' "${BASH_SOURCE[0]}" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bundle=$(cd "$1" && pwd) || exit 2
mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
shift 2
parts=ops,train,time,ipc,tnn,peer limit=480 device=cuda trial=""
while [ $# -gt 0 ]; do
    case $1 in
    --parts) parts=$2; shift ;;
    --limit-s) limit=$2; shift ;;
    --device) device=$2; shift ;;
    --trial) trial=yes ;;
    *) echo "on_card.sh: unknown option '$1'" >&2; exit 2 ;;
    esac
    shift
done
python=${PYTHON:-python3}
for part in ${parts//,/ }; do
    case $part in ops | train | time | ipc | tnn | peer) ;; *) echo "on_card.sh: --parts: no part is called '$part'" >&2; exit 2 ;; esac
done
figures=$out/figures.jsonl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TUTTI_CACHE=${TUTTI_CACHE:-$work/cache} # kernels are compiled once, in this call
SECONDS=0
rm -f "$out"/{ops,train,time,ipc,tnn,peer}.log "$out/table.txt"
: >"$figures"

# Each part has so many seconds, so that slow parts do not take the peer's time; the peer has what is left.
declare -A budget=([ops]=85 [train]=110 [time]=100 [ipc]=30 [tnn]=55 [peer]=$limit)
until=$limit

left() { echo $((until - SECONDS)); }
figure() { "$python" "$here/card_figures.py" "$@" >>"$figures"; }
lost() { figure words part "$1" "$2"; echo "$1: $2" >&2; }

# within PART SECONDS COMMAND...: runs the command. Its output goes to the part's log and, alone, to $work/said. When its time is over the command is
# asked to end, and five seconds later it is killed.
within() {
    local part=$1 most=$2 begin=$SECONDS rest code; shift 2
    rest=$(left)
    [ "$rest" -ge 3 ] || { echo "no time left" >"$work/said"; return 1; }
    [ "$most" -le "$rest" ] || most=$rest
    echo "\$ $*" >>"$out/$part.log"
    timeout -k 5 "$most" "$@" >"$work/said" 2>&1 </dev/null
    code=$?
    cat "$work/said" >>"$out/$part.log"
    echo "[exit code $code after $((SECONDS - begin)) s]" >>"$out/$part.log"
    [ $code != 124 ] || echo "over $most s" >>"$work/said"
    return $code
}

said_last() { grep -v '^ *$' "$work/said" | tail -n 2 | cut -c1-300 | paste -sd ';'; }

# train PART SECONDS NAME DEVICE JOB [--set ...]: trains a job into $work/NAME
train() {
    local part=$1 most=$2 name=$3 on=$4 job=$5; shift 5
    within "$part" "$most" "$bundle/tutti" train "$here/jobs/$job.yaml" --out "$work/$name" --fresh --set device="$on" "$@"
}

# program PART SECONDS NAME [OPTION...]: runs a program of the bundle that measures by itself. Its lines of JSON get the part's name.
program() {
    local part=$1 most=$2 name=$3; shift 3
    if [ ! -x "$bundle/$name" ]; then
        lost "$part" "no $name in the bundle: this build has none"
        return
    fi
    [ "$most" -le $(($(left) - 5)) ] || most=$(($(left) - 5))
    within "$part" $((most + 15)) "$bundle/$name" --device "$device" --limit-s "$most" --json "$work/$part.json" "$@" ||
        lost "$part" "$name: exit code $?: $(said_last)"
    figure lines "$part" "$work/$part.json"
    tail -n 60 "$work/said" | cut -c1-200 | tee -a "$out/table.txt"
}

part_ops() {
    local small=()
    [ -z "$trial" ] || small=(--quick)
    program ops 60 bench_gpu_ops "${small[@]}"
}

part_tnn() {
    local small=()
    [ -z "$trial" ] || small=(--most 8)
    program tnn 30 bench_gpu_products "${small[@]}"
}

part_train() {
    local model small=() threads
    threads=$(nproc)
    [ "$threads" -le 16 ] || threads=16
    [ -z "$trial" ] || small=(--set batch=8 --set steps=4)
    for model in mlp lenet resnet20 alexnet resnet50; do
        if ! train train 25 "card-$model" "$device" "train-$model" "${small[@]}"; then
            figure words train "$model" "$(said_last)"
        elif ! train train 40 "cpu-$model" cpu "train-$model" --set threads="$threads" "${small[@]}"; then
            figure words train "$model" "on the CPU: $(said_last)"
        else
            figure losses "$model" "$work/card-$model" "$work/cpu-$model"
        fi
        rm -rf "$work/card-$model" "$work/cpu-$model" # checkpoints are large
    done
}

part_time() {
    local model small=() code
    [ -z "$trial" ] || small=(--set batch=4 --set steps=8 --set log_every=1)
    for model in resnet50 lenet alexnet resnet20; do
        train time 45 "time-$model" "$device" "time-$model" "${small[@]}"
        code=$?
        [ $code = 0 ] || lost "time $model" "exit code $code: $(said_last)"
        figure step "$model" "$work/time-$model" # a run that was ended early has step times, too
        rm -rf "$work/time-$model"
    done
}

# Two ranks share one card; the table sets them beside a device copy, which peer.py measures.
part_ipc() {
    within ipc 25 "$bundle/tutti" coll bench --ranks 2 --bytes 100MB --device "$device" --json "$work/ipc.json" || { lost ipc "$(said_last)"; return; }
    figure ipc "$work/ipc.json" "$device"
}

part_peer() {
    local rest small=()
    rest=$(($(left) - 5))
    [ $rest -ge 20 ] || { lost peer "no time left"; return; }
    [ -z "$trial" ] || small=(--batch 4 --models lenet,resnet20 --variants eager,graph)
    # peer.py ends by its own limit; it is ended from outside only if that fails
    within peer $((rest + 3)) "$python" "$here/peer.py" --device "$device" --limit-s "$rest" --json "$figures" --log "$out/peer.log" "${small[@]}" ||
        lost peer "$(said_last)"
}

"$bundle/tutti" doctor 2>&1 | tee "$out/table.txt" # what there is to compute with
figure machine
for part in ops train time ipc tnn peer; do
    case ",$parts," in
    *",$part,"*) ;;
    *) continue ;;
    esac
    begin=$SECONDS until=$((SECONDS + budget[$part]))
    [ $until -le "$limit" ] || until=$limit
    if [ "$(left)" -lt 5 ]; then
        lost "$part" "no time left of $limit s"
        continue
    fi
    "part_$part"
    echo "[$part: $((SECONDS - begin)) s]"
done
"$python" "$here/card_figures.py" table "$figures" | tee -a "$out/table.txt"
code=$?
echo "[$SECONDS s in all; figures: $figures]"
exit $code
