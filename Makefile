# The project's commands. Each builds what it needs; `make help` lists them.

SHELL := /bin/sh
CARGO ?= cargo
# Real agents and the benchmark live outside the repository.
ACP_AGENTS ?= ../shared/agents
BENCH ?= ../shared/bench
BENCH_CLIENTS ?= floor,floor-md,floor-rust,rat
BENCH_SCENARIOS ?= all
BENCH_REPS ?= 5

nvim = $$(tests/support/nvim.sh)
# The test binaries whose sources name Neovim, but for the one that needs real agents.
nvim-tests = $(patsubst %,--test %,$(filter-out support real_agents,$(sort \
  $(shell grep -rlE --include='*.rs' 'Nvim|NVIM_BIN' tests | sed 's,^tests/,,; s,[/.].*,,'))))
lua = $(wildcard lua plugin tests build.lua)
# With cargo-nextest, where there is one, the tests of all binaries run beside each other.
run-tests = $(CARGO) $(shell command -v cargo-nextest >/dev/null && echo nextest run || echo test)

.PHONY: help
help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do \
	  printf '  make %-12s %s\n' "$$name" "$$what"; done

.PHONY: build
build: ## Build the release binary: target/release/rat-nvim
	$(CARGO) build --release --locked --target-dir target

.PHONY: demo
demo: ## Play the built-in tour in Neovim on a copy of a small project; headless where there is no terminal
	@nvim=$(nvim) || exit 1; \
	if [ -t 0 ] && [ -t 1 ] && [ -z "$$CI" ]; then \
	  $(MAKE) --no-print-directory build && tests/support/demo.sh "$$nvim" "$(CURDIR)/target/release/rat-nvim"; \
	else \
	  mkdir -p target; rm -f "target/demo.txt"; \
	  RAT_DEMO_REPORT="target/demo.txt" NVIM_BIN="$$nvim" $(CARGO) test --quiet --locked --test demo >"target/demo.log" 2>&1 \
	    || { cat "target/demo.log"; exit 1; }; \
	  cat "target/demo.txt"; \
	fi

.PHONY: test
test: ## Run all tests but those with real agents; NVIM_BIN chooses the Neovim
	nvim=$(nvim) && NVIM_BIN="$$nvim" $(run-tests) --locked --no-fail-fast

.PHONY: test-random
test-random: ## Play random worlds on files, in Neovim and in memory; RAT_SEED and RAT_STEPS choose which and how many
	nvim=$(nvim) && NVIM_BIN="$$nvim" $(CARGO) test --locked --test random -- --nocapture

.PHONY: test-nvim
test-nvim: ## Run only the tests that talk to Neovim
	nvim=$(nvim) && NVIM_BIN="$$nvim" $(run-tests) --locked --no-fail-fast $(nvim-tests)

.PHONY: test-agents
test-agents: ## Run the tests against real agents (ACP_AGENTS: their folder, ACP_AGENTS_DIR: where they are installed)
	@if [ ! -x "$(ACP_AGENTS)/run_opencode.sh" ]; then \
	  echo "left out: the tests against real agents, there is no $(ACP_AGENTS)/run_opencode.sh (set ACP_AGENTS)"; \
	elif [ ! -d "$$ACP_AGENTS_DIR" ]; then \
	  echo "left out: the tests against real agents, ACP_AGENTS_DIR names no folder: fill one with $(ACP_AGENTS)/setup.sh"; \
	else \
	  nvim=$(nvim) || exit 1; \
	  ACP_AGENTS="$$(cd "$(ACP_AGENTS)" && pwd)" NVIM_BIN="$$nvim" \
	    $(CARGO) test --locked --test real_agents -- --test-threads=2; \
	fi

.PHONY: conformance
conformance: ## Write doc/conformance.md: what the protocol asks of a client, and the tests that hold it
	UPDATE_EXPECT=1 $(CARGO) test --quiet --locked --test acp conformance

.PHONY: lint
lint: ## Check format, lints and documentation of the Rust and Lua code
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) clippy --locked --test real_agents -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --document-private-items
	@PATH="$$PWD/target/tools/bin:$$PATH"; \
	 command -v stylua >/dev/null || { echo "stylua is missing: cargo install stylua --version 2.5.2 --locked" >&2; exit 1; }; \
	 command -v luacheck >/dev/null || { echo "luacheck is missing: apt-get install lua-check, or luarocks" >&2; exit 1; }; \
	 set -ex; stylua --check $(lua); luacheck --quiet $(lua)

.PHONY: format
format: ## Format the Rust and Lua code
	$(CARGO) fmt
	@PATH="$$PWD/target/tools/bin:$$PATH"; stylua $(lua)

.PHONY: bench
bench: build ## Compare with the reference clients (BENCH: folder of the benchmark)
	@if [ ! -x "$(BENCH)/run" ]; then \
	  echo "there is no $(BENCH)/run: set BENCH to the folder of the benchmark" >&2; exit 1; fi
	cd "$(BENCH)/limits" && CARGO_TARGET_DIR="$(CURDIR)/target/bench-limits" $(CARGO) build --release
	nvim=$(nvim) && "$(BENCH)/run" --nvim "$$nvim" --path limits_bin=target/bench-limits/release --path rat="$(CURDIR)" \
	  --clients "$(BENCH_CLIENTS)" --scenarios "$(BENCH_SCENARIOS)" --reps "$(BENCH_REPS)" --out target/bench

