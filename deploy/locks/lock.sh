#!/bin/sh
# Writes what containers install, with hashes, from pyproject.toml: deploy/locks/lock.sh UV [OPTION]...
set -eu
uv=$1
shift
cd "$(dirname "$0")/../.."

lock() {
  name=$1
  shift
  "$uv" pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-annotate \
    --custom-compile-command "make lock" --output-file "deploy/locks/$name.txt" "$@"
}

lock cpu "$@" pyproject.toml --extra cpu --extra http
lock compiled "$@" pyproject.toml --extra compiled
lock gpu "$@" pyproject.toml deploy/locks/gpu.in --extra gpu --extra http
lock ray "$@" pyproject.toml --extra cpu --extra http --extra ray
python3 -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' |
  lock build "$@" -
