"""Answers, crashes and refusals: fuzzers and proofs."""
