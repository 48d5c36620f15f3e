# `make demo` and `make test` set up what they need by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(VENV)/.run-installed
DEV    := $(VENV)/.dev-installed

# Programs are started a thousand times in the tests, and compiled once.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-deep lint types contracts quick deep whole bench mutants screenshots format clean

demo: $(RUN)
	$(BIN)/musician demo

# What one waits for while one works.
test: lint types contracts quick

# Everything there is, measured, with the whole search of every property.
test-deep: lint types contracts whole

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEV)
	$(BIN)/mypy

contracts: $(DEV)
	$(BIN)/lint-imports

# Half of what a test does is to wait for a program: two workers a core.
WORKERS ?= $(shell expr 2 '*' $$(nproc))
PYTEST   = $(BIN)/pytest -n $(WORKERS) --dist worksteal

# Of the protocol every line is held by its own tests. To measure the rest costs a third of the time: see `whole`.
quick: $(DEV)
	$(BIN)/coverage erase
	$(PYTEST) --cov --cov-report= tests/protocol
	$(BIN)/coverage report --include='*/musician/protocol/*' --fail-under=100
	$(PYTEST) -m 'not deep and not nightly' --ignore=tests/protocol tests

# The long stories: what CI runs besides `test`.
deep: $(DEV)
	$(PYTEST) -m 'deep and not nightly' tests

whole: $(DEV)
	$(BIN)/coverage erase
	$(PYTEST) --hypothesis-profile=deep --cov --cov-report= tests
	$(BIN)/coverage report --include='*/musician/protocol/*' --fail-under=100
	$(BIN)/coverage report --omit='*/musician/protocol/*' --fail-under=90

# At night: which changes of the rules no test would notice. It goes on where it stopped; docs/TESTING.md reads it.
MUTANTS        ?= musician.protocol.rules.* musician.protocol.musician.engine.* musician.protocol.conductor.engine.* musician.protocol.conductor.launching.*
MUTANTS_MOST_S ?= 3600
mutants: $(DEV)
	-nice -n 19 timeout $(MUTANTS_MOST_S) $(BIN)/mutmut run --max-children 1 $(patsubst %,'%',$(MUTANTS))
	$(BIN)/mutmut results | grep -v "not checked" || echo "nothing that was tried survived"

bench: $(DEV)
	$(BIN)/python -m benchmarks

# The pictures of the dashboard in README and docs; look at them before you commit them.
screenshots: $(DEV)
	$(BIN)/python docs/screenshots/make.py

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
	rm -rf $(VENV) .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache mutants
