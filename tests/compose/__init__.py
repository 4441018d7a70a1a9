"""Tests of the composing core."""
