# make help lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

GO         ?= go
PREFIX     ?= /usr/local
DESTDIR    ?=
BIN        ?= bin
DIST       ?= dist
VERSION    ?=
SOAK_TIME  ?= 10m
PROGRAMS   ?= 1000000
FIRST_SEED ?= 0
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
NFPM        = github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.0

# Test files that begin so run compilers, MPI programs, a browser or packaging
# tools; the tests in all others need nothing but Go (go test -tags quick).
LAUNCHES   = ^//go:build !quick
LAUNCHING  = $(sort $(shell grep -rl --include='*_test.go' '$(LAUNCHES)' .))
QUICK_PROGRAMS = 150

# Packages that share memory between goroutines are tested with the race detector.
# It makes analysis ten times slower, which then draws fewer random programs, and
# is tested without it too. Of the rest, some launch MPI programs, or a browser.
RACE       = $(shell $(GO) list ./conflicts/... ./internal/turns ./symbols/...)
MPI        = $(filter-out $(RACE),$(shell $(GO) list $(sort $(dir $(LAUNCHING)))))
PLAIN      = $(filter-out $(RACE) $(MPI),$(shell $(GO) list ./...))
RUNTIMES   = $(CURDIR)/bin/test-runtimes

# Open MPI refuses to start as root without these.
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1

ROOT = $(DESTDIR)$(PREFIX)

.DEFAULT_GOAL := build
.PHONY: help build quick test packages lint bench soak fixtures install dist clean slurm format vet

# Manual pages and archives bear the date of the last commit, so that the same
# sources give the same bytes.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/mcchk
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(if $(VERSION),-X main.version=v$(VERSION:v%=%))' -o $(BIN)/mcchk ./cmd/mcchk

packages: ## install the Debian packages that the tests need, where they are missing
	@.ci/packages

quick: format vet ## gofmt, go vet and all tests that need nothing but Go, with few random programs: about two minutes. Says what it leaves out
	MCCHK_PROGRAMS=$(QUICK_PROGRAMS) $(GO) test -vet=off -tags quick ./...
	@echo "Passed. Left out, and done by make test: staticcheck, the race detector, random programs after the first $(QUICK_PROGRAMS) of each test,"
	@echo "and these tests, which run compilers, MPI programs, a browser or packaging tools:"
	@for file in $(LAUNCHING); do \
		echo "$$file:" $$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(t .*/\1/p' "$$file"); \
	done | sed '/:$$/d' | fold -s -w 120

# One test package at a time has the machine, and divides it among its tests: so
# more of these may be under way than there are processors. Run-times of mcchk
# are compiled once for all of them.
test: packages lint ## check the sources (staticcheck too, half a minute after a change) and run all tests
	$(GO) test -race -timeout 40m ./analysis $(RACE)
	$(GO) test -timeout 40m $(PLAIN)
	rm -rf $(RUNTIMES)
	MCCHK_CACHE=$(RUNTIMES) $(GO) test -p 1 -parallel 16 -timeout 75m $(MPI)

lint: format vet ## gofmt, go vet and staticcheck
	$(GO) run $(STATICCHECK) ./...

format:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi

vet:
	$(GO) vet ./...

slurm: ## analyse in parts under a real Slurm, started here as root (packages slurmctld, slurmd, slurm-client)
	$(GO) test -count 1 -tags slurm -run TestSlurm ./cmd/mcchk

bench: ## measure tracing and analysis beside their aims (8 minutes)
	$(GO) run ./bench

soak: packages ## run every fixture in every way, 400 random programs with each MPI library and with OpenSHMEM, PROGRAMS (1000000) random programs from FIRST_SEED (0) on against the brute-force checker, and every fuzz target for SOAK_TIME (10m)
	MCCHK_SOAK=400 $(GO) test -count 1 -parallel 16 -timeout 90m ./fixtures
	MCCHK_FIRST_SEED=$(FIRST_SEED) MCCHK_PROGRAMS=$(PROGRAMS) $(GO) test -v -count 1 -timeout 10h -run TestEngineAgainstBruteForce ./analysis
	@for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' "$$package" | grep '^Fuzz' || true); do \
			echo "== $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(SOAK_TIME) "$$package"; \
		done; \
	done

fixtures: build packages ## record the traces in fixtures/traces again
	$(GO) run ./fixtures/record -mcchk bin/mcchk

install: build ## install to $(DESTDIR)$(PREFIX): the program, manual pages, completions, documentation
	install -d $(ROOT)/bin $(ROOT)/share/doc/mcchk/docs/images $(ROOT)/share/doc/mcchk/docs/experiments $(ROOT)/share/doc/mcchk/docs/guide $(ROOT)/share/doc/mcchk/docs/developers $(ROOT)/share/doc/mcchk/fixtures $(ROOT)/share/man/man1 $(ROOT)/share/bash-completion/completions \
		$(ROOT)/share/zsh/site-functions $(ROOT)/share/fish/vendor_completions.d
	install -m 755 $(BIN)/mcchk $(ROOT)/bin/mcchk
	for name in cc cxx fc oshcc oshcxx gfortran gcc g++ clang clang++; do ln -sf mcchk $(ROOT)/bin/mcchk-$$name; done
	install -d $(ROOT)/include
	install -m 644 tracer/include/mcchk.h $(ROOT)/include/mcchk.h
	install -m 644 README.md LICENSE $(ROOT)/share/doc/mcchk
	install -m 644 docs/*.md docs/*.json $(ROOT)/share/doc/mcchk/docs
	install -m 644 docs/images/*.png $(ROOT)/share/doc/mcchk/docs/images
	install -m 644 docs/guide/*.md $(ROOT)/share/doc/mcchk/docs/guide
	install -m 644 docs/developers/*.md $(ROOT)/share/doc/mcchk/docs/developers
	install -m 644 docs/experiments/* $(ROOT)/share/doc/mcchk/docs/experiments
	install -m 644 fixtures/README.md $(ROOT)/share/doc/mcchk/fixtures
	$(BIN)/mcchk manual -o $(ROOT)/share/man/man1
	$(BIN)/mcchk completion bash > $(ROOT)/share/bash-completion/completions/mcchk
	$(BIN)/mcchk completion zsh > $(ROOT)/share/zsh/site-functions/_mcchk
	$(BIN)/mcchk completion fish > $(ROOT)/share/fish/vendor_completions.d/mcchk.fish

dist: ## make the Debian package and the release archive of VERSION (0.0.0) in dist
	rm -rf $(DIST)
	$(MAKE) install DESTDIR=$(abspath $(DIST)/root) PREFIX=/usr BIN=$(abspath $(DIST)/bin) VERSION=$(or $(VERSION),0.0.0)
	cd $(DIST) && VERSION=$(or $(VERSION),0.0.0) $(GO) run $(NFPM) package --config $(CURDIR)/nfpm.yaml --packager deb --target .
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(SOURCE_DATE_EPOCH) -C $(DIST)/root/usr \
		--transform 's,^\.,mcchk-$(or $(VERSION),0.0.0),' -cf - . | gzip -n > $(DIST)/mcchk-$(or $(VERSION),0.0.0)-linux-amd64.tar.gz
	rm -rf $(DIST)/root $(DIST)/bin
	cd $(DIST) && sha256sum *.deb *.tar.gz > SHA256SUMS

clean: ## remove what build and dist made
	rm -rf bin dist
