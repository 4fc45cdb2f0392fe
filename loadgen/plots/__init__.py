"""Plots of results, one a file; ``PLOTS`` knows them by name."""

from surplus.loadgen.plots.cdf import draw_cdf as draw_cdf
from surplus.loadgen.plots.latency_over_load import draw_latency_over_load as draw_latency_over_load
from surplus.loadgen.plots.plot import PLOTS as PLOTS
from surplus.loadgen.plots.timeline import draw_timeline as draw_timeline
