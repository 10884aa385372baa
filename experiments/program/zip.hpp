// Zip archives, written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ulp {

struct ZipMember {
    std::string name;  // with folders, separated by '/'
    std::string_view content;
    bool executable = false;
};

/// A zip archive (APPNOTE.TXT 6.3.10, sections 4.3 and 4.4) with these files, deflated; the same bytes for the same
/// files. Throws DataError from 4 GiB on.
std::string zip_archive(const std::vector<ZipMember>& members);

}  // namespace ulp
