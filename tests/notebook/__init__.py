"""Tests of the Jupyter server for a laptop, and of the tunnel to it."""
