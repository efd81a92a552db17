#!/usr/bin/env bash
# All-reduce among processes of this machine, 1 KB to 100 MB of float32: Tern against PyTorch's gloo.
#
#     benchmarks/allreduce.sh [--ranks N]… [--bytes N]… [--rounds N]
#
# Prints a line per number of ranks and size: microseconds of both, and the ratio, PyTorch's time / Tern's.
# TERN_DISTRIBUTED_SHARED_MEMORY=0 measures Tern's network path, over loopback. Otherwise like
# benchmarks/cifar10_step.sh.

set -euo pipefail
# shellcheck source=benchmarks/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

prepare allreduce
compare allreduce "$@"
