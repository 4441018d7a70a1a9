"""Tests of conda_llmenv.probes."""
