"""Packing replicas into strips, strips into devices: what several planners are made of."""
