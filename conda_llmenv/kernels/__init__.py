"""Jupyter kernelspecs on this machine: found, read, registered, and removed where they are ours."""
