#!/usr/bin/env bash
# Draws the figures of the documents again, from the records in out/ (after ./run.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
cp out/gradient_histogram/shift.svg docs/figures/loss_scale_shift.svg
