"""Tests of conda_llmenv.checks."""
