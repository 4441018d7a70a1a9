"""Tests of digests and of integrity."""
