#!/usr/bin/env bash
# Single operations, layers, optimizer steps and a tiny network: Tern against PyTorch on this machine's CPU.
#
#     benchmarks/operations.sh [--threads N]… [--rounds N] [--only TEXT]
#
# Prints a line per case: microseconds of both, and the ratio, PyTorch's time / Tern's. Otherwise like
# benchmarks/cifar10_step.sh.

set -euo pipefail
# shellcheck source=benchmarks/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

run_against_pytorch operations "$@"
