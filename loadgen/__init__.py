"""Load generator for Open Inference Protocol servers and for callables in process.

It stands alone: nothing of the engine is imported, so that it can judge any server.
"""
