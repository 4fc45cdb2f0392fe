"""The Helm chart: what it starts is what there is, and by itself the same as the plain manifest."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.cli.main import _parser

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "helm" / "surplus"
HELM = shutil.which("helm") or shutil.which(Path(sys.executable).with_name("helm"))

helm = pytest.mark.skipif(HELM is None, reason="needs Helm: make deploy-check")


def test_every_option_is_one_of_the_command() -> None:
    text = (CHART / "templates" / "deployment.yaml").read_text()
    options = re.findall(r"^ *- (--[a-z-]+=.*)$", text, re.MULTILINE)
    assert len(options) == 6
    words = ["serve", "/models", *(re.sub(r"{{.*?}}", "1", option) for option in options)]
    _parser(words).parse_args(words)  # ends the process where an option is unknown


@helm
def test_it_passes_helms_own_linter() -> None:
    done = subprocess.run(
        [str(HELM), "lint", "--strict", str(CHART)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@helm
def test_by_itself_it_is_the_plain_manifest() -> None:
    yaml = pytest.importorskip("yaml")
    ours = _rendered()
    plain = {
        one["kind"]: one
        for one in yaml.safe_load_all((DEPLOY / "kubernetes" / "surplus.yaml").read_text())
    }
    assert ours.keys() == plain.keys()
    for found in (ours, plain):
        spec = found["Deployment"]["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        container["args"] = vars(_parser(container["args"]).parse_args(container["args"]))
        for field in ("startupProbe", "readinessProbe"):  # gRPC's cannot be over TLS
            container.pop(field)
        container["livenessProbe"]["httpGet"].pop("scheme", None)
        container.pop("imagePullPolicy", None)
        for one in found.values():
            one.pop("metadata")
        for labelled in (spec, found["Deployment"]["spec"]["template"]):
            labelled.pop("metadata", None)
        found["Deployment"]["spec"].pop("selector")
        found["Service"]["spec"].pop("selector")
        found["Service"]["spec"].setdefault("type", "ClusterIP")
    assert ours == plain


@helm
def test_what_is_asked_for_is_there() -> None:
    found = _rendered(
        "gpus=1",
        "tlsSecret=pair",
        "tokensSecret=",
        "serviceMonitor.enabled=true",
        "options={--slo,resnet50=100ms}",
        "cacheClaim=plans",
    )
    spec = found["Deployment"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    args = _parser(container["args"]).parse_args(container["args"])
    assert (args.tls_cert, args.tls_key) == ("/etc/surplus-tls/tls.crt", "/etc/surplus-tls/tls.key")
    assert (args.tokens, args.slo) == ("", ["resnet50=100ms"])
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    schemes = {probe["httpGet"]["scheme"] for name, probe in container.items() if "Probe" in name}
    assert schemes == {"HTTPS"}
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in spec["volumes"]}
    assert mounted == {"models", "tls", "cache", "tmp"}
    assert found["ServiceMonitor"]["spec"]["endpoints"][0]["scheme"] == "https"


def _rendered(*settings: str) -> dict[str, Any]:
    """Manifests by kind."""
    yaml = pytest.importorskip("yaml")
    words = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run(
        [str(HELM), "template", "surplus", str(CHART), *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}
    return json.loads(json.dumps(found))
