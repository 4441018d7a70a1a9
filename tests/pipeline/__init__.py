"""Tests of :mod:`conda_llmenv.pipeline`."""
