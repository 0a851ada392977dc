# make run     set up, start everything on http://127.0.0.1:8000, measure the disk below
# make test    set up, lint, types and every test, the ones on real servers included
# make test-fast   the tests that need no server and no browser, in a minute
# make coverage    every test but those that need the host alone, with the lines they reach
# make setup   what both call first; see scripts/setup
# make bench-statistics   thousands of simulated studies: is the ranking to be trusted? (minutes)
# make bench-search   searches replayed on recorded surfaces: how good is ours? (half an hour)
# make bench-fleet    200 simulated hosts on real PostgreSQL, Redis and web server (eight minutes)
# make bench-load-host   the same study driven beside the server and from another host (ten minutes)
# make bench-scale    configs measured in models of three sizes: does the ranking agree? (two hours)
# make bench-input    more than 1,500 bad requests by every way there is, three times (minutes)
# make bench-dashboard   what each page costs with 10,000 runs, on SQLite and PostgreSQL (minutes)
# make screenshots    pictures of every page, into var/screenshots, and those of the documents
# make bench-api      the API with 50 clients at once on a database of 10,000 runs (minutes)
# make bench-faults   studies on two hosts under 200 random faults; SEED=2 for others (15 minutes);
#                     SERVERS=real with real servers and drivers (half an hour)
# make bench-footprint   what the advisor itself takes of a processor during a run (minutes)

PYTHON_BIN := .venv/bin
SHELL_SCRIPTS := scripts/setup scripts/install-server scripts/common.bash .ci/run
# Processes that run tests. More than half of the time most of them wait for servers.
WORKERS ?= 6
PYTEST = $(PYTHON_BIN)/pytest -rs --dist loadscope

# Tests write gigabytes, and some are about disks: not into memory, which /tmp is on Debian 13.
ifeq ($(shell stat -f -c %T /tmp),tmpfs)
export TMPDIR ?= /var/tmp
endif

# Tests start the advisor's commands many times, which must not compile all of it each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run setup test setup-tests test-fast coverage lint type migrations pytest \
    bench-api bench-dashboard bench-footprint bench-input bench-memory bench-statistics bench-search \
    bench-scale bench-fleet bench-load-host bench-faults screenshots format lock clean

help:
	@sed -n '1,/^$$/s/^# //p' Makefile

run: setup
	@$(PYTHON_BIN)/python manage.py serve

setup:
	@scripts/setup

test: setup-tests
	@$(MAKE) --no-print-directory --jobs=4 --keep-going lint migrations type pytest

setup-tests:
	@scripts/setup --tests

# The tests marked `alone` measure this host: they run after all others, one at a time.
pytest:
	$(PYTEST) -n $(WORKERS) -m "not alone"
	$(PYTEST) -n 0 -m alone

test-fast:
	$(PYTEST) -n 3 -m "not server and not browser and not slow and not alone and not long"

coverage: setup-tests
	$(PYTEST) -n $(WORKERS) -m "not alone" --cov

lint:
	$(PYTHON_BIN)/ruff check --quiet .
	$(PYTHON_BIN)/ruff format --quiet --check .
	$(PYTHON_BIN)/lint-imports --no-logo
	$(PYTHON_BIN)/shellcheck -x $(SHELL_SCRIPTS)
	$(PYTHON_BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec docker/docker-compose.yml
	@if [ -x $(PYTHON_BIN)/hadolint ]; then set -x; $(PYTHON_BIN)/hadolint docker/Dockerfile; fi

type:
	$(PYTHON_BIN)/mypy

migrations:
	$(PYTHON_BIN)/python manage.py makemigrations --check --dry-run

# The promises of docs/statistics.md on simulated studies; fails when one is not kept.
bench-statistics:
	@$(PYTHON_BIN)/python -m tuning.tests.simulation

# The tables of docs/search.md; one thread, because small matrices are faster that way.
bench-search:
	@OPENBLAS_NUM_THREADS=1 $(PYTHON_BIN)/python -m tuning.tests.search_bench

# The table of docs/scale.md: five blocks of six configs at three sizes take about two hours.
bench-scale:
	@$(PYTHON_BIN)/python -m tuning.tests.scale_bench

# A day of response times at 20,000 transactions a second, in less than 150 MB (ten minutes).
bench-memory:
	@$(PYTHON_BIN)/python -m benchmarks.tests.memory_bench

# Reads and creations by many clients at once on 10,000 runs; on a host that is otherwise quiet.
bench-api:
	@$(PYTHON_BIN)/python -m advisor.tests.api_bench

# The budget of docs/disturbances.md; to be run on a host that is otherwise quiet.
bench-footprint:
	@$(PYTHON_BIN)/python -m advisor.tests.footprint_bench

# Other bad requests each time; the seed that is printed asks for the same ones again.
bench-input:
	@$(PYTHON_BIN)/python -m advisor.tests.bad_input $(if $(SEED),--seed $(SEED))

# The goals of a page: 25 queries, 100 ms, 300 kB; on a host that does nothing else.
bench-dashboard:
	@DJANGO_SETTINGS_MODULE=advisor.settings $(PYTHON_BIN)/python -m advisor.tests.dashboard_bench

# Made-up rows in a home of their own, unless ADVISOR_HOME names one that is filled.
screenshots:
	@$(PYTHON_BIN)/python -m advisor.tests.screenshots var/screenshots
	@$(PYTHON_BIN)/python -m advisor.tests.screenshots docs/pictures --docs

# The figures of docs/fleet.md; as root, on a host that does nothing else. ONLY=simulated or scene.
bench-fleet:
	@DJANGO_SETTINGS_MODULE=advisor.settings $(PYTHON_BIN)/python -m advisor.tests.fleet_bench \
	    $(if $(ONLY),--only $(ONLY))

# The driver beside the server and on a load host: docs/load-host.md.
bench-load-host:
	@DJANGO_SETTINGS_MODULE=advisor.settings $(PYTHON_BIN)/python -m advisor.tests.fleet.compare_load

# What docs/fleet.md says of things that fail; as root, with a C compiler for stepped clocks.
bench-faults:
	@DJANGO_SETTINGS_MODULE=advisor.settings $(PYTHON_BIN)/python -m advisor.tests.fault_storm \
	    --seed $(or $(SEED),1) --servers $(or $(SERVERS),stand-in)

format:
	$(PYTHON_BIN)/ruff check --fix .
	$(PYTHON_BIN)/ruff format .

# The lock files hold for every Python from 3.11 on and every platform; no index is written down.
# Newer versions: make lock UPGRADE=--upgrade
lock:
	@for name in requirements requirements-dev scripts/uv; do \
	    $(PYTHON_BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	        --generate-hashes --no-emit-index-url --no-emit-find-links \
	        --custom-compile-command 'make lock' $(UPGRADE) $$name.in -o $$name.txt || exit 1; \
	done

# What tools leave behind. Measurements, servers and datasets lie in var/ and stay.
clean:
	rm -rf .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -path ./.venv -prune -o -path ./var -prune -o -name __pycache__ -print0 | xargs -0 rm -rf
