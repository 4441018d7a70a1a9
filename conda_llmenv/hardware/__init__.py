"""What runs where: tiers, virtual packages and the plan checks, as pure functions over dated tables."""

from __future__ import annotations
