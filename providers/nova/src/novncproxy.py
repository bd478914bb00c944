"""nova-novncproxy, which also takes connections of proxies that name the protocol of the WebSocket.

The header Origin of a browser has the protocol of the page, https. X-Forwarded-Proto wins, in which Traefik writes wss, and Nova compares
it with the protocol of the console's URL. For serial consoles Nova itself takes wss for https.
"""

import sys

from nova.cmd import novncproxy
from nova.console import websocketproxy

OF_PAGES = {"ws": "http", "wss": "https"}
HANDLER = websocketproxy.NovaProxyRequestHandler
VERIFY = HANDLER.verify_origin_proto


def verify_origin_proto(self, connect_info, protocol):
    return VERIFY(self, connect_info, OF_PAGES.get(protocol, protocol))


HANDLER.verify_origin_proto = verify_origin_proto
sys.exit(novncproxy.main())
