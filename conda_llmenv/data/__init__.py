"""Data files that ship with the package; read through :mod:`importlib.resources`."""
