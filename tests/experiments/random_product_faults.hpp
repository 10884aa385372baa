// Products of one pair of matrices made rightly and wrongly, for tests of their explanation.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "engine/analysis/product_explanation.hpp"
#include "softfloat/lab/random_codes.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp::test {

inline constexpr Index k = 384;

inline Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
    Matrix matrix(rows, cols);
    const auto codes = random_codes(formats::fp16, DataClass::ordinary, rows * cols, seed);
    for (std::size_t i = 0; i < codes.size(); ++i) matrix.data()[i] = in_fp32_container(formats::fp16, codes[i]);
    return matrix;
}
inline const Matrix a = random_matrix(24, k, 1);
inline const Matrix b = random_matrix(k, 20, 2);
inline const Matrix c = random_matrix(24, 20, 3);

inline const std::string hopper = "sm_90:mma.fp16.fp32";
inline const std::string ampere = "sm_80:mma.fp16.fp32";

inline Matrix product(const std::string& unit, const ProductOrder& order, const Matrix& left = a,
                      const Matrix& right = b, const Matrix* addend = nullptr) {
    Matrix d(left.rows(), right.cols());
    soft_product(unit_model<TensorCoreModel>(unit), order,
                 {left, right, addend == nullptr ? MatrixView() : MatrixView(*addend), d});
    return d;
}

inline ProductQuestion question_of(const Matrix& d, bool with_c = false) {
    const std::string unit = "sm_90:mma.fp16.fp32";
    ProductQuestion question{unit, unit_model<TensorCoreModel>(unit), a, b, d};
    if (with_c) question.c = c;
    return question;
}

/// The ways in which a kernel may fail that D's explanation knows, and more.
struct Fault {
    Matrix d;
    std::string text;  // of the verdict; empty: none that it knows
    std::int64_t missing = 0;
};

inline Matrix middle_removed(const Matrix& m, Index first, Index count, bool columns) {
    if (columns) {
        Matrix kept(m.rows(), m.cols() - count);
        kept << m.leftCols(first), m.rightCols(m.cols() - first - count);
        return kept;
    }
    Matrix kept(m.rows() - count, m.cols());
    kept << m.topRows(first), m.bottomRows(m.rows() - first - count);
    return kept;
}

inline Fault random_fault(std::uint64_t seed) {
    const auto pick = [&](std::uint64_t what, Index below) {
        return static_cast<Index>(random_word(seed, what) % static_cast<std::uint64_t>(below));
    };
    const std::string unit = pick(0, 2) == 0 ? hopper : ampere;
    const ProductOrder order =
        pick(1, 3) == 0 ? ProductOrder{.split_k = 2 + static_cast<int>(pick(2, 6))} : ProductOrder{};
    const Index i = pick(3, 24), j = pick(4, 20);
    Fault fault{product(unit, order), "", 0};
    switch (pick(5, 8)) {
        case 0: {
            const Index count = 1 + pick(6, 64);
            fault.d = product(unit, order, a.leftCols(k - count), b.topRows(k - count));
            fault.text = fmt::format("the last {} of k are missing", count);
            fault.missing = count;
            break;
        }
        case 1: {
            const Index count = 4 * (1 + pick(6, 16)), first = 4 * (1 + pick(7, (k - count) / 4 - 1));
            fault.d = product(unit, {}, middle_removed(a, first, count, true), middle_removed(b, first, count, false));
            fault.text = fmt::format("k from {} to {} are missing", first, first + count - 1);
            fault.missing = count;
            break;
        }
        case 2: {
            const Matrix other = Eigen::Map<const Matrix>(b.data(), b.cols(), b.rows()).transpose();
            fault.d = product(unit, order, a, other);
            fault.text = "B is read transposed";
            break;
        }
        case 3: fault.d(i, j) = std::nextafter(fault.d(i, j), 1e9F); break;
        case 4: fault.d.row(i).swap(fault.d.row((i + 1) % 24)); break;
        case 5: fault.d *= 1 + 0.01F * static_cast<float>(1 + pick(6, 50)); break;
        case 6: {
            Matrix wrong = a;
            wrong(i, pick(6, k)) += 1;
            fault.d = product(unit, order, wrong, b);
            break;
        }
        default: fault.d.col(j) = fault.d.col((j + 1) % 20); break;
    }
    return fault;
}

inline void check_random_faults(std::uint64_t first, std::uint64_t count) {
    std::int64_t known = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const Fault fault = random_fault(seed);
        const ProductExplanation explanation = explain_product(question_of(fault.d));
        CAPTURE(seed);
        CHECK(explanation.verdict != ProductVerdict::explained);
        CHECK((explanation.verdict == ProductVerdict::fault) == !fault.text.empty());
        if (fault.text.empty() || explanation.verdict != ProductVerdict::fault) continue;
        CHECK(verdict_text(explanation) == "explained as a fault: " + fault.text);
        CHECK(explanation.candidates.front().ways.front().missing == fault.missing);
        ++known;
    }
    CHECK(known >= static_cast<std::int64_t>(count / 5));
}

}  // namespace ulp::test
