// The one translation unit that compiles Asio (BOOST_ASIO_SEPARATE_COMPILATION elsewhere).
#include <boost/asio/impl/src.hpp>
