# SPDX-License-Identifier: Apache-2.0
# Two commands are enough: `make demo` and `make test`. `make help` lists the others.

SPAN_GROUPS ?= all
RANKS ?= 4
RELEASE := build/release
DEMO_FLAGS ?= --pipeline-model-parallel-size 2 --save build/demo-checkpoints

.DEFAULT_GOAL := help
.PHONY: help demo test interop build bench stress format check setup

help:  ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

demo: build  ## Train a small GPT on 4 ranks, traced, and report where the time went
	$(RELEASE)/bin/lens run -n $(RANKS) --span-groups $(SPAN_GROUPS) -- $(RELEASE)/bin/gpt $(DEMO_FLAGS)
	@scripts/demo-hints

test: setup $(RELEASE)/build.ninja  ## Run every check and every test
	@cmake --build $(RELEASE)
	@scripts/test

interop: setup $(RELEASE)/build.ninja  ## Send spans to a real collector, Jaeger and Rotel, and compare what comes out
	@cmake --build $(RELEASE) --target interop_test
	@scripts/interop-setup; installed=$$?; \
	LENS_INTEROP_BIN=build/interop/bin timeout 300 $(RELEASE)/bin/interop_test && exit $$installed

build: setup $(RELEASE)/build.ninja  ## Build the library, the program lens and the trainer
	@cmake --build $(RELEASE) --target lens lens_program gpt

bench: build  ## Measure what recording costs, and what the trainer feels of it
	@cmake --build $(RELEASE) --target bench/all
	@scripts/bench $(RELEASE)
	@scripts/bench-collector
	@scripts/bench-trainer

stress: build  ## Record from eight threads for a minute while groups are flipped and a reader looks in
	@LENS_STRESS_SECONDS=60 $(RELEASE)/bin/stress_test

format: setup  ## Format the C++ sources in place
	@scripts/sources | xargs clang-format -i

check: setup $(RELEASE)/build.ninja  ## Check format, include rules, licence lines, and warnings with g++ and clang
	@cmake --build $(RELEASE)
	@scripts/check

setup:
	@scripts/setup

$(RELEASE)/build.ninja:
	cmake --preset release
