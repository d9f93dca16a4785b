# Shared by the scripts in this folder: changes to the project's root, and defines functions for output.
# Source it: . "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck shell=bash

set -euo pipefail
script=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
  bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
else
  bold='' dim='' red='' green='' plain=''
fi

heading() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
say() { printf '   %s\n' "$*"; }
note() { printf '   %s%s%s\n' "$dim" "$*" "$plain"; }
good() { printf ' %s✓%s %s\n' "$green" "$plain" "$*"; }
bad() { printf ' %s✗%s %s\n' "$red" "$plain" "$*" >&2; }
die() {
  bad "$*"
  exit 1
}

# The comment block at the top of the calling script is its help text.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$script"; }

# quietly LOG COMMAND...: runs a command with its output in a file, shown only when it fails.
quietly() {
  local log=$1
  shift
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    return 1
  fi
}

# Tracked and new files, never ignored or deleted ones.
files() {
  git ls-files --cached --others --exclude-standard -- "$@" | sort -u | while read -r file; do
    [ -f "$file" ] && printf '%s\n' "$file"
  done
  true
}

# python_tool REQUIREMENT ARGUMENT...: runs a program of the package index, such as ruff==1.2.3, in an environment of its
# own, which it makes when that version is not there.
python_tool() {
  local wanted=$1 tools=$PWD/build/tools/${1%%==*}
  shift
  if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check "$wanted" || return 1
    echo "$wanted" >"$tools/installed"
  fi
  "$tools/bin/${wanted%%==*}" "$@"
}

# build PRESET [TARGET...]: configures and builds, incrementally.
build() {
  local preset=$1
  shift
  mkdir -p "build/$preset"
  quietly "build/$preset/configure.log" cmake --preset "$preset" ||
    die "cmake --preset $preset failed (its output is above)"
  cmake --build --preset "$preset" ${1:+--target "$@"} || die "the $preset build failed"
}
