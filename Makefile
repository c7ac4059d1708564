# Everything runs in .venv, which `setup` makes from uv.lock.
SHELL := /bin/bash
.DEFAULT_GOAL := help
# `setup` brings uv along where there is none.
UV = $$(command -v uv || echo .tools/bin/uv)

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' Makefile | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup:  ## make .venv from the lock file
	@scripts/setup.sh

serve: setup  ## build the demo dataset (Monaco) and serve it with a map page
	@.venv/bin/mapyard demo

wheelhouse: setup  ## gather in wheelhouse/ what setup installs, for a machine without a network
	@scripts/wheelhouse.sh

fresh-root:  ## run the Dockerfile's steps and `make setup` in fresh roots of Debian (as root; ARGS="image")
	@python3 scripts/fresh_root.py $(or $(ARGS),all)

test: setup lint  ## pass all checks and tests
	@.venv/bin/python -m pytest -n 2 --dist loadgroup

lint: setup  ## ruff, mypy strict, import-linter, spelling
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@.venv/bin/codespell *.md docs src examples

soak: setup  ## load for an hour: memory, descriptors, limits, ledger (SECONDS=3600 REQUESTS=1000000 DATA=data)
	@.venv/bin/python tests/soak.py --data $(or $(DATA),data) --seconds $(or $(SECONDS),3600) --requests $(or $(REQUESTS),1000000)

fuzz: setup  ## seek inputs that break a reader (SECONDS=600 DATA=data TARGET=overpass)
	@cd tests && ../.venv/bin/python -m fuzz --data $(abspath $(or $(DATA),data)) --seconds $(or $(SECONDS),600) $(if $(TARGET),--target $(TARGET)) --keep ../fuzz-found

sanitize: setup  ## test the C of the project with checks of memory and of undefined behavior (needs gcc)
	@mkdir -p dist/sanitized && .venv/bin/python hatch_build.py dist/sanitized --sanitize
	@MAPYARD_KERNELS=$(CURDIR)/dist/sanitized ASAN_OPTIONS=detect_leaks=0 \
	  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so.6)" \
	  HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-random} \
	  .venv/bin/python -m pytest tests/unit/routing/kernels tests/unit/store/test_frames.py tests/unit/store/test_kernels.py tests/unit/store/test_tag_places.py tests/unit/store/test_row_map.py tests/unit/store/test_sorted.py tests/unit/store/test_patch.py tests/unit/tiles/test_thin.py

bench: setup  ## the benchmarks, with ratios against peers
	@.venv/bin/python -m bench

chaos: setup  ## kill, stop, silence and lock everything under load; CHAOS_S=7200 for two hours, FORM=sqlite for one form
	@CHAOS_S=$${CHAOS_S:-90} .venv/bin/python -m pytest -s tests/chaos $(if $(FORM),-k $(FORM))

fleet-agreement: setup  ## 2,000 requests to a fleet of 4 regions beside one machine (EXTRACTS="a.osm.pbf b.osm.pbf" ARGS="--folder F")
	@.venv/bin/python tests/fleet_agreement.py $(EXTRACTS) $(ARGS)

docs: setup  ## write the generated reference pages again
	@.venv/bin/mapyard docs

words: setup  ## update and compile the catalogs of the map page, src/mapyard/web/catalogs
	@.venv/bin/python scripts/words.py

site:  ## build the docs as a site in dist/site (needs uv and a network)
	@$(UV) tool run --quiet 'mkdocs>=1.6,<2' build --quiet --strict && echo dist/site/index.html

answers: setup  ## record the example answers of the OpenAPI document again (DATA=data; else Monaco is built)
	@PYTHONPATH=tests .venv/bin/python tests/record_answers.py $(DATA)

release: setup  ## build packages into dist/ and try them in clean environments (needs a network)
	@.venv/bin/python scripts/release.py $(ARGS)

sbom: setup  ## write dist/sbom.cdx.json, the bill of materials (CycloneDX)
	@mkdir -p dist
	@$(UV) export --quiet --frozen --no-dev --all-extras --no-emit-project \
	  --format cyclonedx1.5 --preview-features sbom-export -o dist/sbom.cdx.json >/dev/null
	@echo "dist/sbom.cdx.json has $$(grep -c '"purl"' dist/sbom.cdx.json) packages"

audit: setup  ## ask the list of known holes about all dependencies (needs a network)
	@$(UV) audit --frozen --no-dev --preview-features audit \
	  || { echo "audit: read the lines above; without a network nothing can be asked" >&2; exit 1; }

.PHONY: fleet-agreement help setup serve wheelhouse fresh-root test lint soak fuzz sanitize bench chaos docs words site release sbom audit
