# Thin: meson does the work. `make demo` and `make test` install what is missing and do everything.
BUILD ?= build
# meson's own directory lies below: it has a folder "neff" of its own, and the tool is $(BUILD)/neff.
MESON = $(BUILD)/meson
JOBS ?= $(shell nproc)
NEFF ?= $(BUILD)/sample.neff
INSTANCE ?= trn2.3xlarge
MESON_SETUP = meson setup
PREFIX ?= /usr/local

.PHONY: all help deps build test demo bench lint format asan tsan fuzz faults soak install clean

all: build

help:
	@echo 'make demo [NEFF=FILE] [INSTANCE=TYPE]   a NEFF placed and run on a mocked device'
	@echo 'make build | test                       everything; every test'
	@echo 'make bench                              docs/benchmarks.md'
	@echo 'make lint | format                      clang-format, folder arrows, clang-tidy'
	@echo 'make asan | tsan                        the tests under sanitizers'
	@echo 'make fuzz [FUZZ="..."] [FUZZ_SECONDS=N] docs/fuzzing.md'
	@echo 'make faults | soak                      the same'
	@echo 'make install [PREFIX=DIR] | clean'

deps:
	@.ci/deps

$(MESON)/build.ninja: | deps
	@test -f $@ || $(MESON_SETUP) $(MESON)

# Short ways to the tool and the library, where README.md says they are.
LINKS = ln -sfn meson/tools/neff $(BUILD)/neff && \
	for f in $(MESON)/nrt/libnrt.so*; do case $$f in *.p|*.symbols) ;; *) ln -sfn meson/nrt/$${f\#\#*/} $(BUILD)/$${f\#\#*/} ;; esac; done

build: deps $(MESON)/build.ninja
	@ninja -C $(MESON) -j $(JOBS)
	@$(LINKS)

test: build
	@.ci/test $(MESON)

# Places a NEFF on a mocked device and resolves into it: the sample by default, or NEFF=your.neff. Builds what a user
# needs and no tests.
demo: deps $(MESON)/build.ninja
	@ninja -C $(MESON) -j $(JOBS) demo
	@$(LINKS)
	@.ci/demo $(BUILD) "$(NEFF)" "$(INSTANCE)"

# A few minutes; writes $(BUILD)/bench.json and prints the table. `bench/compare.py OLD NEW` compares two of them.
bench: build
	@ninja -C $(MESON) -j $(JOBS) benchmarks
	@bench/run.py $(BUILD)

lint: build
	@.ci/lint $(MESON)

format:
	@git ls-files '*.h' '*.cc' '*.c' | xargs clang-format -i

# The whole test suite under the address and undefined-behaviour sanitizers, and under the thread sanitizer.
# Instrumented code makes the compiler guess at uninitialised variables: warnings count in the plain build.
asan: deps
	@test -f build-asan/build.ninja || $(MESON_SETUP) build-asan -Doptimization=1 -Dwerror=false -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C build-asan -j $(JOBS) && .ci/test build-asan

tsan: deps
	@test -f build-tsan/build.ninja || $(MESON_SETUP) build-tsan -Doptimization=1 -Dwerror=false -Db_sanitize=thread -Db_lundef=false
	@ninja -C build-tsan -j $(JOBS) && .ci/test build-tsan

# FUZZ_SECONDS for each target (600 when not set); FUZZ="npy ioctl" chooses targets. docs/fuzzing.md
fuzz: build
	@test -f build-fuzz/build.ninja || CC=clang CXX=clang++ $(MESON_SETUP) build-fuzz -Dfuzzers=true -Doptimization=1 -Dwerror=false -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C build-fuzz -j $(JOBS) fuzzers && .ci/fuzz build-fuzz $(FUZZ)

# Every request, allocation, mapping and member fails in turn; everything again and again. The suite has short forms.
faults: build
	@OPENNRT_FAULTS=all meson test -C $(MESON) --no-rebuild --verbose --timeout-multiplier 10 --suite faults

soak: build
	@OPENNRT_SOAK=all meson test -C $(MESON) --no-rebuild --verbose --timeout-multiplier 20 --suite soak

# Library, tool, headers, pkg-config file; no tests are built for it.
install: deps $(MESON)/build.ninja
	@meson configure $(MESON) -Dprefix=$(PREFIX)
	@ninja -C $(MESON) -j $(JOBS) demo
	@meson install -C $(MESON) --quiet --no-rebuild

clean:
	@rm -rf $(BUILD) build-asan build-tsan build-fuzz
