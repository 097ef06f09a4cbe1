# make help lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

GO         ?= go
PREFIX     ?= /usr/local
DESTDIR    ?=
SOAK_TIME  ?= 10m
PROGRAMS   ?= 100000
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Packages that share memory between goroutines: tested with the race detector as well.
CONCURRENT = ./analysis/... ./conflicts/... ./symbols/...

# Open MPI refuses to start as root without these.
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1

.DEFAULT_GOAL := build
.PHONY: help build test packages lint bench soak fixtures install clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/mcchk
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/mcchk ./cmd/mcchk

packages: ## install the Debian packages that the tests need, where they are missing
	@.ci/packages

# Programs of an MPI library spin while they wait: one test package at a time.
test: packages lint ## check the sources and run all tests
	$(GO) test -race -timeout 10m $(CONCURRENT)
	$(GO) test -p 1 -timeout 14m ./...

lint: ## gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

bench: ## measure tracing and analysis beside their aims (6 minutes)
	$(GO) run ./bench

soak: packages ## run every fixture in every way, PROGRAMS (100000) random programs, and every fuzz target for SOAK_TIME (10m)
	MCCHK_SOAK=1 $(GO) test -count 1 -timeout 60m ./fixtures
	MCCHK_PROGRAMS=$(PROGRAMS) $(GO) test -count 1 -timeout 10h -run TestEngineAgainstBruteForce ./analysis
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' "$$package" | grep '^Fuzz' || true); do \
			echo "== $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(SOAK_TIME) "$$package"; \
		done; \
	done

fixtures: build packages ## record the traces in fixtures/traces again
	$(GO) run ./fixtures/record -mcchk bin/mcchk

install: build ## install to $(DESTDIR)$(PREFIX)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/doc/mcchk
	install -m 755 bin/mcchk $(DESTDIR)$(PREFIX)/bin/mcchk
	install -m 644 README.md LICENSE docs/*.md docs/*.json $(DESTDIR)$(PREFIX)/share/doc/mcchk

clean: ## remove what build made
	rm -rf bin
