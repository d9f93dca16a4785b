# CPack makes the Debian package from the tree that packaging/stage.py lays out; tools/package passes its path.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME millrace)
set(CPACK_PACKAGE_VENDOR "Millrace")
set(CPACK_PACKAGE_VERSION "$ENV{MILLRACE_PACKAGE_VERSION}")
set(CPACK_PACKAGE_FILE_NAME "millrace_$ENV{MILLRACE_PACKAGE_VERSION}_amd64")
set(CPACK_PACKAGE_DIRECTORY "$ENV{MILLRACE_PACKAGE_OUT}")
set(CPACK_INSTALLED_DIRECTORIES "$ENV{MILLRACE_PACKAGE_STAGE};/")
set(CPACK_PACKAGING_INSTALL_PREFIX "/")
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME "${CPACK_PACKAGE_FILE_NAME}.deb")
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Millrace authors <maintainers@millrace.invalid>")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "durable job server
Takes jobs over HTTP, hands them to workers in any language, and does not lose
them. Every change is on disk before it is acknowledged. Keeps its data in
embedded SQLite, or in a PostgreSQL database that several servers share.

This package has the server, which runs as a service on loopback, and its
command line.")
set(CPACK_PACKAGE_DESCRIPTION "${CPACK_DEBIAN_PACKAGE_DESCRIPTION}")  # CPack wants it; the package does not have it
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, init-system-helpers (>= 1.54~), tzdata")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "postgresql")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(control "$ENV{MILLRACE_PACKAGE_CONTROL}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  "${control}/conffiles;${control}/postinst;${control}/prerm;${control}/postrm")
