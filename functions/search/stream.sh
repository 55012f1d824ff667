#!/bin/sh
# AWS_LAMBDA_EXEC_WRAPPER=/var/task/stream.sh: Lambda runs this in the place of the managed
# Python runtime's client, which cannot stream. Unbuffered (-u): the metrics on standard output
# must leave before the process is frozen.
export PYTHONPATH="$LAMBDA_TASK_ROOT:/opt/python:$LAMBDA_RUNTIME_DIR${PYTHONPATH:+:$PYTHONPATH}"
exec python3 -u -m plumbline.lambda_runtime
