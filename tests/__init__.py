"""Tests; a package so that ``python -m tests.channel`` and ``python -m tests.demo`` run from a checkout."""
