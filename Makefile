# Each target sets up .venv by itself; a second run finds it ready.
PYTHON ?= python3
BIN := .venv/bin
# Test files run side by side in so many processes.
WORKERS ?= 2
STAMP := .venv/.installed
KERNELS := $(wildcard deepbroad/kernels/*.py)
FRESH := .venv/.kernels-fresh

.PHONY: demo test lint types contract check uncompiled docs clean

demo: $(STAMP) $(FRESH)
	$(BIN)/deepbroad demo

test: lint types contract check uncompiled docs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

contract: $(STAMP)
	$(BIN)/lint-imports

check: $(STAMP) $(FRESH)
	$(BIN)/pytest -q --durations=10 -n $(WORKERS) --dist loadfile

# Kernels run as plain Python here, so that coverage sees their lines.
uncompiled: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -o addopts= -m uncompiled tests/kernels \
	  --cov=deepbroad/kernels --cov-report=term-missing --cov-fail-under=95

# A warning is an error. The site opens from build/docs/index.html.
docs: $(STAMP) .venv/.installed-docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env docs build/docs
	@echo "The site is in build/docs/index.html"

.venv/.installed-docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

# Numba's disk cache looks at one file at a time, not at the kernels it calls:
# when any of them changed, all are compiled again.
$(FRESH): $(STAMP) $(KERNELS)
	find deepbroad -name '*.nb[ci]' -delete
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
