# SPDX-License-Identifier: Apache-2.0
# What is installed, and how other builds find it: find_package(lens), or pkg-config.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lens)

install(TARGETS lens EXPORT lens-targets FILE_SET HEADERS)
install(FILES include/lens/c10d.h include/lens/mpi.h include/lens/spdlog.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lens OPTIONAL)
install(EXPORT lens-targets NAMESPACE lens:: DESTINATION ${package_dir})

configure_package_config_file(cmake/lens-config.cmake.in lens-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(lens-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lens-config.cmake ${PROJECT_BINARY_DIR}/lens-config-version.cmake
        DESTINATION ${package_dir})

file(RELATIVE_PATH include_from_lib ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/lens.pc.in lens.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lens.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
