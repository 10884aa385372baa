"""At which batch sizes a row's bits change, where the order of sums is chosen by shape. ulplab.torch is the interface."""

import contextlib
import copy
import math

import torch

from ._analysis import _Printed
from ._products import Order, _order


@contextlib.contextmanager
def computed_in(module, emulation):
    """While this lasts, the module's forward pass runs in emulation(x), x its first argument."""
    own, original = module.__dict__.get("forward"), module.forward

    def forward(*args, **kwargs):
        with emulation(args[0] if args else None) as run:
            run._entered(module, args)  # the module's call began before the emulation did
            try:
                return original(*args, **kwargs)
            finally:
                run._left(module, args, None)

    module.forward = forward
    try:
        yield
    finally:
        if own is None:
            del module.forward
        else:
            module.forward = own


def require_no_dropout(module):
    for path, each in module.named_modules():
        shares = vars(each).items() if each.training else ()  # as numbers where a function drops: attention_dropout=0.1
        if any(("drop" in name or isinstance(each, torch.nn.modules.dropout._DropoutNd) and name == "p")
               and isinstance(share, float) and share > 0 for name, share in shares):
            raise ValueError(f"dropout is on in {path or 'the module'}, so results are random; call eval() first")


def split_by_shape(m, n, k, processors=132, tile=128, least_k=128):
    """Split-k that fills a GPU's processors: as many pieces of k as there are processors for each tile of D, powers of two
    up to 16, each of 128 k or more. A rule of the kind that libraries have; none of them promises it."""
    tiles = math.ceil(m / tile) * math.ceil(n / tile)
    pieces = max(1, min(processors // tiles, k // least_k, 16))
    return Order(split_k=2 ** int(math.log2(pieces)))


def rule_of(rule):
    """A rule as a function of (m, n, k) that gives an Order."""
    if rule is None:
        return split_by_shape
    if callable(rule):
        return lambda m, n, k: _given(rule(m, n, k), (m, n, k))
    if hasattr(rule, "items") and rule:
        return lambda m, n, k: _given(_looked_up(rule, m, n, k), (m, n, k))
    raise TypeError(f"rule is {rule!r}; give a function of (m, n, k), or a dictionary from (m, n, k), or from the largest "
                    "m, to a split_k or an Order")


def _looked_up(table, m, n, k):
    if (m, n, k) in table:
        return table[m, n, k]
    limits = sorted(key for key in table if not isinstance(key, tuple))
    for limit in limits:
        if m <= limit:
            return table[limit]
    if limits:
        return table[limits[-1]]
    raise ValueError(f"the table has no order for m = {m}, n = {n}, k = {k}; add it, or a largest m")


def _given(order, shape):
    order = Order(split_k=order) if isinstance(order, int) else _order(order)
    if order is None:
        raise ValueError(f"the rule gave no order for (m, n, k) = {shape}; give a split_k or an Order")
    return order


def require_pieces(order, k, place):
    if order is not None and order.split_k > k:
        raise ValueError(f"{place} has split_k {order.split_k}, and k = {k} has fewer; choose at most one for each "
                         "instruction")


def order_name(order):
    changed = {key: value for key, value in order._asdict().items() if value != Order._field_defaults[key]}
    return ", ".join(f"{key} {value}" for key, value in changed.items()) or "one chain"


class Invariance(_Printed):
    """At which shapes a row's bits differ from those that it has in the largest one.

    invariant   no row's bits change
    changes     a dictionary for each shape: shape, rows and elements that differ from the largest shape's, orders (of each
                layer)
    first       the smallest counter-example: shape, against (the largest), row, element, values; or None
    error       largest error against fp64, relative to the output's rms, of all shapes by the rule
    remedies    fixed orders, the best first: order, changes (elements, over all shapes), error
    """

    def __init__(self, changes, first, error, remedies):
        self.changes, self.first, self.error, self.remedies = changes, first, error, remedies
        self.invariant = first is None

    def __repr__(self):
        lines = [f"{'shape':<20} {'rows differ':>12} {'elements':>10}   orders"]
        for each in self.changes:
            orders = sorted({order_name(order) for order in each["orders"].values()})
            lines.append(f"{str(each['shape']):<20} {each['rows']:>12} {each['elements']:>10}   {'; '.join(orders)}")
        if self.first is None:
            lines.append("No row's bits depend on the batch.")
        else:
            f = self.first
            lines.append(f"Row {f['row']} differs between {f['shape']} and {f['against']}, first at element "
                         f"{f['element']}: {f['values'][0]!r} and {f['values'][1]!r}")
        lines.append(f"largest error against fp64 by the rule: {self.error:.3g}")
        lines += [f"  always {order_name(each['order'])}: {each['changes']} elements change, error {each['error']:.3g}"
                  for each in self.remedies]
        return "\n".join(lines)


def _linear_layers(module):
    return {name or type(module).__name__: each for name, each in module.named_modules()
            if isinstance(each, torch.nn.Linear)}


class _Runs:
    """The module's outputs, by a rule, in emulations of one unit and recipe."""

    def __init__(self, module, base, emulate):
        self.module, self.base, self.emulate = module, base, emulate

    def _order_taken(self, rule, taken, name, layer):
        def emulation(x):
            n, k = layer.weight.shape
            taken[name] = rule(x.numel() // k, n, k)
            require_pieces(taken[name], k, name)
            return self.emulate(taken[name])
        return emulation

    def outputs(self, shapes, rule):
        """(output, orders) of each shape."""
        found = []
        for shape in shapes:
            taken = {}
            with torch.no_grad(), contextlib.ExitStack() as stack:
                for name, layer in _linear_layers(self.module).items():
                    stack.enter_context(computed_in(layer, self._order_taken(rule, taken, name, layer)))
                stack.enter_context(self.emulate(None))
                result = self.module(self.base[shape].clone())
            if not isinstance(result, torch.Tensor):
                raise TypeError(f"the module returns a {type(result).__name__}; give one that returns a tensor")
            found.append((result.detach(), taken))
        return found


def bits_of(x):
    """Of the numbers as fp32, which holds those of fp16 and bf16 exactly."""
    return x.float().contiguous().view(torch.int32)


def _differences(few, many):
    """Rows in common whose bits differ, elements that do, and the first of them as (row, element, values)."""
    rows = len(few)
    a, b = (x[:rows].reshape(rows, -1) for x in (few, many))
    differ = bits_of(a) != bits_of(b)
    if not bool(differ.any()):
        return 0, 0, None
    row, element = (int(x) for x in differ.nonzero()[0])
    return (int(differ.any(1).sum()), int(differ.sum()), (row, element, (float(a[row, element]), float(b[row, element]))))


def invariance_of(module, shapes, rule, emulate, seed):
    """See ulplab.torch.invariance; emulate(order) makes an emulation."""
    shapes = [(each,) if isinstance(each, int) else tuple(each) for each in shapes]
    layers = _linear_layers(module)
    if not layers:
        raise ValueError(f"{type(module).__name__} has no Linear layer, whose orders the rule chooses")
    if any(len(each) == 1 for each in shapes):
        width = next(iter(layers.values())).in_features
        shapes = [each + (width,) if len(each) == 1 else each for each in shapes]
    if len(shapes) < 2 or len({each[1:] for each in shapes}) != 1 or any(min(each) < 1 for each in shapes):
        raise ValueError(f"shapes are {shapes}; give two or more that differ in the first extent alone")
    require_no_dropout(module)
    shapes = sorted(shapes)
    numbers = torch.randn(shapes[-1], generator=torch.Generator().manual_seed(seed)).to(
        next((x.dtype for x in module.parameters() if x.is_floating_point()), torch.float32))
    runs = _Runs(module, {each: numbers[:each[0]] for each in shapes}, emulate)
    try:
        with torch.no_grad():
            exact = copy.deepcopy(module).double()(numbers.double())
    except (RuntimeError, TypeError, IndexError) as error:
        raise ValueError(f"{type(module).__name__} does not take floating-point numbers of shape {shapes[-1]}; give shapes that "
                         "its first layer takes, and of a language model the part after its embedding") from error
    size = float(exact.pow(2).mean().sqrt())

    def error(outputs):
        return max(float((out.double() - exact[:len(out)]).abs().max()) for out, _ in outputs) / size

    outputs = runs.outputs(shapes, rule)
    changes, first = [], None
    for shape, (out, orders) in zip(shapes, outputs):
        rows, elements, example = _differences(out, outputs[-1][0])
        changes.append({"shape": shape, "rows": rows, "elements": elements, "orders": orders})
        if first is None and example is not None:
            first = {"shape": shape, "against": shapes[-1], "row": example[0], "element": example[1], "values": example[2]}
    remedies = []
    for order in sorted({order for _, taken in outputs for order in taken.values()} if first else set()):
        fixed = runs.outputs(shapes, lambda m, n, k, order=order: order)
        remedies.append({"order": order, "error": error(fixed),
                         "changes": sum(_differences(out, fixed[-1][0])[1] for out, _ in fixed)})
    remedies.sort(key=lambda each: (each["changes"], each["error"]))
    return Invariance(changes, first, error(outputs), remedies)
