"""Limits of what is measured on a device, each with what it was calibrated against.

The errors were measured with torch 2.13 on processors with AVX-512. Relative to the precision of a type they do not
depend on the size of the matrices (256 to 4096), since they are norms over all elements; element by element a right
product of float32 can be off by a factor of two where terms cancel.
"""

from __future__ import annotations

MATMUL = {"fp32": 5e-6, "tf32": 2e-3, "bf16": 1e-2, "fp16": 2e-3}
"""Frobenius error relative to float64 of the rounded inputs; measured: fp32 3.5e-7, bf16 1.7e-3, fp16 2.1e-4.

TF32 rounds its inputs to the 10 bits of float16, once more than the reference does."""

REFERENCE = 1e-12
"""Error of the float64 product by vectors of signs; measured 5e-16."""

GRADIENT = {"bf16": 5e-2, "fp16": 1e-2}
"""Error of the first gradients under autocast relative to float32; measured: bf16 5.0e-3, fp16 6.3e-4."""

ATTENTION = {"bf16": 2e-2, "fp16": 4e-3}
"""Error of fused attention relative to float64 of the rounded inputs; measured: bf16 2.1e-3, fp16 2.7e-4."""

COMPILED = 1e-5
"""Absolute difference of a compiled ``relu(2 x + 1)`` from the plain one for |x| ≤ 3; measured 0."""

SLOW_CARD = 0.75
"""Share of the median speed of the cards of one name below which a card is called slow."""

ALLOCATED = 0.85
"""Share of a card's free memory that has to be had; the probe asks for 0.9 of it less two chunks."""

FLASH = 4e-3
"""Error of flash-attn's outputs and gradients in float16 relative to float64: that of attention, see above."""
