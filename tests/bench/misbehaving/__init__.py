"""Units of the GPU check as a GPU may make them behave; each is a process."""
