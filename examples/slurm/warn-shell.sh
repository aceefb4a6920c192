#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# warn-shell.sh: trains on one node for longer than its time limit. Slurm warns this shell, which passes the warning on
# and then returns the job to the queue.
# usage: sbatch examples/slurm/warn-shell.sh JOB.yaml --out FOLDER
#SBATCH --nodes=1 --ntasks=2
#SBATCH --time=1:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append

tutti train "$@" --ranks "$SLURM_NTASKS" &
run=$!
trap 'kill -USR1 $run' USR1
trap 'kill -TERM $run' TERM
# A trapped signal ends `wait` early, so the shell waits until the run has ended.
while kill -0 $run 2>/dev/null; do wait $run; done
wait $run
code=$?
# 138 = 128 + SIGUSR1: the run has saved. Any other code is the end of the job.
if [ $code = 138 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit $code
