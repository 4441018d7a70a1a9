"""Tests of kernels on other hosts, against real ssh servers on the loopback interface."""
