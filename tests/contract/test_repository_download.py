"""Downloads over real TLS from a server on loopback: redirects, limits, addresses."""

from __future__ import annotations

import io
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from plumbline.errors import ArchiveRefused, NotFound, RepositoryUnreachable
from plumbline.index.download import Downloader
from plumbline.index.public_hosts import is_public, resolve

HOST = "git.example.org"
BODY = bytes(range(256)) * 4000


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    routes: ClassVar[dict[str, Callable[[Handler], None]]] = {}
    seen: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        self.seen.append((self.headers["host"], self.path))
        self.routes.get(self.path.partition("?")[0], missing)(self)

    def log_message(self, *args: object) -> None:
        pass


def missing(handler: Handler) -> None:
    handler.send_error(404)


def body(handler: Handler, data: bytes = BODY, length: int | None = None) -> None:
    handler.send_response(200)
    handler.send_header("content-length", str(len(data) if length is None else length))
    handler.end_headers()
    handler.wfile.write(data)
    if length is not None:
        handler.close_connection = True


def chunked(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for start in range(0, len(BODY), 65_536):
        piece = BODY[start : start + 65_536]
        handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    handler.wfile.write(b"0\r\n\r\n")


def to(location: str, status: int = 302) -> Callable[[Handler], None]:
    def redirect(handler: Handler) -> None:
        handler.send_response(status)
        handler.send_header("location", location.replace("PORT", str(handler.server.server_port)))  # type: ignore[attr-defined]
        handler.send_header("content-length", "0")
        handler.end_headers()

    return redirect


def hang_up(handler: Handler) -> None:
    handler.close_connection = True


def status(code: int) -> Callable[[Handler], None]:
    return lambda handler: handler.send_error(code)


Handler.routes = {
    "/a.tar.gz": body,
    "/chunked": chunked,
    "/short": lambda handler: body(handler, BODY[:1000], length=2000),
    "/moved": to("/a.tar.gz", 301),
    "/codeload": to("https://codeload.git.example.org:PORT/a.tar.gz"),
    "/loop": to("/loop"),
    "/plain": to("http://git.example.org:PORT/a.tar.gz"),
    "/elsewhere": to("https://evil.example.com:PORT/a.tar.gz"),
    "/inside": to("https://internal.git.example.org:PORT/a.tar.gz"),
    "/metadata": to("https://169.254.169.254/latest/meta-data"),
    "/nowhere": to(""),
    "/hang": hang_up,
    "/private": status(403),
    "/broken": status(503),
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(HOST), x509.DNSName(f"*.{HOST}")]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def port(certificate: Path) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    Handler.seen.clear()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


class Names:
    """A resolver that knows where the server is, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return ["10.0.0.7"] if host.startswith("internal.") else ["127.0.0.1"]


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def downloader(certificate: Path, names: Names) -> Downloader:
    return Downloader(
        [HOST],
        max_bytes=2_000_000,
        timeout=5,
        resolver=names,
        public=lambda address: address == "127.0.0.1",
        context=ssl.create_default_context(cafile=str(certificate)),
    )


@pytest.mark.parametrize("path", ["a.tar.gz", "chunked", "moved", "codeload", "a.tar.gz?x=1"])
def test_an_archive_is_downloaded(downloader: Downloader, port: int, path: str) -> None:
    file = io.BytesIO()
    assert downloader.download(f"https://{HOST}:{port}/{path}", file) == len(BODY)
    assert file.getvalue() == BODY


def test_the_name_is_resolved_once_a_host_and_the_checked_address_used(
    downloader: Downloader, port: int, names: Names
) -> None:
    downloader.download(f"https://{HOST}:{port}/codeload", io.BytesIO())
    assert names.asked == [HOST, f"codeload.{HOST}"]
    assert [host for host, _ in Handler.seen] == [f"{HOST}:{port}", f"codeload.{HOST}:{port}"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("loop", "redirects too often"),
        ("plain", "no https address of a host that is configured"),
        ("elsewhere", "evil.example.com is no https address"),
        ("inside", "internal.git.example.org is not on the public internet"),
        ("metadata", "169.254.169.254 is no https address"),
        ("short", "did not answer"),
        ("hang", "did not answer"),
        ("broken", "answered with status 503"),
        ("nowhere", "answered with status 302"),
    ],
)
def test_what_does_not_answer_as_it_should_is_unreachable(
    downloader: Downloader, port: int, path: str, message: str
) -> None:
    with pytest.raises(RepositoryUnreachable, match=message):
        downloader.download(f"https://{HOST}:{port}/{path}", io.BytesIO())


@pytest.mark.parametrize("path", ["missing", "private"])
def test_what_is_not_there_is_not_found(downloader: Downloader, port: int, path: str) -> None:
    with pytest.raises(NotFound, match="no such repository or ref, or it is private"):
        downloader.download(f"https://{HOST}:{port}/{path}", io.BytesIO())


@pytest.mark.parametrize("path", ["a.tar.gz", "chunked"])
def test_a_body_over_the_limit_is_refused(
    certificate: Path, names: Names, port: int, path: str
) -> None:
    small = Downloader(
        [HOST],
        max_bytes=500_000,
        resolver=names,
        public=lambda address: True,
        context=ssl.create_default_context(cafile=str(certificate)),
    )
    file = io.BytesIO()
    with pytest.raises(ArchiveRefused, match="larger than 500,000 bytes"):
        small.download(f"https://{HOST}:{port}/{path}", file)
    assert len(file.getvalue()) <= 500_000


def test_a_download_that_takes_too_long_is_ended(
    certificate: Path, names: Names, port: int
) -> None:
    hasty = Downloader(
        [HOST],
        deadline=-1,
        resolver=names,
        public=lambda address: True,
        context=ssl.create_default_context(cafile=str(certificate)),
    )
    with pytest.raises(RepositoryUnreachable, match="took too long"):
        hasty.download(f"https://{HOST}:{port}/a.tar.gz", io.BytesIO())


def test_a_reader_may_stop_early(downloader: Downloader, port: int) -> None:
    with downloader.stream(f"https://{HOST}:{port}/chunked") as pieces:
        assert next(pieces)


def test_an_address_that_does_not_answer_is_passed_over(certificate: Path, port: int) -> None:
    patient = Downloader(
        [HOST],
        timeout=2,
        # Nothing listens on the first.
        resolver=lambda host, port: ["::1", "127.0.0.1"],
        public=lambda address: True,
        context=ssl.create_default_context(cafile=str(certificate)),
    )
    assert patient.download(f"https://{HOST}:{port}/a.tar.gz", io.BytesIO()) == len(BODY)


def test_a_certificate_of_another_name_is_not_taken(certificate: Path, port: int) -> None:
    other = Downloader(
        ["other.example.org"],
        resolver=lambda host, port: ["127.0.0.1"],
        public=lambda address: True,
        context=ssl.create_default_context(cafile=str(certificate)),
    )
    with pytest.raises(RepositoryUnreachable, match="did not answer"):
        other.download(f"https://other.example.org:{port}/a.tar.gz", io.BytesIO())


def test_a_certificate_of_nobody_is_not_taken(names: Names, port: int) -> None:
    strict = Downloader([HOST], resolver=names, public=lambda address: True)
    with pytest.raises(RepositoryUnreachable, match="did not answer"):
        strict.download(f"https://{HOST}:{port}/a.tar.gz", io.BytesIO())
    assert Handler.seen == []


def test_a_name_with_one_internal_address_is_refused(certificate: Path, port: int) -> None:
    mixed = Downloader([HOST], resolver=lambda host, port: ["8.8.8.8", "10.0.0.1"])
    with pytest.raises(RepositoryUnreachable, match="not on the public internet"):
        mixed.download(f"https://{HOST}:{port}/a.tar.gz", io.BytesIO())


@pytest.mark.parametrize(
    "address",
    [
        "http://git.example.org/a",
        "https://example.org/a",
        "https://git.example.org.evil.com/a",
        "https://evilgit.example.org/a",
        "https://user@git.example.org/a",
        "https://git.example.org:x/a",
        "ftp://git.example.org/a",
        "file:///etc/passwd",
    ],
)
def test_an_address_of_no_configured_host_is_not_asked(address: str) -> None:
    asked: list[str] = []

    def never(host: str, port: int) -> list[str]:
        asked.append(host)
        return []

    with pytest.raises(RepositoryUnreachable):
        Downloader([HOST], resolver=never).download(address, io.BytesIO())
    assert asked == []


def test_a_name_that_is_nowhere_is_told() -> None:
    def nowhere(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    with pytest.raises(RepositoryUnreachable, match="cannot be found"):
        Downloader([HOST], resolver=nowhere).download(f"https://{HOST}/a", io.BytesIO())


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "140.82.121.3", "2606:50c0:8000::153", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        "2001:db8::1",
        "nonsense",
        "",
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_the_systems_resolver_gives_addresses() -> None:
    assert "127.0.0.1" in resolve("127.0.0.1", 443)
