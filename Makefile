# Every target installs what it needs into .venv first; after that it only does its work.
#
#   make demo                 re-rank a small catalogue: a table here, a picture in excalibr-demo.png
#   make test                 the tests and the examples in the documentation
#   make check                what CI does: format, lint, types, import contracts, then `make test`
#   make fuzz DURATION=60     mixed problems against a literal LP, for so many seconds, with a fresh seed (or SEED=7)
#   make bench-batch          many users through `excalibr rerank`: users a second, memory, threads (USERS=200000)
#   make bench                every peer on the same problems, as ratios measured in one run, into docs/benchmarks.md:
#                             quick, or all with FULL=1 (an hour), on real films with DATA=a MovieLens folder
#   make bench-repeat         the headline of the last `make bench` ten times again (FULL=1: of the full one)
#   make bench-compare OLD=x  what got slower since the results in a JSON file, by more than noise
#   make bench-against        an older commit (COMMIT=x) beside this tree, in environments of their own, on the same
#                             streams of problems: what the targets ask, into docs/benchmarks.md (QUICK=1, DATA=)
#   make profile              where compiled code spends its time, function by function (needs Linux's perf)
#   make format               rewrite the sources in the house format
#   make clean                remove caches, builds and the demo's picture; .venv stays
#
# EXTRAS=paper,spark adds extras of pyproject.toml to what `test` and `check` install, and so the tests that need them.

PYTHON ?= python3
EXTRAS ?=
WORKERS ?= 2
DURATION ?= 60
USERS ?= 200000
SEED ?=
FULL ?=
DATA ?=
OLD ?=
COMMIT ?=
QUICK ?=

VENV := .venv
BIN := $(VENV)/bin
comma := ,

FOR_DEMO := cli,plot
FOR_TEST := test,cli,plot$(if $(EXTRAS),$(comma)$(EXTRAS))
FOR_CHECK := dev$(if $(EXTRAS),$(comma)$(EXTRAS))
FOR_BENCH := paper,plot,data

installed = $(VENV)/.installed-$(1)

.PHONY: help demo test check fuzz bench bench-repeat bench-compare bench-against bench-batch profile format clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(call installed,$(FOR_DEMO))
	@$(BIN)/excalibr demo --out excalibr-demo.png

test: $(call installed,$(FOR_TEST))
	@$(BIN)/python -m pytest --quiet --numprocesses $(WORKERS)

check: $(call installed,$(FOR_CHECK))
	@$(BIN)/ruff format --check --quiet . || { echo "Run 'make format'."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory test FOR_TEST='$(FOR_CHECK)'

fuzz: $(call installed,$(FOR_TEST))
	@$(BIN)/python -m tests.fuzz --seconds $(DURATION) $(if $(SEED),--seed $(SEED))

bench: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks run $(if $(FULL),--full) $(if $(DATA),--data $(DATA))

bench-repeat: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks repeat benchmarks/results/$(if $(FULL),full,quick).json

bench-compare: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks compare $(OLD)

bench-against: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks against $(COMMIT) $(if $(QUICK),--quick) $(if $(DATA),--data $(DATA))

bench-batch: $(call installed,cli$(comma)data)
	@$(BIN)/python -m benchmarks.batch --users $(USERS)

profile: $(call installed,$(FOR_BENCH))
	@$(BIN)/python -m benchmarks profile

format: $(call installed,$(FOR_CHECK))
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

clean:
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis excalibr-demo.png
	@find src tests benchmarks -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# One stamp for each set of extras, older than pyproject.toml when something must be installed again.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@echo "Installing excalibr[$*] into $(VENV) …"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[$*]'
	@touch $@

$(BIN)/python:
	@echo "Creating $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
