"""What is run by hand on a machine with an NVIDIA card; see run.sh."""
