"""Tests of the pip section."""
