#!/usr/bin/env bash
# What hostile input and a failing system do to the program:
#
#     bash docs/measured/make-reliability.sh [SECONDS] > docs/measured/reliability.md
#
# Each fuzz target runs for so many seconds (600), two at a time: an hour in all, with clang; and the long form of the tests of faults, some ten
# minutes. Builds the presets `fuzz` and `release`. Exit status 1 when something was found.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
seconds=${1:-600}

echo '# What hostile input and a failing system do'
echo
echo "Made by \`docs/measured/make-reliability.sh $seconds\` at commit $(git log -1 --format=%h) on $(date -u +%F), $(nproc) processors;"
echo "$(clang++ --version | head -n 1), $(c++ --version | head -n 1)."
echo
cat <<'PAGE'
## Fuzzing

Every reader of bytes that others wrote, under libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer; `tests/fuzz` holds the targets and
their seeds. An input is taken or refused with an error that names the fault. Anything else is a finding: a crash, another exception, a report of a
sanitizer, more than 10 s or 1 GiB for 4096 bytes, or a broken promise, such as that what was read, written and read again is the same. Debian's
libsentencepiece is not instrumented: of that target only Heddle's own code counts as covered. The same seeds, damaged and whole, run in
every build as `fuzz_seeds_test`.

PAGE
status=0
bash tests/fuzz/run.sh "$seconds" || status=1
cat <<'PAGE'

## Faults of the system

A clear end: status 1 and one line that names the fault. Afterwards the run folder is one to go on with, or holds no run; training then ends with the
same bytes as a run that nothing happened to. Each fault alone; allocations are counted from the start of `main`. The same tests run on a sample in
ctest.

PAGE
bash tests/faults.sh || status=1
exit "$status"
