"""What ``loadgen`` does, a verb a file."""
