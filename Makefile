# Every target sets itself up in .venv from nothing: Python 3.11+, make and a package index are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test java browser check lowest bench docs dist clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "askance needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@echo "setting up $(VENV) (once; a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --requirement requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## run a whole private study on bundled data and write its report
	@$(BIN)/askance demo $(ARGS)

test: $(READY) java browser ## run all tests, and name the 30 slowest
	@$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder --durations=30 $(ARGS)

# Spark runs on Java, which pip cannot install. Debian and its kin can; elsewhere the tests of Spark are skipped.
java:
	@command -v java >/dev/null || test -x "$${JAVA_HOME:-/nowhere}/bin/java" || { \
	  root=$$(test "$$(id -u)" = 0 || echo "sudo -n"); \
	  echo "Java is missing: installing default-jre-headless for the tests of the Spark engine"; \
	  { $$root apt-get -qq update && $$root apt-get -qq install --yes --no-install-recommends default-jre-headless; } >/dev/null 2>&1 \
	  && command -v java >/dev/null; \
	} || printf '%s\n' "" "*** NO JAVA: the tests of the Spark engine will be SKIPPED." "*** Install Java 17 (Debian: apt-get install default-jre-headless) to run them." ""

# Tests of the collector's pages need a browser, and those of its store PostgreSQL and strace: none comes from pip.
browser:
	@command -v chromium >/dev/null && command -v strace >/dev/null && ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { \
	  root=$$(test "$$(id -u)" = 0 || echo "sudo -n"); \
	  echo "installing chromium, postgresql and strace for the tests of the collector"; \
	  { $$root apt-get -qq update && $$root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends chromium postgresql strace; } >/dev/null 2>&1 \
	  && command -v chromium >/dev/null; \
	} || printf '%s\n' "" "*** NO CHROMIUM, POSTGRESQL OR STRACE: tests of the collector's pages or store will be SKIPPED." "*** Install them (Debian: apt-get install chromium postgresql strace) to run them." ""

check: $(READY) ## formatting, lint, types, architecture
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

# What touches every dependency: tables, spreadsheets, frames, reports, random bits, formulas, estimators as scikit-learn checks
# them, the collector's server and stores, a cluster, the command line, a study from end to end.
LOWEST := tests/frames tests/tables tests/reports tests/entropy $(addprefix tests/learning/face/test_,formula.py sklearn_contract.py) \
  $(addprefix tests/collector/test_,server.py store.py) tests/engines/test_dask.py \
  $(addprefix tests/cli/test_,cli_new.py options.py demo.py)

# Old versions beside new ones of what they need themselves warn of each other: here warnings are no errors.
lowest: ## run some tests with the lowest versions that pyproject.toml allows (on the lowest Python: PYTHON=python3.11)
	@$(PYTHON) -m venv --clear $(VENV)-lowest
	@$(PYTHON) requirements/lowest.py > $(VENV)-lowest/pins.txt
	@$(VENV)-lowest/bin/python -m pip install --quiet --requirement $(VENV)-lowest/pins.txt
	@$(VENV)-lowest/bin/python -m pip install --quiet --no-deps .
	@$(VENV)-lowest/bin/python -m pip check
	@$(VENV)-lowest/bin/python -m pytest -W default $(LOWEST) $(ARGS)

bench: $(READY) ## measure speed and memory, as ratios within one run
	@$(BIN)/python -m benchmarks $(ARGS)

docs: $(READY) ## build the documentation into docs/_build/html
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# Whoever publishes says where the source is shown: make dist REPOSITORY=https://HOST/OWNER/NAME
REPOSITORY ?=

dist: $(READY) ## build what a package index takes, into dist; its page links to REPOSITORY=https://...
	@test -n "$(REPOSITORY)" || { echo "make dist needs the address of the repository, for the links of the page: make dist REPOSITORY=https://HOST/OWNER/NAME"; exit 2; }
	@ASKANCE_REPOSITORY="$(REPOSITORY)" $(BIN)/python -m hatchling build

clean: ## remove what the other targets made
	rm -rf $(VENV) $(VENV)-lowest docs/_build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache askance-demo
