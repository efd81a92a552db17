#!/usr/bin/env bash
# A training step of the tutorial CNN under DistributedDataParallel, all ranks on this machine: Tern against
# PyTorch with gloo.
#
#     benchmarks/ddp_step.sh [--ranks N]… [--batch N] [--steps N] [--rounds N]
#
# Prints a line per number of ranks: milliseconds of both, and the ratio, PyTorch's time in its better layout
# / Tern's. Otherwise like benchmarks/cifar10_step.sh.

set -euo pipefail
# shellcheck source=benchmarks/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

prepare ddp_step
compare ddp_step "$@"
