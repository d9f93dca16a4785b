"""A proxy before a server, controlled by this process."""

import asyncio
import contextlib
import threading

END_TIMEOUT_S = 1


class Proxy:
    """Listens on its own port, in its own thread, and opens a connection to the server for each
    incoming one. Subclasses pass the data, in _pass_up and _pass_down, which return to end the
    connection. close() ends the proxy.
    """

    def __init__(self, host, port):
        self.host, self.server_port = host, port
        self.connections = 0  # accepted so far
        self._ways = set()  # the open ones
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.port = server.sockets[0].getsockname()[1]

    def postgres_url(self, direct):
        """The URL of the database at `direct`, through this proxy and without TLS."""
        through = direct.replace(f"{self.host}:{self.server_port}/", f"127.0.0.1:{self.port}/")
        return f"{through}?sslmode=disable&gssencmode=disable"

    def close(self):
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _end(self):
        """Ends the open connections, and waits a moment for them to close."""
        for way in self._ways:
            way.cancel()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        if connections:
            await asyncio.wait(connections, timeout=END_TIMEOUT_S)

    async def _serve(self, client, answers):
        self.connections += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            upstream, server = await asyncio.open_connection(self.host, self.server_port)
            state = {}  # the connection's, for both directions
            ways = [
                asyncio.ensure_future(self._pass_up(client, server, state)),
                asyncio.ensure_future(self._pass_down(upstream, answers, state)),
            ]
            self._ways.update(ways)
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            self._ways.difference_update(ways)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            server.close()
            await self._after(state)
        answers.close()

    async def _after(self, state):
        """Called when a connection has ended."""
