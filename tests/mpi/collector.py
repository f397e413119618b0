# SPDX-License-Identifier: Apache-2.0
"""Takes OTLP/JSON: `collector.py ADDRESS PORT FILE` appends each request's path and body to a file, as lines."""

import http.server
import sys
import threading

ADDRESS, PORT, FILE = sys.argv[1:]
LOCK = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with LOCK, open(FILE, "ab") as file:
            file.write(self.path.encode() + b" " + body + b"\n")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer((ADDRESS, int(PORT)), Handler)
print("listening", flush=True)
server.serve_forever()
