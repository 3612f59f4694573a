# SPDX-License-Identifier: Apache-2.0
# Thin lines over the CMake presets: build/<preset> is the build, build/bin the programs.
# `make help` lists the goals.

PREFIX ?= /usr/local
DESTDIR ?=
DIR ?= tests/vectors
ONLY ?=
SECONDS ?= 60
MINUTES ?= 3
KILLS ?= 60
BASE ?=
RDKAFKA ?=

# Another librdkafka than the system's: `current`, or where one is installed. Its builds
# lie apart.
ifneq ($(RDKAFKA),)
ifeq ($(RDKAFKA),current)
export RDKAFKA_PREFIX := $(shell ops/setup --check current || ops/setup current >&2; ops/librdkafka-current)
else
export RDKAFKA_PREFIX := $(abspath $(RDKAFKA))
endif
$(if $(RDKAFKA_PREFIX),,$(error no current librdkafka; see above))
variant = -current
endif

cmake_quiet = cmake --log-level=WARNING --preset
quiet_ninja = cmake --build

.PHONY: all help setup test test-kafka test-long test-unit test-vectors test-process test-fuzz vectors demo bench chaos dev asan clang valgrind coverage fuzz \
        fmt fmt-check tidy image install clean
.DEFAULT_GOAL := all

all: ## build the programs (release preset) into build/bin
	@ops/setup --check build || ops/setup build
	@$(cmake_quiet) release$(variant) >/dev/null
	@$(quiet_ninja) build/release$(variant) --target fleet
	@ln -sfn release$(variant)/bin build/bin

help: ## this list
	@echo 'make GOAL, one or more of:'
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { if (length($$1) > 20) { print "  " $$1; $$1 = "" } \
	    printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install every package that the build, the tests and the image need
	@ops/setup

test: ## every test: dev, kafka, asan, clang, valgrind, current, image; a closing line
	@ops/setup --check test image || ops/setup test image
	@ops/setup --check kafka current || ops/setup kafka current || echo 'what needs them is skipped'
	@tests/run

test-kafka: ## real Kafka and registry alone, dev build; or RDKAFKA=current
	@ops/setup --check test kafka || ops/setup test kafka
	@tests/run kafka

test-long: ## fault tests at full size (hours): 10 min outages, 1000 kills, 5 GB, 25 members
	@ops/setup --check test kafka || ops/setup test kafka
	@tests/run long

test-unit test-vectors test-process test-fuzz: ## one layer alone, dev build
	@ops/setup --check test || ops/setup test
	@tests/run dev:$(@:test-%=%)

vectors: ## the vector runner over DIR=tests/vectors
vectors: all
	@build/bin/heddle-vectors --dir '$(DIR)'

demo: ## a campaign from files to census on an embedded broker, under a minute
demo: all
	@ops/demo

bench: ## ours beside a peer, table and build/bench.json; ONLY=name for one
	@ops/setup --check test || ops/setup test
	@tests/bench/run $(ONLY)

chaos: ## MINUTES=3 of KILLS=60 each, broker and registry gone and back; build/chaos.json
	@ops/setup --check test kafka || ops/setup test kafka
	@$(cmake_quiet) dev$(variant) >/dev/null
	@$(quiet_ninja) build/dev$(variant) --target chaos
	@build/dev$(variant)/tests/bin/chaos $$(($(MINUTES) * 60)) $(KILLS) build/chaos.json

dev asan clang valgrind: ## the same leg of `make test` alone
	@ops/setup --check test || ops/setup test
	@tests/run $@

coverage: ## unit tests and vectors with gcov; lines covered by file
	@ops/setup --check test || ops/setup test
	@tests/coverage

fuzz: ## every fuzz target for SECONDS=60 each, from its corpus
	@ops/setup --check test || ops/setup test
	@tests/fuzz/run $(SECONDS)

sources = find common schemas workers tests -name '*.[ch]' -not -path '*/peers/*' -print0

fmt: ## clang-format every source file
	@$(sources) | xargs -0 clang-format -i

fmt-check: ## fail when clang-format would change a file
	@$(sources) | xargs -0 clang-format --dry-run --Werror

tidy: ## clang-tidy over every source file; complexity alone is no error
	@ops/setup --check test || ops/setup test
	@tests/tidy

image: ## container image "heddle" by docker, podman or buildah; BASE=image
	@docker/build $(BASE)

install: ## programs, manual pages, schemas to DESTDIR and PREFIX=/usr/local
install: all
	@DESTDIR='$(DESTDIR)' cmake --install build/release$(variant) --prefix '$(PREFIX)'

clean: ## remove build/
	rm -rf build
