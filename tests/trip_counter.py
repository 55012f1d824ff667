"""Round trips to a server, counted at the socket."""

from __future__ import annotations

import socket
import socketserver
import threading


class TripCounter:
    """Passes bytes on to a Redis and counts round trips: pieces sent after an answer came."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("redis://").partition(":")
        outer = self
        self.trips = 0
        # After so many trips every connection is cut, and so is each new one.
        self.most: int | None = None

        class Pass(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with socket.create_connection((host, int(port))) as upstream:
                    back = threading.Thread(target=self._back, args=(upstream,))
                    back.start()
                    self._answered = True
                    while data := self.request.recv(65536):
                        if self._answered:
                            outer.trips += 1
                            self._answered = False
                        if outer.most is not None and outer.trips > outer.most:
                            break
                        upstream.sendall(data)
                    upstream.shutdown(socket.SHUT_RDWR)
                    back.join()

            def _back(self, upstream: socket.socket) -> None:
                while data := upstream.recv(65536):
                    self._answered = True
                    self.request.sendall(data)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Pass)
        self._server.daemon_threads = True
        self.url = f"redis://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> TripCounter:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
