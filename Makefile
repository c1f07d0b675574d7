# The one door: everything a developer or a reader does with this repository is a target here,
# and .ci/run calls the same ones. It needs git, make and Python 3.11 or later; what else is
# wanted it makes in .venv, from locks with hashes (uv does it faster where there is one).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

ARGS ?=
JOBS ?= auto
SEEDS ?= 20
BIN := .venv/bin

# How packages come: from wheels only, each checked against its hash in the lock; from
# servers that this machine trusts, which pip takes for granted and uv must be told.
UV := $(shell command -v uv 2>/dev/null)
LOCKED := --require-hashes --only-binary :all:
ifdef UV
export UV_SYSTEM_CERTS := 1
INSTALL = $(UV) pip install --quiet --python $(BIN)/python
else
INSTALL = PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet
endif

##@ To see and to use

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: .venv/run ## An embedded cluster and the scheduler, until Ctrl-C (ARGS=--once: ends by itself)
	@exec $(BIN)/fairlead demo $(ARGS)

##@ To be sure

.PHONY: test
test: .venv/dev ## Unit, property, lab, docs and architecture tests, under three minutes (ARGS=…: pytest's)
	@$(BIN)/python -m pytest -n $(JOBS) -m "not e2e and not slow" $(ARGS)

.PHONY: check
check: lint types layers ratchet ## All that is checked without running the product

.PHONY: lint
lint: .venv/dev ## Style and form: ruff
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

.PHONY: types
types: .venv/dev ## Types, in strict mode: basedpyright
	@$(BIN)/basedpyright

.PHONY: layers
layers: .venv/dev ## Who may import whom: import-linter
	@$(BIN)/lint-imports --no-cache

.PHONY: ratchet
ratchet: .venv/dev ## Sizes, import time, words that must not appear, and documents that must be true
	@$(BIN)/python -m pytest tests/architecture tests/docs $(ARGS)

.PHONY: conformance
conformance: .venv/dev ## Recorded answers of kube-scheduler, then SEEDS=20 new ones (needs Go)
	@$(BIN)/python -m pytest -n $(JOBS) -m slow tests/conformance
	@$(BIN)/python -m tests.conformance.fresh --seeds $(SEEDS) $(ARGS)

.PHONY: test-long
test-long: .venv/dev ## Kept answers against fresh ones over 2,000 random histories of a cluster, minutes
	@$(BIN)/python -m pytest -m slow tests/properties $(ARGS)

.PHONY: e2e
e2e: .venv/dev control-plane ## With real parts: kube-apiserver, kubectl, an installed wheel
	@$(BIN)/python -m pytest -m e2e $(ARGS)

.PHONY: control-plane
control-plane: .venv/dev ## Build etcd, kube-apiserver, kubectl, … into the cache (once; needs Go)
	@$(BIN)/python -m tests.control_plane build

##@ To measure

.PHONY: bench
bench: .venv/dev ## What a decision and its parts cost, in microseconds (ARGS=decision: that one alone)
	@for one in $(or $(ARGS),$(patsubst bench/%.py,%,$(filter-out %/__init__.py,$(wildcard bench/*.py)))); do \
	  echo "== bench/$$one.py"; $(BIN)/python -m "bench.$$one"; \
	done

.PHONY: bench-live
bench-live: .venv/dev control-plane ## Beside kube-scheduler and a binder without logic, on a real one (ARGS=--help)
	@$(BIN)/python -m bench.arena $(ARGS)

##@ To maintain

.PHONY: format
format: .venv/dev ## Put the code into form
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: wheel
wheel: .venv/dev ## dist/fairlead-….whl
	@$(BIN)/python -m hatchling build -t wheel -d dist

.PHONY: lock
lock: ## Resolve the dependencies afresh into requirements/ (needs the network)
	@.ci/lock

.PHONY: clean
clean: ## Remove what was made here (the cache of built programs stays)
	rm -rf .venv dist bench/out .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# --- .venv ------------------------------------------------------------------------------------
# Three stamps: the interpreter, what `fairlead` needs to run, what a developer needs on top.

.venv/made:
	@python=$$(.ci/python); \
	echo "making .venv with $$($$python --version)" >&2; \
	rm -rf .venv; \
	$(if $(UV),$(UV) venv --quiet --python "$$python" .venv,"$$python" -m venv .venv); \
	touch $@

.venv/run: .venv/made pyproject.toml requirements/run.txt requirements/build.txt
	@echo "installing what fairlead needs" >&2
	@$(INSTALL) $(LOCKED) -r requirements/run.txt -r requirements/build.txt
	@$(INSTALL) --no-build-isolation --no-deps --editable .
	@touch $@

.venv/dev: .venv/run requirements/dev.txt
	@echo "installing what the tests and checks need" >&2
	@$(INSTALL) $(LOCKED) -r requirements/dev.txt
	@touch $@
