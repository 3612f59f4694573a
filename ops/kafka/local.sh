# SPDX-License-Identifier: Apache-2.0
# What ops/kafka-local and ops/registry-local share: folders, ports, a process in the
# background that is known by its id and its command line. Sourced, not run.

cache=${XDG_CACHE_HOME:-$HOME/.cache}/heddle
state=${XDG_STATE_HOME:-$HOME/.local/state}/heddle

say() { printf '%s: %s\n' "$program" "$*" >&2; }
die() { local status=$1; shift; say "$*"; exit "$status"; }

need() {
    command -v "$1" >/dev/null || die 69 "$1 is not installed; ops/setup kafka installs it"
}

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A port below the range that the kernel hands out to clients, so that none of them sits
# on it while the server restarts.
free_port() {
    local port tries
    for ((tries = 0; tries < 200; tries++)); do
        port=$((20000 + (RANDOM << 15 | RANDOM) % 12000))
        if port_is_free "$port"; then
            echo "$port"
            return
        fi
    done
    die 69 "no free port between 20000 and 31999"
}

# The id of the running server, nothing when it does not run. A stale file whose id now
# belongs to another program does not count.
running() {
    local pid
    pid=$(cat "$dir/pid" 2>/dev/null) || return 1
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "$dir/" || return 1
    echo "$pid"
}

# wait_until SECONDS COMMAND...: polls until the command succeeds or the server is gone.
# By its id alone: just after the fork its command line is still this script's.
wait_until() {
    local end=$((SECONDS + $1)) pid
    pid=$(cat "$dir/pid")
    shift
    until "$@"; do
        kill -0 "$pid" 2>/dev/null || return 1
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

# Ends the server by its id: TERM first, KILL after SECONDS.
end_server() {
    local pid=$1 end=$((SECONDS + $2))
    kill "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do sleep 0.1; done
    if kill -9 "$pid" 2>/dev/null; then
        say "did not stop within $2 s: killed"
        while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    fi
    rm -f "$dir/pid"
}

# fetch_with NAME COMMAND...: runs the command once in a fresh folder and publishes the
# folder as $cache/NAME when it succeeded; a half-done fetch is never taken for a whole one.
fetch_with() {
    local name=$1 work begin=$SECONDS
    shift
    [ -e "$cache/$name/.complete" ] && return
    need mvn
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/$name.XXXXXX")
    say "fetching $name by Maven, once, into $cache"
    if ! (cd "$work" && "$@" >maven.log 2>&1); then
        sed -n '/ERROR/p' "$work/maven.log" | head -n 5 >&2
        rm -rf "$work"
        die 69 "could not fetch $name; is Maven Central reachable?"
    fi
    touch "$work/.complete"
    mv -T "$work" "$cache/$name" 2>/dev/null || rm -rf "$work"
    say "  done in $((SECONDS - begin)) s"
}
