# Every target does the set-up it needs. Only python3, java and make must be there before.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup jars demo demo-cdc test check lint bench docs laws templates connect cluster clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-8s %s\n", $$1, $$2 }'

setup: $(VENV)/.installed jars  ## Make .venv, install packages, fetch Spark's Delta jars (quick when all is there)
	@$(BIN)/lakelogic doctor --quiet || true

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name it with: make setup PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	  || { echo "python3 cannot make virtual environments here; install its venv package" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	@touch $@

# The jars live in the user's cache or where LAKELOGIC_JARS says; this is quick when they are there.
# Where they cannot be fetched it says how to get them and goes on: only Spark needs them.
# Tests read databases too, and ask for the drivers at once: each call that adds jars prepares Spark's start again.
test check laws: EXTRAS := --with postgresql --with sqlite
jars: $(VENV)/.installed
	@$(BIN)/lakelogic setup $(EXTRAS) || { test -n "$(EXTRAS)" && $(BIN)/lakelogic setup; } || true

demo: setup  ## Run an insurance company's week on local Spark, from files to gold tables, and show what came of it
	@rm -rf examples/insurance_elt/output examples/insurance_elt/data/bronze
	@$(BIN)/python examples/insurance_elt/generate.py
	@$(BIN)/lakelogic pipeline examples/insurance_elt/contracts
	@$(BIN)/python examples/insurance_elt/demo.py

demo-cdc: setup  ## PostgreSQL, Debezium, Kafka and a consumer that is killed (needs PostgreSQL and Maven)
	@$(BIN)/lakelogic setup --with kafka
	@$(BIN)/python examples/cdc_debezium/demo.py; status=$$?; $(BIN)/python examples/cdc_debezium/stack.py down; exit $$status

# Two workers, each with a Spark session of its own: most of a small Spark job waits on one thread of the driver.
test: setup  ## Run all tests
	@$(PYTEST) -n $(WORKERS) --dist worksteal

check: setup lint test  ## Everything that must pass before a commit: style, types, layers, tests

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Each orchestrator in an environment of its own: they do not agree with one another, and we need none of them.
ORCHESTRATORS := airflow=apache-airflow==3.3.2 dagster=dagster==1.13.28 prefect=prefect==3.8.8,fastapi==0.139.2
templates: $(VENV)/.installed  ## Run the templates of Airflow, Dagster and Prefect on these tools (fetches them)
	@for each in $(ORCHESTRATORS); do \
	  home=.cache/orchestrators/$${each%%=*}; \
	  test -e $$home/.installed && continue; \
	  $(PYTHON) -m venv $$home && $$home/bin/python -m pip install --quiet $$(echo $${each#*=} | tr , " ") && touch $$home/.installed \
	    || exit 1; \
	done
	@$(PYTEST) tests/orchestrators

laws: export LAKELOGIC_LAW_EXAMPLES ?= 400
laws: setup  ## Only the laws: ledger, rules and commit protocol under random input and kills
	@$(PYTEST) -n $(WORKERS) --dist worksteal tests/laws tests/faults

connect: setup  ## Run the cases of tests/cases with a Spark Connect server as their Spark
	@$(BIN)/python -m tests.servers.connect pytest tests/cases -k spark

cluster: setup  ## A checked load of 20 million rows on a master and two workers, one of them killed in the middle
	@$(BIN)/python benchmarks/cluster.py

bench: setup  ## Measure everything that docs/benchmarks.md shows, and write it again (an hour; QUICK=--quick: minutes)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev,bench]'
	@$(BIN)/python benchmarks/all.py $(QUICK)

docs: $(VENV)/.installed  ## Write the generated parts of docs/reference and check that every command shown runs
	@$(BIN)/python docs/generate.py
	@$(PYTEST) tests/e2e/test_documents.py

clean:  ## Remove caches and outputs; .venv and the jars stay
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf spark-warehouse metastore_db derby.log examples/*/lakehouse examples/*/output examples/insurance_elt/data/bronze
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
