# `make run`: the comparison, end to end. `make test`: everything tested.
# Python start-up triples where this is set, and the workflow starts many processes.
unexport PYTHONDONTWRITEBYTECODE
export MLFLOW_DISABLE_TELEMETRY = true
export PIP_DISABLE_PIP_VERSION_CHECK = 1

PYTHON ?= python3
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
EXPERIMENT ?= quickstart
OVERRIDES ?=
BIN := .venv/bin
SNAKEMAKE = $(BIN)/snakemake --cores $(CORES) --config experiment=$(EXPERIMENT) \
	overrides="$(OVERRIDES)"

.PHONY: run env test test-oldest torture kills lint format bench unlock publish clean

run: .venv/workflow.done  ## run an experiment and print its comparison
	@$(BIN)/python workflow/scripts/progress.py $(SNAKEMAKE)
	@$(BIN)/python -m adakern.bench.report.show experiment=$(EXPERIMENT) $(OVERRIDES)

env: .venv/workflow.done  ## create .venv with the pinned dependencies
	@echo "Activate it with: source .venv/bin/activate"

test: .venv/test.done  ## run every test
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal

test-oldest: .venv-oldest/done  ## the library's tests on the oldest versions it declares
	.venv-oldest/bin/python -m pytest -n $(CORES) --dist worksteal tests

torture: .venv/test.done  ## every estimator at extremes, at most 30 minutes
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python \
		tests/campaign.py --minutes 30 --jobs $(CORES) --table docs/torture.md

kills: .venv/test.done  ## 30 kills at random times, each mended and compared
	PYTHONPATH=tests $(BIN)/python tests/kills.py --kills 30 --table docs/torture.md

lint: .venv/test.done  ## check style and types: ruff, snakefmt, mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy

format: .venv/test.done
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

bench: .venv/test.done  ## measure speed and memory, as ratios; make bench QUICK=--quick
	$(BIN)/python benchmarks/run.py $(QUICK)

unlock: .venv/workflow.done  ## after Snakemake itself was killed; then run again
	$(SNAKEMAKE) --unlock

publish: .venv/workflow.done  ## keep what a full run measured: make publish EXPERIMENT=dank_uci
	$(BIN)/python -m adakern.bench.report.publish experiment=$(EXPERIMENT) $(OVERRIDES)

clean:  ## remove the environment, results and caches (data/raw stays)
	rm -rf .venv .venv-oldest results data/tables data/logs mlflow.db .snakemake
	rm -rf .pytest_cache .ruff_cache .hypothesis src/*.egg-info

# Python 3.11 is the oldest supported; say so before pip says something stranger.
.venv/bin/python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
		{ echo "adakern needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). \
	Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/workflow.done: requirements/workflow.txt pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --require-hashes --requirement requirements/workflow.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# PyTorch stays outside the lock file: which build is right depends on the machine.
.venv/test.done: requirements/test.txt .venv/workflow.done
	$(BIN)/pip install --quiet --require-hashes --requirement requirements/test.txt
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet xrfm==0.4.5
	@touch $@

# No extra: neither pandas nor PyTorch nor anything of the workflow.
.venv-oldest/done: requirements/oldest.txt pyproject.toml
	$(PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/bin/pip install --quiet --require-hashes --requirement requirements/oldest.txt
	.venv-oldest/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
