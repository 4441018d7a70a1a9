"""Tests of conda_llmenv.host."""
