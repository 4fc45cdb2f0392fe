"""How layers are computed: loops, in the order and in tiles of sizes that differ by candidate."""

from __future__ import annotations

from surplus.engine.compilation.templates import batched, convolution, dense, rowwise, turned
from surplus.engine.compilation.templates.template import Template
from surplus.engine.compilation.works import Batched, Convolution, Dense, Rowwise, Turned, Work

_TEMPLATES: dict[type[Work], Template] = {
    Convolution: convolution.TEMPLATE,
    Dense: dense.TEMPLATE,
    Batched: batched.TEMPLATE,
    Rowwise: rowwise.TEMPLATE,
    Turned: turned.TEMPLATE,
}


def template_of(work: Work) -> Template:
    """The one for a layer."""
    return _TEMPLATES[type(work)]
