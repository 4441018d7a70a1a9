"""Whole-process speed and memory, as ratios of medians of interleaved runs; never asserted in tests."""
