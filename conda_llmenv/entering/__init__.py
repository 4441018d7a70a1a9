"""What ``conda activate`` would do, worked out without conda: by this program, and by each kernel when it starts.

The modules are copied beside a kernelspec and run there by the environment's own Python, from 3.8 on: they need the
standard library alone, and load little of it.
"""
