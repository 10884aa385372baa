#include <algorithm>
#include <cstring>

#include "softfloat/arithmetic.hpp"
#include "softfloat/array/environment.hpp"
#include "softfloat/array/kernels/native_half.hpp"
#include "softfloat/array/path.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp::array {
namespace {

/// The scalar operation, in the word that the format needs.
template <class Word>
std::uint64_t operate_bits(const FloatFormat& format, Operation operation, std::uint64_t a, std::uint64_t b,
                           std::uint64_t c, Context& context) {
    switch (operation) {
        case op_add: return add_bits<Word>(format, a, b, context);
        case op_subtract: return subtract_bits<Word>(format, a, b, context);
        case op_multiply: return multiply_bits<Word>(format, a, b, context);
        case op_divide: return divide_bits<Word>(format, a, b, context);
        case op_sqrt: return sqrt_bits<Word>(format, a, context);
        case op_fma: return fma_bits<Word>(format, a, b, c, context);
        case operations: break;
    }
    return 0;
}

void operate_each(const FloatFormat& format, Operation operation, const Operands& operands, void* out,
                  std::size_t count, const Context& context) {
    const std::size_t bytes = bytes_of(format);
    const auto word = [&](const void* words, std::size_t i) {
        return words == nullptr ? std::uint64_t{0} : load_word(words, bytes, i);
    };
    const auto operate = format.precision() <= 24 ? operate_bits<std::uint64_t> : operate_bits<UInt128>;
    for (std::size_t i = 0; i < count; ++i) {
        Context scalar = scalar_context(context, i);
        store_word(out, bytes, i,
                   operate(format, operation, word(operands.a, i), word(operands.b, i), word(operands.c, i), scalar));
    }
}

void* at(void* words, std::size_t bytes) { return static_cast<unsigned char*>(words) + bytes; }
/// The operands that there are, that many bytes further on.
Operands from(const Operands& operands, std::size_t bytes) {
    const auto at = [&](const void* words) -> const void* {
        return words == nullptr ? nullptr : static_cast<const unsigned char*>(words) + bytes;
    };
    return {at(operands.a), at(operands.b), at(operands.c)};
}

/// Chunks of the operands, as fp32 words.
class Chunks {
  public:
    Chunks(const Reader& reader, const Operands& operands) : reader_(reader), operands_(operands) {}
    /// Runs an arithmetic kernel on the elements from `begin` on.
    void run(ArithmeticKernel kernel, const RoundingPlan& plan, std::size_t begin, std::size_t count, void* results) {
        const void* words[3] = {};
        const void* const of_operands[] = {operands_.a, operands_.b, operands_.c};
        for (int i = 0; i < 3; ++i) {
            if (of_operands[i] != nullptr) words[i] = reader_.read(of_operands[i], begin, count, buffer_[i]);
        }
        kernel(plan, words[0], words[1], words[2], results, count);
    }

  private:
    const Reader& reader_;
    Operands operands_;
    alignas(64) std::uint32_t buffer_[3][chunk_size];
};

/// Calls f(begin, count) for each chunk.
template <class Function>
void each_chunk(std::size_t count, const Function& f) {
    for (std::size_t begin = 0; begin < count; begin += chunk_size) f(begin, std::min(chunk_size, count - begin));
}

/// What all ways with chunks are given.
struct Job {
    const FloatFormat& format;
    Operation operation;
    void* out;
    std::size_t count;
    const Context& context;
    const KernelTable& kernels;
};

/// Operands to fp32, an exact operation or one to odd, and rounded from there: words of fp32 or of fp64.
template <class Word>
void round_results(const Job& job, Chunks& chunks, ArithmeticKernel kernel) {
    auto writer = BasicWriter<Word>::make(job.format, of_results(job.context), job.kernels);
    RoundingPlan signs{};
    signs.zero_sum_sign = job.context.rounding == Rounding::down ? 0x80000000 : 0;
    alignas(64) Word results[chunk_size];
    each_chunk(job.count, [&](std::size_t begin, std::size_t count) {
        chunks.run(kernel, signs, begin, count, results);
        writer->write(results, begin, count, job.out);
    });
}

/// A stochastic rounding that looks at more digits than fp64 has. A result lies between two fp64 numbers (or is one,
/// then even); with the same random number, rounding keeps their order. Where both become the same number, so does the
/// result; about one chunk in 2^17 holds one where they do not, and is left to the scalar operation.
void round_between_doubles(const Job& job, Chunks& chunks, const Operands& operands) {
    const std::size_t bytes = bytes_of(job.format);
    alignas(64) std::uint64_t results[chunk_size];
    alignas(64) std::uint64_t next[chunk_size];
    alignas(64) unsigned char rounded[2][4 * chunk_size];
    each_chunk(job.count, [&](std::size_t begin, std::size_t count) {
        chunks.run(job.kernels.odd_in_double[job.operation], RoundingPlan{}, begin, count, results);
        for (std::size_t i = 0; i < count; ++i) next[i] = results[i] + (results[i] & 1);
        for (std::size_t i = 0; i < count; ++i) results[i] &= ~std::uint64_t{1};
        Context context = job.context;
        context.first += begin;
        auto writer = Writer64::make(job.format, of_results(context), job.kernels);
        writer->write(results, 0, count, rounded[0]);
        writer->write(next, 0, count, rounded[1]);
        void* const out = at(job.out, bytes * begin);
        if (std::memcmp(rounded[0], rounded[1], bytes * count) == 0) {
            std::memcpy(out, rounded[0], bytes * count);
        } else {
            operate_each(job.format, job.operation, from(operands, bytes * begin), out, count, context);
        }
    });
}

/// Whether an fp32 word is the smallest normal number, of which one cannot tell whether it was tiny before it was
/// rounded.
bool any_smallest_normal(const std::uint32_t* words, std::size_t count) {
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= (words[i] << 1) == 0x01000000 ? 1U : 0U;
    return any != 0;
}

/// The processor's fp32 results, flushed and saturated afterwards. Chunks in which a result may be tiny or not are
/// computed again from fp64.
void processor_with_options(const Job& job, Chunks& chunks) {
    auto finish = Writer::make(job.format, of_results(job.context), job.kernels);
    auto again = Writer64::make(job.format, of_results(job.context), job.kernels);
    alignas(64) std::uint32_t results[chunk_size];
    alignas(64) std::uint64_t exact[chunk_size];
    each_chunk(job.count, [&](std::size_t begin, std::size_t count) {
        {
            const FloatEnvironment environment(job.context.rounding);
            chunks.run(job.kernels.single[job.operation], finish->plan(), begin, count, results);
        }
        if (!job.context.flush_outputs || !any_smallest_normal(results, count)) {
            finish->write(results, begin, count, job.out);
        } else {
            chunks.run(job.kernels.odd_in_double[job.operation], finish->plan(), begin, count, exact);
            again->write(exact, begin, count, job.out);
        }
    });
}

/// Elements from `begin` on by the scalar operation.
void operate_each_from(const Job& job, const Operands& operands, std::size_t begin, std::size_t count) {
    const FloatEnvironment environment(Rounding::nearest_even);
    Context context = job.context;
    context.first += begin;
    const std::size_t bytes = begin * bytes_of(job.format);
    operate_each(job.format, job.operation, from(operands, bytes), at(job.out, bytes), count, context);
}

/// Rounding by an addition, with the control register at toward zero; the plan is that of job.context's results. A
/// kernel's blocks of random numbers share the upper halves of their numbers; few of its elements are undecided.
void operate_truncated(const Job& job, RoundingPlan64& plan, const Operands& operands) {
    constexpr std::size_t register_size = 16;
    const Fraction fraction = job.context.rounding == Rounding::stochastic ? random_fraction : a_half;
    const auto kernel = job.kernels.truncated[*truncated_storage(job.format)][fraction][job.operation];
    for (std::size_t begin = 0; begin < job.count;) {
        const std::size_t count =
            std::min<std::uint64_t>(job.count - begin, elements_of_upper_half(job.context, begin));
        const std::size_t bytes = begin * bytes_of(job.format);
        const Operands here = from(operands, bytes);
        if (fraction == random_fraction) start_random(plan, job.context, begin);
        const std::size_t done = kernel(plan, here.a, here.b, here.c, at(job.out, bytes), count);
        begin += done;
        if (done == count) continue;
        const std::size_t undecided = std::min(register_size, count - done);
        operate_each_from(job, operands, begin, undecided);
        begin += undecided;
    }
}

/// The same with operands and results flushed in passes of their own. A result below the smallest normal number is
/// tiny, for what does not carry to it does not carry where it is rounded a place finer; of one that is that number the
/// scalar operation tells.
void operate_flushing(const Job& job, RoundingPlan64& plan, const Operands& operands) {
    constexpr std::size_t most = 1536;  // elements: whole groups of random numbers of every kit
    alignas(64) unsigned char flushed[3][4 * most];
    alignas(64) unsigned char results[4 * most];
    const std::size_t bytes = bytes_of(job.format);
    const FlushKernel flush = bytes == 2 ? job.kernels.flush_words16 : job.kernels.flush_words32;
    const std::uint32_t smallest = std::uint32_t{1} << (job.format.fraction_bits + job.format.padding_bits);
    for (std::size_t begin = 0; begin < job.count; begin += most) {
        const std::size_t count = std::min(most, job.count - begin);
        Context context = job.context;
        context.first += begin;
        void* const out = at(job.out, bytes * begin);  // may be an operand, which flushed results can need again
        const Job piece{job.format, job.operation, context.flush_outputs ? results : out, count, context, job.kernels};
        const Operands given = from(operands, bytes * begin);
        Operands read = given;
        for (int i = 0; const void** words : {&read.a, &read.b, &read.c}) {
            unsigned char* const zeroed = flushed[i++];
            if (!context.flush_inputs || *words == nullptr) continue;
            flush(smallest, *words, zeroed, count);
            *words = zeroed;
        }
        operate_truncated(piece, plan, read);
        if (!context.flush_outputs) continue;
        if (flush(smallest, results, results, count)) {
            const std::uint64_t magnitude = job.format.magnitude_mask() << job.format.padding_bits;
            for (std::size_t i = 0; i < count; ++i) {
                if ((load_word(results, bytes, i) & magnitude) == smallest) operate_each_from(piece, given, i, 1);
            }
        }
        std::memcpy(out, results, bytes * count);
    }
}

ArithmeticKernel direct_kernel(Kernel kernel, const KernelTable& kernels, Operation operation, Rounding rounding) {
    switch (kernel) {
        case Kernel::bfloat_nearest: return kernels.bfloat_nearest[operation];
        case Kernel::half_nearest: return kernels.half_nearest[operation];
        case Kernel::half_rounded: return kernels.half[static_cast<std::size_t>(rounding)][operation];
        case Kernel::processor: return kernels.single[operation];
#if defined(__x86_64__)
        case Kernel::native_half: return native_half_kernels[operation];
#endif
        default: return nullptr;
    }
}

/// A kernel that does all the work. The processor's own instructions round as the control register says.
void operate_directly(const Job& job, const Operands& operands, Kernel kernel) {
    const bool of_processor = kernel == Kernel::processor || kernel == Kernel::native_half;
    const FloatEnvironment environment(of_processor ? job.context.rounding : Rounding::nearest_even);
    auto plan = make_plan(job.format, of_results(job.context));
    plan_operands(plan->constants, job.format, job.context);
    const auto run = direct_kernel(kernel, job.kernels, job.operation, job.context.rounding);
    run(plan->constants, operands.a, operands.b, operands.c, job.out, job.count);
}

}  // namespace

void operate_words(const FloatFormat& format, Operation operation, const Operands& operands, void* out,
                   std::size_t count, const Context& context, Simd simd) {
    const Path path = choose_path(operation, format, context, simd);
    if (path.kernel == Kernel::scalar_loop) {  // integers only
        return operate_each(format, operation, operands, out, count, context);
    }
    const KernelTable& kernels = kernels_of<KernelTable>(path.simd);
    const Job job{format, operation, out, count, context, kernels};
    if (direct_kernel(path.kernel, kernels, operation, context.rounding) != nullptr) {
        return operate_directly(job, operands, path.kernel);
    }
    if (path.kernel == Kernel::truncated) {
        const FloatEnvironment environment(Rounding::toward_zero);
        auto plan = make_plan64(format, of_results(context))->constants;
        const bool flushes = context.flush_inputs || context.flush_outputs;
        return flushes ? operate_flushing(job, plan, operands) : operate_truncated(job, plan, operands);
    }
    const FloatEnvironment environment(Rounding::nearest_even);
    const auto reader = Reader::make(format, context, kernels);
    Chunks chunks(*reader, operands);
    switch (path.kernel) {
        case Kernel::processor_options: return processor_with_options(job, chunks);
        case Kernel::odd_in_single: return round_results<std::uint32_t>(job, chunks, kernels.odd_by_single[operation]);
        case Kernel::odd_by_double: return round_results<std::uint32_t>(job, chunks, kernels.odd_by_double[operation]);
        case Kernel::between_doubles: return round_between_doubles(job, chunks, operands);
        default: return round_results<std::uint64_t>(job, chunks, kernels.odd_in_double[operation]);
    }
}

}  // namespace ulp::array
