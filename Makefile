# Plain make, Python >= 3.11 with venv and pip: nothing else is assumed. Every target makes its own environment.
#
#   make demo         two models of weekly wages, checked                  (light environment, .venv-demo)
#   make test         the whole suite                                      (full environment, .venv)
#   make test-adapters  models and draws of other libraries, on those     (.venv-adapters)
#   make test-lowest  the suite on the lowest versions that are allowed    (.venv-lowest)
#   make cover        the suite with the lines that it does not run
#   make check        ruff and mypy --strict
#   make paper        every experiment of the paper at its own repeats, its figures and its page (out/paper, docs/paper)
#   make evidence     the simulations behind what goes beyond the paper (out/evidence, docs/evidence)
#   make bench        timings, as ratios within the run, and the tables of docs/benchmarks.md
#   make kill-workers  workers of a Dask cluster die at placed moments, and the runs must end well (N=60 SEED=0)
#   make fuzz         hostile calls of everything public: a right answer, or a refusal by name (N=10000 SEED=0)
#   make docs         the site, in docs/_build/html; warnings are errors   (.venv-docs)
#   make dist         sdist and wheel, in dist
#   make clean        remove environments, caches and builds
#
# Another interpreter: make test PYTHON=python3.12. More workers: make test WORKERS=8. One file: make test ARGS=tests/test_stein.py

PYTHON  ?= python3
WORKERS ?= 2
ARGS    ?=

# The tests that need other libraries, and the pages with sections that show them: elsewhere these sections are skipped.
PAGE     := tests/test_docs.py::test_a_page_runs_and_prints_what_it_says
ADAPTERS := tests/adapters tests/posterior '$(PAGE)[docs/posterior-draws.md]' '$(PAGE)[docs/predictive-data.md]' \
  '$(PAGE)[docs/your-object.md]'

# One BLAS thread per process: the workers already fill the cores, and sums come out the same everywhere.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 VECLIB_MAXIMUM_THREADS=1

# Trials allocate the same few megabytes again and again: with glibc a quarter of their time went into giving them back.
KEEP_MEMORY := MALLOC_MMAP_THRESHOLD_=268435456 MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_TOP_PAD_=67108864

# A slow or broken connection is tried again. Modules must be compiled now: what the compiler warns of in other
# libraries would be an error in the tests.
PIP := bin/python -m pip install --quiet --disable-pip-version-check --retries 10 --timeout 60

.DEFAULT_GOAL := help
.PHONY: help demo test test-adapters test-lowest cover check paper evidence bench kill-workers fuzz docs dist clean

help:
	@sed -n 's/^#   //p' Makefile

# $(call environment,FOLDER,WHAT TO INSTALL): a fresh environment; the stamp is written last, so a broken one is remade.
# Dependency groups need pip 25.1, and the pip that comes with Python 3.11 is older.
define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "steinball needs Python 3.11 or newer, but '$(PYTHON)' is: $$($(PYTHON) --version 2>&1 || true)" >&2; \
	  echo "Name another interpreter, for example: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Making the environment $(1) (once; a few minutes at most) ..."
	@$(PYTHON) -m venv --clear $(1)
	@$(if $(findstring --group,$(2)),$(1)/$(PIP) --upgrade 'pip>=25.1')
	@$(1)/$(PIP) $(2)
	@touch $@
endef

.venv/.stamp: pyproject.toml
	$(call environment,.venv,-e . --group dev)

.venv-demo/.stamp: pyproject.toml
	$(call environment,.venv-demo,-e '.[plot]')

.venv-adapters/.stamp: pyproject.toml
	$(call environment,.venv-adapters,-e . --group adapters-test)

.venv-docs/.stamp: pyproject.toml
	$(call environment,.venv-docs,-e . --group docs)

.venv-lowest/.stamp: pyproject.toml .ci/lowest.py
	$(call environment,.venv-lowest,-e . --group core-test $$($(PYTHON) .ci/lowest.py cluster io jax plot))

demo: .venv-demo/.stamp
	@.venv-demo/bin/python -m steinball demo --output out/demo

test: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m pytest -n $(WORKERS) $(ARGS)

test-adapters: .venv-adapters/.stamp
	@$(ONE_THREAD) .venv-adapters/bin/python -m pytest -n $(WORKERS) $(or $(ARGS),$(ADAPTERS))

test-lowest: .venv-lowest/.stamp
	@$(ONE_THREAD) .venv-lowest/bin/python -m pytest -n $(WORKERS) $(ARGS)

# Prints the lines that no test runs, and fails below the share in pyproject.toml.
cover: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m pytest -n $(WORKERS) --cov --cov-report=term-missing:skip-covered $(ARGS)

check: .venv/.stamp
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m ruff format --check .
	@.venv/bin/python -m mypy

# A run that was stopped goes on where it was: the rows lie in out/paper. It ends with the list of what holds.
paper: .venv/.stamp
	@$(ONE_THREAD) $(KEEP_MEMORY) .venv/bin/python -m experiments paper run all --jobs $(WORKERS)
	@.venv/bin/python -m experiments paper page
	@.venv/bin/python -m experiments paper check all

# The same for what goes beyond the paper; cells that miss a claim are run again at more repeats.
evidence: .venv/.stamp
	@$(ONE_THREAD) $(KEEP_MEMORY) .venv/bin/python -m experiments evidence run all --jobs $(WORKERS)
	@.venv/bin/python -m experiments evidence page
	@.venv/bin/python -m experiments evidence check all

bench: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m benchmarks $(ARGS)
	@$(ONE_THREAD) .venv/bin/python -m benchmarks.small
	@$(ONE_THREAD) .venv/bin/python -m benchmarks.fitted
	@$(ONE_THREAD) .venv/bin/python -m benchmarks.doors
	@.venv/bin/python -m benchmarks.plot
	@.venv/bin/python -m benchmarks.page

kill-workers: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m tests.gram.kill_workers $(or $(N),60) --seed $(or $(SEED),0)

fuzz: .venv/.stamp
	@$(ONE_THREAD) .venv/bin/python -m tests.fuzz $(or $(N),10000) --seed $(or $(SEED),0)

docs: .venv-docs/.stamp
	@$(ONE_THREAD) .venv-docs/bin/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "The site is docs/_build/html/index.html"

dist: .venv/.stamp
	@rm -rf dist
	@.venv/bin/python -m build

clean:
	rm -rf .venv .venv-adapters .venv-demo .venv-docs .venv-lowest build dist docs/_build docs/_project docs/api/generated .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks experiments .ci -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
