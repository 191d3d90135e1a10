# The project's commands; `make help` lists them. Each builds what it needs.

SHELL := /bin/sh
CARGO ?= cargo
# Real agents and the benchmark live outside the repository.
ACP_AGENTS ?= ../shared/agents
BENCH ?= ../shared/bench
BENCH_CLIENTS ?= floor,floor-md,floor-rust,rat
BENCH_SCENARIOS ?= all
BENCH_REPS ?= 5

nvim = $$(tests/support/nvim.sh)
# If `python3` is a shim of a version manager, starting it takes longer than most tests, so the real one comes first on PATH.
python := $(shell python3 -c 'import os, sys; print(os.path.dirname(sys.executable))')
export PATH := $(if $(python),$(python):)$(PATH)
language-servers = pyright@1.1.402 typescript-language-server@4.3.4 typescript@5.8.3
sdks = crate_0_1_1 python typescript
nvim-tests = --test in_neovim --test alone --test random
pauses = $(addsuffix ::,chats_speed completion_speed many_files review_speed traffic_speed)
lua = $(wildcard lua plugin tests build.lua)
# With cargo-nextest the tests of all binaries run in parallel; .config/nextest.toml says which must run alone. SHARE=2/3
# runs the second third of them; without cargo-nextest, SHARE is ignored.
ifneq ($(shell command -v cargo-nextest),)
run-tests = $(CARGO) nextest run --locked --no-fail-fast $(if $(SHARE),--partition hash:$(SHARE)) $(1)
agent-tests = $(call run-tests,--test real_agents --test-threads 3) --
else
measuring = terminals::flood::
run-tests = $(CARGO) test --locked --no-fail-fast $(1) -- $(measuring:%=--skip %) \
	  && $(CARGO) test --locked --test in_neovim -- --test-threads=1 $(measuring)
agent-tests = $(CARGO) test --locked --test real_agents -- --test-threads=3
endif

.PHONY: help
help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do \
	  printf '  make %-12s %s\n' "$$name" "$$what"; done

.PHONY: build
build: ## Build the release binary: target/release/rat-nvim
	$(CARGO) build --release --locked --target-dir target

.PHONY: release
release: ## Pack the binary for this machine with its checksum: target/dist/*.tar.gz; a TAG must match its version
	@# The paths are remapped because panic messages would contain folders of this machine.
	target=$$(rustc -vV | sed -n 's/^host: //p') && \
	flags=$$(printf '%s=cargo\037%s=rat-nvim' "--remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}" "--remap-path-prefix=$(CURDIR)") && \
	RAT_RELEASE_BUILD=1 CARGO_ENCODED_RUSTFLAGS="$$flags" $(CARGO) build --release --locked --target-dir target/dist/build && \
	python3 tests/support/release.py target/dist/build/release/rat-nvim "$$target" target/dist $(TAG)

.PHONY: publish
publish: ## Create the release of TAG with the archives in target/dist and its section of CHANGELOG.md
	sed -n "/^## \[$(TAG:v%=%)\]/,/^## \[/p" CHANGELOG.md | sed '/^## \[/d; /^\[.*\]: /d' >target/dist/notes.md
	gh release create "$(TAG)" --verify-tag --title "$(TAG)" --notes-file target/dist/notes.md target/dist/rat-nvim-*

.PHONY: screenshots
screenshots: ## Play the tour and draw the pictures for README.md and the help again: doc/images
	nvim=$(nvim) && UPDATE_GOLDEN=1 NVIM_BIN="$$nvim" $(CARGO) test --quiet --locked --test in_neovim pictures::

.PHONY: demo
demo: ## Play the built-in tour in Neovim on a copy of a small project; headless without a terminal
	@nvim=$(nvim) || exit 1; \
	if [ -t 0 ] && [ -t 1 ] && [ -z "$$CI" ]; then \
	  $(MAKE) --no-print-directory build && tests/support/demo.sh "$$nvim" "$(CURDIR)/target/release/rat-nvim"; \
	else \
	  mkdir -p target; rm -f "target/demo.txt"; \
	  RAT_DEMO_REPORT="target/demo.txt" NVIM_BIN="$$nvim" $(CARGO) test --quiet --locked --test in_neovim demo:: >"target/demo.log" 2>&1 \
	    || { cat "target/demo.log"; exit 1; }; \
	  cat "target/demo.txt"; \
	fi

.PHONY: test
test: ## Run all tests except those with real agents; NVIM_BIN chooses the Neovim
	nvim=$(nvim) && export NVIM_BIN="$$nvim" && $(call run-tests)

.PHONY: test-random
test-random: ## Run the random tests: on files (RAT_SEED, RAT_STEPS), and with hostile inputs (RAT_HOSTILE_SEED, RAT_HOSTILE)
	nvim=$(nvim) && export NVIM_BIN="$$nvim" && $(CARGO) test --locked --test random -- --nocapture \
	  && $(CARGO) test --locked --test without_neovim -- acp::markup acp::orders \
	  && $(CARGO) test --locked --test in_neovim -- --test-threads=2 hostile::generated \
	  && $(CARGO) test --locked --test alone -- hostile_sizes hostile_streams

.PHONY: soak
soak: ## Play many turns of eight sessions, and watch what the binary and Neovim need; RAT_TURNS sets how many (10000), RAT_SOAK_SECONDS how long they take
	nvim=$(nvim) && NVIM_BIN="$$nvim" RAT_TURNS="$${RAT_TURNS:-10000}" $(CARGO) test --locked --test alone -- --nocapture soak::

.PHONY: test-nvim
test-nvim: ## Run only the tests that talk to Neovim
	nvim=$(nvim) && export NVIM_BIN="$$nvim" && $(call run-tests,$(nvim-tests))

.PHONY: test-plugins
test-plugins: ## Run the tests with other plugins (RAT_PLUGINS: a folder with a checkout of each)
	@if [ ! -d "$$RAT_PLUGINS" ]; then \
	  echo "left out: the tests beside other plugins, RAT_PLUGINS names no folder with their checkouts"; \
	else \
	  nvim=$(nvim) || exit 1; \
	  NVIM_BIN="$$nvim" $(CARGO) test --locked --test in_neovim -- plugins::; \
	fi

.PHONY: test-agents
test-agents: ## Run the tests with real agents and with agents on SDKs (ACP_AGENTS: folder of scripts, ACP_AGENTS_DIR: where they are installed)
	@if [ ! -x "$(ACP_AGENTS)/run_opencode.sh" ]; then \
	  echo "left out: the tests against real agents, there is no $(ACP_AGENTS)/run_opencode.sh (set ACP_AGENTS)"; \
	elif [ ! -d "$$ACP_AGENTS_DIR" ]; then \
	  echo "left out: the tests against real agents, ACP_AGENTS_DIR names no folder: fill one with $(ACP_AGENTS)/setup.sh"; \
	else \
	  nvim=$(nvim) || exit 1; \
	  export ACP_AGENTS="$$(cd "$(ACP_AGENTS)" && pwd)" NVIM_BIN="$$nvim"; \
	  tests/real_agents/sdk/setup.sh "$$ACP_AGENTS_DIR"; \
	  missing=; \
	  for sdk in $(sdks); do \
	    [ -e "$$ACP_AGENTS_DIR/sdk/$$sdk/ready" ] || missing="$$missing --skip ::$$sdk"; \
	  done; \
	  $(agent-tests) $$missing; \
	fi

.PHONY: test-language-servers
test-language-servers: ## Run the tests of the editor's tools with pyright and typescript-language-server, which npm installs into target/tools/lsp
	@if ! command -v npm >/dev/null; then \
	  echo "left out: the tests with language servers, installing them needs npm"; \
	else \
	  nvim=$(nvim) || exit 1; \
	  npm install --silent --no-fund --no-audit --prefix target/tools/lsp $(language-servers) && \
	  RAT_LANGUAGE_SERVERS="$(CURDIR)/target/tools/lsp" NVIM_BIN="$$nvim" $(CARGO) test --locked --test language_servers -- --test-threads=2; \
	fi

.PHONY: test-agents-elsewhere
test-agents-elsewhere: ## The same behind a WebSocket, and where the project has another path (needs the right to make mount namespaces)
	RAT_AGENTS=websocket $(MAKE) --no-print-directory test-agents
	@if unshare -m true 2>/dev/null; then \
	  RAT_AGENTS=container $(MAKE) --no-print-directory test-agents; \
	else \
	  echo "left out: real agents that know the project by another path, mount namespaces cannot be made here"; \
	fi

.PHONY: conformance
conformance: ## Write doc/conformance.md: what the protocol requires of a client, and the tests that check it
	UPDATE_EXPECT=1 $(CARGO) test --quiet --locked --test without_neovim acp::conformance

.PHONY: index
index: ## Write the index in doc/contributing.md: what must hold, and the tests that say so
	UPDATE_EXPECT=1 $(CARGO) test --quiet --locked --test without_neovim index::

.PHONY: messages
messages: ## Write the files generated from Rust types and tables: doc/messages.md, lua/rat/rpc/messages, presets and methods
	UPDATE_EXPECT=1 $(CARGO) test --quiet --locked --lib -- nvim::messages::schema config::presets acp::v1::table

.PHONY: lint
lint: ## Check formatting, lints and documentation of the Rust and Lua code
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked --test real_agents --test language_servers --test bench -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --document-private-items
	@PATH="$$PWD/target/tools/bin:$$PATH"; \
	 command -v stylua >/dev/null || { echo "stylua is missing: cargo install stylua --version 2.5.2 --locked" >&2; exit 1; }; \
	 command -v luacheck >/dev/null || { echo "luacheck is missing: apt-get install lua-check, or luarocks" >&2; exit 1; }; \
	 set -ex; stylua --check $(lua); luacheck --quiet $(lua)
	tests/support/types.sh

.PHONY: format
format: ## Format the Rust and Lua code
	$(CARGO) fmt
	@PATH="$$PWD/target/tools/bin:$$PATH"; stylua $(lua)

.PHONY: bench
bench: bench-times bench-pauses ## Measure times and pauses beside references, and compare with the reference clients (BENCH: folder of the benchmark)
	@if [ ! -x "$(BENCH)/run" ]; then \
	  echo "left out: the comparison with the reference clients, there is no $(BENCH)/run (set BENCH to the folder of the benchmark)"; \
	else \
	  $(MAKE) --no-print-directory bench-clients; \
	fi

.PHONY: bench-clients
bench-clients: build
	cd "$(BENCH)/limits" && CARGO_TARGET_DIR="$(CURDIR)/target/bench-limits" $(CARGO) build --release
	nvim=$(nvim) && "$(BENCH)/run" --nvim "$$nvim" --path limits_bin=target/bench-limits/release --path rat="$(CURDIR)" \
	  --clients "$(BENCH_CLIENTS)" --scenarios "$(BENCH_SCENARIOS)" --reps "$(BENCH_REPS)" --out target/bench

.PHONY: bench-times
bench-times: ## Measure checkpoints beside git status, searches beside reading, and so on, on files below TMPDIR
	$(CARGO) test --release --locked --test bench -- --test-threads=1 --nocapture

.PHONY: bench-pauses
bench-pauses: ## Measure how long Neovim does nothing else at most, beside a piece of work that is known
	nvim=$(nvim) && export RAT_BENCH=1 NVIM_BIN="$$nvim" && \
	  $(CARGO) test --release --locked --test alone -- --test-threads=1 --nocapture $(pauses) && \
	  $(CARGO) test --release --locked --test in_neovim -- --test-threads=1 --nocapture terminals::flood::
