#!/usr/bin/env bash
# A training step of the tutorial CNN, batch 128: Tern against PyTorch on this machine's CPU.
#
#     benchmarks/cifar10_step.sh [--threads N]… [--rounds N] [--steps N]
#
# Builds Tern (build/), installs PyTorch into benchmarks/.venv/ and runs the two in turn, on one and on two
# threads. Prints `threads=N ratio X.XX`: PyTorch's time in its best mode / Tern's. Takes some minutes; for
# figures that mean something the machine should do nothing else. TERN_TORCH_PYTHON names a Python that has
# PyTorch already: then nothing is installed.

set -euo pipefail
# shellcheck source=benchmarks/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

prepare cifar10_step
compare cifar10_step "$@"
