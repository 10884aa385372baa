"""What an emulated run did: products, overflows and underflows by module, and the first value that is not finite."""


class Counts:
    """Of one module: products and multiplications by pass, and what rounding made of results."""

    __slots__ = ("products", "multiplications", "overflows", "underflows", "rounded")

    def __init__(self):
        self.products = {}
        self.multiplications = 0
        self.overflows = self.underflows = self.rounded = 0

    def as_dict(self):
        return {name: getattr(self, name) for name in self.__slots__}


class Report:
    """modules          a dictionary for each module's path: products by pass, multiplications, overflows, underflows
                        (nonzero results that became zero), rounded (results)
    first_not_finite    None, or a dictionary: module, pass, operation, element, value, operands
    not_emulated        operations (and other things) that ran in fp32, with how often
    path                the way a product takes: unit, chain of instructions, kernel
    against             with emulate(..., against="fp32"): an Against, what the fp32 run beside shows
    """

    against = None

    def __init__(self, recipe, backend, path, modules, first, not_emulated, lost_updates=None):
        self.recipe = recipe
        self.backend = backend
        self.path = path
        self.modules = {name: counts.as_dict() for name, counts in modules.items()}
        self.first_not_finite = first
        self.not_emulated = dict(not_emulated)
        self.lost_updates = {name: dict(each) for name, each in (lost_updates or {}).items()}

    @property
    def products(self):
        return sum(sum(each["products"].values()) for each in self.modules.values())

    @property
    def overflows(self):
        return sum(each["overflows"] for each in self.modules.values())

    @property
    def underflows(self):
        return sum(each["underflows"] for each in self.modules.values())

    def __repr__(self):
        lines = [f"{self.recipe} on {self.backend}: {self.products} products ({self.path})",
                 f"{'module':<32} {'forward':>8} {'dgrad':>8} {'wgrad':>8} {'overflows':>10} {'underflows':>11}"]
        for name, each in self.modules.items():
            passes = [each["products"].get(p, 0) for p in ("forward", "input gradient", "weight gradient")]
            lines.append(f"{name or '(no module)':<32} {passes[0]:>8} {passes[1]:>8} {passes[2]:>8} "
                         f"{each['overflows']:>10} {each['underflows']:>11}")
        first = self.first_not_finite
        if first:
            lines.append(f"first value that is not finite: {first['value']} at {first['element']} of {first['operation']}, "
                         f"module {first['module'] or '(none)'}, {first['pass']}, step {first['step']}")
        for name, count in self.not_emulated.items():
            lines.append(f"not emulated: {name} ({count})")
        if self.against is not None:
            lines.append(repr(self.against))
        return "\n".join(lines)
