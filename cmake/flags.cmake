# Compiler and linker flags, in one place. ONX_SANITIZE and ONX_FUZZ are set by the presets.
option(ONX_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(ONX_FUZZ "Instrument for libFuzzer and build fuzz/ (clang)" OFF)
set(ONX_SANITIZE "" CACHE STRING "Sanitizers to build with, such as address,undefined")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

set(onx_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wdate-time
    $<$<BOOL:${ONX_WERROR}>:-Werror>)

# No path of this machine ends up in a file: two builds of the same sources are the same bytes.
# gcc 12 forgets roundings ((double)(float)x) where it makes vectors of neighbouring statements.
set(onx_codegen -ffp-contract=off -ffunction-sections -fdata-sections -fno-tree-slp-vectorize
    $<IF:$<CONFIG:Release>,-ffile-prefix-map,-fmacro-prefix-map>=${PROJECT_SOURCE_DIR}/=)

# Sanitizers instrument everything in the build, examples included.
if(ONX_SANITIZE)
  add_compile_options(-fsanitize=${ONX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ONX_SANITIZE})
endif()
if(ONX_SANITIZE MATCHES address)
  # Checks in large functions are calls: kernels take minutes to compile otherwise.
  set(calls asan-instrumentation-with-call-threshold=100)
  add_compile_options("$<IF:$<C_COMPILER_ID:GNU>,SHELL:--param ${calls},SHELL:-mllvm -${calls}>")
endif()
if(ONX_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

function(onx_flags target)
  set_target_properties(${target} PROPERTIES
    C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE ${onx_warnings} ${onx_codegen})
  target_link_options(${target} PRIVATE LINKER:--gc-sections)
endfunction()
