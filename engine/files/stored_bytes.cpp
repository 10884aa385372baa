#include "engine/files/stored_bytes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "softfloat/errors.hpp"

namespace ulp {

namespace fs = std::filesystem;

PieceReader pieces_of(std::shared_ptr<const MappedFile> file, std::string_view bytes) {
    return [file = std::move(file), bytes]() mutable {
        const std::string_view piece = bytes.substr(0, mapped_piece_size);
        bytes.remove_prefix(piece.size());
        return piece;
    };
}

std::vector<StoredBytes> stored_bytes(const fs::path& file) {
    constexpr std::array<std::string_view, 6> pickles = {".pt", ".pth", ".pkl", ".pickle", ".bin", ".ckpt"};
    if (std::ranges::find(pickles, file.extension().string()) != pickles.end()) {
        throw DataError(file.string() +
                        ": pickles are not read, since they can run code; save it with "
                        "safetensors.torch.save_file, numpy.save or numpy.savez");
    }
    const std::string beginning(MappedFile(file).bytes().substr(0, 6));
    if (beginning == "\x93NUMPY") return npy_bytes(file);
    if (beginning.starts_with("PK")) return npz_bytes(file);
    return safetensors_bytes(file);
}

}  // namespace ulp
