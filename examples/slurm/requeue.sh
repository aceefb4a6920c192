#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# requeue.sh: trains on one node. If Slurm takes the node away, the job returns to the queue and continues the run.
# usage: sbatch examples/slurm/requeue.sh JOB.yaml --out FOLDER
#SBATCH --nodes=1 --ntasks=2
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append

# Slurm sends SIGTERM to this shell and to tutti. The shell waits, because the job is over when the shell ends.
trap : TERM
tutti train "$@" --ranks "$SLURM_NTASKS"
