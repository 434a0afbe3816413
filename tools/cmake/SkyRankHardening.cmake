# Hardening flags, as Debian, Fedora and Ubuntu build their packages: position-independent programs, bounds-checked calls
# of the C library, stack protection, control-flow protection, read-only relocations. _GLIBCXX_ASSERTIONS is not among
# them, because it checks every access to a std::vector in the loops that answer queries.
if(NOT SKYRANK_HARDENING)
  return()
endif()
include(CheckCXXCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(hardening "")
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  string(MAKE_C_IDENTIFIER "SKYRANK_HAS${flag}" supported)
  check_cxx_compiler_flag(${flag} ${supported})  # -fcf-protection is for x86 alone
  if(${supported})
    list(APPEND hardening ${flag})
  endif()
endforeach()
list(JOIN hardening "," host_hardening)
target_compile_options(skyrank_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${hardening}>
  "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler=${host_hardening}>")
# The checked calls need an optimising compiler, and the sanitizers replace the same functions. Some compilers define the
# macro by themselves.
if(NOT SKYRANK_SANITIZE)
  target_compile_options(skyrank_build_flags INTERFACE
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()
add_link_options(LINKER:-z,relro LINKER:-z,now)
