"""Tests of the conda configuration and of channel names."""
