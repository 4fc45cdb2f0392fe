"""A gRPC server on an event loop in a thread of its own: what tests of the native client ask."""

import asyncio
import threading

import grpc
import grpc.aio

_METHOD = "/inference.GRPCInferenceService/ModelInfer"
_OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class EchoServer:
    """Answers a request with its own bytes, unless ``answer(bytes, context)`` is another."""

    def __init__(self, options=()):
        self._options = [*_OPTIONS, *options]
        self.requests = []
        self.remaining_s = []
        self.answer = self._echo
        self.address = ("127.0.0.1", 0)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(30)

    async def _echo(self, request, context):
        return request

    async def _serve(self):
        self._loop, self._ends = asyncio.get_running_loop(), asyncio.Event()
        server = grpc.aio.server(options=self._options)
        server.add_generic_rpc_handlers((self._Handlers(self),))
        self.address = ("127.0.0.1", server.add_insecure_port("127.0.0.1:0"))
        await server.start()
        self._ready.set()
        await self._ends.wait()
        await server.stop(grace=None)

    class _Handlers(grpc.GenericRpcHandler):
        def __init__(self, owner):
            self._owner = owner

        def service(self, details):
            if details.method != _METHOD:
                return None
            return grpc.unary_unary_rpc_method_handler(self._owner._called)

    async def _called(self, request, context):
        self.requests.append(request)
        self.remaining_s.append(context.time_remaining())
        return await self.answer(request, context)

    def end(self):
        """From any thread, and more than once."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ends.set)
        if threading.current_thread() is not self._thread:
            self._thread.join()
