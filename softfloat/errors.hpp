// What can go wrong, as types: every part of the project throws these, and the program turns them into exit codes.
#pragma once

#include <stdexcept>

namespace ulp {

/// An invalid request: unknown name, value out of range. The message is one sentence that names the thing
/// and the remedy. Functions of the library may throw std::invalid_argument itself, which counts as the same.
class UsageError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// A file or folder that is missing, cannot be written, is truncated or malformed. The message names file and remedy.
class DataError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Two computations that must agree bit for bit do not. The message names the first place and both bit patterns.
class BitsDiffer : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace ulp
