"""Triton Inference Server as a peer: what nvidia-pytriton carries, without pytriton."""
