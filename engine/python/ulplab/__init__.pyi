from typing import Any, Callable, Iterable, Literal, Mapping, NamedTuple
import enum
import os

import numpy
from numpy.typing import ArrayLike, NDArray

__version__: str

Array = Any  # a NumPy array, or a CPU tensor of PyTorch where one went in
RoundingName = Literal["nearest_even", "nearest_away", "toward_zero", "down", "up", "odd", "stochastic"]

class DataError(ValueError): ...
class BitsDiffer(ArithmeticError): ...

class Format:
    def __init__(self, name: Any) -> None: ...
    @property
    def name(self) -> str: ...
    exponent_bits: int
    fraction_bits: int
    bias: int
    has_sign: bool
    has_subnormals: bool
    precision: int
    storage_bits: int
    emin: int
    emax: int
    has_infinity: bool
    has_nan: bool
    largest: float
    smallest_normal: float
    smallest_positive: float
    epsilon: float

def format(name_or_precision: str | Format | int, emin: int | None = ..., emax: int | None = ...) -> Format: ...
def formats() -> dict[str, Format]: ...
def round(x: ArrayLike, format: str | Format, rounding: RoundingName = ..., *, seed: int | None = ...,
          saturate: bool = ..., subnormals: bool = ..., stream: int = ..., first: int = ..., random_bits: int = ...,
          out: Array | None = ...) -> Array: ...
def encode(x: ArrayLike, format: str | Format, rounding: RoundingName = ..., *, saturate: bool = ...,
           packed: bool = ...) -> Array: ...
def decode(codes: ArrayLike, format: str | Format, *, packed: bool = ...) -> Array: ...

class Shown(list[dict[str, Any]]): ...

def show(value: str | float, format: str | Format | None = ..., rounding: RoundingName = ..., *,
         saturate: bool = ...) -> Shown: ...

class Quantized:
    name: str
    elements: Array
    codes: Array | None
    scales: Array
    scale_codes: Array | None
    tensor_scale: float
    block: tuple[int, int]
    element_format: Format
    scale_format: Format

def quantize(x: ArrayLike, how: str, *, seed: int = ..., stream: int = ...) -> Quantized: ...
def dequantize(quantized: Quantized) -> Array: ...
def quantizations() -> dict[str, str]: ...
def functions() -> list[str]: ...
def evaluate(name: str, x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
             round: bool = ...) -> Array: ...
def exp(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
        round: bool = ...) -> Array: ...
def expm1(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
          round: bool = ...) -> Array: ...
def log(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
        round: bool = ...) -> Array: ...
def log1p(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
          round: bool = ...) -> Array: ...
def sin(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
        round: bool = ...) -> Array: ...
def cos(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
        round: bool = ...) -> Array: ...
def tanh(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
         round: bool = ...) -> Array: ...
def exp2(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
         round: bool = ...) -> Array: ...
def log2(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
         round: bool = ...) -> Array: ...
def sigmoid(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
            round: bool = ...) -> Array: ...
def erf(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
        round: bool = ...) -> Array: ...
def gelu(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
         round: bool = ...) -> Array: ...
def softplus(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
             round: bool = ...) -> Array: ...
def rsqrt(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
          round: bool = ...) -> Array: ...
def cbrt(x: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ..., *,
         round: bool = ...) -> Array: ...

class Flags(enum.IntFlag):
    INEXACT = 1
    UNDERFLOW = 2
    OVERFLOW = 4
    DIVIDE_BY_ZERO = 8
    INVALID = 16

def add(a: ArrayLike, b: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ...,
       **options: Any) -> Any: ...
def subtract(a: ArrayLike, b: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ...,
            **options: Any) -> Any: ...
def multiply(a: ArrayLike, b: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ...,
            **options: Any) -> Any: ...
def divide(a: ArrayLike, b: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ...,
          **options: Any) -> Any: ...
def fma(a: ArrayLike, b: ArrayLike, c: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ...,
       **options: Any) -> Any: ...
def sqrt(a: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ...,
        **options: Any) -> Any: ...
def remainder(a: ArrayLike, b: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ...,
             **options: Any) -> Any: ...
def next_up(a: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ...,
           **options: Any) -> Any: ...
def next_down(a: ArrayLike, format: str | Format | None = ..., rounding: RoundingName = ...,
             **options: Any) -> Any: ...
def compare(a: ArrayLike, b: ArrayLike, format: str | Format | None = ..., *, round: bool = ..., signaling: bool = ...,
            flags: bool = ...) -> Any: ...

class Unit:
    key: str
    architecture: str
    instruction: str
    input: str
    output: str
    kind: Literal["floating_point", "integer", "block_scaled"]
    a_format: str | None
    b_format: str | None
    accumulator: str
    instruction_k: int
    scale_format: str | None
    scale_block: int | None
    evidence: str
    proof: str
    description: str

class Units(list[Unit]): ...

def units(contains: str = ..., *, kind: str | None = ...) -> Units: ...
def unit(name: str | os.PathLike[str]) -> Unit: ...

class Order(NamedTuple):
    split_k: int = ...
    piece_k: int = ...
    slice_k: int = ...
    tile_k: int = ...
    narrow_sums: bool = ...
    promote_every: int = ...

def matmul(a: ArrayLike, b: ArrayLike, c: ArrayLike | None = ..., *, unit: str | Unit,
           order: Order | Mapping[str, int] | None = ..., alpha: float | None = ..., beta: float | None = ...,
           scales: tuple[ArrayLike | None, ArrayLike | None] | None = ..., round: bool | str = ...,
           saturate: bool = ..., policy: str | None = ..., packed: bool = ...) -> Array: ...
def dot(a: ArrayLike, b: ArrayLike, c: float = ..., *, unit: str | Unit,
        order: Order | Mapping[str, int] | None = ..., round: bool | str = ...) -> Any: ...

class Bound:
    model: str
    k: int
    level: str
    groups: int
    gamma: float
    eta: float
    shares: dict[str, float]
    max_absolute: float | None
    max_relative: float | None
    at: list[int] | None
    expected_bias: float
    overflow: str
    atol: float | None
    rtol: float | None
    violations: int | None
    bounds: NDArray[numpy.float64] | None
    largest_ratio: float | None

def bound(unit: str | Unit, a: ArrayLike | None = ..., b: ArrayLike | None = ..., c: ArrayLike | None = ..., *,
          k: int | None = ..., max_a: float | None = ..., max_b: float | None = ..., max_c: float | None = ...,
          d: ArrayLike | None = ..., level: str | None = ..., against: str | Unit = ...,
          order: Order | Mapping[str, int] | None = ..., alpha: float | None = ..., beta: float | None = ...,
          nonnegative: bool = ..., round: bool = ..., policy: str | None = ...) -> Bound: ...

class Explanation:
    unit: str
    text: str
    evidence: str
    exact: str | None
    result: float | None
    steps: list[dict[str, Any]]
    candidates: list[tuple[str, float, str, float]]
    matching: list[str]

class ProductExplanation:
    text: str
    candidates: list[dict[str, Any]]
    tried: int

def explain(a: ArrayLike, b: ArrayLike, c: Any = ..., *, unit: str | Unit, d: Any = ...,
            scales: tuple[ArrayLike, ArrayLike] | None = ..., alpha: float | None = ..., beta: float | None = ...,
            round: bool = ..., policy: str | None = ...) -> Any: ...

class Discovery:
    summation_tree: str
    fused_terms: int
    fraction_bits: int | None
    alignment: str | None
    addend_alignment: str | None
    rounding: str | None
    output_fraction_bits: int
    uses_subnormal_inputs: bool
    evidence: list[str]
    rows: list[str]
    agreeing: list[str]
    description: str | None
    undecided: list[str]
    deterministic: bool

def discover(dot: Callable[[Any, Any, Any], Any], *, input: str | Format = ..., output: str | Format = ..., k: int = ...,
             b_input: str | Format | None = ..., blocks: int = ..., seed: int = ..., fit: bool = ...) -> Discovery: ...

class Recording:
    path: str
    gpu: str
    input: str
    unit: str | None
    @property
    def verified(self) -> bool: ...

def recordings(path: str | os.PathLike[str], *, verify: bool = ...) -> list[Recording]: ...

class Inspection:
    tensors: list[dict[str, Any]]
    skipped: list[dict[str, Any]]
    all: dict[str, Any]
    loss_scale: dict[str, Any]

def inspect(*what: Any, formats: Iterable[str] = ..., target: str = ...) -> Inspection: ...

class Training:
    net: str
    recipe: str
    backend: str
    losses: NDArray[numpy.float64]
    loss_scales: NDArray[numpy.float64]
    skipped: NDArray[numpy.bool_]
    accuracy: float
    weights: dict[str, NDArray[numpy.float32]]
    trace_digest: str
    digests: list[list[str]]
    parameters: list[str]
    remarks: list[str]
    def save(self, file: str | os.PathLike[str]) -> None: ...

def nets() -> dict[str, str]: ...
def train(net: str | os.PathLike[str] | Mapping[str, Any], *, steps: int = ..., recipe: str = ...,
          unit: str | Unit | None = ..., seed: int = ..., data: Any = ..., labels: Any = ...,
          weights: Mapping[str, ArrayLike] | str | os.PathLike[str] | None = ..., batch: int = ...,
          optimizer: str = ..., learning_rate: float = ..., eps: float | None = ..., loss_scale: float | None = ...,
          scaler: str | None = ..., fp32: Iterable[str] = ..., low: Iterable[str] = ..., init: str = ...,
          loss_reduction: Literal["mean", "sum"] = ..., images: int = ...) -> Training: ...
def gradients(net: str | os.PathLike[str] | Mapping[str, Any], x: ArrayLike, dy: ArrayLike, *,
              weights: Mapping[str, ArrayLike] | str | os.PathLike[str] | None = ..., recipe: str = ...,
              unit: str | Unit | None = ..., seed: int = ..., fp32: Iterable[str] = ..., low: Iterable[str] = ...,
              ) -> tuple[NDArray[numpy.float32], dict[str, NDArray[numpy.float32]]]: ...
