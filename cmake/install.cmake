# `cmake --install`: library, header, program, pkg-config file and CMake package. The prefix is
# found from where the files lie, so an installed tree may be moved.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/onx)

install(TARGETS onx_shared onx_static EXPORT onx-targets)
install(TARGETS onx)
install(FILES include/onx.h TYPE INCLUDE)
install(FILES LICENSE TYPE DOC)
install(EXPORT onx-targets NAMESPACE onx:: DESTINATION ${package_dir})

configure_package_config_file(cmake/onx-config.cmake.in onx-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(onx-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/onx-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/onx-config-version.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(pc_libs_private -lm)
if(ZLIB_FOUND)
  string(APPEND pc_libs_private " -lz")
endif()
configure_file(onx.pc.in onx.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/onx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
