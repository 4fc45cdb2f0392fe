"""Groups of operators of several models that run side by side: how long they take.

``latency_model`` is what a policy may ask, ``group_times`` the truth that judges it, ``training``
fits both to measured samples.
"""
