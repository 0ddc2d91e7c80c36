# The front door. `make help` lists what there is; CMakeLists.txt builds it.
PREFIX  ?= /usr/local
DESTDIR ?=

all: build/build.ninja
	@cmake --build build --target onx onx_shared onx_static

build/build.ninja: CMakePresets.json
	@command -v cmake >/dev/null && command -v ninja >/dev/null || \
	    { echo "onx: CMake or Ninja is missing; tool/setup installs what is needed" >&2; exit 1; }
	@cmake --preset release

run:
	@tool/setup build
	@$(MAKE) --no-print-directory all
	@cmake --build build --target enlarge
	@tool/tour build/onx

test:
	@tool/setup build test
	@$(MAKE) --no-print-directory build/build.ninja
	@cmake --build build
	@tool/test build

verify: all
	@tool/verify

bench: all
	@bench/run

fuzz:
	@tool/setup build clang
	@cmake --preset fuzz
	@cmake --build build-fuzz --target fuzz
	@tool/fuzz build-fuzz

install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true

format:
	@tool/setup clang
	@tool/lint --fix

clean:
	rm -rf build build-*

help:
	@echo "make            build/onx, build/libonx.so, build/libonx.a"
	@echo "make run        set up this machine, build, and show what onx does"
	@echo "make test       set up this machine, build, and run all tests"
	@echo "make install    into PREFIX=$(PREFIX), below DESTDIR if set"
	@echo "make fuzz       run every fuzz target for FUZZ_SECONDS=20 each"
	@echo "make bench      measure"
	@echo "make verify     the long checks"
	@echo "make format     apply the code style"
	@echo "make clean      remove the build folders"

.PHONY: all run test verify bench fuzz install format clean help
