"""Models of today, small, run unmodified under emulation; models_table.py prints the table of larger ones."""

import pytest

pytest.importorskip("torch")

import models_table  # noqa: E402


@pytest.mark.parametrize("name, recipe", [*((name, "bf16") for name in models_table.MODELS),
                                          *((name, "types") for name in ("Llama", "Mixtral", "Whisper", "U-Net"))])
def test_models_run_unmodified(name, recipe):
    """Forward, backward and a step of the optimizer in bf16, with every product in the unit's arithmetic."""
    if name != "U-Net":
        pytest.importorskip("transformers")
    row = models_table.row(name, layers=2, width=64, recipe=recipe)
    assert row["works"], row
    assert row["missed"] == 0 and row["error"] < 4 * row["error_of_casts"], row
