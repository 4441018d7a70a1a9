# Everything a contributor or a machine runs. Each target sets up what it needs in .venv; nothing else is touched.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
FOREIGN := .venv-foreign
BIN := $(VENV)/bin
WORKERS ?= 2

# Whole programs that are run as `conda llmenv` as well; what they expect is the same.
INSIDE := $(addprefix tests/e2e/test_,$(addsuffix .py, channels create diff files fit history integrity lock mirrors plans \
	plans_builds recipe_files secrets settings usage verify))

.PHONY: demo test lint types suite suite-oldest test-conda soak bench bench-verify bench-conda format clean

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=26.2.2"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@

# py-rattler 0.26 is what conda's own solver plugin pins in the base environment people install us into.
$(OLDEST)/ready: pyproject.toml
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=26.2.2"
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test]" "py-rattler>=0.26,<0.27"
	touch $@

demo: $(VENV)/ready  ## create an environment from a recipe through the offline channel, and use it
	$(BIN)/python -m tests.demo .demo

test: lint types suite suite-oldest  ## everything

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

# Tools of others read and write the formats we do; they have dependencies of their own.
$(FOREIGN)/ready: Makefile
	$(PYTHON) -m venv --clear $(FOREIGN)
	$(FOREIGN)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=26.2.2"
	$(FOREIGN)/bin/python -m pip install --quiet --disable-pip-version-check "conda-lock>=4,<5"
	touch $@

suite: $(VENV)/ready $(FOREIGN)/ready
	CONDA_LOCK=$(CURDIR)/$(FOREIGN)/bin/conda-lock $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

suite-oldest: $(OLDEST)/ready
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist loadgroup -m "engine"

# CONDA_PYTHON is the Python of a base environment with conda >= 26.5.2 and this checkout (pip install --editable .).
test-conda: $(VENV)/ready  ## what needs a real conda; CONDA_PYTHON names its Python
	@test -x "$(CONDA_PYTHON)" || { echo "give CONDA_PYTHON=/path/to/base/bin/python"; exit 2; }
	CONDA_PYTHON=$(CONDA_PYTHON) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup tests/conda tests/conformance tests/recipe
	CONDA_PYTHON=$(CONDA_PYTHON) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --inside-conda $(INSIDE)

soak: $(VENV)/ready  ## long randomised runs: 500 kill points and more
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m soak --run-soak

bench: $(VENV)/ready  ## speed and memory as ratios, side by side, into bench/results/
	$(BIN)/python -m bench

bench-verify: $(VENV)/ready  ## what proving an environment with torch costs; PREFIX names one
	$(BIN)/python -m bench.verify $(PREFIX)

bench-conda: $(VENV)/ready  ## what the plugin adds to conda's own commands
	$(BIN)/python -m bench.plugin $(CONDA_PYTHON)

format: $(VENV)/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(OLDEST) $(FOREIGN) .demo build dist
