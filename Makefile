# Every target sets up what it needs. `make help` lists them.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REPO ?= .
ASK ?= Where are links classified?
PORT ?= 8080
FORMAT ?= text

# Through the environment, so that neither make nor the shell reads a question's quotes, dollars
# or backticks.
export DEMO_REPO := $(value REPO)
export DEMO_ASK := $(value ASK)

.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## make the environment in .venv

demo: setup ## index a repository and ask a question (REPO=, ASK=)
	@$(BIN)/plumbline demo --repo "$$DEMO_REPO" --ask "$$DEMO_ASK" --format $(FORMAT)

dev: setup ## keep the embedded stack up (PORT=)
	@$(BIN)/plumbline dev --port $(PORT)

test: $(VENV)/.dev build/.node build/.specs ## run every test
	$(BIN)/pytest -q -n 2 --dist loadfile

check: $(VENV)/.dev ## format, lint, types, import directions, template
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

fuzz: $(VENV)/.dev build/.node build/.specs ## the auditor's fuzzer at length
	PLUMBLINE_FUZZ=200000 $(BIN)/pytest -q tests/unit/audit_safety -k fuzz

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

# A second and a third Markdown renderer, for the auditor's tests. Without npm those tests skip by
# name; in CI they must not.
build/.node: package.json package-lock.json
	@mkdir -p build
	@if command -v npm >/dev/null; then npm ci --silent; \
	  elif [ -n "$$CI" ]; then echo "npm is missing in CI"; exit 1; \
	  else echo "No npm here: the auditor's tests with JavaScript renderers are skipped."; fi
	@touch $@

# The package's source archive holds the GFM specification; its wheel does not.
build/.specs: | $(VENV)/.dev
	@mkdir -p build/specs
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
	  -d build/specs marko==2.2.4 >build/specs/log 2>&1 || true
	@test -f build/specs/marko-2.2.4.tar.gz || [ -z "$$CI" ] \
	  || { echo "The GFM specification could not be fetched:"; cat build/specs/log; exit 1; }
	@touch $@

-include build.mk
-include sources.mk

.PHONY: help setup demo dev test check bench eval verify-cloud fuzz format lock clean
