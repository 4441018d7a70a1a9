"""Tests of what a log shows."""
