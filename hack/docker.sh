#!/bin/sh
# The lab of `cargo xtask lab` in a privileged Docker container, for machines without Debian or root.
#
# Usage: hack/docker.sh up | shell [COMMAND...] | down | clean
#
# The container has a Debian with Rust and Go, and this checkout. What is built stays in the volume c5c3-lab until `clean`. Nodes of kind and
# k3d wouldn't do: they have no hypervisors that the agents can prepare.

set -eu

name=c5c3-lab
checkout=$(cd "$(dirname "$0")/.." && pwd)

die() {
    echo "$*" >&2
    exit 1
}

runs() { [ "$(docker container inspect --format '{{.State.Running}}' "$name" 2> /dev/null)" = true ]; }

# Fine unless the container of this name is another checkout's, or no lab's.
own() {
    found=$(docker container inspect --format '{{index .Config.Labels "c5c3.io/checkout"}}' "$name" 2> /dev/null) || return 0
    [ "$found" = "$checkout" ] ||
        die "the container $name isn't this checkout's${found:+, but that of $found}: run this script there, or remove the container"
}

# A terminal, where there is one.
within() {
    if [ -t 0 ]; then docker exec --interactive --tty "$name" "$@"; else docker exec --interactive "$name" "$@"; fi
}

build() {
    docker build --quiet --tag "$name" - <<'EOF' > /dev/null
FROM docker.io/library/golang:1.26-bookworm AS go
FROM docker.io/library/rust:1-bookworm
COPY --from=go /usr/local/go /usr/local/go
# What is built is kept outside of the container. The store of images can't be on the container's own overlay.
ENV PATH=/usr/local/cargo/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CARGO_HOME=/var/cache/c5c3/cargo CARGO_TARGET_DIR=/var/cache/c5c3/target XDG_CACHE_HOME=/var/cache/c5c3 \
    GOPATH=/var/cache/c5c3/go GOCACHE=/var/cache/c5c3/go-build
RUN rustup toolchain install stable --profile minimal --component clippy --component rustfmt
RUN git config --system --add safe.directory /c5c3
WORKDIR /c5c3
EOF
}

up() {
    if ! runs; then
        build
        docker container rm --force --volumes "$name" > /dev/null 2>&1 || true
        # Control groups of the node are made beside Docker's: in a namespace of their own, controllers couldn't be handed on.
        docker run --detach --init --privileged --cgroupns host --name "$name" --hostname "$name" \
            --label "c5c3.io/checkout=$checkout" \
            --volume "$checkout:/c5c3" --volume "$name:/var/cache/c5c3" --volume /tmp --volume /lib/modules:/lib/modules:ro \
            "$name" sleep infinity > /dev/null
    fi
    within cargo xtask lab up "$@"
}

docker version > /dev/null 2>&1 || die "Docker doesn't answer: start it, or install it (https://docs.docker.com/engine/install/)"
own
command=${1:-}
[ $# = 0 ] || shift
case "$command" in
    up) up "$@" ;;
    shell)
        runs || die "no lab runs: hack/docker.sh up starts one"
        within cargo xtask lab shell -- "$@"
        ;;
    down)
        runs || die "no lab runs"
        within cargo xtask lab down
        docker container rm --force --volumes "$name" > /dev/null
        ;;
    clean)
        ! runs || die "a lab runs: hack/docker.sh down stops it"
        docker container rm --force --volumes "$name" > /dev/null 2>&1 || true
        docker volume rm --force "$name" > /dev/null
        docker image rm --force "$name" > /dev/null 2>&1 || true
        ;;
    *) die "usage: $0 up [--yes] | shell [COMMAND...] | down | clean" ;;
esac
