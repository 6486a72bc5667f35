# Targets that CI and people call alike. Every one starts from a bare clone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: install demo test lint types layers unit bench-engine clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: install
	$(BIN)/stretto demo

test: lint types layers unit

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy

layers: install
	$(BIN)/lint-imports --no-cache

unit: install
	$(BIN)/pytest -q

bench-engine: install
	$(BIN)/python -m benchmarks.engine

clean:
	rm -rf $(VENV) .venv-peers .mypy_cache .pytest_cache .ruff_cache
