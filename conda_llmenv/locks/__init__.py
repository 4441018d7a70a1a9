"""Lockfile formats, one module each: pure text from and to the model."""
