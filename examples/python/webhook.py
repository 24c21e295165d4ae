"""Receives the messages of an Arbor server about jobs, and checks who sent them. Standard library only.

    WEBHOOK_SECRET=whsec_… python3 examples/python/webhook.py [8000]
"""
import base64, hashlib, hmac, http.server, json, os, sys, time

secret = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

def is_genuine(headers, body):
    name, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > 300:
        return False  # Too old: somebody may have recorded it.
    digest = hmac.new(secret, f"{name}.{sent}.".encode() + body, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    signatures = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(expected, signature) for signature in signatures)

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        genuine = is_genuine(self.headers, body)
        self.send_response(204 if genuine else 401)
        self.end_headers()
        if genuine:
            message = json.loads(body)
            print(message["type"], message["data"]["id"], message["data"].get("proof"), flush=True)

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Receiver).serve_forever()
