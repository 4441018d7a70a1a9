"""Tests of conda_llmenv.hardware."""
