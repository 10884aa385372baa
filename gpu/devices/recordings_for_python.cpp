// Recordings of hardware, for Python: a part of the extension module ulplab._core, which stands on engine/python.
#include <fmt/format.h>

#include <algorithm>

#include "engine/python/module_parts.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "gpu/devices/recording.hpp"
#include "gpu/devices/reference.hpp"
#include "softfloat/lab/recordings.hpp"

namespace ulp::python {
namespace {

/// A set of the published layout as arrays of storage words.
py::dict published_set(const RecordedFiles& files, bool verify) {
    const RecordedSet set = read_recording(files);
    const auto row = model_of(set);
    py::dict fields;
    fields["path"] = files.d.string();
    fields["gpu"] = set.gpu;
    fields["input"] = set.input;
    fields["output"] = set.output;
    fields["unit"] = row ? py::object(py::str(row->row.key())) : py::none();
    const auto matrix = [&](const std::vector<std::uint32_t>& words) {
        py::array_t<std::uint32_t> array({set.rows, set.products});
        std::copy(words.begin(), words.end(), array.mutable_data());
        return array;
    };
    const auto vector = [&](const std::vector<std::uint32_t>& words) {
        return py::array_t<std::uint32_t>(static_cast<py::ssize_t>(words.size()), words.data());
    };
    fields["a"] = matrix(set.a);
    fields["b"] = matrix(set.b);
    fields["c"] = vector(set.c);
    fields["d"] = vector(set.d);
    if (!verify || !row) return fields;
    const ReplayResult result = replay(set, row->model, recorded_with_zero_c(set));
    fields["equal"] = result.equal;
    fields["of"] = result.rows;
    fields["first_difference"] =
        result.first ? py::object(py::str(fmt::format("row {}: recorded {:X}, model {:X}", result.first->row + 1,
                                                      result.first->expected, result.first->got)))
                     : py::none();
    return fields;
}

/// A file of the project's own format: probes and samples counted together; the bulk tier is digests.
py::dict own_recording(const std::filesystem::path& file, bool verify) {
    const gpu::Recording recording = gpu::read_recording_file(file);
    py::dict fields;
    fields["path"] = file.string();
    fields["gpu"] = recording.device.name;
    fields["input"] = recording.instruction->input_name();
    fields["instruction"] = recording.instruction->name();
    fields["unit"] = recording.model == "none" ? py::object(py::none()) : py::str(recording.model);
    fields["date"] = recording.date;
    fields["hardware"] = recording.device.hardware;
    if (!verify || !gpu::has_reference(*recording.instruction, recording.device.architecture)) return fields;
    gpu::require_current_model(recording);
    const auto device = gpu::open_software_device(recording.device.architecture);
    const gpu::RecordingReplay replay = gpu::replay_recording(recording, *device);
    fields["equal"] = replay.probes.equal + replay.samples.equal + replay.bulk.equal;
    fields["of"] = replay.probes.total + replay.samples.total + replay.bulk.total;
    fields["first_difference"] = replay.first.empty() ? py::object(py::none()) : py::str(replay.first);
    return fields;
}

py::list recordings_at(const std::string& path, bool verify) {
    const auto own = gpu::find_recording_files(path);
    const auto published = own.empty() ? find_recordings(path) : list_recordings(path);
    py::list list;
    const auto add = [&](const py::object& recording) {
        list.append(recording);
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    };
    for (const auto& file : own) add(own_recording(file, verify));
    for (const RecordedFiles& files : published) add(published_set(files, verify));
    return list;
}

}  // namespace

void add_recordings(py::module_& module) { module.def("recordings", &recordings_at); }

}  // namespace ulp::python
