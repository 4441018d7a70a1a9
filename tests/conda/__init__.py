"""Against a real conda: the Python that CONDA_PYTHON names runs it; without one these tests are skipped."""
