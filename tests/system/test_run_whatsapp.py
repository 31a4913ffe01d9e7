"""`barnacle run` with a number at WhatsApp: asked whether it is meant, paired, and killed."""

import asyncio
import re
from pathlib import Path

from agent.channels.whatsapp.events import verify_token
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.whatsapp_server import APP_SECRET, NUMBER_ID, TOKEN, WhatsAppServer, running
from tests.waits import wait_until


def config(server: WhatsAppServer) -> str:
    return (
        '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'
        f'[gateway]\nlisten = "127.0.0.1:{server.gateway_port}"\n'
        f'[channels.whatsapp]\nbase_url = "{server.url}"\nphone_number_id = "{NUMBER_ID}"\n'
        f'token = "{TOKEN}"\napp_secret = "{APP_SECRET}"\n'
    )


def told(server: WhatsAppServer, wanted: str) -> int:
    texts = [one["text"]["body"] for one in server.sent if one["type"] == "text"]
    return len([text for text in texts if wanted in text])


async def test_a_conversation_goes_on_after_a_kill_and_nothing_is_answered_twice(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    async with running() as server:
        server.gateway_port = unused_tcp_port
        with DaemonProcess(tmp_path, config(server)) as agent:
            await wait_until(lambda: re.search(r"/pair ([A-Z0-9-]+)", agent.log()))
            code = re.search(r"/pair ([A-Z0-9-]+)", agent.log())
            assert code is not None
            query = f"hub.mode=subscribe&hub.verify_token={verify_token(APP_SECRET)}"
            shown = await server.ask("GET", f"/whatsapp?{query}&hub.challenge=4711")
            assert (shown.status, shown.said) == (200, "4711")
            await server.say(code[0])
            await wait_until(lambda: told(server, "owner"))
            await server.say("what time is it?")
            asked = server.last
            await wait_until(lambda: told(server, "It is ") == 1)
            await wait_until(agent.has_recorded)
            # What comes now comes again until somebody is there
            agent.kill()
            await server.say("/help")
            await asyncio.to_thread(agent.start)
            await wait_until(lambda: told(server, "/pair"))
            answered = told(server, "It is ")
            await server.post(asked)
            await server.say("what is the time?")
            await wait_until(lambda: told(server, "It is ") > answered)
            assert await asyncio.to_thread(agent.stop) == 0
            assert told(server, "It is ") == answered + 1
            assert not [text for text in (TOKEN, APP_SECRET, "Traceback") if text in agent.log()]
