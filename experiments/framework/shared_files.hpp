// Files that the program reads from its installation or its tree: templates of figures, registers of claims.
#pragma once

#include <filesystem>
#include <string>

namespace ulp {

/// The file or folder of that path ("plots/style.gp") in share/ulplab of the installation, or in the tree, that this
/// program lies in; else in the tree that it was built from. Throws DataError where there is none.
std::filesystem::path shared_file(const std::string& name);

bool has_shared_file(const std::string& name);

}  // namespace ulp
