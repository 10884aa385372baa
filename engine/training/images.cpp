#include "engine/training/images.hpp"

#include <algorithm>

namespace ulp {

Var images_on(Tape& tape, const Matrix& images) { return tape.input(tensor_of(images)); }

double accuracy(Evaluation evaluation, const std::function<Var(Var)>& net, const Dataset& data, Index batch_size) {
    Index right = 0;
    for (Index first = 0; first < data.size(); first += batch_size) {
        const Batch batch = batch_of(data, index_range(first, std::min(first + batch_size, data.size())));
        Tape tape(evaluation);
        const Tensor& logits = net(images_on(tape, batch.images)).value();
        const Index classes = logits.dim(-1);
        for (std::size_t i = 0; i < batch.labels.size(); ++i) {
            const float* row = logits.data() + static_cast<Index>(i) * classes;
            right += std::max_element(row, row + classes) - row == batch.labels[i] ? 1 : 0;
        }
    }
    return data.size() == 0 ? 0 : static_cast<double>(right) / static_cast<double>(data.size());
}

}  // namespace ulp
