# Plain make, Python >= 3.11 with venv and pip: nothing else is assumed. Every target makes its own environment.
#
#   make demo      the robust test on the galaxy velocities (light environment, .venv-demo)
#   make test      the whole suite                          (full environment, .venv)
#   make check     ruff and mypy --strict
#   make paper     every experiment of the paper at its own repeats, its figures and its page (out/paper, docs/paper)
#   make evidence  the simulations behind what goes beyond the paper (out/evidence, docs/evidence)
#   make bench     timings, as ratios within the run, and the figure of docs/scaling.md
#   make kill-workers  workers of a Dask cluster die at placed moments, and the runs must end well (N=60 SEED=0)
#   make clean     remove environments, caches and builds
#
# Another interpreter: make test PYTHON=python3.12. More workers: make test WORKERS=8. One file: make test ARGS=tests/test_stein.py

PYTHON  ?= python3
WORKERS ?= 2
ARGS    ?=

# One BLAS thread per process: the workers already fill the cores, and sums come out the same everywhere.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test check paper evidence bench kill-workers clean

help:
	@sed -n 's/^#   //p' Makefile

# $(call environment,FOLDER,WHAT TO INSTALL): a fresh environment; the stamp is written last, so a broken one is remade.
define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "steinball needs Python 3.11 or newer, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1 || true)" >&2; \
	  echo "Name another interpreter, for example: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Making the environment $(1) (once; a few minutes at most) ..."
	@$(PYTHON) -m venv --clear $(1)
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check -e '$(2)'
	@touch $@
endef

.venv/.stamp: pyproject.toml
	$(call environment,.venv,.[dev])

.venv-demo/.stamp: pyproject.toml
	$(call environment,.venv-demo,.)

demo: .venv-demo/.stamp
	@.venv-demo/bin/python -m steinball demo

test: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m pytest -n $(WORKERS) $(ARGS)

check: .venv/.stamp
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m ruff format --check .
	@.venv/bin/python -m mypy

# A run that was stopped goes on where it was: the rows lie in out/paper. It ends with the list of what holds.
paper: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m experiments paper run all --jobs $(WORKERS)
	@.venv/bin/python -m experiments paper page
	@.venv/bin/python -m experiments paper check all

# The same for what goes beyond the paper; cells that miss a claim are run again at more repeats.
evidence: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m experiments evidence run all --jobs $(WORKERS)
	@.venv/bin/python -m experiments evidence page
	@.venv/bin/python -m experiments evidence check all

bench: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m benchmarks $(ARGS)
	@.venv/bin/python -m benchmarks.plot
	@.venv/bin/python -m benchmarks.page

kill-workers: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m tests.gram.kill_workers $(or $(N),60) --seed $(or $(SEED),0)

clean:
	rm -rf .venv .venv-demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
