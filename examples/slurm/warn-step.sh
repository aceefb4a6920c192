#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# warn-step.sh: trains on several nodes for longer than the time limit. Slurm warns the ranks that srun has started; then
# this shell returns the job to the queue.
# usage: sbatch examples/slurm/warn-step.sh JOB.yaml --out FOLDER
#SBATCH --nodes=2 --ntasks-per-node=2
#SBATCH --time=1:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append

trap : TERM # the shell outlives the ranks, which save at SIGTERM
srun --mpi=pmix tutti train "$@"
code=$?
# 138 = 128 + SIGUSR1: the ranks have saved. Any other code is the end of the job.
if [ $code = 138 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit $code
