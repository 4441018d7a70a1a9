"""Tests of the engines against real packages, over ``file://`` and HTTP."""
