# make run     set up, start everything on http://127.0.0.1:8000, measure the disk below
# make test    set up, lint, types and every test, the ones on real servers included
# make test-fast   the tests that need no server and no browser, in a minute
# make coverage    every test but those that need the host alone, with the lines they reach
# make setup   what both call first; see scripts/setup
# make bench-statistics, bench-search, bench-scale, bench-faults, bench-fleet, bench-pages,
# make bench-real-server, pictures
#              what takes longer than a test: see bench/README.md

PYTHON_BIN := .venv/bin
SHELL_SCRIPTS := scripts/setup scripts/install-server scripts/common.bash .ci/run
# Processes that run tests. More than half of the time most of them wait for servers.
WORKERS ?= 6
PYTEST = $(PYTHON_BIN)/pytest -rfEs --dist loadscope

# Tests write gigabytes, and some are about disks: not into memory, which /tmp is on Debian 13.
ifeq ($(shell stat -f -c %T /tmp),tmpfs)
export TMPDIR ?= /var/tmp
endif

# Tests start the advisor's commands many times, which must not compile all of it each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run setup test setup-tests test-fast coverage lint type migrations pytest \
    bench-statistics bench-search bench-scale bench-faults bench-fleet bench-pages \
    bench-real-server pictures \
    format lock clean

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
	$(PYTHON_BIN)/djlint --quiet --lint templates
	$(PYTHON_BIN)/shellcheck -x $(SHELL_SCRIPTS)
	$(PYTHON_BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec docker/docker-compose.yml
	@if [ -x $(PYTHON_BIN)/hadolint ]; then set -x; $(PYTHON_BIN)/hadolint docker/Dockerfile; fi

type:
	$(PYTHON_BIN)/mypy

migrations:
	$(PYTHON_BIN)/python manage.py makemigrations --check --dry-run

# One thread, because small matrices are faster that way.
bench-statistics bench-search bench-scale: bench-%:
	@OPENBLAS_NUM_THREADS=1 $(PYTHON_BIN)/python -m bench.$*

# As root, with a C compiler for stepped clocks. SEED=2 for other faults, SERVERS=real for servers.
bench-faults:
	@DJANGO_SETTINGS_MODULE=advisor.settings $(PYTHON_BIN)/python -m bench.faults \
	    --seed $(or $(SEED),1) --servers $(or $(SERVERS),stand-in)

# As root. ONLY=simulated or ONLY=scene for one part.
bench-fleet:
	@DJANGO_SETTINGS_MODULE=advisor.settings $(PYTHON_BIN)/python -m bench.fleet \
	    $(if $(ONLY),--only $(ONLY))

bench-pages:
	@DJANGO_SETTINGS_MODULE=advisor.settings $(PYTHON_BIN)/python -m bench.pages

# ARGUMENTS="--seconds 8 20" and others: see --help.
bench-real-server:
	@$(PYTHON_BIN)/python -m bench.real_server $(ARGUMENTS)

pictures:
	@$(PYTHON_BIN)/python -m bench.pictures docs/pictures

format:
	$(PYTHON_BIN)/ruff check --fix .
	$(PYTHON_BIN)/ruff format .

# uv.lock holds for every Python from 3.11 on and every platform; set-up installs what is exported.
# Newer versions: make lock UPGRADE=--upgrade
UV_EXPORT = $(PYTHON_BIN)/uv export --frozen --quiet --no-header --format requirements.txt
lock:
	$(PYTHON_BIN)/uv lock --quiet --system-certs $(UPGRADE)
	(echo '# Written by `make lock` from uv.lock.'; $(UV_EXPORT) --no-dev) >requirements.txt
	(echo '# Written by `make lock` from uv.lock.'; $(UV_EXPORT) --only-group dev) >requirements-dev.txt
	$(PYTHON_BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' \
	    scripts/uv.in -o scripts/uv.txt

# What tools leave behind. Measurements, servers and datasets lie in var/ and stay.
clean:
	rm -rf .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -path ./.venv -prune -o -path ./var -prune -o -name __pycache__ -print0 | xargs -0 rm -rf
