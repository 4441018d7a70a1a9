"""Runs with the Python of an environment, or as a program of its own: the standard library and what is there."""
