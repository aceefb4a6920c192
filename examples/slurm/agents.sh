#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# agents.sh: trains on several nodes, on each of which an agent starts two ranks. If a node fails, the others go on. If
# Slurm takes the nodes away or warns the run, the job returns to the queue and continues the run.
# usage: sbatch examples/slurm/agents.sh JOB.yaml --out FOLDER --ranks MIN:MAX
#SBATCH --nodes=2 --ntasks-per-node=1 --exclusive
#SBATCH --time=1:00:00
#SBATCH --signal=USR1@120
#SBATCH --no-kill
#SBATCH --requeue
#SBATCH --open-mode=append

trap : TERM # the shell outlives the agents, which save at SIGTERM
srun --mpi=pmix --cpu-bind=none -K0 --no-kill tutti train "$@" --ranks-per-host 2 --max-restarts 9
code=$?
# 138 = 128 + SIGUSR1: the ranks have saved. Any other code is the end of the job.
if [ $code = 138 ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit $code
