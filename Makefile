# xla-wasm. Each target does its own set-up; everything made goes to build/ (and node_modules/).
#
#   make                    both WebAssembly builds, into build/dist; the bindings for Node, into build/node
#   make run [ARGS=...]     train on handwritten digits, on several replicas
#   make demo [ARGS=...]    serve the page
#   make wheel              jaxlib in pure Python on this core, a wheel in build/python
#   make python-page        the folder from which a page loads Pyodide with JAX, build/python/page
#   make pyodide            NumPy and ml_dtypes for Pyodide, of their source packages (5 minutes of a processor)
#   make site               the page as static files, for any host, into build/site
#   make test               every test, of the largest corpora a sample: Node, native under sanitizers, Chromium
#   make test-full          the same with all of the corpora
#   make test-anywhere [TESTS=...]  tests of time on one core, under load, and by a fast and a slow clock
#   make jax-tests JAX=... [ARGS=...]  JAX's own tests, in a clone of it, on our jaxlib and the real one; every 40th
#   make jax-programs [ARGS=...]  148 programs of JAX and 20 libraries on our jaxlib and the real one
#   make jax-suite DIR=...  all captured programs of a folder, against real XLA's results
#   make hosts              the package in Node 22 and 24, Bun, Deno, with webpack, Rollup, esbuild, ...
#   make bench [ARGS=...]   against onnxruntime-web, tfjs and jax-js; tests/bench/bench.mjs has ARGS
#   make bench ARGS=ablate   what each rewrite, stage and kernel brings: each is switched off in turn
#   make bench ARGS=collectives   of 2 to 256 devices, against a copy
#   make bench ARGS=programs   whole programs, against native XLA on one thread
#   make bench ARGS=models   language models, against native XLA, onnxruntime-web and llama.cpp
#   make bench ARGS=operations   operations by element type, against that and those
#   make native             build/native/xla-run and tests/native, under ASan and UBSan
#   make native-tsan        build/native-tsan: the core under ThreadSanitizer
#   make lint               clang-format, clang-tidy, eslint, tsc, ruff
#   make format             rewrites the C sources as clang-format wants them
#   make declarations       writes the files that follow from tables: operations.d.ts, constants.mjs, docs/passes.md
#   make golden             regenerates tests/golden with real XLA (Python, jax)
#   make fuzz SECONDS=60    random programs, here and on real XLA
#   make reduce MODULE=program.hlo CHECK='...'  makes a program with a fault small
#   make release VERSION=0.2.0   version, changelog, checks in a clean clone, commit, tag, tarball
#   make mutants COUNT=20   small changes to the core, each of which a fast test should notice (tests/mutants)
#   make old-faults         old faults, put back one at a time, and which test of make check sees each
#   make fuzz-text SECONDS=60  random texts for the parser, under sanitizers
#   make fuzz-stablehlo SECONDS=60  mutants of StableHLO programs
#   make fuzz-ways SECONDS=60  random programs, each compiled and run in all ways
#   make fuzz-slopes SECONDS=60  slopes at zeros, ties and poles, against JAX and finite differences
#   make fuzz-devices SECONDS=60  random programs of several devices, against a simulation
#   make clean              removes what was built, keeps the toolchain
#
# V=1 shows whole commands.

B := build
Q := $(if $(V),,@)
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# One more than the cores: downloads and links wait often, and each leaves a core to another job. Tests have threads of their own.
JOBS := $(shell expr $(CORES) + 1)
MAKEFLAGS += --no-builtin-rules -j$(JOBS)
SECONDS ?= 60

.DEFAULT_GOAL := build
.PHONY: wheel python-page pyodide jax-tests jax-programs build run demo site lighthouse begun tested tested-site test test-full test-anywhere check jax-suite hosts bench native native-tsan lint format declarations golden fuzz mutants old-faults \
  reduce fuzz-ways fuzz-slopes fuzz-pairs fuzz-text fuzz-stablehlo fuzz-devices release clean \
  distclean FORCE
.DELETE_ON_ERROR:

# --- sources and flags ---------------------------------------------------------------------------

SOURCES := $(sort $(shell find src -name '*.c'))
SHARED := $(filter-out src/main.c src/base/host/wasm.c src/base/host/native.c,$(SOURCES))
# The textbook routines, which tests compare kernels with, are in native builds and in CHECKED ones.
TEXTBOOK := $(sort $(wildcard tests/textbook/*.c))
# WebAssembly builds have these loops as a module inside the module.
EMBEDDED := src/kernels/contraction/inner/narrow_loops.c
# CHECKED=1, for tests/mutants: WebAssembly with the checks of test builds, linked in a second.
WASM_SOURCES := $(filter-out $(EMBEDDED),$(SHARED)) $(if $(CHECKED),$(TEXTBOOK)) $(filter src/base/host/wasm.c,$(SOURCES))
NATIVE_SOURCES := $(SHARED) $(TEXTBOOK) $(filter src/main.c src/base/host/native.c,$(SOURCES))
C_FILES := $(sort $(shell find src tests -name '*.[ch]' -o -name '*.inc'))

# Contraction and fast-math would change the bits of results, which must be XLA's.
CFLAGS := -std=c11 -D_GNU_SOURCE= -Isrc -Itests -ffp-contract=off -fno-math-errno \
  -Wall -Wextra -Wno-unused-parameter \
  -Werror=implicit-function-declaration -Werror=incompatible-pointer-types

# Every kilobyte is downloaded: code that runs once per program is compiled for size, inner loops for speed. What a
# compilation spends its time in, and kernels around their inner loops, lose nothing or next to nothing with -Os.
# (4.5 % less than -Oz of a compilation's time for 2 kB; winograd 1.01 times -O2's time, but depthwise 1.17, short rows
# of FFTs 1.15. At -Oz, systems of 64 equations take 1.4 times. Loops of narrow_loops.c say themselves what is unrolled.)
HOT_FOLDERS := base hlo/ir hlo/text rewrite/base kernels
# Of these, files that plan, or that only shardings need, are compiled for size, too: 1 kB less.
COLD_FILES := $(addprefix hlo/,ir/shard% ir/mesh ir/lapack_calls ir/attribute_compare text/sharding_parser) \
  $(addprefix kernels/,contraction/contraction contraction/dot fft/fft convolution/convolution)
WASM_LEVEL = $(if $(filter vectors inner,$(subst /, ,$(filter-out %/narrow %/relax,$*))),-O2,$(if \
  $(filter $(HOT_FOLDERS:%=%/%),$(filter-out $(COLD_FILES),$*)),-Os,-Oz))
# Formats without floats: those of the C library take 9 kB of the download. hlo/text/numbers.h prints floats.
NO_FLOAT_FORMATS := -Dsnprintf=sniprintf -Dvsnprintf=vsniprintf
WASM_CFLAGS = $(CFLAGS) $(WASM_LEVEL) $(if $(CHECKED),-DXLA_CHECKS) -msimd128 -Wno-c23-extensions $(NO_FLOAT_FORMATS)
CFLAGS_threads = $(WASM_CFLAGS) -pthread --embed-dir=$(B)/obj/threads
CFLAGS_single = $(WASM_CFLAGS) -DXLA_SINGLE_THREADED --embed-dir=$(B)/obj/single

# Native builds take the functions of wasm_simd128.h from SIMDe. SIMD_HEADER replaces the compiler's header of that name and
# adds the functions that Debian's SIMDe lacks.
SIMD_HEADER := $(B)/include/wasm_simd128.h
NATIVE_CFLAGS := $(CFLAGS) -I$(dir $(SIMD_HEADER)) -DSIMDE_ENABLE_NATIVE_ALIASES= \
  -gline-tables-only -fno-omit-frame-pointer -pthread -Wno-psabi -DXLA_CHECKS
# Under sanitizers, optimising a file takes most of its compilation. Under ASan, tests run these folders too little to earn that
# back; under TSan, all but the evaluator and the loops of products, which copy vectors by calls if they are not optimised.
# Measured (2026-11): all files at -O1 compile in 165 s under ASan, at -O0 in 50, but the tests then run three times as long.
SELDOM_RUN := derive/% kernels/% rewrite/% runtime/%
OFTEN_RUN := rewrite/base/% $(patsubst src/%.c,%,$(shell find src/kernels -path '*/inner/*.c'))
LEVEL_native = $(if $(filter-out $(OFTEN_RUN),$(filter $(SELDOM_RUN),$*)),-O0,-O1)
LEVEL_native-tsan = $(if $(filter kernels/contraction/inner/% base/% $(BY_VALUE),$*),-O1,-O0)
# lld links in half the time of GNU ld.
NATIVE_LDFLAGS := -fuse-ld=lld -Wl,--build-id=none
# These functions return scalars by value, so a check for uses of returned frames finds nothing in them. It takes a third of
# the evaluator's time.
BY_VALUE := reference/% textbook/% hlo/scalar/% value/%
# AddressSanitizer sees accesses by null pointers, to objects that are too small and past their ends. The checks that see the same
# take half of the time to compile.
# Unrolled loops of vectors compile in two thirds of the time if AddressSanitizer's checks are calls: 4.6 s instead of 6.5 of
# narrow_loops.c, for 0.2 s more of build/native/contractions (2026-11).
UNROLLED := kernels/contraction/inner/narrow_loops kernels/contraction/inner/lanes
CFLAGS_native = $(NATIVE_CFLAGS) $(LEVEL_native) -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-sanitize=null,object-size,pointer-overflow \
  $(if $(filter $(BY_VALUE),$*),-fsanitize-address-use-after-return=never) \
  $(if $(filter $(UNROLLED),$*),-mllvm -asan-instrumentation-with-call-threshold=0)
CFLAGS_native-tsan = $(NATIVE_CFLAGS) $(LEVEL_native-tsan) -fsanitize=thread

# --- tools ---------------------------------------------------------------------------------------

EMCC := $(B)/toolchain/bin/emcc
NATIVE_CC := $(shell command -v clang-19 || command -v clang || echo clang-19)
TOOLCHAIN := $(B)/toolchain
NODE_MODULES := node_modules/.package-lock.json
VENV := $(B)/venv

# A stamp says that the tools of a kind are there; .ci/toolchain looks for them or installs them.
STAMPS := $(patsubst %,$(TOOLCHAIN)/%.stamp,build native browser lint python)
$(STAMPS): $(TOOLCHAIN)/%.stamp: .ci/toolchain
	$(Q).ci/toolchain $*

$(NODE_MODULES): package.json package-lock.json
	@echo "  NPM     node_modules"
	$(Q)npm ci --loglevel=error --no-audit --no-fund >/dev/null
	$(Q)touch $@

$(VENV)/stamp: tests/golden/requirements.txt
	@echo "  VENV    $(VENV) (jax, a minute)"
	$(Q)python3 -m venv $(VENV) || \
	  { echo "error: python3 cannot make a virtual environment: install python3-venv" >&2; exit 1; }
	$(Q)$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	$(Q)touch $@

# What packs the wheel, and lints python/. Python compiles a module when it is first imported: to compile all takes 11 seconds.
PYTHON_TOOLS := $(B)/python/tools
$(PYTHON_TOOLS)/stamp: python/tools/requirements.txt | $(TOOLCHAIN)/browser.stamp
	@mkdir -p $(@D)
	$(Q)python3 -m venv $(@D) || \
	  { echo "error: python3 cannot make a virtual environment: install python3-venv" >&2; exit 1; }
	$(Q)$(@D)/bin/pip install --no-compile --quiet --disable-pip-version-check -r $<
	$(Q)touch $@

# JAX with our jaxlib instead of the real one. To install pip in an environment takes 6 seconds: that of the tools serves both.
JAX_VENV := $(B)/python/venv
$(JAX_VENV)/stamp: python/tests/requirements.txt | $(PYTHON_TOOLS)/stamp
	@echo "  VENV    $(JAX_VENV)"
	$(Q)python3 -m venv --without-pip $(JAX_VENV)
	$(Q)$(PYTHON_TOOLS)/bin/pip --python $(JAX_VENV)/bin/python install --no-compile --quiet --disable-pip-version-check --no-deps -r $<
	$(Q)touch $@

# --- compiling: build/obj/VARIANT/FILE.o -----------------------------------------------------------

VARIANTS := threads single native native-tsan
objects = $(patsubst src/%.c,$(B)/obj/$(1)/%.o,$(patsubst tests/%,src/%,$(2)))
OBJECTS_threads := $(call objects,threads,$(WASM_SOURCES))
# Both cores share all objects but these, since atomic operations also work in memory that is not shared.
OWN_single := $(patsubst %,src/%.c,base/host/lock base/host/wasm base/scope kernels/contraction/inner/fused runtime/scheduler)
OBJECTS_single := $(call objects,single,$(OWN_single)) $(call objects,threads,$(filter-out $(OWN_single),$(WASM_SOURCES)))
OBJECTS_native := $(call objects,native,$(NATIVE_SOURCES))
OBJECTS_native-tsan := $(call objects,native-tsan,$(NATIVE_SOURCES))

# Clang with the flags that emcc would give it, as emcc starts Python for each file. emcc links.
CC_threads := $(B)/toolchain/bin/cc-threads
CC_single := $(B)/toolchain/bin/cc-single
CC_native := $(NATIVE_CC)
CC_native-tsan := $(NATIVE_CC)
TOOLS_threads := $(TOOLCHAIN)/build.stamp
TOOLS_single := $(TOOLCHAIN)/build.stamp
TOOLS_native := $(TOOLCHAIN)/native.stamp $(SIMD_HEADER)
TOOLS_native-tsan := $(TOOLS_native)

$(SIMD_HEADER): Makefile
	@mkdir -p $(@D)
	@echo '#include <simde/wasm/simd128.h>' > $@
	@for t in i8x16 i16x8 i32x4 i64x2 f32x4 f64x2; do \
	  printf '#ifndef %s\n#define %s %s\n#endif\n' \
	    wasm_$${t}_const_splat wasm_$${t}_const_splat wasm_$${t}_splat; done >> $@

define compile
$(B)/obj/$(1)/%.o: $(2)/%.c Makefile $(TOOLS_$(1))
	@mkdir -p $$(@D)
	@printf '  %-7s %s\n' CC "$(1)/$$*.c"
	$(Q)$(CC_$(1)) $$(CFLAGS_$(1)) -MMD -MP -c $$< -o $$@
endef
$(foreach v,$(VARIANTS),$(foreach root,src tests,$(eval $(call compile,$(v),$(root)))))
$(foreach v,$(VARIANTS),$(eval -include $(OBJECTS_$(v):.o=.d)))

# Loops in two forms, with and without relaxed SIMD: modules inside the module (src/kernels/contraction/inner/fused.c).
# They call no function and have no memory of their own, so they have neither globals nor a stack.
WASM_LD := $(shell command -v wasm-ld-19 || command -v wasm-ld || echo wasm-ld-19)
LD_FUSED_threads := --shared-memory --max-memory=4294967296
INNER := kernels/contraction/inner
define embedded
$(B)/obj/$(1)/$(2).wasm: src/$(INNER)/$(2).c Makefile $(TOOLS_$(1))
	@mkdir -p $$(@D)
	@printf '  %-7s %s\n' CC $$@
	$(Q)$(CC_$(1)) $(CFLAGS_$(1)) $(3) -mrelaxed-simd -DXLA_RELAXED_SIMD -MMD -MP -MT $$@ -c $$< -o $$(@:.wasm=.o)
	$(Q)$(WASM_LD) --no-entry --import-memory $(LD_FUSED_$(1)) --strip-all $$(@:.wasm=.o) -o $$@
	$(Q)$(TOOLCHAIN)/binaryen/bin/wasm-opt --all-features -O3 $$@ -o $$@
$(B)/obj/$(1)/$(INNER)/fused.o: $(B)/obj/$(1)/$(2).wasm
-include $(B)/obj/$(1)/$(2).d
endef
$(foreach v,threads single,$(eval $(call embedded,$(v),lanes,-O3)) $(eval $(call embedded,$(v),narrow_loops,-Os)))

# A list of the sources. It changes when a source file is added or removed; then all links are made again.
$(B)/obj/sources: FORCE
	@mkdir -p $(@D)
	@echo '$(SOURCES) $(TEXTBOOK)' | cmp -s - $@ || echo '$(SOURCES) $(TEXTBOOK)' > $@

# --- linking: WebAssembly --------------------------------------------------------------------------

# --stack-first: a stack overflow traps instead of overwriting static data.
# noExitRuntime: without it, the first message from a worker ends the runtime.
# -lexports.js keeps the exports' C names, by which generated modules import them.
comma := ,
EMPTY :=
list = $(subst $(EMPTY) $(EMPTY),$(comma),$(strip $(1)))
RUNTIME_METHODS := HEAPU8 wasmMemory stackSave stackRestore stackAlloc
MODULE_OPTIONS := noExitRuntime locateFile wasmBinary instantiateWasm wasmMemory print printErr
# --low-memory-unused: an addition of less than 1 kB becomes the offset of a load, as no object is below: the stack ends there.
# --coalesce-locals-learning: locals share numbers so that the code is short. Measured: together 2.7 kB less to download; 0.998 of
# the time of 36 programs, and 0.98 of their compilations'.
LAST_PASSES := $(call list,--low-memory-unused -Oz --skip-pass=memory-packing --coalesce-locals-learning)
# Measured: with --one-caller-inline-max-function-size=100 an engine compiles 8 % less before the first result, but sorts take
# 1.2 times as long, even with 1000.
LDFLAGS := -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=web,worker,node --no-entry \
  -sALLOW_MEMORY_GROWTH -sIMPORTED_MEMORY -sMAXIMUM_MEMORY=4GB -sALLOW_TABLE_GROWTH -sSTACK_SIZE=1MB \
  -sFILESYSTEM=0 -sSUPPORT_LONGJMP=0 -sWASM_BIGINT -sEXPORTED_FUNCTIONS=_malloc,_free \
  -sINCOMING_MODULE_JS_API=$(call list,$(MODULE_OPTIONS)) --js-library bindings/host/library.js \
  -lexports.js -Wl,--stack-first $(if $(CHECKED),,-sBINARYEN_EXTRA_PASSES=$(LAST_PASSES))
LDFLAGS_threads := $(LDFLAGS) -sPTHREAD_POOL_SIZE=0 \
  -sEXPORTED_RUNTIME_METHODS=$(call list,$(RUNTIME_METHODS) PThread) -Wno-pthreads-mem-growth
LDFLAGS_single := $(LDFLAGS) -sEXPORTED_RUNTIME_METHODS=$(call list,$(RUNTIME_METHODS))

LINKED = $(B)/obj/$*/$(@F)
DIST := $(B)/dist/xla-threads.mjs $(B)/dist/xla-single.mjs
FOR_NODE := $(B)/node/index.mjs
FOR_PAGES := $(B)/dist/xla-wasm.js
build: $(DIST) $(FOR_NODE)

# jaxlib in pure Python, with a core packed in it that has no derivatives: JAX makes them.
WHEEL_CORE := $(B)/python/xla-threads.mjs
WHEEL := $(B)/python/wheel.stamp
wheel: $(WHEEL)
$(WHEEL): $(WHEEL_CORE) $(FOR_NODE) $(shell find python/jaxlib python/tools -name '*.py' -o -name '*.mjs') $(PYTHON_TOOLS)/stamp
	$(Q)node python/tools/core.mjs $(B)/python
	$(Q)$(PYTHON_TOOLS)/bin/python python/tools/wheel.py $(B)/python
	$(Q)touch $@

# The files that a page loads to run Python: npm's Pyodide, JAX and jaxlib with bytecode; NumPy, if `make pyodide` made it.
# Other packages come from Pyodide's distribution.
PYTHON_PAGE := $(B)/python/page/pyodide-lock.json
python-page: $(PYTHON_PAGE)
$(PYTHON_PAGE): $(wildcard python/pyodide/pack.py python/pyodide/*.mjs) $(B)/python/wheels/stamp $(WHEEL) $(wildcard $(B)/python/pyodide/*.whl)
	@echo "  PYODIDE $(@D)"
	$(Q)node python/pyodide/compile.mjs $(B)/python/compiled $(filter %.whl,$^) $(B)/python/wheels/*.whl $(B)/python/jaxlib-*.whl
	$(Q)python3 python/pyodide/pack.py $(@D) node_modules/pyodide $(B)/python/compiled/*.whl

$(B)/python/wheels/stamp: python/pyodide/requirements.txt | $(PYTHON_TOOLS)/stamp
	$(Q)rm -rf $(@D)
	$(Q)$(PYTHON_TOOLS)/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d $(@D) -r $<
	$(Q)touch $@

pyodide: $(B)/python/pyodide/stamp
$(B)/python/pyodide/stamp: python/pyodide/build.py python/pyodide/config.mjs $(TOOLCHAIN)/build.stamp $(TOOLCHAIN)/python.stamp $(NODE_MODULES)
	$(Q)python3 python/pyodide/build.py $(@D)
	$(Q)touch $@

$(FOR_NODE): $(shell find bindings -name '*.mjs' -o -name '*.d.ts') | $(NODE_MODULES)
	@printf '  %-7s %s\n' BUNDLE $(@D)
	@mkdir -p $(dir $(FOR_PAGES))
	$(Q)node bindings/tools/bundle.mjs $(@D) $(FOR_PAGES)

# The link goes to another folder and is then moved, so that glue and WebAssembly in build/dist always fit together.
# It uses -O2: -O3 inlines once more, which costs 10 kB of the download for no speed (212 operations: 1.003).
# -Oz is only the last pass (2 kB less, 1.00), as it would link a libc that copies byte by byte.
# Zeros stay in the data: they compress to 0.6 kB less than the code that would write the other bytes.
$(B)/dist/xla-threads.mjs $(B)/dist/xla-single.mjs: $(B)/dist/xla-%.mjs: bindings/host/library.js \
    bindings/tools/glue.mjs bindings/tools/compressible.mjs bindings/tools/vector_constants.mjs $(B)/obj/sources | $(NODE_MODULES)
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' LINK $@
	$(Q)$(EMCC) $(CFLAGS_$*) $(if $(CHECKED),-O1,-O2) $(filter %.o,$^) $(LDFLAGS_$*) -Wl,-Map,$(LINKED:.mjs=.map) -o $(LINKED)
	$(if $(CHECKED),,$(Q)node bindings/tools/compressible.mjs $(TOOLCHAIN)/binaryen/bin/wasm-opt $(LINKED:.mjs=.wasm))
	$(if $(CHECKED),,$(Q)node bindings/tools/vector_constants.mjs $(LINKED:.mjs=.wasm))
	$(Q)node bindings/tools/glue.mjs $(LINKED)
	$(Q)mv $(LINKED:.mjs=.wasm) $(LINKED) $(@D)
$(B)/dist/xla-threads.mjs: $(OBJECTS_threads)

# python/tools/left_out replaces these.
LEFT_OUT := derive/% hlo/text/parser_instruction.o $(patsubst %,rewrite/dynamic/%.o,arithmetic control dimensions dynamic padding sizes)
$(WHEEL_CORE): $(wildcard python/tools/left_out/*.c) $(filter-out $(LEFT_OUT:%=$(B)/obj/threads/%),$(OBJECTS_threads)) \
    bindings/host/library.js bindings/tools/glue.mjs bindings/tools/compressible.mjs bindings/tools/vector_constants.mjs \
    | $(NODE_MODULES)
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' LINK $@
	$(Q)$(EMCC) $(CFLAGS_threads) -O2 $(filter %.c %.o,$^) $(LDFLAGS_threads) -o $@
	$(Q)node bindings/tools/compressible.mjs $(TOOLCHAIN)/binaryen/bin/wasm-opt $(@:.mjs=.wasm)
	$(Q)node bindings/tools/vector_constants.mjs $(@:.mjs=.wasm)
	$(Q)node bindings/tools/glue.mjs $@
$(B)/dist/xla-single.mjs: $(OBJECTS_single)

# The core in which tests put faults (src/base/step.h): some files of the single-threaded build, compiled otherwise.
FAULTY := base/step kernels/list rewrite/pipeline runtime/device
FAULTY_OBJECTS := $(FAULTY:%=$(B)/obj/faulty/%.o)
$(FAULTY_OBJECTS): $(B)/obj/faulty/%.o: src/%.c Makefile $(TOOLS_threads)
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' CC "faulty/$*.c"
	$(Q)$(CC_threads) $(CFLAGS_threads) -DXLA_FAULTS -MMD -MP -c $< -o $@
-include $(FAULTY_OBJECTS:.o=.d)
FAULTY_CORE := $(B)/faulty/xla-single.mjs
$(FAULTY_CORE): $(FAULTY_OBJECTS) $(filter-out $(FAULTY:%=$(B)/obj/threads/%.o),$(OBJECTS_single)) \
    bindings/host/library.js bindings/tools/glue.mjs $(B)/obj/sources | $(NODE_MODULES)
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' LINK $@
	$(Q)$(EMCC) $(CFLAGS_single) -O1 $(filter %.o,$^) $(filter-out -sBINARYEN_EXTRA_PASSES=%,$(LDFLAGS_single)) -o $@
	$(Q)node bindings/tools/glue.mjs $@

# --- linking: native -------------------------------------------------------------------------------

# The programs of tests/native go beside xla-run: build/native/NAME.
NATIVE_TESTS := $(patsubst tests/native/%.c,$(B)/native/%,$(wildcard tests/native/*.c))
native: $(B)/native/xla-run $(NATIVE_TESTS)
TSAN_TESTS := $(patsubst %,$(B)/native-tsan/%,golden exhaustion worker_loss)
native-tsan: $(B)/native-tsan/xla-run $(TSAN_TESTS)

$(B)/native/xla-run $(B)/native-tsan/xla-run: $(B)/%/xla-run: $(B)/obj/sources
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' LINK $@
	$(Q)$(CC_$*) $(CFLAGS_$*) $(NATIVE_LDFLAGS) $(filter %.o,$^) -lm -o $@
$(B)/native/xla-run: $(OBJECTS_native)
$(B)/native-tsan/xla-run: $(OBJECTS_native-tsan)

WRAPPED := malloc calloc realloc aligned_alloc free
LDFLAGS_exhaustion := $(WRAPPED:%=-Wl,--wrap=%)
LDFLAGS_worker_loss := -Wl,--wrap=eval_instruction,--wrap=rendezvous_arrive

NATIVE_HEADERS := $(wildcard tests/native/*.h tests/native/*.def)
$(NATIVE_TESTS): $(B)/native/%: tests/native/%.c $(NATIVE_HEADERS) $(filter-out %/main.o,$(OBJECTS_native))
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' LINK $@
	$(Q)$(CC_native) $(CFLAGS_native) $(NATIVE_LDFLAGS) $(LDFLAGS_$*) $(filter %.c %.o,$^) -lm -o $@

$(TSAN_TESTS): $(B)/native-tsan/%: tests/native/%.c $(NATIVE_HEADERS) $(filter-out %/main.o,$(OBJECTS_native-tsan))
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' LINK $@
	$(Q)$(CC_native-tsan) $(CFLAGS_native-tsan) $(NATIVE_LDFLAGS) $(LDFLAGS_$*) $(filter %.c %.o,$^) -lm -o $@

# libFuzzer needs all sources compiled with its flags.
PARSER_SOURCES := $(filter-out src/base/host/wasm.c,$(filter $(patsubst %,src/%/%,base value hlo),$(SOURCES)))
$(B)/native/fuzz-parse: tests/fuzz/parse.c $(PARSER_SOURCES) $(TOOLS_native)
	@mkdir -p $(@D)
	@printf '  %-7s %s\n' LINK "$@ (half a minute)"
	$(Q)$(NATIVE_CC) $(NATIVE_CFLAGS) -O1 -fsanitize=fuzzer,address,undefined \
	  $(filter %.c,$^) -lm -o $@

# --- running ---------------------------------------------------------------------------------------

run: build $(NODE_MODULES)
	@node demo/train.mjs $(ARGS)

demo: site
	@node demo/serve.mjs $(ARGS)

# ARGS="train guides/api": these pages only; --desktop: not as of a phone.
lighthouse: site $(TOOLCHAIN)/browser.stamp $(B)/lighthouse/node_modules/.package-lock.json
	@node tests/support/lighthouse/lighthouse.mjs $(ARGS)

# Not of package.json: it is a third of what npm would install for make test.
$(B)/lighthouse/node_modules/.package-lock.json: tests/support/lighthouse/package.json
	@mkdir -p $(B)/lighthouse
	$(Q)cp $^ $(B)/lighthouse
	$(Q)npm install --prefix $(B)/lighthouse --loglevel=error --no-audit --no-fund >/dev/null
	$(Q)touch $@

$(B)/digits.bin.gz: demo/train/pack_digits.mjs demo/train/digits.mjs $(NODE_MODULES)
	$(Q)node $< $@

SITE := $(B)/site/index.html
# The editor's tables are made of src/hlo/ir/*.def, some guides are pages beside what they describe.
SITE_SOURCES := $(shell find demo bindings web docs examples/llama -type f) $(wildcard src/hlo/ir/*.def) \
  tests/bench/README.md tests/bench/programs/README.md tests/accuracy/README.md python/README.md
site: $(SITE)
$(SITE): $(DIST) $(PYTHON_PAGE) $(B)/digits.bin.gz $(NODE_MODULES) $(SITE_SOURCES)
	@echo "  VITE    $(@D)"
	$(Q)node_modules/.bin/vite build --config demo/vite.config.mjs
	$(Q)touch $@

# `tested` builds what the tests need. TESTS=tests/core/sort.test.mjs runs only that file. When the cores are linked, tests begin;
# the site, native programs and BESIDE, other targets, are made meanwhile. build/durations.txt gets how long files took.
# Python's packages are installed first, as downloads wait often.
# Measured: with one more file at a time than there are cores, 983 s instead of 897.
TESTS ?= $(wildcard tests/*/*.test.mjs)
begun: build $(FAULTY_CORE) $(NODE_MODULES) $(TOOLCHAIN)/browser.stamp $(JAX_VENV)/stamp $(PYTHON_TOOLS)/stamp $(B)/python/wheels/stamp
tested-site: site wheel python-page
tested: begun tested-site native native-tsan
test: begun
	$(if $(TESTS),,$(error there is no tests/*/*.test.mjs))
	@node tests/support/run_tests.mjs --make=$(call list,tested-site native native-tsan $(BESIDE)) $(TESTS)

# tests/README.md has the table of samples.
test-full: export CORPUS := all
test-full: test

# Outcomes must not depend on how fast or how busy the machine is. ARGS=--only=one-core,load-8,clock-fast,clock-slow.
test-anywhere: tested
	@node tests/support/anywhere.mjs $(ARGS) $(if $(filter command line,$(origin TESTS)),$(TESTS))

# All captured programs of a folder (tests/captured/README.md).
# Its repository, at the release that python/ serves, is no package of any registry: JAX is its folder.
jax-tests: build $(B)/python/jax-tests.stamp
	$(if $(JAX),,$(error jax-tests needs a clone of JAX's repository at its tag jax-v0.10.2: make jax-tests JAX=...))
	@$(VENV)/bin/python python/tests/run_jax_tests.py --jax $(JAX) $(or $(ARGS),--every 40)

$(B)/python/jax-tests.stamp: python/tests/jax_tests_requirements.txt $(VENV)/stamp
	$(Q)$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	$(Q)mkdir -p $(@D) && touch $@

PROGRAMS_VENV := $(B)/python/programs
jax-programs: build $(PROGRAMS_VENV)/stamp
	@$(PROGRAMS_VENV)/bin/python python/tests/compare_programs.py $(ARGS)

$(PROGRAMS_VENV)/stamp: python/tests/programs_requirements.txt
	@echo "  VENV    $(PROGRAMS_VENV) (minutes)"
	$(Q)python3 -m venv $(PROGRAMS_VENV)
	$(Q)$(PROGRAMS_VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	$(Q)touch $@

jax-suite: build
	$(if $(DIR),,$(error jax-suite needs a folder of captured programs: make jax-suite DIR=...))
	@node tests/support/jax_suite.mjs $(DIR) $(ARGS)

# Installs the packages that only the benchmarks compare with.
PEERS := $(B)/bench/node_modules/.package-lock.json
$(PEERS): tests/bench/package.json tests/bench/package-lock.json
	@echo "  NPM     $(@D) (onnxruntime-web, tfjs, jax-js, wllama)"
	@mkdir -p $(B)/bench
	$(Q)cp $^ $(B)/bench
	$(Q)npm ci --prefix $(B)/bench --ignore-scripts --loglevel=error --no-audit --no-fund >/dev/null
	$(Q)touch $@

# ARGS="programs ...": whole programs against native XLA; ARGS="operations ...": operations against
# native XLA and those peers; ARGS="...": computations against the peers.
ifeq ($(firstword $(ARGS)),programs)
bench: build $(NODE_MODULES) $(VENV)/stamp $(PEERS)
	@PYTHON=$(VENV)/bin/python node tests/bench/programs.mjs $(wordlist 2,$(words $(ARGS)),$(ARGS))
else ifeq ($(firstword $(ARGS)),models)
# What writes llama.cpp's files.
$(B)/bench/python.stamp: tests/bench/language/requirements.txt $(VENV)/stamp
	$(Q)$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	$(Q)mkdir -p $(@D) && touch $@

bench: build $(NODE_MODULES) $(B)/bench/python.stamp $(PEERS) $(TOOLCHAIN)/browser.stamp
	@PYTHON=$(VENV)/bin/python node tests/bench/language.mjs $(wordlist 2,$(words $(ARGS)),$(ARGS))
else ifeq ($(firstword $(ARGS)),ablate)
bench: build $(VENV)/stamp
	@$(if $(filter --operations,$(ARGS)),$(VENV)/bin/python tests/bench/operations/operations.py $(B)/operations)
	@PYTHON=$(VENV)/bin/python node tests/bench/ablate.mjs $(wordlist 2,$(words $(ARGS)),$(ARGS))
else ifeq ($(firstword $(ARGS)),collectives)
bench: build
	@node tests/bench/collectives.mjs $(wordlist 2,$(words $(ARGS)),$(ARGS))
else ifeq ($(firstword $(ARGS)),gradients)
bench: build $(VENV)/stamp
	@$(VENV)/bin/python tests/bench/gradients/models.py $(B)/gradients
	@node tests/bench/gradients.mjs $(wordlist 2,$(words $(ARGS)),$(ARGS))
else ifeq ($(firstword $(ARGS)),operations)
bench: build $(NODE_MODULES) $(VENV)/stamp $(PEERS)
	@$(VENV)/bin/python tests/bench/operations/operations.py $(B)/operations
	@PYTHON=$(VENV)/bin/python node tests/bench/operations.mjs $(wordlist 2,$(words $(ARGS)),$(ARGS))
else
# Most of a gigabyte, for a few minutes: not part of make test.
HOSTS := $(B)/hosts/node_modules/.package-lock.json
$(HOSTS): tests/hosts/package.json
	@echo "  NPM     $(@D) (Node, Bun, Deno, bundlers)"
	@mkdir -p $(B)/hosts
	$(Q)cp $^ $(B)/hosts
	$(Q)npm install --prefix $(B)/hosts --loglevel=error --no-audit --no-fund >/dev/null
	$(Q)touch $@

hosts: build $(NODE_MODULES) $(HOSTS) $(TOOLCHAIN)/browser.stamp
	@node --test tests/hosts/hosts.mjs

bench: build $(NODE_MODULES) $(PEERS) $(TOOLCHAIN)/browser.stamp
	@node tests/bench/bench.mjs $(ARGS)
endif

declarations:
	@node bindings/tools/declarations/write.mjs

golden: build $(VENV)/stamp
	@$(VENV)/bin/python tests/golden/generate.py $(ARGS)
	@$(VENV)/bin/python tests/golden/protos.py
	@$(VENV)/bin/python tests/golden/stablehlo.py
	@$(VENV)/bin/python tests/golden/attributes.py
	@$(VENV)/bin/python tests/golden/cpu_targets.py

fuzz: build native $(NODE_MODULES) $(VENV)/stamp
	@PYTHON=$(VENV)/bin/python node tests/fuzz/fuzz.mjs --seconds $(SECONDS) $(ARGS)
	@node tests/fuzz/gradients.mjs --seconds $(SECONDS)
	@node tests/fuzz/batches.mjs --seconds $(SECONDS)

# Makes a program with a fault small (tests/reduce/reduce.mjs): MODULE=program.hlo CHECK='command that sees the fault'.
reduce: build
	$(if $(MODULE),,$(error reduce needs a program: make reduce MODULE=program.hlo CHECK='command that sees the fault'))
	@node tests/reduce/reduce.mjs $(MODULE) $(if $(CHECK),--check '$(CHECK)') $(ARGS)

# Counts the changes to the core that the fast tests notice: COUNT changes in FILES='src/plan/fusible.c src/compile', by SEED.
mutants: $(DIST) $(B)/node/index.mjs
	@node tests/mutants/mutants.mjs $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(FILES),--files '$(FILES)') $(ARGS)

# Puts old faults back, one at a time, and tells which test of make check fails, and how soon.
old-faults: $(DIST) $(B)/node/index.mjs
	@node tests/mutants/old_faults.mjs --tests '$(CHECK_TESTS)' $(if $(ONLY),--only '$(ONLY)')

# A million little changes to the corpus's programs: no text may crash the parser.
fuzz-stablehlo: build
	@node tests/fuzz/stablehlo.mjs --seconds $(SECONDS) $(ARGS)

# Every program in every way that must give the same results: rewrites, stages, kernels, threads, memory.
fuzz-ways: build
	@node tests/fuzz/ways.mjs --seconds $(SECONDS) $(ARGS)

# The combinations of constructs, operations and types that the random programs have; nothing is run.
fuzz-slopes: build $(VENV)/stamp
	@PYTHON=$(VENV)/bin/python node tests/fuzz/slopes.mjs --seconds $(SECONDS) $(ARGS)

fuzz-pairs: build
	@node tests/fuzz/aims.mjs --seconds $(SECONDS) $(ARGS)

fuzz-devices: build
	@node tests/fuzz/devices.mjs --seconds $(SECONDS) $(ARGS)

fuzz-text: $(B)/native/fuzz-parse
	@mkdir -p $(B)/fuzz-text
	@$< -max_total_time=$(SECONDS) -max_len=4096 -rss_limit_mb=4096 -print_final_stats=1 \
	  $(B)/fuzz-text tests/golden

# --- lint --------------------------------------------------------------------------------------------

.PHONY: lint-format lint-tidy lint-js lint-types lint-layers lint-python
lint: lint-format lint-tidy lint-js lint-types lint-layers lint-python

# clang-format breaks lines of code but not comments, which may hold a table.
COMMENT_COLUMNS := 132
lint-format: $(TOOLCHAIN)/lint.stamp
	@printf '  %-7s %s\n' FORMAT "$(words $(C_FILES)) files"
	$(Q)clang-format-19 --dry-run -Werror $(C_FILES)
	$(Q)awk -v max=$(COMMENT_COLUMNS) 'length > max { print FILENAME ":" FNR ": more than " max " columns"; long = 1 } \
	  END { exit long }' $(C_FILES)

format: $(TOOLCHAIN)/lint.stamp
	$(Q)clang-format-19 -i $(C_FILES)

# Each folder is a target, so that folders run side by side and only changed files are checked again: one process for all files of
# a folder, as its start takes a third of the time that a file takes. They depend on native objects, which are newer if a header
# has changed. wasm.c includes Emscripten's headers; Emscripten's own clang checks it.
TIDY_SOURCES := $(filter src/%,$(NATIVE_SOURCES))
tidied = $(patsubst %/,$(B)/tidy/%.ok,$(sort $(dir $(filter $(TIDY_SOURCES),$(1)))))
TIDY := $(call tidied,$(TIDY_SOURCES))
# The analyzer follows a function's paths for 1,000 states; its default is 225,000. Measured with all of its checks on, for every
# fourth file: 62 reports in 3.8 s, with 4,000 states 62 in 7.7 s, with 500 states 58 in 3.1 s (2026-11-30).
TIDY_CFLAGS := $(filter-out -gline-tables-only,$(NATIVE_CFLAGS))
TIDY_EFFORT := -Xclang -analyzer-config -Xclang max-nodes=1000
lint-tidy: $(TIDY)

# The files that are checked: all, or those that changed.
TIDY_FILES = $(if $(filter .clang-tidy %.stamp,$?),$(filter %.c,$^),$(sort $(filter %.c,$?) $(patsubst $(B)/obj/native/%.o,src/%.c,$(filter %.o,$?))))
define tidy
$(call tidied,$(1)): $(1) $(patsubst src/%.c,$(B)/obj/native/%.o,$(1)) .clang-tidy $(TOOLCHAIN)/lint.stamp
	@mkdir -p $$(@D)
	@printf '  %-7s %s\n' TIDY "$$(words $$(TIDY_FILES)) files of $(dir $(firstword $(1)))"
	$$(Q)clang-tidy-19 --quiet $$(TIDY_FILES) -- $$(TIDY_CFLAGS) $$(TIDY_EFFORT) 2>$$@.log || { cat $$@.log >&2; exit 1; }
	$$(Q)touch $$@
endef
$(foreach folder,$(sort $(dir $(TIDY_SOURCES))),$(eval $(call tidy,$(foreach file,$(TIDY_SOURCES),$(if $(filter $(folder),$(dir $(file))),$(file))))))

lint-js: $(NODE_MODULES)
	@printf '  %-7s %s\n' ESLINT .
	$(Q)node_modules/.bin/eslint .

lint-types: $(NODE_MODULES)
	@printf '  %-7s %s\n' TSC tsconfig.json
	$(Q)node_modules/.bin/tsc --noEmit

lint-python: $(PYTHON_TOOLS)/stamp
	@printf '  %-7s %s\n' RUFF python
	$(Q)$(PYTHON_TOOLS)/bin/ruff check --quiet python

# Who may include whom; functions that no other file uses.
lint-layers: $(OBJECTS_native) $(NODE_MODULES)
	@printf '  %-7s %s\n' LAYERS docs/architecture.md
	$(Q)node .ci/layers.mjs $(B)/obj/native

# The fast part of test and lint, for one change of the core: the corpus in WebAssembly and most of it natively under
# ASan, every broken rule, the builder, and clang-tidy of the .c files that differ from the last commit.
CHECK_TESTS := $(patsubst %,tests/%.test.mjs,$(addprefix api/,api_version attributes builder client errors literal \
  out_of_range shape) core/aliases core/counters core/effects core/listing core/overwrite core/sort corpus/examples \
  corpus/golden core/regions project/docs \
  project/old_faults project/order runtime/sharding runtime/yielding)
CHECK_CORPUS := $(filter-out $(patsubst %,tests/golden/%.golden,dynamic_sweep convolution models programs), \
  $(wildcard tests/golden/*.golden))
ifneq ($(filter check,$(MAKECMDGOALS)),)
CHANGED := $(shell git diff --name-only --diff-filter=d HEAD)
endif
check: build $(B)/native/golden $(B)/native/tables lint-format lint-js lint-layers \
    $(call tidied,$(CHANGED))
	@node --test --test-reporter=dot --test-concurrency=$(CORES) --test-timeout=600000 $(CHECK_TESTS)
	@$(B)/native/tables
	@$(B)/native/golden -t 2 $(CHECK_CORPUS) > $(B)/check.log || { tail -50 $(B)/check.log; exit 1; }
	@tail -1 $(B)/check.log
	@echo "Left out: $$(($(words $(TESTS)) - $(words $(CHECK_TESTS)))) of $(words $(TESTS)) test files," \
	  "ThreadSanitizer, the other native tests, Chromium, types: make test and make lint have them."

# --- release -----------------------------------------------------------------------------------------

release:
	@node .ci/release.mjs $(VERSION) $(ARGS)

# --- cleaning ----------------------------------------------------------------------------------------

clean:
	rm -rf $(B)/bench $(B)/hosts $(B)/site $(B)/dist $(B)/faulty $(B)/node $(B)/include $(B)/obj $(B)/native $(B)/native-tsan $(B)/tidy

distclean:
	rm -rf $(B) node_modules
