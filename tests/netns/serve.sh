# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Starts and ends an xatomic serve of the test's own, and asks what it has told. The test sets
#	serve_program	the program with what runs it in its namespace

# shellcheck disable=SC2154 # work is of lib.sh
serve_pid=
serve_program=()

# Starts the daemon; its events are in $work/serve from now on, a JSON object a line.
serve_start() { # [options of xatomic serve]
	: >"$work/serve"
	"${serve_program[@]}" --json serve "$@" \
		>"$work/serve" 2>"$work/serve-errors" &
	serve_pid=$!
	wait_for 30 grep -q '"event":"serving"' "$work/serve" ||
		bail "xatomic serve: $(cat "$work/serve-errors")"
}

serve_stop() {
	kill -TERM "$serve_pid"
	wait "$serve_pid"
}

serve_kill() {
	kill -9 "$serve_pid"
	wait "$serve_pid" 2>/dev/null
}

# Events of a kind so far, and whether there are so many.
events() { grep -c "\"event\":\"$1\"" "$work/serve"; }
has_events() { [ "$(events "$1")" -ge "$2" ]; }

counter() { # WORD: packets that met this reason, in all classes
	xatomic --json stat | jq "[.. | objects | .$1? // empty] | add // 0"
}

qp_count() { xatomic --json qp show | jq length; }
has_qps() { [ "$(qp_count)" -eq "$1" ]; }

word_above() { [ "$(word words 0)" -gt "$1" ]; }
