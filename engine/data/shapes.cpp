#include <array>
#include <stdexcept>

#include "engine/data/fixed_point.hpp"
#include "engine/data/generated.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {
namespace {

using namespace fixed;

struct Colour {
    std::array<Fixed, 3> channel;
};

Colour random_colour(Random& random) {
    Colour colour{};
    for (Fixed& c : colour.channel) c = random.between(0, 255);
    return colour;
}

/// One that differs from `other` by 90 or more in at least one channel.
Colour contrasting(const Colour& other, Random& random) {
    Colour colour = random_colour(random);
    const auto picked = static_cast<std::size_t>(random.below(3));
    Fixed& c = colour.channel.at(picked);
    const Fixed o = other.channel.at(picked);
    c = o < 128 ? random.between(o + 90, 255) : random.between(0, o - 90);
    return colour;
}

struct Colours {
    Colour ground, ink;
};

Colours random_colours(const ShapeOptions& options, Random& random) {
    Colours colours{random_colour(random), {}};
    if (options.lighter == 0) {
        colours.ink = contrasting(colours.ground, random);
        return colours;
    }
    for (std::size_t c = 0; c < colours.ground.channel.size(); ++c) {
        Fixed& ground = colours.ground.channel.at(c);
        ground = ground * (255 - options.lighter) / 255;
        colours.ink.channel.at(c) = random.between(ground + options.lighter, 255);
    }
    return colours;
}

/// Whether a figure's unit box [-1, 1]^2 is inked at (x, y).
bool inside_shape(int label, Fixed x, Fixed y) {
    const Fixed ax = x < 0 ? -x : x;
    const Fixed ay = y < 0 ? -y : y;
    const Fixed r2 = times(x, x) + times(y, y);
    switch (label) {
        case 0: return r2 <= one;
        case 1: return ax <= one * 4 / 5 && ay <= one * 4 / 5;
        case 2: return y <= one * 3 / 4 && 2 * ax <= y + one;
        case 3: return (ax <= one / 3 && ay <= one) || (ay <= one / 3 && ax <= one);
        default: return r2 <= one && r2 >= one * 2 / 5;
    }
}

/// The texture at (x, y), in periods.
bool inside_texture(int label, Fixed x, Fixed y) {
    const auto odd = [](Fixed v) { return ((v >> 15) & 1) != 0; };  // half periods
    switch (label) {
        case 5: return odd(y);
        case 6: return odd(x);
        case 7: return odd(x + y);
        case 8: return odd(x) != odd(y);
        default: {
            const Fixed u = (x & (one - 1)) - one / 2;
            const Fixed v = (y & (one - 1)) - one / 2;
            return times(u, u) + times(v, v) <= one / 9;
        }
    }
}

/// Where a figure lies: pixels to its unit box, turned by up to 15 degrees; or a texture's period and phase.
struct Pose {
    Fixed centre_x, centre_y, radius, cosine, sine;
};

Pose random_pose(int label, Index side, Random& random) {
    const Fixed pixels = side * one;
    const bool shape = label < 5;
    const Fixed turn = random.between(shape ? -2730 : -900, shape ? 2730 : 900);
    const Fixed radius = shape ? pixels * random.between(22, 40) / 100 : pixels * random.between(22, 34) / 100;
    return {pixels / 2 + random.between(-pixels / 8, pixels / 8), pixels / 2 + random.between(-pixels / 8, pixels / 8),
            radius, cosine(turn), sine(turn)};
}

bool inside(int label, const Pose& pose, Index x, Index y) {
    const Fixed dx = x * one + one / 2 - pose.centre_x;
    const Fixed dy = y * one + one / 2 - pose.centre_y;
    const Fixed u = (times(dx, pose.cosine) + times(dy, pose.sine)) * one / pose.radius;
    const Fixed v = (times(dy, pose.cosine) - times(dx, pose.sine)) * one / pose.radius;
    return label < 5 ? inside_shape(label, u, v) : inside_texture(label, u, v);
}

/// Draws, adds to `ink_mask` where, and returns the box of that.
Box draw(const ShapeOptions& options, int label, Random& random, std::uint8_t* pixels,
         std::vector<std::uint8_t>& ink_mask) {
    const Colours colours = random_colours(options, random);
    const Pose pose = random_pose(label, options.side, random);
    const Index plane = options.side * options.side;
    const auto side = static_cast<int>(options.side);
    Box box{side, side, 0, 0};
    for (Index y = 0; y < options.side; ++y) {
        for (Index x = 0; x < options.side; ++x) {
            const bool inked = inside(label, pose, x, y);
            ink_mask.push_back(inked ? 1 : 0);
            if (inked) {
                box = {std::min(box.left, static_cast<int>(x)), std::min(box.top, static_cast<int>(y)),
                       std::max(box.right, static_cast<int>(x) + 1), std::max(box.bottom, static_cast<int>(y) + 1)};
            }
            for (Index c = 0; c < 3; ++c) {
                const Fixed light = (inked ? colours.ink : colours.ground).channel.at(static_cast<std::size_t>(c));
                pixels[c * plane + y * options.side + x] =
                    to_byte(light + random.between(-options.noise, options.noise));
            }
        }
    }
    return box;
}

Dataset empty_images(const ShapeOptions& options) {
    if (options.side < 8) throw std::invalid_argument("shapes need images of at least 8 x 8 pixels");
    if (options.count < 0) throw std::invalid_argument("the number of shapes cannot be negative");
    if (options.noise < 0 || options.noise > 255) throw std::invalid_argument("the noise of shapes lies in 0..255");
    if (options.lighter < 0 || options.lighter > 255) {
        throw std::invalid_argument("figures are lighter than their ground by 0..255");
    }
    Dataset data{3, options.side, options.side, shape_classes, {}, {}};
    data.pixels.resize(static_cast<std::size_t>(options.count * data.features()));
    return data;
}

Scenes drawn(const ShapeOptions& options, std::string_view stream, std::uint64_t classes) {
    Scenes scenes{empty_images(options), {}, {}};
    for (Index i = 0; i < options.count; ++i) {
        Random random(options.seed, hash_of(stream) + static_cast<std::uint64_t>(i));
        const auto label = static_cast<std::uint8_t>(random.below(classes));
        scenes.images.labels.push_back(label);
        scenes.boxes.push_back(
            draw(options, label, random, scenes.images.pixels.data() + i * scenes.images.features(), scenes.inked));
    }
    return scenes;
}

/// Which way a wave runs: rising or falling, steep or flat.
int direction_of(Fixed across, Fixed down) {
    const bool falls = (across < 0) != (down < 0);
    const bool steep = (across < 0 ? -across : across) > (down < 0 ? -down : down);
    return (falls ? 1 : 0) + (steep ? 2 : 0);
}

}  // namespace

DataSplit generated_shape_split(Index train, Index test, Index side, std::uint64_t seed, int noise) {
    return {drawn({train, side, seed, noise}, "shapes", shape_classes).images,
            drawn({test, side, seed, noise}, "shapes for testing", shape_classes).images};
}

Scenes Scenes::slice(Index first, Index count) const {
    const Index pixels = images.width * images.height;
    return {images.slice(first, count),
            {boxes.begin() + first, boxes.begin() + first + count},
            {inked.begin() + first * pixels, inked.begin() + (first + count) * pixels}};
}

Scenes generated_scenes(const ShapeOptions& options) { return drawn(options, "scenes", 5); }

Dataset generated_textures(const TextureOptions& options) {
    if (options.periods < 1) throw std::invalid_argument("a texture's waves need at least one period");
    Dataset data = empty_images({options.count, options.side, options.seed, options.noise});
    const Fixed most = options.periods * one;
    for (Index i = 0; i < options.count; ++i) {
        Random random(options.seed, hash_of("textures") + static_cast<std::uint64_t>(i));
        const auto label = static_cast<int>(random.below(4));
        data.labels.push_back(static_cast<std::uint8_t>(label));
        std::uint8_t* pixel = data.pixels.data() + i * data.features();
        for (Index c = 0; c < 3; ++c) {
            // Two waves a colour.
            std::array<Fixed, 6> wave{};
            do {
                for (Fixed& w : wave) w = random.between(-most, most) / options.side;
            } while (direction_of(wave[0], wave[1]) != label);
            for (Index y = 0; y < options.side; ++y) {
                for (Index x = 0; x < options.side; ++x) {
                    const Fixed a = sine(wave[0] * x + wave[1] * y + wave[2] * options.side);
                    const Fixed b = sine(wave[3] * x + wave[4] * y + wave[5] * options.side);
                    const Fixed light = 128 + (70 * a + 40 * b) / one;
                    *pixel++ = to_byte(light + random.between(-options.noise, options.noise));
                }
            }
        }
    }
    return data;
}

}  // namespace ulp
