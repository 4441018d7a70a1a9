"""Tests of kernelspecs."""
