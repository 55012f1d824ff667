# Every target sets up what it needs. `make help` lists them.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REPO ?= .
ASK ?= How is a paragraph audited before it reaches the reader?
PORT ?= 8080
FORMAT ?= text

.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## make the environment in .venv

demo: setup ## index a repository and ask a question (REPO=, ASK=)
	@$(BIN)/plumbline demo --repo "$(REPO)" --ask "$(ASK)" --format $(FORMAT)

dev: setup ## keep the embedded stack up (PORT=)
	@$(BIN)/plumbline dev --port $(PORT)

test: $(VENV)/.dev $(TEST_TOOLS) ## run every test
	$(BIN)/pytest -q -n 2 --dist worksteal

check: $(VENV)/.dev $(CHECK_TOOLS) ## format, lint, types, import directions, template
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/unit/test_imports.py

bench: $(VENV)/.dev ## measure; writes build/bench.json
	$(BIN)/python -m bench

eval: $(VENV)/.dev ## grade on real data; writes build/eval.json (PLUMBLINE_DATA, REPOS)
	$(BIN)/python -m evals

verify-cloud: $(VENV)/.dev ## entity boosts on a real Algolia application
	$(BIN)/python -m evals.verify_cloud

fuzz: $(VENV)/.dev ## the auditor's fuzzer at length
	PLUMBLINE_FUZZ=200000 $(BIN)/pytest -q tests/unit -k fuzz

format: $(VENV)/.dev ## rewrite in the house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(VENV)/.dev ## pin every requirements file anew
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header pyproject.toml --extra index --extra devstack -o requirements/devstack.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header pyproject.toml --extra index --extra devstack --extra dev -o requirements/dev.txt

clean: ## remove what was made here
	rm -rf $(VENV) .venv-sam build .aws-sam .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Plumbline needs Python 3.11 or newer; give one with make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: requirements/devstack.txt pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
	  --require-hashes -r requirements/devstack.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation --no-index -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
	  --require-hashes -r requirements/dev.txt
	@touch $@

-include build.mk

.PHONY: help setup demo dev test check bench eval verify-cloud fuzz format lock clean
