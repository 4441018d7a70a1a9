"""Whole runs of the program, asserted by what a person sees."""
