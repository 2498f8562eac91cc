#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
at_host.py - stands in for ssh between the guest and its host: runs commands there, over TCP.

    at_host.py serve ADDRESS PORT COMMAND...    on the host; what comes is appended to COMMAND
    at_host.py ask ADDRESS PORT WORD...         in the guest; prints the output, exits with the status
"""
import json
import socket
import socketserver
import subprocess
import sys


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        words = json.loads(self.rfile.readline())
        run = subprocess.run(self.server.command + words, check=False, capture_output=True, text=True)
        answer = {"status": run.returncode, "output": run.stdout, "errors": run.stderr}
        self.wfile.write(json.dumps(answer).encode() + b"\n")


def serve(address, command):
    socketserver.TCPServer.allow_reuse_address = True
    with socketserver.ThreadingTCPServer(address, Handler) as server:
        server.command = command
        print("serving", flush=True)
        server.serve_forever()


def ask(address, words):
    with socket.create_connection(address) as connection, connection.makefile("rw") as stream:
        stream.write(json.dumps(words) + "\n")
        stream.flush()
        answer = json.loads(stream.readline())
    sys.stdout.write(answer["output"])
    sys.stderr.write(answer["errors"])
    return answer["status"]


if __name__ == "__main__":
    role, host, port, *rest = sys.argv[1:]
    sys.exit(serve((host, int(port)), rest) if role == "serve" else ask((host, int(port)), rest))
