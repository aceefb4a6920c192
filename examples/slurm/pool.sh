#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pool.sh: trains a job with eight seeds, at most two of them at a time. Each seed is a task of a job array with a
# folder of its own. A task that loses its node returns to the queue alone.
# usage: sbatch examples/slurm/pool.sh JOB.yaml FOLDER [more options]
#SBATCH --array=1-8%2
#SBATCH --nodes=1 --ntasks=2
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

trap : TERM # the shell outlives tutti, which saves at SIGTERM
seed=$SLURM_ARRAY_TASK_ID
tutti train "$1" --seed "$seed" --out "$2/seed$seed" --ranks "$SLURM_NTASKS" "${@:3}"
