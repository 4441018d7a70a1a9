"""Kernels on other hosts, over the system's OpenSSH."""
