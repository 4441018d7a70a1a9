"""Solvers and installers of conda packages, each behind the Engine port; import one through the registry."""
