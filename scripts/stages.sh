# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Stages of a script: one line per stage with its elapsed time; the command's output is in
# build/log/. V=1 shows the output instead. Sourced by common.sh.
#
# While a stage runs, its progress is shown: on a terminal in one line that is updated, elsewhere in
# a line every 30 s. ninja's [k/n] and ctest's k/n are recognized and give an estimate.

trap 'echo "interrupted; the same command resumes" >&2; exit 130' INT

verbose() { [[ ${V:-0} != 0 ]]; }

clock() {  # SECONDS as minutes:seconds or hours:minutes:seconds
  local format='%d:%02d'
  (( $1 < 3600 )) || format="$(( $1 / 3600 )):%02d:%02d"
  # shellcheck disable=SC2059  # the format is one of these two
  printf "$format" $(( $1 / 60 % 60 )) $(( $1 % 60 ))
}

# stage NAME COMMAND...: runs COMMAND. Returns its status; on failure the end of the log is shown.
stage() {
  local name=$1 log=build/log/${1// /-}.log from=$SECONDS status=0
  shift
  if verbose; then
    echo "== $name: $*"
    "$@" || status=$?
    echo "== $name: $(clock $((SECONDS - from)))"
    return "$status"
  fi
  mkdir -p build/log
  "$@" 2>&1 | log_and_show_progress "$name" "$log" || status=$?
  end_stage "$name" "$log" "$from" "$status"
}

# stage_with_progress NAME COMMAND...: as stage, for a COMMAND that shows its own progress on
# standard error if that is a terminal, and writes its results to files.
stage_with_progress() {
  local name=$1 log=build/log/${1// /-}.log from=$SECONDS status=0
  if verbose || [[ ! -t 2 ]]; then
    stage "$@"
    return
  fi
  shift
  mkdir -p build/log
  "$@" > "$log" || status=$?
  end_stage "$name" "$log" "$from" "$status"
}

# Prints a stage's closing line; on failure the log's relevant part and its path. Returns STATUS.
end_stage() {  # NAME LOG START STATUS
  local name=$1 log=$2 took warnings
  took=$(clock $((SECONDS - $3)))
  if (( $4 )); then
    printf '%-16s failed after %s\n' "$name" "$took"
    { failure_excerpt "$log"; echo "error: $name failed; complete log: $log"; } >&2
    return "$4"
  fi
  # Ninja's own warnings are not counted: one says that an interrupted build left an incomplete log.
  warnings=$(grep -E ': warning: |^CMake Warning' "$log" | grep -cv '^ninja: ') || true
  (( warnings == 0 )) || took+="   (compiler warnings: $warnings, see $log)"
  printf '%-16s %s\n' "$name" "$took"
}

# The lines of LOG that explain a failure: from ninja's first FAILED line on, else the last lines.
failure_excerpt() {  # LOG
  if grep -q '^FAILED: ' "$1"; then
    # In one process: behind a pipe that head closes, `set -e` would end the script here.
    awk '/^FAILED: / { found = 1 } found && ++lines <= 40' "$1"
  else
    tail -n 25 "$1"
  fi
}

# Copies standard input to LOG and shows the command's progress. Ignores Ctrl-C: the command handles
# it, may still be saving results, and would be killed by writing to a closed pipe.
log_and_show_progress() {  # NAME LOG
  local name=$1 from=$SECONDS shown=$SECONDS interval=30 terminal='' line partial='' status
  local -i count=0 total=0 counted=0 counted_at=0
  trap '' INT
  if [[ -t 2 ]]; then
    terminal=1 interval=1
  fi
  while true; do
    if IFS= read -r -t 1 line; then
      line=$partial$line partial=''
      printf '%s\n' "$line" >&4
      if [[ $line =~ ^\[?\ *([0-9]+)/([0-9]+)(\]|\ Test) ]]; then
        # A new total begins a new count: cmake's own [0/1] precedes the build's.
        if (( BASH_REMATCH[2] != total )); then
          # shellcheck disable=SC2034  # progress_text reads them
          counted=${BASH_REMATCH[1]} counted_at=$SECONDS
        fi
        count=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
      fi
    else
      status=$?
      partial+=$line
      if (( status <= 128 )); then  # the end of the input; above 128: nothing for 1 s
        [[ -z $partial ]] || printf '%s\n' "$partial" >&4
        break
      fi
    fi
    if (( SECONDS - shown >= interval )); then
      shown=$SECONDS
      line="$name $(clock $((SECONDS - from)))$(progress_text)"
      if [[ $terminal ]]; then
        printf '\r\033[K%s' "$line" >&2
      else
        echo "  $line" >&2
      fi
      line=''
    fi
  done 4> "$2"
  [[ -z $terminal ]] || printf '\r\033[K' >&2
}

# Part of log_and_show_progress: steps done and total, and an estimate after the first 5 steps.
progress_text() {
  (( total )) || return 0
  printf ', %d of %d' "$count" "$total"
  local -i finished=count-counted seconds=SECONDS-counted_at
  if (( finished >= 5 && seconds >= 5 && count < total )); then
    printf ', about %s left' "$(clock $(( seconds * (total - count) / finished )))"
  fi
}
