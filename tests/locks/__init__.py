"""Lockfile formats."""
