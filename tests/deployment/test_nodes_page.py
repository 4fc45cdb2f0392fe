"""What nodes say is shown, never run."""

from __future__ import annotations

from surplus.engine.deployment.nodes_page import nodes_page


def test_what_a_node_says_is_text() -> None:
    node = {
        "node": "<b>a",
        "kind": "cpu",
        "metrics": "",
        "models": {"<i>net": [1, 2]},
        "load": 0.5,
        "starts": 3,
        "error": "",
        "failed": {"net": "<script>"},
    }
    page = nodes_page([node])
    assert "&lt;b&gt;a" in page
    assert "&lt;i&gt;net 1, 2" in page
    assert "net: &lt;script&gt;" in page
    assert "<script>" not in page
    assert "<b>" not in page
