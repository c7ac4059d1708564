# Everything runs in .venv, which `setup` makes from uv.lock.
SHELL := /bin/bash
.DEFAULT_GOAL := help

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' Makefile | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup:  ## make .venv from the lock file
	@scripts/setup.sh

serve: setup  ## build the demo dataset (Monaco) and serve it with a map page
	@.venv/bin/mapyard demo

test: setup lint  ## pass all checks and tests
	@.venv/bin/python -m pytest -n 2 --dist loadgroup

lint: setup  ## ruff, mypy strict, import-linter
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

bench: setup  ## the benchmarks, with ratios against peers
	@.venv/bin/python -m bench

docs: setup  ## write the generated reference pages again
	@.venv/bin/mapyard docs

.PHONY: help setup serve test lint bench docs
