#!/usr/bin/env bash
# Trains the tutorial's CNN from a fresh checkout: installs what is missing, builds, chooses the data, runs.
#
#     scripts/demo.sh [arguments of build/examples/cifar10]     --help lists them
#
# Data, the first that is there: --data DIR; CIFAR-10 in $TERN_DATA_DIR; an earlier download; a download of
# the official archive; otherwise Debian's Fashion-MNIST. --dataset restricts the choice to one of the two.

set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

ARCHIVE=https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz
DOWNLOADS=$ROOT/downloads/cifar10
FASHION=/usr/share/datasets/fashion-mnist

# The value of option $1 among the other arguments, given as `--name value` or `--name=value`.
option_value() {
  local name=$1
  shift
  while (($#)); do
    case $1 in
      "$name") say "${2:-}"; return ;;
      "$name="*) say "${1#*=}"; return ;;
    esac
    shift
  done
}

has_option() {
  local name=$1 argument
  shift
  for argument in "$@"; do [[ $argument == "$name" || $argument == "$name="* ]] && return; done
  return 1
}

# The folder at or right below $1 that holds the file $2, plain or gzipped.
folder_with() {
  local folder
  [[ -n $1 ]] || return 1
  for folder in "$1" "$1"/*/; do
    if [[ -e $folder/$2 || -e $folder/$2.gz ]]; then say "${folder%/}"; return; fi
  done
  return 1
}

can_download() {
  timeout 15 python3 - "$ARCHIVE" 2>/dev/null <<'PYTHON'
import sys, urllib.request
urllib.request.urlopen(urllib.request.Request(sys.argv[1], method="HEAD"), timeout=8)
PYTHON
}

# choose_data DATASET: sets DATA, the arguments that name the data, and says which and why.
choose_data() {
  local folder
  if [[ $1 != fashion-mnist ]]; then
    if folder=$(folder_with "${TERN_DATA_DIR:-}" data_batch_1.bin); then
      say "CIFAR-10 from TERN_DATA_DIR: $folder"
      DATA=(--dataset cifar10 --data "$folder")
      return
    fi
    if [[ -n ${TERN_DATA_DIR:-} ]]; then say "No data_batch_1.bin in TERN_DATA_DIR=$TERN_DATA_DIR"; fi
    if folder=$(folder_with "$DOWNLOADS" data_batch_1.bin); then
      say "CIFAR-10 from an earlier download: $folder"
      DATA=(--dataset cifar10 --data "$folder")
      return
    fi
    if can_download; then
      say "CIFAR-10 from $ARCHIVE"
      DATA=(--dataset cifar10 --data "$DOWNLOADS" --download)
      return
    fi
    if [[ $1 == cifar10 ]]; then
      fail "No CIFAR-10 at hand: give --data DIR or set TERN_DATA_DIR; $ARCHIVE can't be reached."
    fi
    say "No CIFAR-10 at hand (--data DIR or TERN_DATA_DIR), and $ARCHIVE can't be reached."
  fi
  folder=$(folder_with "${TERN_DATA_DIR:-}" train-images-idx3-ubyte) || folder=$FASHION
  say "Fashion-MNIST, 28×28 grey images padded to 32×32: $folder"
  DATA=(--dataset fashion-mnist --data "$folder")
}

# Changes nothing: what the program takes is known once it is built.
show_help() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  if [[ -x $ROOT/build/examples/cifar10 ]]; then exec "$ROOT/build/examples/cifar10" --help; fi
  say "Not built yet; scripts/demo.sh builds it."
}

if has_option --help "$@" || has_option -h "$@"; then
  show_help
  exit
fi
stage "Set-up"
set_up
stage "Build"
configure "$ROOT/build"
build "$ROOT/build" examples/cifar10 ternrun

DATA=()
ARGUMENTS=("$@")
stage "Data"
dataset=$(option_value --dataset "$@")
if has_option --data "$@"; then
  say "${dataset:-cifar10} from --data: $(option_value --data "$@")"
elif has_option --download "$@"; then
  say "CIFAR-10 from $ARCHIVE, as --download asks"
  DATA=(--data "$DOWNLOADS")
else
  choose_data "$dataset"
  if [[ -n $dataset ]]; then DATA=("${DATA[@]:2}"); fi
fi
stage "Training"
exec "$ROOT/build/examples/cifar10" "${DATA[@]}" "${ARGUMENTS[@]}"
