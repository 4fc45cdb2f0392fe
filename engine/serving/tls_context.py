"""A server's side of TLS by Python's sockets; says which file does not do, and why."""

from __future__ import annotations

import ssl
from pathlib import Path

from surplus.engine.errors import ConfigError
from surplus.engine.serving.tls_files import TlsFiles

_CERTIFICATE = "-----BEGIN CERTIFICATE-----"
_KEYS = tuple(f"-----BEGIN {kind}PRIVATE KEY-----" for kind in ("", "RSA ", "EC "))
_ENCRYPTED = ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED")


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """TLS as these files have it; reads all of them.

    Raises
    ------
    ConfigError
        If one does not do; the message names it and says why.
    """
    _check_certificates("--tls-cert", files.certificate)
    _check_key(files.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(files.certificate, files.key, password=lambda: "")
    except (ssl.SSLError, OSError) as error:
        why = _reason(error)
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            why = f"it is not the key of the certificate in {files.certificate}"
        raise ConfigError(f"--tls-key {files.key}: {why}") from None
    if files.client_ca:
        _check_certificates("--tls-client-ca", files.client_ca)
        context.load_verify_locations(files.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _text(option: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise ConfigError(f"{option} {path}: {error.strerror}") from None


def _check_certificates(option: str, path: str) -> None:
    if _CERTIFICATE not in _text(option, path):
        raise ConfigError(f"{option} {path}: there is no certificate in it, as PEM has them")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(path)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"{option} {path}: {_reason(error)}") from None


def _check_key(path: str) -> None:
    text = _text("--tls-key", path)
    if any(mark in text for mark in _ENCRYPTED):
        raise ConfigError(f"--tls-key {path}: it has a passphrase, which nobody would enter")
    if not any(mark in text for mark in _KEYS):
        raise ConfigError(f"--tls-key {path}: there is no private key in it, as PEM has them")


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or str(error)
    return f"OpenSSL cannot read it ({str(reason).replace('_', ' ').lower()})"
