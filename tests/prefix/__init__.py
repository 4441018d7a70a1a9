"""Tests of the life of a prefix."""
