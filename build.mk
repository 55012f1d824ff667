# The deployable bundle: build, validate, and the functions' locked requirements.
#
# The Makefile includes this file. So do the one-line Makefiles beside each function and the layer:
# `sam build` runs their build-<resource> targets in the project's root (Metadata in template.yaml).

SAM_VENV := .venv-sam
UV ?= .venv/bin/uv
PYTHON ?= python3
# SAM asks for a region even where it calls nothing.
SAM := SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=$${AWS_DEFAULT_REGION:-us-east-1} \
  PATH="$(CURDIR)/$(SAM_VENV)/bin:$$PATH" $(SAM_VENV)/bin/sam

.PHONY: build validate lock-functions

check: validate
lock: lock-functions

build: $(SAM_VENV)/.ready ## build the functions and the layer into .aws-sam
	@$(SAM) build
	@du -sm .aws-sam/build/*/ | awk '{ printf "  %4d MB  %s\n", $$1, $$2 }'

validate: $(SAM_VENV)/.ready ## check template.yaml
	@$(SAM) validate --lint

$(SAM_VENV)/.ready: requirements/sam.txt
	@echo "Setting up $(SAM_VENV) ..."
	@test -x $(SAM_VENV)/bin/python || $(PYTHON) -m venv $(SAM_VENV)
	@# --no-deps: the file names every one; pip trips over extras that are pinned by hash.
	@$(SAM_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --only-binary :all: --require-hashes -r requirements/sam.txt
	@touch $@

# ------------------------------------------------------------------ locked requirements
# The managed runtime brings boto3 and what it alone needs. (Powertools needs jmespath too.)
OF_THE_RUNTIME := boto3 botocore s3transfer
LOCK_FOR_LAMBDA = $(UV) pip compile --quiet --generate-hashes --no-emit-index-url --no-header \
  --python-version 3.13 --python-platform aarch64-manylinux2014 \
  $(addprefix --no-emit-package ,$(OF_THE_RUNTIME))

lock-functions:
	$(LOCK_FOR_LAMBDA) pyproject.toml -o layers/shared/requirements.txt
	$(LOCK_FOR_LAMBDA) --extra index --constraint layers/shared/requirements.txt \
	  $$(sed -n 's/^\([A-Za-z0-9._-]*\)==.*/--no-emit-package \1/p' layers/shared/requirements.txt) \
	  pyproject.toml -o functions/index_repo/requirements.txt
	$(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
	  --python-version 3.11 requirements/sam.in -o requirements/sam.txt

# ------------------------------------------------------------------ what `sam build` runs
# Wheels of the functions' own platform, whatever machine builds. AL2023 has glibc 2.34.
INSTALL_FOR_LAMBDA = $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps \
  --require-hashes --only-binary :all: --implementation cp --python-version 3.13 --no-compile \
  --platform manylinux_2_34_aarch64 --platform manylinux_2_28_aarch64 \
  --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64

# Compiled for the runtime's Python where there is one here, since an import without .pyc takes
# three times as long. unchecked-hash: an unzipped file's time is not its source's.
COMPILE = find $(1) -name __pycache__ -prune -exec rm -r {} + ; \
  for python in python3.13 "$$HOME"/.pyenv/versions/3.13.*/bin/python \
    "$$HOME"/.local/share/uv/python/cpython-3.13.*/bin/python3.13; do \
    if "$$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; then \
      exec "$$python" -m compileall -q -j 2 --invalidation-mode unchecked-hash \
        -s $(1) -p $(2) $(1); \
    fi; \
  done; \
  echo "No Python 3.13 here: $@ carries no .pyc, and cold starts take longer." >&2

build-SharedLayer:
	$(INSTALL_FOR_LAMBDA) -r layers/shared/requirements.txt --target "$(ARTIFACTS_DIR)/python"
	rm -rf "$(ARTIFACTS_DIR)/python/bin"
	cp -r layers/shared/plumbline "$(ARTIFACTS_DIR)/python/"
	@$(call COMPILE,"$(ARTIFACTS_DIR)/python",/opt/python)

build-SearchFunction:
	cp functions/search/handler.py functions/search/stream.sh "$(ARTIFACTS_DIR)/"
	if [ -d functions/search/web ]; then cp -r functions/search/web "$(ARTIFACTS_DIR)/"; fi
	@$(call COMPILE,"$(ARTIFACTS_DIR)",/var/task)

build-SuggestionsFunction:
	cp functions/suggestions/handler.py "$(ARTIFACTS_DIR)/"
	@$(call COMPILE,"$(ARTIFACTS_DIR)",/var/task)

build-IndexRepoFunction:
	$(INSTALL_FOR_LAMBDA) -r functions/index_repo/requirements.txt --target "$(ARTIFACTS_DIR)"
	cp functions/index_repo/handler.py "$(ARTIFACTS_DIR)/"
	@$(call COMPILE,"$(ARTIFACTS_DIR)",/var/task)
