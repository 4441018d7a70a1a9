"""The demonstration: ``python -m tests.demo FOLDER``."""
