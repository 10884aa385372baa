// Traces as files: CSV under a head that says how the training was made.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/training/trace.hpp"

namespace ulp {

/// What a file holds:
///
///     # ulplab trace
///     # device NVIDIA H200, sm_90, driver 580.95.05, CUDA 13.0
///     # --unit cuda:mma
///     # --recipe bf16
///     step,loss,loss_bits,loss_scale,skipped,fc1.weight,fc1.bias
///     0,2.329661,0x40149112,1,0,8891f9cc494853c5,acd17d9e5df714b9
///
/// Digests are cut to 16 of their 64 digits: enough to tell tensors apart.
struct TraceFile {
    std::string device{};                                        // what multiplied; "software" where no card did
    std::vector<std::pair<std::string, std::string>> options{};  // that make it again: "--unit", "cuda:mma"
    Trace trace{};
};

/// Cuts a trace's digests to the length that files hold.
void shorten_digests(Trace& trace);
void write_trace(const std::filesystem::path& path, const TraceFile& file);
/// Whether a file begins as a trace does, also one of `ulplab gpu train` of ulplab 0.2.
bool is_trace(const std::filesystem::path& path);
/// What write_trace wrote; the head may be missing. Throws DataError naming the file and the line, and for a file of
/// `ulplab gpu train` the command that makes it anew.
TraceFile read_trace(const std::filesystem::path& path);

}  // namespace ulp
