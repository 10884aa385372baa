#include <stdexcept>
#include <vector>

#include "engine/data/fixed_point.hpp"
#include "engine/data/generated.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {
namespace {

using namespace fixed;

/// Places and sizes in hundredths of the image's side.
struct Blob {
    std::int64_t x, y;    // centre
    std::int64_t sx, sy;  // standard deviations
    std::int64_t light;   // added at the centre, of 255
};

std::vector<Blob> random_face(Random& random) {
    const std::int64_t x = 50 + random.between(-6, 6);
    const std::int64_t y = 52 + random.between(-5, 5);
    const std::int64_t width = random.between(17, 24);
    const std::int64_t height = random.between(21, 28);
    const std::int64_t eyes = width * random.between(40, 60) / 100;
    const std::int64_t eye_y = y - height * random.between(25, 45) / 100;
    const std::int64_t eye_size = random.between(4, 6);
    const std::int64_t eye_light = -random.between(90, 150);
    const std::int64_t mouth_width = random.between(5, 10);
    const std::int64_t mouth_light = -random.between(50, 110);
    return {{x, y, width, height, random.between(140, 200)},                              // head
            {x, y - height - 4, width, random.between(5, 9), -random.between(40, 100)},   // hair
            {x - eyes, eye_y, eye_size, eye_size, eye_light},                             // eyes
            {x + eyes, eye_y, eye_size, eye_size, eye_light},                             //
            {x, y + height / 8, 3, 6, random.between(20, 45)},                            // nose
            {x, y + height * 60 / 100, mouth_width, random.between(3, 4), mouth_light}};  // mouth
}

Fixed light_at(const std::vector<Blob>& face, Fixed x, Fixed y) {
    Fixed light = 40 * one;
    for (const Blob& blob : face) {
        const Fixed u = (x - blob.x * one / 100) * 100 / blob.sx;
        const Fixed v = (y - blob.y * one / 100) * 100 / blob.sy;
        light += blob.light * bell(times(u, u) + times(v, v), one);
    }
    return light / one;
}

}  // namespace

Dataset generated_faces(const FaceOptions& options) {
    if (options.side < 4) throw std::invalid_argument("faces need images of at least 4 x 4 pixels");
    if (options.count < 0) throw std::invalid_argument("the number of faces cannot be negative");
    Dataset data{1, options.side, options.side, 1, {}, {}};
    data.labels.resize(static_cast<std::size_t>(options.count));
    for (Index i = 0; i < options.count; ++i) {
        Random random(options.seed, hash_of("faces") + static_cast<std::uint64_t>(i));
        const std::vector<Blob> face = random_face(random);
        for (Index y = 0; y < options.side; ++y) {
            for (Index x = 0; x < options.side; ++x) {
                const auto centre = [&](Index p) { return (2 * p + 1) * one / (2 * options.side); };
                data.pixels.push_back(to_byte(light_at(face, centre(x), centre(y))));
            }
        }
    }
    return data;
}

}  // namespace ulp
