#!/bin/bash
# The tasks of a job file one after the other on this machine, with the variables that Slurm sets:
#   EXPERIMENT=exp.yaml OUT=out ./try_array.sh shards.sbatch 1 2 3 4
set -uo pipefail
job=$1
shift
for task in "$@"; do
    SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=$# bash "$job" || echo "task $task ended with exit code $?" >&2
done
