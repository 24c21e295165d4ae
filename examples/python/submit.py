"""Submits a job to an Arbor server, waits for it, and downloads its proof. Standard library only.

    python3 examples/python/submit.py [http://127.0.0.1:8080] [proof.arbor]
"""
import json, sys, time, urllib.request

server = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
out = sys.argv[2] if len(sys.argv) > 2 else "proof.arbor"
body = {"base": {"program": "fibonacci", "n": 1000}, "recursion": {"mode": "chain", "layers": 2}}

def call(path, data=None):
    headers = {"Content-Type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(server + path, data, headers), timeout=60)

job = json.load(call("/v1/jobs", json.dumps(body).encode()))
while job["state"] in ("queued", "running", "cancelling"):
    time.sleep(0.1)
    job = json.load(call(f"/v1/jobs/{job['id']}"))
if job["state"] != "succeeded":
    sys.exit(f"{job['state']}: {job['error']}")
with open(out, "wb") as file:
    file.write(call(f"/v1/jobs/{job['id']}/proof").read())
for layer in json.load(call(f"/v1/jobs/{job['id']}/timings"))["layers"]:
    print(f"{layer['kind']:6} {layer['timings_ms']['total']:8.1f} ms {layer['proof_bytes']:8} bytes")
print("next: arbor verify", out)
