"""The bank's core API on loopback, as it was, as it is after an upgrade, and down."""

from enum import StrEnum

from aiohttp import web

BALANCE = 1234.5


class Format(StrEnum):
    """How the API answers today."""

    AGREED = "agreed"
    RENAMED = "renamed"
    """An upgrade calls `balance` `available_balance`, and tells nobody."""
    DOWN = "down"


class CoreApi:
    """A server whose format can be changed while it runs."""

    def __init__(self) -> None:
        self.format = Format.AGREED
        self.asked = 0
        """Requests so far."""
        app = web.Application()
        app.router.add_get("/accounts/{account}", self._account)
        self._runner = web.AppRunner(app)

    async def start(self) -> str:
        """Listen on a free port; gives the address."""
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0]
        return f"http://{host}:{port}"

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _account(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self.format is Format.DOWN:
            raise web.HTTPServiceUnavailable
        name = "balance" if self.format is Format.AGREED else "available_balance"
        account = request.match_info["account"]
        return web.json_response({"account": account, name: BALANCE, "currency": "USD"})
