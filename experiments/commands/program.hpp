// The whole command line, declared but not run: to be described (manual.cpp).
#pragma once

#include <memory>

namespace CLI {
class App;
}

namespace ulp {

/// `ulplab` with all its subcommands and their options.
std::shared_ptr<CLI::App> declared_program();

}  // namespace ulp
