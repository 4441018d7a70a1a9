"""Jupyter servers in an environment, reachable from this machine alone, and the tunnels that lead to them."""
