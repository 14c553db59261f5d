# Every target sets up what it needs in .venv; nothing has to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Research corpora for the tests and benchmarks that want them (see docs/data.md).
ifneq ($(wildcard ../shared/data),)
export DCOT_DATA ?= $(abspath ../shared/data)
endif

.DEFAULT_GOAL := help
.PHONY: help demo test test-oldest test-integrations mteb dist test-dist fuzz trust chromium lint format bench paper docs clean
PROFILE ?= quick
SECONDS ?= 600
FOLDERS ?= 10000
SHARE ?= 1

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

demo: $(VENV)/.demo  ## learn dCoT on an embedded corpus, compare it with its rivals, draw a picture
	mkdir -p demo-output
	$(BIN)/dcot demo -o demo-output/demo.png

test: $(VENV)/.dev chromium  ## lint, type-check and run all tests
	$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --hypothesis-profile ci

test-integrations: build/integrations/.done  ## run docs/integrations.md against the real packages
	build/integrations/bin/python -m pytest tests/integrations

mteb: build/mteb/.done  ## run MTEB on local corpora, and txtai; installs PyTorch; writes docs/tables/mteb.md
	HF_HUB_OFFLINE=1 build/mteb/bin/python -m tests.integrations.mteb_run
	build/mteb/bin/python -m pytest tests/integrations -k 'mteb or txtai'

dist: $(VENV)/.dev  ## build the source distribution and the wheel, and check them
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*

test-dist:  ## install the wheel of `make dist` into an empty environment and run the README there
	$(PYTHON) tests/dist/check.py dist/*.whl

chromium:  # for the tests of the pages; where it cannot be installed, they are skipped
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null || echo "Chromium could not be installed."; \
	  else echo "There is no Chromium: the tests of the pages are skipped."; fi

test-oldest: $(BIN)/python  ## run the tests on the oldest dependencies that pyproject.toml allows
	$(PYTHON) -m venv .venv-oldest
	$(BIN)/python tests/trust/oldest.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip --disable-pip-version-check install --quiet --constraint .venv-oldest/constraints.txt \
	  --editable '.[cli,plots,explore,dask,bench,onnx]' onnxruntime pytest pytest-xdist hypothesis 'pandas<3' 'pyarrow<19' httpx markdown-it-py
	.venv-oldest/bin/python -m pytest tests/unit tests/contract tests/comparison -W default \
	  --numprocesses 2 --dist worksteal --hypothesis-profile ci
	$(PYTHON) -m venv .venv-oldest/embedding
	$(BIN)/python tests/trust/oldest.py embedding > .venv-oldest/embedding/constraints.txt
	.venv-oldest/embedding/bin/python -m pip --disable-pip-version-check install --quiet \
	  --constraint .venv-oldest/embedding/constraints.txt --editable '.[embedding,tables]' pytest hypothesis pandas
	.venv-oldest/embedding/bin/python -m pytest tests/unit/test_classifier_embedding.py

fuzz: $(VENV)/.dev  ## change inputs at random for SECONDS (600) per target; guided by coverage where atheris installs
	$(PIP) install --quiet atheris || echo "atheris cannot be installed here: inputs are changed without a guide."
	for target in readers sgml labels npz manifest matrices texts; do \
	  $(BIN)/python -m tests.trust.fuzzing $$target $(SECONDS); done
	DCOT_FUZZ=$(FOLDERS) $(BIN)/python -m pytest -q tests/unit/persistence/test_fuzz.py

trust: $(VENV)/.dev  ## try to break it: crashes, load, fuzz, numbers; hours, or SHARE=0.05 of them; writes docs/trust.md
	$(BIN)/python -m tests.trust.campaign $(SHARE)

lint: $(VENV)/.dev  ## ruff, mypy --strict and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## format the code with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev  ## measure speed and memory against peers, beside the targets
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.shapes
	$(BIN)/python -m benchmarks.text
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.search

paper: $(VENV)/.dev  ## rerun the paper's experiments; PROFILE=full takes hours, and resumes
	$(BIN)/dcot bench paper --profile $(PROFILE) --output bench-output/$(PROFILE)

docs: $(VENV)/.docs  ## build the documentation into site/ (python -m http.server -d site shows it, with search)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:  ## remove everything that was built, the virtual environment too
	rm -rf $(VENV) .venv-oldest fuzz-output build dist site demo-output bench-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dcot needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) -V 2>&1`. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[cli,plots]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[docs]'
	@touch $@

# BERTopic and KeyBERT ask for PyTorch, which nothing here uses: they come without dependencies.
build/integrations/.done: pyproject.toml
	$(PYTHON) -m venv build/integrations
	build/integrations/bin/python -m pip install --quiet --editable '.[integrations]' pytest hypothesis
	build/integrations/bin/python -m pip install --quiet --no-deps bertopic keybert
	@touch $@

build/mteb/.done: pyproject.toml
	$(PYTHON) -m venv build/mteb
	build/mteb/bin/python -m pip install --quiet --editable '.[mteb]' pytest hypothesis
	@touch $@
