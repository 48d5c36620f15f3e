# `make demo` and `make test` set up what they need by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(VENV)/.run-installed
DEV    := $(VENV)/.dev-installed

.PHONY: demo test test-deep lint types contracts unit bench format clean

demo: $(RUN)
	$(BIN)/musician demo

test: lint types contracts unit

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEV)
	$(BIN)/mypy

contracts: $(DEV)
	$(BIN)/lint-imports

unit: $(DEV)
	$(BIN)/coverage erase
	$(BIN)/pytest -n 2 --dist worksteal -m 'not deep' --cov --cov-report= tests
	$(BIN)/coverage report --include='*/musician/protocol/*' --fail-under=100
	$(BIN)/coverage report --omit='*/musician/protocol/*' --fail-under=90

# The whole search of every property, and what is marked deep.
test-deep: $(DEV)
	$(BIN)/pytest -n 2 --dist worksteal -m 'deep or hypothesis' --hypothesis-profile=deep tests

bench: $(DEV)
	$(BIN)/python -m benchmarks

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(RUN): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(DEV): $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
