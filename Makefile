# `make` lists the commands. With this variable set, Python takes three times as long to
# start, and the workflow starts many processes.
unexport PYTHONDONTWRITEBYTECODE
export MLFLOW_DISABLE_TELEMETRY = true
# MLflow's job queue is not needed here and starts six processes.
export MLFLOW_SERVER_ENABLE_JOB_EXECUTION = false
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Jobs and tests run in parallel, one per core; additional BLAS threads slow all of them down.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
EXPERIMENT ?= quickstart
OVERRIDES ?=
# Tests that `make test-all` runs, as an expression of pytest markers.
TESTS ?= not cluster
BIN := .venv/bin
PIP = $(BIN)/pip install --quiet --no-compile

.DEFAULT_GOAL := help
.PHONY: help run env ui test coverage test-all test-long test-blas test-cluster test-oldest check dist audit sbom torture fuzz fuzz-minute kills pictures lint format docs bench develop publish clean clean-results

help:  ## list the commands
	@echo "adakern: kernels that adapt to the data. Start with: make run"; echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile
	@echo; echo "  make run EXPERIMENT=dank_uci            another experiment of conf/experiment"
	@echo "  make run OVERRIDES=\"protocol.repeats=3\"   with other settings"
	@echo "  make run DATA=my.csv TARGET=outcome     the same on your own table"

run: .venv/workflow.done  ## compare methods (a few minutes); also on your own table
ifdef DATA
	@test -n "$(TARGET)" || { echo "Name the column to predict: make run DATA=$(DATA) TARGET=..."; exit 1; }
	@$(BIN)/adakern compare "$(DATA)" --target "$(TARGET)" --cores $(CORES) $(OVERRIDES)
else
	@$(BIN)/adakern run $(EXPERIMENT) --cores $(CORES) $(OVERRIDES)
endif

ui: .venv/workflow.done  ## browse all runs in MLflow, at http://127.0.0.1:5000
	$(BIN)/mlflow ui --host 127.0.0.1 --backend-store-uri $${MLFLOW_TRACKING_URI:-sqlite:///mlflow.db}

env: .venv/workflow.done  ## create .venv with the pinned dependencies
	@echo "Activate it with: source .venv/bin/activate"

test: .venv/test.done  ## the quick tests, a few minutes
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal

coverage: .venv/test.done  ## the quick tests with line coverage
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal --cov --cov-report=term

test-all: .venv/test.done  ## every test except those on a cluster
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal -m "$(TESTS)"

test-long: .venv/test.done  ## tests of several minutes each, too long for .ci/run
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal -m "long"

test-blas: .venv/test.done  ## the numeric tests with other OpenBLAS kernels
	$(BIN)/python tools/blas.py -n $(CORES) --dist worksteal

test-cluster: .venv/test.done  ## the workflow on a real SLURM cluster of this machine
	$(BIN)/python -m pytest -m cluster -n 2 --dist worksteal -rs tests/workflow/test_slurm.py

# The OpenBLAS of that SciPy version crashes in its AVX-512 kernels on newer Intel processors.
test-oldest: .venv-oldest/done  ## the quick tests on the oldest declared versions
	OPENBLAS_CORETYPE=Haswell .venv-oldest/bin/python -m pytest -n $(CORES) --dist worksteal tests

check: lint test-all fuzz-minute test-blas test-cluster test-oldest  ## all checks, about 45 minutes

dist: .venv/workflow.done  ## build the wheel and the source distribution in dist
	$(BIN)/python tools/dist.py

audit: .venv-audit/done  ## list known vulnerabilities of the pinned packages; needs network access
	@PATH="$(CURDIR)/.venv-audit/bin:$$PATH" requirements/audit.sh

sbom: .venv-audit/done  ## write a software bill of materials (CycloneDX) to build/sbom.cdx.json
	@mkdir -p build
	@PYTHONWARNINGS=ignore .venv-audit/bin/cyclonedx-py requirements requirements/workflow.txt \
		--pyproject workflow/pyproject.toml --output-reproducible --output-file build/sbom.cdx.json
	@echo "build/sbom.cdx.json"

torture: .venv/test.done  ## every estimator with extreme input, at most 30 minutes
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python \
		tools/campaign.py --minutes 30 --jobs $(CORES) --table docs/torture.md
	PYTHONPATH=tests $(BIN)/python tools/campaign.py --doors --table docs/torture.md

fuzz: .venv/test.done  ## 2,000 corrupted model files and tables, half an hour
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/fuzz_models.py --files 2000
	$(BIN)/python tools/fuzz_tables.py --seconds 600

fuzz-minute: .venv/test.done  # the tests alter 120 model files
	$(BIN)/python tools/fuzz_tables.py --seconds 30

kills: .venv/test.done  ## kill the workflow 30 times at random, resume it and compare
	PYTHONPATH=tests $(BIN)/python tools/kills.py --kills 30 --table docs/torture.md

pictures: .venv/test.done  ## take screenshots of the report, MLflow and the pages, after `make run docs`
	PYTHONPATH=tests $(BIN)/python tools/pictures.py

lint: .venv/test.done  ## check style and types: ruff, snakefmt, mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy

format: .venv/test.done  ## fix lint errors
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

docs: .venv/test.done  ## build the documentation in docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

bench: .venv/test.done  ## measure speed and memory, as ratios; make bench QUICK=--quick
	for name in adaptive_time busy cells dank gpu lab nystrom search serve slurm targets texts; do $(BIN)/python benchmarks/$$name.py $(QUICK) || exit 1; done

develop: .venv/test.done  ## score the flagship by inner validation: make develop ARGS="--against before.json"
	$(BIN)/python benchmarks/develop.py $(ARGS)

publish: .venv/workflow.done  ## store the results of a full run: make publish EXPERIMENT=dank_uci
	$(BIN)/adakern publish $(EXPERIMENT) $(OVERRIDES)

clean:  ## remove the environment and caches, but no results or data
	rm -rf .venv .venv-oldest .venv-audit data/tables data/logs .snakemake build docs/_build docs/gallery docs/api docs/published
	rm -rf .pytest_cache .ruff_cache .hypothesis src/*.egg-info workflow/*.egg-info
	@test ! -e results || echo "Kept: results (make clean-results removes it), data/raw"

clean-results:  ## remove all results and MLflow's database; asks first
	@printf "Remove results/, mlflow.db and mlartifacts/? [y/N] "; read answer; \
		test "$$answer" = y && rm -rf results mlflow.db* mlartifacts || echo "Kept."

# Python 3.11 is the oldest supported version; this message is clearer than that of pip.
.venv/bin/python:
	@command -v $(PYTHON) > /dev/null || { echo "There is no $(PYTHON) here. Name an installed \
	Python 3.11 or newer: make PYTHON=python3 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
		{ echo "adakern needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). \
	Name another version: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Making the environment .venv with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv .venv

.venv/workflow.done: requirements/workflow.txt pyproject.toml workflow/pyproject.toml | .venv/bin/python
	@echo "Installing $$(grep -c == $<) pinned packages into .venv (once; a minute or two)"
	@$(PIP) --require-hashes --no-deps --requirement requirements/workflow.txt
	@$(PIP) --no-deps --no-build-isolation --editable . --editable workflow
	@touch $@

# PyTorch is not in the lock file, since the right build depends on the machine.
.venv/test.done: requirements/test.txt .venv/workflow.done
	@echo "Installing the packages for tests, documentation and PyTorch into .venv"
	@$(PIP) --require-hashes --no-deps --requirement requirements/test.txt
	@$(PIP) torch==2.13.0
	@$(PIP) xrfm==0.4.5
	@touch $@

.venv-audit/done: requirements/audit.txt
	$(PYTHON) -m venv --clear .venv-audit
	.venv-audit/bin/pip install --quiet --require-hashes --no-deps --requirement $<
	@touch $@

# Without extras: no pandas, no PyTorch, and nothing of the workflow.
.venv-oldest/done: requirements/oldest.txt pyproject.toml
	$(PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/bin/pip install --quiet --require-hashes --no-deps --requirement requirements/oldest.txt
	.venv-oldest/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
