#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "engine/data/generated.hpp"
#include "engine/tensor/random.hpp"
#include "engine/tensor/storage.hpp"

namespace ulp {
namespace {

/// Positions are 16.16 fixed-point numbers; the figure is in the box [-1, 1] x [-2, 2], y down.
using Fixed = std::int64_t;
constexpr Fixed one = 1 << 16;
struct Point {
    Fixed x;
    Fixed y;
};
struct Stroke {
    Point from;
    Point to;
};

constexpr Stroke stroke(int x0, int y0, int x1, int y1) {
    return {{x0 * one / 2, y0 * one / 2}, {x1 * one / 2, y1 * one / 2}};
}

/// Strokes of a figure by its segments' letters (a top, b upper right, c lower right, d bottom, e lower left, f upper
/// left, g middle, and the diagonals x of the 1, y of the 7, z of the 2).
constexpr Stroke segment(char letter) {
    switch (letter) {
        case 'a': return stroke(-2, -4, 2, -4);
        case 'b': return stroke(2, -4, 2, 0);
        case 'c': return stroke(2, 0, 2, 4);
        case 'd': return stroke(-2, 4, 2, 4);
        case 'e': return stroke(-2, 0, -2, 4);
        case 'f': return stroke(-2, -4, -2, 0);
        case 'g': return stroke(-2, 0, 2, 0);
        case 'x': return stroke(-1, -2, 1, -4);
        case 'y': return stroke(2, -4, -1, 4);
        case 'z': return stroke(2, -1, -2, 4);
        case 'o': return stroke(1, -4, 1, 4);
        default: return stroke(-2, 0, 2, -4);  // the 4's slope
    }
}
constexpr std::array<std::string_view, 10> figures = {"abcdef", "xo",     "abzd", "abgcd",   "sgbc",
                                                      "afgcd",  "afgecd", "ay",   "abcdefg", "abfgcd"};

/// A figure's pose: image position -> figure position is linear, in fixed point.
struct Pose {
    Fixed xx, xy, yx, yy;  // figure = matrix * (image - centre)
    Point centre;
    Fixed width;  // half the pen's width, in figure units

    [[nodiscard]] Point figure_position(Point image) const {
        const Fixed x = image.x - centre.x;
        const Fixed y = image.y - centre.y;
        return {(xx * x + xy * y) / one, (yx * x + yy * y) / one};
    }
};

Pose random_pose(Index side, Random& random) {
    const Fixed percent = one / 100;
    // One figure unit is about side / 5.6 pixels.
    const Fixed scale = 560 * percent / side;
    const Fixed grow_x = random.between(85, 135);
    const Fixed grow_y = random.between(90, 115);
    const Fixed slant = random.between(-35, 35);
    const Fixed tilt = random.between(-15, 15);
    Pose pose{};
    pose.xx = scale * grow_x / 100;
    pose.xy = scale * slant / 100;
    pose.yx = scale * tilt / 100;
    pose.yy = scale * grow_y / 100;
    const Fixed shift = side * one / 12;
    pose.centre = {side * one / 2 + random.between(-shift, shift), side * one / 2 + random.between(-shift, shift)};
    pose.width = random.between(18, 34) * percent;
    return pose;
}

/// Squared distance from p to the stroke, in fixed point.
Fixed squared_distance(Point p, const Stroke& s) {
    const Point d{s.to.x - s.from.x, s.to.y - s.from.y};
    const Point r{p.x - s.from.x, p.y - s.from.y};
    const Fixed length = (d.x * d.x + d.y * d.y) / one;
    const Fixed along = std::clamp<Fixed>((r.x * d.x + r.y * d.y) / length, 0, one);
    const Fixed x = r.x - along * d.x / one;
    const Fixed y = r.y - along * d.y / one;
    return (x * x + y * y) / one;
}

/// Ink of 0..255 at a place of the figure: full inside the pen, fading over the pen's width (the blur).
Fixed ink(Point p, std::string_view figure, Fixed width) {
    const Fixed inner = width * width / one;
    const Fixed outer = 4 * inner;
    Fixed nearest = outer;
    for (const char letter : figure) nearest = std::min(nearest, squared_distance(p, segment(letter)));
    return std::clamp<Fixed>(255 * (outer - nearest) / (outer - inner), 0, 255);
}

void draw(const DigitOptions& options, std::string_view figure, Random& random, std::uint8_t* pixels) {
    const Pose pose = random_pose(options.side, random);
    for (Index y = 0; y < options.side; ++y) {
        for (Index x = 0; x < options.side; ++x) {
            const Point centre_of_pixel{x * one + one / 2, y * one + one / 2};
            const Fixed light = ink(pose.figure_position(centre_of_pixel), figure, pose.width);
            const Fixed noise = random.between(-options.noise, options.noise);
            *pixels++ = static_cast<std::uint8_t>(std::clamp<Fixed>(light + noise, 0, 255));
        }
    }
}

Dataset digits_of_stream(const DigitOptions& options, std::string_view stream) {
    if (options.side < 8) throw std::invalid_argument("digits need images of at least 8 x 8 pixels");
    if (options.count < 0) throw std::invalid_argument("the number of digits cannot be negative");
    if (options.noise < 0 || options.noise > 255) throw std::invalid_argument("the noise of digits lies in 0..255");
    Dataset data{1, options.side, options.side, 10, {}, {}};
    require_memory(static_cast<double>(options.count) * static_cast<double>(data.features() + 1), "the digits");
    data.pixels.resize(static_cast<std::size_t>(options.count * data.features()));
    for (Index i = 0; i < options.count; ++i) {
        Random random(options.seed, hash_of(stream) + static_cast<std::uint64_t>(i));
        const auto label = static_cast<std::uint8_t>(random.below(10));
        data.labels.push_back(label);
        draw(options, figures[label], random, data.pixels.data() + i * data.features());
    }
    return data;
}

}  // namespace

Dataset generated_digits(const DigitOptions& options) { return digits_of_stream(options, "digits"); }

DataSplit generated_digit_split(Index train, Index test, Index side, std::uint64_t seed) {
    return {digits_of_stream({train, side, seed}, "digits"),
            digits_of_stream({test, side, seed}, "digits for testing")};
}

}  // namespace ulp
