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
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/setup.sh"

BENCHMARKS=$ROOT/benchmarks

# Sets PYTHON to one that has the PyTorch of requirements.txt.
find_pytorch() {
  local venv=$BENCHMARKS/.venv
  PYTHON=${TERN_TORCH_PYTHON:-$venv/bin/python}
  if [[ -n ${TERN_TORCH_PYTHON:-} ]] || cmp -s "$BENCHMARKS/requirements.txt" "$venv/stamp"; then return; fi
  say "Installing $(paste -sd ' ' "$BENCHMARKS/requirements.txt") into benchmarks/.venv/: some gigabytes"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$PYTHON" -m pip install --quiet --disable-pip-version-check --requirement "$BENCHMARKS/requirements.txt"
  cp "$BENCHMARKS/requirements.txt" "$venv/stamp"
}

stage "Set-up"
set_up
find_pytorch
stage "Build"
configure "$ROOT/build"
build "$ROOT/build" benchmarks/cifar10_step
stage "Measurement"
exec "$PYTHON" "$BENCHMARKS/cifar10_step.py" --tern "$ROOT/build/benchmarks/cifar10_step" "$@"
