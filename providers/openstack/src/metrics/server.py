class Handler(http.server.BaseHTTPRequestHandler):
    timeout = PATIENCE

    def do_GET(self):
        if self.path != "/metrics":
            self.send_error(404)
            return
        text = "".join(f"{line}\n" for line in lines(said())).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        """Who asked is nothing to tell."""


class Server(socketserver.TCPServer):
    # Not http.server's own, which asks for this host's name, and waits where nobody answers.
    allow_reuse_address = True


# The first process of a container isn't ended by a signal that it doesn't handle.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
Server(("", PORT), Handler).serve_forever()
