#!/usr/bin/env bash
# Compiles Go packages and reports progress on stderr, because `go build` is silent for minutes when nothing is cached:
#
#   hack/compile.sh [-tags TAGS] -o FILE PACKAGE   builds a program
#   hack/compile.sh [-tags TAGS] -test PACKAGE…    compiles tests and their dependencies into Go's cache
#
# Go prints the name of each package that it compiles (-v). This script counts them. Cached packages are not compiled, so the count
# usually ends before the total.
set -euo pipefail

interval=${COMPILE_INTERVAL:-3} # seconds between two lines of progress
flags=() out='' test=''
while [ $# -gt 0 ]; do
  case $1 in
  -tags) flags+=(-tags "$2") && shift 2 ;;
  -o) out=$2 && shift 2 ;;
  -test) test=-test && shift ;;
  *) break ;;
  esac
done
if [ $# -eq 0 ] || [ -z "$out$test" ]; then
  echo "usage: hack/compile.sh [-tags TAGS] {-o FILE | -test} PACKAGE…" >&2
  exit 2
fi

# The first command that needs modules downloads them; Go reports each one on stderr.
total=$(go list ${test:+-test} -deps ${flags[@]+"${flags[@]}"} "$@" | wc -l)
if [ -n "$test" ]; then
  command=(go list -v -export -test -deps -f '{{/* print nothing */}}' ${flags[@]+"${flags[@]}"} "$@")
else
  command=(go build -v ${flags[@]+"${flags[@]}"} -o "$out" "$@")
fi

# progress counts lines that are names of packages, and prints all others, which are errors.
progress() {
  local count=0 reported=0 name='' line status
  local began=$SECONDS last=$SECONDS
  while true; do
    if IFS= read -r -t "$interval" line; then
      if [[ $line =~ ^[A-Za-z0-9._~/-]+(\ \[[^]]+\])?$ ]]; then
        count=$((count + 1)) name=$line
      elif [ -n "$line" ]; then
        echo "$line" >&2
      fi
    else
      status=$?
      [ "$status" -gt 128 ] || break # The end, not the timeout.
    fi
    if [ $((SECONDS - last)) -ge "$interval" ]; then
      last=$SECONDS reported=$count
      echo "compiled $count of at most $total packages in $((SECONDS - began)) s: ${name:-starting}" >&2
    fi
  done
  if [ "$count" -gt "$reported" ] && [ $((SECONDS - began)) -ge "$interval" ]; then
    echo "compiled $count of at most $total packages in $((SECONDS - began)) s" >&2
  fi
}

"${command[@]}" 2>&1 | progress
