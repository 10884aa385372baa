// A result's drawings inside a page.
#pragma once

#include <string>

#include "experiments/framework/record.hpp"

namespace ulp {

/// An SVG file's content inside a page: without its XML prologue, in the page's colours, with ids that begin with
/// `name`.
/// "" where it holds more than shapes and text.
std::string svg_html(std::string svg, const std::string& name, const std::string& title);

/// The drawing without its XML prologue, scaled to its place, in the page's colours, with ids of its own; or a sentence
/// that says why there is none.
std::string drawing_html(const StoredResult& result, const StoredFigure& figure);

/// The drawing with what to see, the evidence and the files. Scripts find it by the class "answers".
std::string figure_html(const StoredResult& result, const StoredFigure& figure);

}  // namespace ulp
