# Targets for developers. All tools except Go (and Python for `registry` and `docs`) are built once from pinned Go modules into a cache
# outside the tree; `make test` requires Go only.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c

CACHE := $(or $(COBALTCORE_CACHE),$(HOME)/.cache/cobaltcore)
export COBALTCORE_CACHE := $(CACHE)

FUZZTIME ?= 30s
REGISTRY ?= ghcr.io/c5c3
COUNT    ?= 6
PKG      ?= ./functions/... ./internal/... ./companion/...

# All checkouts of the project share results of compilers, because the results contain no path of a checkout.
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)

# budget runs tests with progress and a summary; it fails immediately if a filter (RUN, SERVICE) selects none.
budget = hack/compile.sh -o "$(CURDIR)/out/bin/testbudget" ./hack/testbudget && "$(CURDIR)/out/bin/testbudget"

# LIMITS are the limits of `make test` in CPU-seconds: of all packages, and of each package. The targets are 300 and 40, which
# all tests meet on two cores that do little else (267, at most 36 for a package). The limits are higher, because the same work uses up to 1.7 times
# the processor time on a loaded machine, where programs displace each other from caches and threads share cores.
LIMITS ?= -total 480 -package 75

# tested are the packages of `make test` and `make test-long`. Defaults to all; PKG selects some.
tested = $(if $(filter command environment,$(origin PKG)),$(PKG),./...)

# $(call run,NAME) runs a tool of hack/tools, and builds it first if necessary.
run = tool=$$(hack/tools/build.sh $(1)) && "$$tool"

# $(call tree,VARIABLE) sets a shell variable to the git tree of the current files, committed or not.
tree = index=$$(mktemp -d) && $(1)=$$(export GIT_INDEX_FILE=$$index/index && git add --all && git write-tree) && rm -r "$$index"

# pack builds the packages.
pack = go -C hack/package run . -root "$(CURDIR)" -out "$(CURDIR)/out/packages" -registry "$(REGISTRY)" $(if $(VERSION),-version "$(VERSION)")

.DEFAULT_GOAL := help
.PHONY: help generate scaffold verify-generated docs lint test test-long fuzz crash bench preview demo demo-down render package push release-check test-package test-webhooks test-redfish portal test-portal test-platform test-chainsaw \
  bench-platform bench-fleet images test-openstack openstack-up openstack-down tempest crds registry vuln tools clean \
  node-up node-down test-e2e mutation mutation-literals mutation-conditions

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-18s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

generate: ## Generate deep copies, definitions, Compositions, versions, reference tables, lists of messages, and the tables and pictures of other pages
	$(call run,controller-gen) object paths=./apis/...
	crds=$$(mktemp -d) && trap 'rm -r "$$crds"' EXIT && \
	  $(call run,controller-gen) crd paths=./apis/... output:crd:dir="$$crds" && go run ./hack/xrd "$$crds" apis compositions
	go run ./hack/registry hack/registry/services.toml internal/openstack/release/versions.go
	go run ./hack/docs
	go run ./hack/messages
	go run ./hack/chart package/chart

scaffold: ## Write the first version of a service from Placement's files. SERVICE= is required; PORT=, TYPE= and MODULE= replace the defaults of known services
	go run ./hack/scaffold $(if $(PORT),-port "$(PORT)") $(if $(TYPE),-type "$(TYPE)") $(if $(MODULE),-module "$(MODULE)") "$(SERVICE)"

verify-generated: ## Fail if a generated file differs from the result of `make generate`
	@$(call tree,before) && $(MAKE) --no-print-directory generate && $(call tree,after) && git diff --stat --exit-code "$$before" "$$after" || \
	  { echo "The files above are outdated, or could not be generated. Run 'make generate' and commit them." >&2; exit 1; }

docs: ## Build the site of the documentation into out/site (requires Python 3.11); with VERSION=v1.2.3, also commit it to the branch gh-pages
	hack/site/build.sh out/site $(VERSION)

# A cache for each tree: cached results contain paths of another tree, which no exclusion matches.
lint: export GOLANGCI_LINT_CACHE := $(CACHE)/lint$(subst /,-,$(CURDIR))
lint: ## Check style, errors, import rules (.golangci.yml) and language (hack/language)
	$(call run,golangci-lint) run ./...
	tool=$$(hack/tools/build.sh golangci-lint) && cd hack/package && "$$tool" run --config ../../.golangci.yml ./...
	go run ./hack/language

test: ## Run the tests that require only Go, within a budget of processor time: [PKG=./functions/nova] [RUN=TestName] [ARGS="-count 1"]
	@$(budget) $(LIMITS) -timeout 2h -run '$(RUN)' $(ARGS) $(tested)

# TestRecoversFromFaultAtAnyCall has a separate target for all of its runs: make crash.
test-long: export COBALTCORE_TEST_LONG := 1
test-long: ## Run them with the long searches of the same properties, for up to an hour: [PKG=./test/invariants] [RUN=TestName]
	@$(budget) -timeout 10h -run '$(RUN)' $(ARGS) $(tested)

fuzz: ## Fuzz every fuzz target for FUZZTIME (30s)
	@grep -rEo --include='*_test.go' '^func Fuzz[[:alnum:]_]+' . | sed 's/:func /:/' | sort | while IFS=: read -r file target; do \
	  echo "fuzz $$target in $$(dirname "$$file") for $(FUZZTIME)" && \
	  go test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) "$$(dirname "$$file")"; done

# A tool of this project changes literals, gremlins changes conditions. Goldens detect nothing: the tool rewrites them for each mutant, and
# gremlins excludes the tests that only compare them.
mutation: mutation-literals mutation-conditions ## Introduce defects into packages, and report those that no test detects: [PKG=./internal/tenant/limit] [ARGS="-sample 50"]

mutation-literals: # Fields, elements, bools, constants, numbers, names
	go run ./hack/mutation $(ARGS) $(PKG)

mutation-conditions: export GOFLAGS += -skip=^(TestFilesMatchGoldens|TestGoldensMatchOsloConfig|TestEveryKindMatchesGolden|TestYAMLMatchesGoldens)$$
mutation-conditions: # Comparisons, logic, arithmetic
	tool=$$(hack/tools/build.sh gremlins) && for dir in $$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' $(PKG)); do \
	  echo "$${dir#$(CURDIR)/}" && "$$tool" unleash --config hack/mutation/gremlins.yaml --output-statuses lct "./$${dir#$(CURDIR)/}"; done

crash: ## Fail each call of the companion's controllers to the API server, instead of a sample of them (TestRecoversFromFaultAtAnyCall), for up to hours
	go test -count=1 -timeout 5h -run TestRecoversFromFaultAtAnyCall $$(grep -rl --include=crash_test.go '"crash.every"' ./companion | xargs -n1 dirname | sort) -args -crash.every=1

bench: ## Run the benchmarks COUNT (6) times, in the format of benchstat
	go test -run='^$$' -bench=. -benchmem -count=$(COUNT) ./...

preview: claims = $(or $(CLAIM),$(addprefix examples/complete/,storage.yaml control-plane.yaml hypervisors.yaml))
preview: ## Show all objects that claims are composed into, without a cluster; by default a whole cloud: [CLAIM="file ..."] [FORMAT=tree|yaml]; with one claim: [OUT=folder] [FORMAT=json|dot]
	@hack/compile.sh -o "$(CACHE)/bin/cobaltcore" ./cmd/cobaltcore
	@"$(CACHE)/bin/cobaltcore" preview $(foreach claim,$(claims),-f "$(claim)") $(if $(OUT),--out "$(OUT)") $(if $(FORMAT),--format "$(FORMAT)")

demo: ## Create a claim in a real Crossplane on this machine, and run until stopped: [CLAIM=file] [ARGS=--remote]
	@hack/compile.sh -o "$(CACHE)/bin/demo" ./test/platform/demo
	@"$(CACHE)/bin/demo" $(if $(CLAIM),--claim="$(CLAIM)") $(ARGS)

demo-down: ## Stop a demo in another terminal, and remove its files
	@go run ./test/platform/demo --down

render: ## Test the functions with the real crossplane CLI and Crossplane's own reconciler, without Docker
	hack/tools/build.sh crossplane crossplane-core
	RENDER="$(CURDIR)/hack/render/render.sh" go test -count=1 ./test/render/...

package: ## Build packages, images and chart into out/packages, without Docker: [REGISTRY=host/path] [VERSION=v1.2.3]
	$(pack)

# SIGN=workflow signs as the identity of a GitHub workflow.
push: sign = -sign "$$tool" $(if $(filter-out workflow,$(SIGN)),-key "$(if $(findstring ://,$(SIGN)),$(SIGN),$(abspath $(SIGN)))") $(if $(SIGN_FLAGS),-cosign-flags "$(SIGN_FLAGS)")
push: ## Build them for REGISTRY, push them there, and with a key of cosign sign them: [SIGN=cosign.key] [SIGN_FLAGS="--tlog-upload=false"]
	$(if $(SIGN),tool=$$(hack/tools/build.sh cosign) && $(pack) -push $(sign),$(pack) -push)

release-check: ## Rehearse a release without publishing: notes, packages, signatures and archives, in out/: [STRICT=1] if the tree must be ready
	mkdir -p out/release && go run ./hack/release $(if $(STRICT),,-draft) >out/release/notes.md
	tool=$$(hack/tools/build.sh cosign) && $(pack) -rehearse "$$tool"
	hack/krew/build.sh out/packages

images: ## Build container images, without Docker: SERVICE="keystone …" [RELEASE=2025.2] [SOURCE=folder] [BASE=image] [ENGINE=podman|buildah]
	@go run ./hack/images $(if $(RELEASE),-release "$(RELEASE)") $(if $(SOURCE),-source "$(SOURCE)") $(if $(BASE),-base "$(BASE)") \
	  $(if $(ENGINE),-engine "$(ENGINE)") $(if $(OUT),-out "$(OUT)") $(SERVICE)

test-package: ## Test packages and chart with the real helm, crossplane CLI, cosign and Crossplane's verification, and alerts with Prometheus's engine
	PROMQL=$$(hack/tools/build.sh promql) && export PROMQL && go test -count=1 -run 'TestPrometheusParsesExpressions|TestAlertsFireOnlyInBadScenes' ./test/emitted
	HELM=$$(hack/tools/build.sh helm) && CROSSPLANE=$$(hack/tools/build.sh crossplane) && export HELM CROSSPLANE && \
	  COSIGN=$$(hack/tools/build.sh cosign) && IMAGE_VERIFICATION=$$(hack/tools/build.sh image-verification) && export COSIGN IMAGE_VERIFICATION && \
	  go test -count=1 ./hack/chart/... && go -C hack/package test -count=1 ./...

test-webhooks: ## Check every edit of a claim with the webhooks of MariaDB's released operator, [LONG=1] for each field in all sizes; plan --cluster with an API server
	MARIADB_CONTROLLER=$$(hack/tools/build.sh mariadb-controller) && export MARIADB_CONTROLLER && \
	  KUBERNETES=$$(hack/tools/build.sh kubernetes) && export KUBERNETES && \
	  COBALTCORE_TEST_LONG=$(LONG) go test -count=1 -timeout 2h -v ./test/webhooks

test-redfish: ## Test the fencing of nodes with a real Redfish service, sushy-emulator (Python 3.11)
	SUSHY_EMULATOR=$$(hack/redfish/build.sh) && export SUSHY_EMULATOR && go test -count=1 -v -run TestSushy ./companion/internal/fence

portal: ## Compile examples/portal to out/portal/site (Node.js, npm)
	hack/portal.sh -build out/portal

test-portal: ## Test examples/portal in Chromium, from an empty form to a valid claim, with screenshots in out/portal (Node.js, Chromium)
	hack/portal.sh out/portal

test-platform: platform = -tags platform -run '$(RUN)' ./test/platform ./test/companion ./test/store
test-platform: ## Test the packages and the chart on a real Crossplane, without Docker: [RUN=TestName]
	@$(budget) -check $(platform)
	hack/tools/build.sh kubernetes crossplane-core crossplane-core-newest provider-kubernetes helm vault >/dev/null
	@$(budget) -v -count 1 -timeout 2h $(platform)

test-chainsaw: ## Run the Chainsaw suite on the same platform
	CHAINSAW=$$(hack/tools/build.sh chainsaw) && export CHAINSAW && $(MAKE) --no-print-directory test-platform RUN=TestChainsawSuitePasses

bench-platform: ## Measure the cost of control planes for a real Crossplane: [PLANES="1 10 50"]
	go run ./test/platform/bench $(PLANES)

bench-fleet: ## Measure the companion's passes over a fleet of hypervisors, with a simulated OpenStack, and a rollout of nova-compute: [NODES="500 1000 2000 5000"]
	@hack/compile.sh -o "$(CACHE)/bin/companion" ./companion
	go run ./test/fleet --companion="$(CACHE)/bin/companion" --kubernetes="$$(hack/tools/build.sh kubernetes)" $(NODES)

# suites are the packages with tests of real services. They share ports and control groups: one runs at a time.
suites = $(patsubst %/main_test.go,./%,$(wildcard test/openstack/*/main_test.go))

# Requires root: the tests run in separate network, mount and process namespaces.
test-openstack: ## Test the objects of a claim with the real services, MariaDB, RabbitMQ, memcached and more: [SERVICE=keystone] [RUN=TestName] [SKIP=TestName] [IPV6=1] [LOGS=folder] [BUSY=1m] (Linux, root)
	@$(if $(IPV6),export COBALTCORE_IP_FAMILY=IPv6; )$(budget) $(if $(SERVICE)$(RUN),-v) -tags openstack -count 1 -p 1 -timeout 6h -run '$(RUN)' $(if $(SKIP),-skip '$(SKIP)') $(if $(SERVICE),-match '(?i)^Test$(SERVICE)') $(suites) \
	  -- $(if $(SERVICE),-service '$(SERVICE)') $(if $(LOGS),-logs '$(abspath $(LOGS))') $(if $(BUSY),-busy '$(BUSY)')

openstack-up: ## Run the cloud of a claim on this machine, with a clouds.yaml: CLAIM="file ..." (Linux, root)
	@hack/compile.sh -o "$(CACHE)/bin/openstack-up" ./test/openstack/up
	@"$(CACHE)/bin/openstack-up" -root "$(CURDIR)" -dir out/openstack -claim "$(or $(CLAIM),examples/controlplane/development.yaml)" \
	  $(if $(PLATFORM),-platform "$(PLATFORM)")

openstack-down: ## Stop it, and remove its files
	@hack/compile.sh -o "$(CACHE)/bin/openstack-up" ./test/openstack/up
	@"$(CACHE)/bin/openstack-up" -dir out/openstack -down

tempest: test = $(if $(GROUPS)$(RUN),Suites,Smoke)
tempest: ## Run Tempest in a cloud: smoke tests, suites of test/openstack/tempest/suites_test.go, or tests by name: [GROUPS="image volume" or all] [RUN=regex] [RELEASE=2025.2] [LOGS=folder] (Linux, root)
	@grep -rqF '"$(or $(RELEASE),2025.2)"' --include='*.go' internal/openstack/release || { echo "RELEASE: $(RELEASE) is not a supported release" >&2; exit 1; }
	@$(budget) -v -tags openstack -count 1 -timeout 24h -run '^Test$(test)/$(or $(RELEASE),2025.2)' ./test/openstack/tempest -- -service $(test) \
	  $(if $(GROUPS),-groups '$(GROUPS)') $(if $(RUN),-tests '$(RUN)') $(if $(LOGS),-results '$(abspath $(LOGS))' -logs '$(abspath $(LOGS))')

# Requires root and Linux: the node runs in separate network, mount and process namespaces.
node-up: ## Start a real node on this machine, without Docker: [ARGS=-platform, -storage or -hypervisors] adds operators, Crossplane and the artifacts of this project
	@hack/compile.sh -o "$(CACHE)/bin/node-up" ./test/node/up
	@"$(CACHE)/bin/node-up" -root "$(CURDIR)" $(ARGS)

node-down: ## Stop it, and remove its files
	@hack/compile.sh -o "$(CACHE)/bin/node-up" ./test/node/up
	@"$(CACHE)/bin/node-up" -down

test-e2e: ## Create a claim in a real Crossplane on a real node, with the real operators: [RUN=TestName] [ACCEPT=1] with RUN=TestProbeFindsOnlyAcceptedAccess
	@$(budget) -v -tags node -count 1 -parallel 4 -timeout 3h -run '$(RUN)' ./test/node $(if $(ACCEPT),-- -accept)

crds: ## Fetch the CRDs of the operators whose objects are composed
	go run ./hack/crds/fetch

registry: ## Extract the option registries from the OpenStack packages (requires Python): [SERVICE=name]
	hack/registry/generate.py $(SERVICE)

vuln: ## Check for known vulnerabilities (requires the Go vulnerability database)
	$(call run,govulncheck) ./...

tools: ## Build all developer tools into the cache
	hack/tools/build.sh $(notdir $(patsubst %/go.mod,%,$(wildcard hack/tools/*/go.mod)))

clean: ## Remove build results: tools and caches outside the tree, and out/
	rm -rf "$(CACHE)"/{bin,crds,images,node,portal,registry,openstack,site} out
