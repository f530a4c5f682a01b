# Development commands. Everything they make is in .venv and .work; `make clean` removes it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON3 ?= python3
VENV := .venv
PYTHON := $(VENV)/bin/python
# only the very files that are listed there: each has its hash
UV_LOCKED = .work/tools/bin/uv pip install --quiet --no-progress --python $(PYTHON) --no-deps --require-hashes
# some tests only: files, folders or names; all where it is empty
TESTS ?=
# unit tests that look at the code and the docs themselves, in seconds
STRUCTURE := $(addprefix tests/unit/,test_docs.py test_features.py test_folders.py test_imports.py test_public_face.py test_sizes.py tools/test_pages.py)
# what tests of real servers need
SERVERS := .work/jars/.complete .work/versions/.complete .work/archives/.complete .work/tools/.complete .work/packed/.complete
# each file that Maven gets must have the checksum that its repository names
MAVEN := mvn --batch-mode --quiet --strict-checksums -Dstyle.color=never
# processes that run tests side by side, each with servers of its own; 0: none beside this one
WORKERS ?= 4
# how long `make explore` goes on, and the seed of its first round
MINUTES ?= 20
# runs of `make hunt`, and the busy processes beside it
TIMES ?= 50
LOAD ?= 10
# rounds of random faults in `make soak`, and the seed of the first; each prints its own
ROUNDS ?= 3
SEED ?=
APT_INSTALL := DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0
# dates and texts are the same on every machine
export TZ := UTC
# each of some hundred processes of a test run would compile the library again
unexport PYTHONDONTWRITEBYTECODE

LOCK := .work/tools/bin/uv pip compile --quiet --generate-hashes --python-version 3.11 --no-annotate --no-header

.PHONY: help venv jars demo unit test test-quick test-long explore hunt setup browser prometheus soak up down check check-static check-format check-types check-structure check-java docs pages format hooks bench lock sbom clean

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)$$/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 19

setup: $(VENV)/.project $(SERVERS) browser prometheus ## all that the tests need; make -j3 gets it side by side

demo: $(VENV)/.project .work/jars/.complete ## real servers, real flights: Ignite → Airflow → Spark → Kafka, verified, in one command
	@$(PYTHON) -m tools.demo

unit: $(VENV)/.project ## the unit tests, in a minute or two; needs neither Java nor Maven
	@$(PYTHON) -m pytest --numprocesses $(WORKERS) tests/unit

hooks: $(VENV)/.project ## git hooks that run the quick part of `make check` before each commit
	@$(VENV)/bin/pre-commit install

BROWSER := $(if $(TESTS),$(if $(findstring integration,$(TESTS)),browser prometheus),browser prometheus)

test: $(VENV)/.project $(SERVERS) $(BROWSER) ## all tests but the long ones and the soak, on servers that they start themselves, with coverage, and the oldest set of versions; TESTS=path for some, WORKERS=0 for one after the other
	@$(PYTHON) -m tools.gate --workers $(WORKERS) $(TESTS)

test-quick: $(VENV)/.project $(SERVERS) ## the unit tests and the main ways on real servers, in about ten minutes
	@$(PYTHON) -m tools.gate --workers $(WORKERS) --quick

test-long: $(VENV)/.project $(SERVERS) ## further cases of what the other tests see, before a release
	@$(PYTHON) -m tools.gate --workers $(WORKERS) --long

explore: $(VENV)/.project $(SERVERS) ## the random comparisons with fresh seeds and more examples, for MINUTES; SEED for the first round
	@$(PYTHON) -m tools.gate.explore --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(TESTS)

hunt: $(VENV)/.project $(SERVERS) ## one test, named by TESTS, TIMES times beside LOAD busy processes, until it fails
	@$(PYTHON) -m tools.gate.hunt --times $(TIMES) --load $(LOAD) $(TESTS)

matrix: $(VENV)/.project $(SERVERS) ## tests with other versions of Airflow, PySpark, Python, Ignite and Kafka, results in docs/compatibility.md; SETS=oldest or SETS=ignite- for some
	@$(PYTHON) -m tools.matrix --write $(SETS)

browser: ## Chromium and its driver, for the tests of pages; as root they are installed by apt-get
	@command -v chromium > /dev/null && command -v chromedriver > /dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get > /dev/null || { \
			echo "chromium and chromedriver are not on the path: on Debian, apt-get install chromium chromium-driver as root" >&2; exit 1; }; \
		echo "installing chromium and chromedriver: about half a minute"; \
		apt-get update -qq && $(APT_INSTALL) chromium chromium-driver > /dev/null; }

prometheus: ## Prometheus and promtool, for the tests of metrics; unpacked from Debian's package into .work, without root
	@command -v prometheus > /dev/null && command -v promtool > /dev/null || test -e .work/prometheus/.complete || { \
		command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null || { \
			echo "prometheus and promtool are not on the path: get them from https://prometheus.io/download/" >&2; exit 1; }; \
		echo "getting prometheus: 19 MB"; \
		mkdir -p .work/prometheus && cd .work/prometheus && rm -f *.deb && { test "$$(id -u)" != 0 || apt-get update -qq; } && \
		apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb . && rm -f *.deb && touch .complete; }

soak: $(VENV)/.project .work/jars/.complete ## the long tests: the backlog service alone, and a stream under faults, in ROUNDS of an order that SEED gives
	@SOAK_ROUNDS=$(ROUNDS) SOAK_SEED=$(SEED) $(PYTHON) -m pytest tests/backlog tests/soak

up: $(VENV)/.project .work/jars/.complete ## Ignite, Kafka and Airflow with its web UI stay running on loopback
	@$(PYTHON) -m tools.stack up

down: ## ends what `make up` started; its data and logs stay for the next `make up`
	@if test -e .work/stack; then $(PYTHON) -m tools.stack down; else echo "nothing is up"; fi

check: check-static check-structure ## format, lint, types, spelling, the site, and the tests of structure and docs; no servers

check-static: check-java docs check-format check-types # without tests; make -j2 is faster

check-format: $(VENV)/.project
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/codespell .

check-types: $(VENV)/.project
	$(VENV)/bin/mypy

check-structure: $(VENV)/.project
	@$(PYTHON) -m pytest --quiet $(STRUCTURE)

docs: $(VENV)/.project ## the site of docs/ in .work/site; warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet --strict

check-java: ## format and lint of the Java sources; starts no servers
	@$(MAVEN) --non-recursive spotless:check

format: $(VENV)/.project ## formats the code and makes the safe repairs of the linter
	$(VENV)/bin/ruff check --fix-only .
	$(VENV)/bin/ruff format .
	$(MAVEN) --non-recursive spotless:apply

bench: $(VENV)/.project .work/jars/.complete ## ours and the peers in turn on the same servers and data; prints the ratios
	@$(PYTHON) -m benchmarks

pages: $(VENV)/.project ## writes the generated pages of docs/: settings, options, events, metrics
	@$(PYTHON) -m tools.pages

venv: $(VENV)/.project ## the virtual environment .venv with the versions of constraints.txt

jars: .work/jars/.complete ## the jars of Ignite, Kafka, YARN and the backlog service in .work/jars

lock: .work/tools/.complete $(VENV)/.project ## writes requirements/*.txt anew: the packages of constraints.txt with the hashes of their files
	@for group in build spark airflow; do $(LOCK) --constraint constraints.txt requirements/$$group.in --output-file requirements/$$group.txt; done
	@$(LOCK) --no-deps constraints.txt --output-file requirements/development.txt
	@$(LOCK) requirements/tools.in --output-file requirements/tools.txt
	@$(PYTHON) -m tools.matrix --lock

sbom: .work/tools/.complete ## bills of materials (CycloneDX) of the images' Python packages and of the jars, in .work/sbom
	@mkdir -p .work/sbom
	@for group in spark airflow; do .work/tools/bin/cyclonedx-py requirements --output-file .work/sbom/$$group.cdx.json requirements/$$group.txt; done
	@$(MAVEN) org.cyclonedx:cyclonedx-maven-plugin:2.9.1:makeAggregateBom \
		-DoutputFormat=json -DoutputName=jars.cdx -DoutputDirectory=$(CURDIR)/.work/sbom
	@ls .work/sbom/*.json

# another version of Ignite, that tests have a node of
.work/versions/.complete: $(VENV)/.project .work/jars/.complete .work/tools/.complete tools/servers/versions.py
	@$(PYTHON) -m tools.servers.versions > /dev/null
	@touch $@

# class data of the JVMs that tests start again and again
.work/archives/.complete: $(VENV)/.project .work/jars/.complete tools/servers/archives.py
	@$(PYTHON) -c "from tools.servers.archives import main; main()"
	@touch $@

# the packed Python that YARN unpacks for drivers and executors
.work/packed/.complete: $(VENV)/.packages .work/tools/.complete requirements/development.txt tools/packed_python.py | $(VENV)/.project
	@$(PYTHON) -m tools.packed_python
	@touch $@

.work/tools/.complete: requirements/tools.txt
	@$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON3=/path/to/it" >&2; exit 1; }
	@$(PYTHON3) -m venv .work/tools
	@.work/tools/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $<
	@touch $@

clean: ## removes all that the other commands made
	@if test -e .work/stack && test -x $(PYTHON); then $(PYTHON) -m tools.stack idle; fi
	rm -rf $(VENV) .work build dist spark_apps/*.egg-info *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf target backlog-service/target tools/jars/*/target
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

$(VENV)/.packages: requirements/build.txt requirements/development.txt | .work/tools/.complete
	@echo "making $(VENV): about 1.2 GB, one to three minutes"
	@$(PYTHON3) -m venv $(VENV)
	@$(UV_LOCKED) --requirement requirements/build.txt # what some packages of the next line are built with
	@$(UV_LOCKED) --no-build-isolation --requirement requirements/development.txt
	@touch $@

$(VENV)/.project: $(VENV)/.packages pyproject.toml setup.cfg setup.py
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.work/jars/.complete: pom.xml $(wildcard tools/jars/*/pom.xml) backlog-service/pom.xml $(shell find backlog-service/src/main -type f)
	@command -v java > /dev/null || { echo "java is not on the path: install Java 17" >&2; exit 1; }
	@command -v mvn > /dev/null || { echo "mvn is not on the path: install Maven 3.8 or newer" >&2; exit 1; }
	@echo "getting the jars of Ignite, Kafka and YARN, making that of the backlog service"
	@$(MAVEN) -DskipTests package
	@mkdir -p .work/jars/backlog && for jar in backlog-service/target/backlog-service-*.jar; do \
		cp $$jar .work/jars/backlog/.new && mv .work/jars/backlog/.new .work/jars/backlog/$$(basename $$jar); done # running nodes keep theirs
	@touch $@
