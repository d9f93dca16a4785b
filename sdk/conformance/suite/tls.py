"""A TLS front of a way, with a certificate of its own CA."""

import pathlib
import select
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading

CONFIG = """
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = Conformance
[extensions]
subjectAltName = DNS:localhost,IP:127.0.0.1
basicConstraints = critical,CA:true
keyUsage = critical,digitalSignature,keyCertSign
extendedKeyUsage = serverAuth
"""


class TlsFront:
    """Listens at https://localhost:PORT and passes the decrypted data to a port of 127.0.0.1."""

    def __init__(self, port):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-tls-"))
        self.ca_file = str(self.home / "ca.pem")
        self.behind = port
        self.connections = 0  # so far, also those whose handshake failed
        (self.home / "config").write_text(CONFIG)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            + ["-nodes", "-days", "2", "-config", "config", "-keyout", "key.pem", "-out", "ca.pem"],
            cwd=self.home,
            check=True,
            capture_output=True,
        )
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.ca_file, self.home / "key.pem")
        self.context.set_alpn_protocols(["http/1.1"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://localhost:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def _accept(self):
        while True:
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._pass, args=(raw,), daemon=True).start()

    def _pass(self, raw):
        try:
            with self.context.wrap_socket(raw, server_side=True) as client:
                with socket.create_connection(("127.0.0.1", self.behind)) as server:
                    self._pump(client, server)
        except (OSError, ssl.SSLError):
            raw.close()

    @staticmethod
    def _pump(client, server):
        while True:
            ready = [client] if client.pending() else select.select([client, server], [], [], 60)[0]
            if not ready:
                return
            for source in ready:
                data = source.recv(65_536)
                if not data:
                    return
                (server if source is client else client).sendall(data)
