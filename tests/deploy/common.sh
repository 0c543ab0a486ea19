# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Functions of slurm.sh, which sources this file from the root of the repository. It runs by hand
# (`make deploy-test`), not in CI: it needs packages that nothing else needs. Exit code 77: a
# program is not installed.

# A temporary folder that daemons of other users may enter; removed at the end.
work=$(mktemp -d "${TMPDIR:-/tmp}/heapwood-deploy.XXXXXX")
chmod 755 "$work"
clean_up() { :; }  # a test may define its own
at_exit() {
  local status=$?
  set +e
  clean_up
  if (( status != 0 && status != 77 )); then
    echo "files of the failed test: $work"
  else
    rm -rf "$work"
  fi
}
trap at_exit EXIT
trap 'exit 130' INT TERM

fail() { echo "error: $*" >&2; exit 1; }
passed=0
pass() { passed=$((passed + 1)); echo "ok: $*"; }

# needs PACKAGES COMMAND...: with INSTALL=1 installs the Debian packages if a command is missing;
# without, ends the test.
needs() {
  local packages=$1 command absent=()
  shift
  for command in "$@"; do
    PATH=$PATH:/usr/sbin:/sbin type -P "$command" > /dev/null || absent+=("$command")
  done
  (( ${#absent[@]} )) || return 0
  if [[ ${INSTALL:-0} == 0 ]]; then
    echo "skipped: no ${absent[*]}; run again with INSTALL=1, or: apt-get install $packages" >&2
    exit 77
  fi
  # shellcheck disable=SC2086  # a list of packages
  apt-get install -qq -y --no-install-recommends $packages > "$work/apt.log" 2>&1 ||
    { tail "$work/apt.log" >&2; fail "apt-get could not install $packages"; }
}

# The program under test.
find_heapwood() {
  heapwood=$(realpath "${HEAPWOOD:-build/cpu/bin/heapwood}")
  [[ -x $heapwood ]] || fail "$heapwood: no such program; build it, or set HEAPWOOD"
}

# wait_until SECONDS WHAT COMMAND...: fails if COMMAND does not succeed in that time.
wait_until() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" > /dev/null 2>&1; do
    (( SECONDS < end )) || fail "timed out: $what"
    sleep 0.2
  done
}

# expect_refusal STATUS TEXT COMMAND...: COMMAND ends with STATUS and prints one line, with TEXT.
expect_refusal() {
  local expected=$1 text=$2 status=0 output
  shift 2
  output=$("$@" 2>&1) || status=$?
  (( status == expected )) || fail "exit code $status, expected $expected: $*: $output"
  [[ $output == *"$text"* && $output != *$'\n'* ]] ||
    fail "expected one line with '$text': $*: $output"
}
