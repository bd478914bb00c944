"""The console of a server, as a browser opens it: VNC in a WebSocket."""

import base64
import os
import socket
import ssl

from apis import AUTHORITY


def opens(url, path):
    """The version of a console's protocol, once QEMU has let the proxy in; nothing until then. The proxy greets for QEMU before that."""
    context = ssl.create_default_context(cafile=AUTHORITY)
    key = base64.b64encode(os.urandom(16)).decode()
    read = bytearray()
    try:
        with socket.create_connection((url.hostname, url.port or 443), 30) as plain:
            with context.wrap_socket(plain, server_hostname=url.hostname) as connection:
                connection.sendall(
                    f"GET /{path} HTTP/1.1\r\nHost: {url.netloc}\r\nOrigin: https://{url.netloc}\r\nConnection: Upgrade\r\n"
                    f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: binary\r\n"
                    f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
                )
                while b"\r\n\r\n" not in read:
                    receive(connection, read)
                del read[: read.index(b"\r\n\r\n") + 4]
                version = message(connection, read)
                reply(connection, version)
                # Of one way to authenticate, none.
                if message(connection, read) != b"\1\1":
                    return None
                reply(connection, b"\1")
                return version.decode().strip() if message(connection, read) == bytes(4) else None
    except OSError:
        return None


def receive(connection, read):
    part = connection.recv(4096)
    if not part:
        raise OSError("the console has closed the connection")
    read += part


def message(connection, read):
    """The next message of a WebSocket from a server, which is short. The proxy sends an empty one before it leaves the rest to QEMU."""
    content = b""
    while not content:
        while len(read) < 2 or len(read) < 2 + read[1]:
            receive(connection, read)
        end = 2 + read[1]
        content = bytes(read[2:end])
        del read[:end]
    return content


def reply(connection, content):
    """Sends a short message with a mask of zeros."""
    connection.sendall(bytes([0x82, 0x80 | len(content)]) + bytes(4) + content)
