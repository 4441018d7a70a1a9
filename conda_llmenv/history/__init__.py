"""Reports of the validation ladder on disk: in the environment they are about, and in a folder of a person or team."""
