"""A TCP server that says what it was told to: for clients that must bear anything."""

import socket
import threading


class ScriptedServer:
    """Calls ``talk(connection, number)`` for each connection, in a thread of its own."""

    def __init__(self, talk):
        self._talk = talk
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = self._listening.getsockname()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self):
        number = 0
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # end() was called
                return
            thread = threading.Thread(target=self._talk_and_close, args=(connection, number))
            self._threads.append(thread)
            thread.start()
            number += 1

    def _talk_and_close(self, connection, number):
        with connection:
            try:
                self._talk(connection, number)
            except OSError:  # the client went away
                return

    def end(self):
        """May be called again."""
        if self._listening.fileno() < 0:
            return
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()


def read_request(connection):
    """One HTTP/1.1 request with a Content-Length, or b"" if there is none any more."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line.lower() for line in head.split(b"\r\n")]
    length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length"))
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
