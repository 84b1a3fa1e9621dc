# Strata, one command at a time: `make help` lists them.
# Everything goes into .venv beside this file; only root's `make test` installs anything else, a browser.

PYTHON ?= python3
PORT ?=
ARGS ?=

VENV := .venv/bin/python -m
OLDEST := $(shell sed -n 's/^requires-python = ">=\(.*\)"/\1/p' pyproject.toml)

# A stamp is named after what the requirements say: it is there exactly when .venv holds just that.
APP := .venv/app-$(shell cksum < requirements.txt | cut -d' ' -f1)
DEV := .venv/dev-$(shell cat requirements.txt requirements-onnx.txt requirements-slurm.txt requirements-dev.txt | cksum | cut -d' ' -f1)

.DEFAULT_GOAL := help
.PHONY: help run setup test products check lint format fuzz kill mutants soak bench example browser

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(APP) ## Start the app: on port 8501 or the next free one, or on PORT=9000
	@exec $(VENV) explorer app $(if $(PORT),--port $(PORT))

setup: $(APP) ## Make the environment and stop there; PYTHON=python3.12 chooses the interpreter
	@echo "The environment is .venv; its Python is .venv/bin/python."

# One more than there are processors, at most four: those that wait for a browser or a killed process leave none idle.
WORKERS = $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$(( n < 4 ? n + 1 : 4 )))

# Bytecode is written, which many containers forbid: the tests start dozens of processes that would compile it again.
test: $(DEV) browser ## Run the tests; ARGS="-k layers" goes to pytest
	@PYTHONDONTWRITEBYTECODE= $(VENV) pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

products: $(DEV) ## Run every case of the tests of which `make test` runs some: each layer under each setting
	@PYTHONDONTWRITEBYTECODE= $(VENV) pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --products -m product $(ARGS)

check: lint test ## Everything a change has to pass: format, lint, types, then the tests with the floors

lint: $(DEV) ## Format, lint and types, without the tests
	@$(VENV) ruff format --check .
	@$(VENV) ruff check .
	@$(VENV) mypy

format: $(DEV) ## Format the code and fix what can be fixed
	@$(VENV) ruff check --fix-only .
	@$(VENV) ruff format .

fuzz: $(DEV) ## Damage files at random and check the errors; ARGS="--seconds 1800" takes longer
	@$(VENV) tests.fuzz $(ARGS)

bench: $(DEV) browser ## Measure speed next to peer libraries; ARGS=memory measures memory, ARGS=gpu a GPU
	@$(VENV) benchmarks $(ARGS)

kill: $(DEV) ## Stop a run at every call that changes a file, resume it, and compare the bytes: an hour
	@OMP_NUM_THREADS=1 $(VENV) tests.kill_points $(ARGS)

mutants: $(DEV) ## Change the program at random places, and print the changes that no test notices
	@$(VENV) tests.mutants $(ARGS)

soak: $(DEV) browser ## Use the app for an hour, and compare its memory, threads and files before and after
	@$(VENV) tests.soak $(ARGS)

example: $(APP) ## Train the example run anew and write what ships of it
	@$(VENV) explorer.training.example

$(APP):
	$(call install,requirements.txt)

$(DEV):
	$(call install,requirements-dev.txt)
	@touch $(APP)

# .venv/unfinished names the process that installs, and becomes the stamp at the end. What was cut off starts afresh.
define install
	@if pid=$$(cat .venv/unfinished 2>/dev/null); then \
	  if kill -0 "$$pid" 2>/dev/null; then \
	    echo "Process $$pid is installing into .venv: wait for it, then try again." >&2; exit 1; \
	  fi; \
	  rm -rf .venv; \
	fi
	@$(VENV) pip --version >/dev/null 2>&1 || { rm -rf .venv && $(new_enough); }
	@mkdir -p .venv && rm -f .venv/app-* .venv/dev-* && echo $$PPID > .venv/unfinished
	@test -e .venv/bin/python || $(PYTHON) -m venv .venv
	@echo "Installing $(1) into .venv: once, a few minutes."
	@test -t 1 || quiet=--quiet; $(VENV) pip install --disable-pip-version-check --no-input $$quiet -r $(1)
	@mv .venv/unfinished $@
endef

new_enough = { $(PYTHON) -c '$(is_new_enough)' 2>/dev/null || { \
	found=$$($(PYTHON) -c 'import platform; print(platform.python_version())' 2>/dev/null || echo not there); \
	echo "Strata needs Python $(OLDEST) or later; $(PYTHON) is $$found." >&2; \
	echo "Name one that is: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }; }
is_new_enough = import sys; sys.exit(sys.version_info < tuple(map(int, "$(OLDEST)".split("."))))

# The tests that need a browser skip themselves, and say so, when there is none.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v $$name >/dev/null && exit 0; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "No browser here: installing chromium for the page tests."; \
	  export DEBIAN_FRONTEND=noninteractive; \
	  apt-get update -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20 >/dev/null 2>&1; \
	  apt-get install -qq -y --no-install-recommends chromium >/dev/null 2>&1 && exit 0; \
	fi; \
	echo "No browser, so the page tests will be skipped. To run them, install chromium or Google Chrome."
