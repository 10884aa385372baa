from typing import Any, Callable, ContextManager, Iterable, Mapping, Sequence
import os
import pathlib

import torch

from . import Mismatch, Order, Quantized, Unit

class Report:
    recipe: str
    backend: str
    path: str
    modules: dict[str, dict[str, Any]]
    first_not_finite: dict[str, Any] | None
    not_emulated: dict[str, int]
    against: Against | None
    lost_updates: dict[str, dict[str, int]]
    left_in_fp32: dict[str, int]
    def to_json(self) -> str: ...
    @property
    def products(self) -> dict[str, int]: ...
    @property
    def overflows(self) -> int: ...
    @property
    def underflows(self) -> int: ...

class Against:
    bound: float
    operations: list[dict[str, Any]]
    first_error: dict[str, Any] | None
    first_not_finite: dict[str, Any] | None
    first_not_finite_in_fp32: dict[str, Any] | None
    updates: dict[str, dict[str, Any]]
    not_followed: dict[str, str]
    def findings(self) -> list[tuple[str, dict[str, Any], str]]: ...
    def to_json(self) -> str: ...

class Emulation(ContextManager["Emulation"]):
    def report(self) -> Report: ...

def recipes() -> dict[str, str]: ...
def emulate(unit: str | Unit = ..., recipe: str | None = ..., *, order: Order | Mapping[str, int] | None = ...,
            fp32: Sequence[str] = ..., modules: Mapping[str, Mapping[str, Any]] | None = ..., strict: bool = ...,
            seed: int = ..., against: str | None = ..., bound: float = ...) -> Emulation: ...
def autocast(unit: str | Unit = ..., dtype: torch.dtype = ..., **options: Any) -> ContextManager[Emulation]: ...
def paused() -> ContextManager[None]: ...

class GradScaler:
    skipped: int
    remark: str | None
    def __init__(self, dialect: str = ..., *, init_scale: float = ..., growth_factor: float = ...,
                 backoff_factor: float = ..., growth_interval: int = ...) -> None: ...
    def scale(self, loss: Any) -> Any: ...
    def get_scale(self) -> float: ...
    def unscale_(self, optimizer: torch.optim.Optimizer) -> None: ...
    def step(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> Any: ...
    def update(self) -> None: ...
    def state_dict(self) -> dict[str, float]: ...
    def load_state_dict(self, state: dict[str, float]) -> None: ...

def quantize_(model: torch.nn.Module, how: str, *, only: Callable[[str, torch.nn.Module], bool] = ...,
              ) -> dict[str, Quantized]: ...

def export(model: torch.nn.Module, file: str | os.PathLike[str], *, shape: Sequence[int], tokens: int | None = ...,
           task: str | None = ..., causal: bool = ..., name: str | None = ...,
           ) -> tuple[dict[str, Any], pathlib.Path]: ...

class Comparison:
    losses: dict[str, list[float]]
    reports: dict[str, Report]
    def plot(self, ax: Any = ...) -> Any: ...

def compare(train: Callable[[Emulation], Iterable[float]], recipes: Sequence[str], *, unit: str | Unit = ...,
            seed: int = ..., strict: bool = ..., **options: Any) -> Comparison: ...

class Invariance:
    invariant: bool
    changes: list[dict[str, Any]]
    first: dict[str, Any] | None
    error: float
    remedies: list[dict[str, Any]]

def invariance(module: torch.nn.Module, shapes: Iterable[int | tuple[int, ...]], *, rule: Any = ..., unit: str = ...,
               recipe: str = ..., seed: int = ...) -> Invariance: ...

class SideMismatch(Mismatch):
    log_probabilities: dict[str, torch.Tensor]
    distance: dict[str, float]
    first: dict[str, Any] | None
    growth_by_module: list[dict[str, Any]]
    def by_module(self, modules: Iterable[str] | None = ...) -> list[dict[str, Any]]: ...
    def remedies(self, head: str | None = ...) -> list[dict[str, Any]]: ...

def mismatch(model: torch.nn.Module, tokens: torch.Tensor, *, a: Mapping[str, Any], b: Mapping[str, Any]) -> SideMismatch: ...

class Search:
    fp32: list[str] | None
    scales: tuple[float, float] | None
    recipe: str | None
    verdict: str
    trials: list[Any]
    complete: bool
    def to_json(self) -> str: ...

def search(step: Callable[..., Any], unit: str | Unit = ..., recipe: str | None = ..., *, model: Any = ...,
           optimizer: torch.optim.Optimizer | None = ..., scaler: Any = ..., bound: float = ...,
           recipes: Sequence[str] = ..., trials: int = ..., progress: bool = ..., **options: Any) -> Search: ...

class Diagnosis:
    kind: str
    cause: str
    evidence: list[str]
    remedy: str
    works: bool | None
    tried: list[tuple[str, bool]]
    against: Against | None
    def to_json(self) -> str: ...

def diagnose(step: Callable[..., Any], unit: str | Unit = ..., recipe: str | None = ..., *, model: Any = ...,
             optimizer: torch.optim.Optimizer | None = ..., scaler: Any = ..., bound: float = ..., trials: int = ...,
             progress: bool = ..., fp32: Sequence[str] = ..., **options: Any) -> Diagnosis: ...

class record:
    written: list[str]
    steps: int
    def __init__(self, model: torch.nn.Module, folder: str | os.PathLike[str], *,
                 optimizer: torch.optim.Optimizer | None = ..., scaler: Any = ...) -> None: ...
    def __call__(self, loss: torch.Tensor | None = ..., always: bool = ..., **kept: Any) -> bool: ...
    def close(self) -> None: ...

class replay:
    autocast: list[str] | None
    args: Any
    kwargs: Any
    kept: Any
    scale: float
    versions: dict[str, Any]
    recorded_loss: float | None
    def __init__(self, folder: str | os.PathLike[str], model: torch.nn.Module, loss: Callable[[Any, Any], Any] = ..., *,
                 optimizer: torch.optim.Optimizer | None = ...) -> None: ...
    def __call__(self, run: Any = ...) -> Any: ...
