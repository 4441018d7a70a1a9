"""Is an environment what its records say, and is it the same as another one? Reads every file, writes none."""
