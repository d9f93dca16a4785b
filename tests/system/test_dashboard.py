"""Tests of the dashboard: its files, its sessions and, if Chromium and the npm packages are
installed, all of it in that browser (web/test/dashboard.mjs and workflows.mjs).
"""

import gzip
import pathlib
import re
import shutil
import subprocess
import unittest

import harness
import nodes

WEB = pathlib.Path(__file__).parents[2] / "web"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class Files(harness.ServerCase):
    def file(self, path, headers=None):
        """Gets a file, without a check against the API's description, which has no files."""
        return self.api._exchange("GET", path, None, headers or {})

    def names(self):
        page = self.file("/")
        self.assertEqual(page.status, 200)
        return re.findall(r'(?:src|href)="(assets/[^"]+)"', page.body.decode())

    def test_the_page_and_all_that_it_names(self):
        names = self.names()
        self.assertEqual(len(names), 4, names)
        for name in names:
            with self.subTest(name=name):
                reply = self.file("/" + name)
                self.assertEqual(reply.status, 200)
                self.assertEqual(reply.body, (WEB / "dist" / name).read_bytes())
                self.assertIn("immutable", reply.headers["cache-control"])
                again = self.file("/" + name, {"If-None-Match": reply.headers["etag"]})
                self.assertEqual((again.status, again.body), (304, b""))

    def test_compressed_as_the_browser_asks(self):
        name = "/" + next(name for name in self.names() if "/app-" in name)
        plain = self.file(name).body
        for accepted, coding in (
            ("gzip", "gzip"),
            ("gzip, deflate, br", "br"),
            ("br;q=0, gzip;q=0.5", "gzip"),
            ("br;q=0.000", None),
            ("deflate", None),
        ):
            with self.subTest(accepted=accepted):
                reply = self.file(name, {"Accept-Encoding": accepted})
                self.assertEqual(reply.headers.get("content-encoding"), coding)
                self.assertEqual(reply.headers["vary"], "Accept-Encoding")
                if coding == "gzip":
                    self.assertEqual(gzip.decompress(reply.body), plain)
                elif coding == "br":
                    self.assertLess(len(reply.body), len(plain) / 2)
                else:
                    self.assertEqual(reply.body, plain)

    def test_nothing_inline_nothing_foreign(self):
        reply = self.file("/")
        policy = reply.headers["content-security-policy"]
        self.assertNotIn("unsafe", policy)
        for part in (
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "base-uri 'none'",
        ):
            self.assertIn(part, policy)
        self.assertEqual(reply.headers["x-content-type-options"], "nosniff")
        self.assertEqual(reply.headers["referrer-policy"], "no-referrer")
        self.assertEqual(reply.headers["cache-control"], "no-cache")
        page = reply.body.decode()
        self.assertNotRegex(page, r"<script>|<style|style=|\bon\w+=|https?://|base href")

    def test_what_is_not_there(self):
        for path in ("/assets/../index.html", "/assets/x.js", "/index.html", "/assets/"):
            with self.subTest(path=path):
                self.assertEqual(self.file(path).status, 404)
        self.assertEqual(self.api._exchange("POST", "/", b"{}", {}).status, 405)

    def test_a_server_without_tokens_needs_no_session(self):
        reply = self.api.get("/v1/session")
        self.assertEqual(reply.json["required"], False)
        self.assertIn("admin", reply.json["scopes"])
        self.assert_refused(self.api.post("/v1/session", {"token": "x"}), 409, "invalid_state")


class Sessions(harness.MillraceCase):
    @classmethod
    def setUpClass(cls):
        from test_auth import new_token

        cls.token, block = new_token("--name", "all", "--scope", "read", "--scope", "operate")
        cls.server = harness.Server(config=block, token=cls.token)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def browser(self, **headers):
        """A client that sends what a browser's page would, and no token."""
        client = self.new_client(token=None)
        client.token = None
        return client, {"Sec-Fetch-Site": "same-origin", **headers}

    def signed_in(self, origin="http://127.0.0.1"):
        client, headers = self.browser(Origin=origin)
        reply = client.post("/v1/session", {"token": self.token}, headers=headers)
        self.assertEqual(reply.status, 200, reply)
        cookie = reply.headers["set-cookie"]
        return client, reply.json, cookie, {**headers, "Cookie": cookie.split(";")[0]}

    def test_a_cookie_that_no_script_reads(self):
        _, session, cookie, _ = self.signed_in()
        self.assertTrue(session["signed_in"])
        for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"):
            self.assertIn(part, cookie)
        self.assertNotIn("Secure", cookie)
        _, _, cookie, _ = self.signed_in(origin="https://jobs.example.org")
        self.assertTrue(cookie.startswith("__Host-millrace="), cookie)
        self.assertIn("; Secure", cookie)

    def test_changes_need_the_guard_and_the_own_page(self):
        client, session, _, headers = self.signed_in()
        path = "/v1/queues/guarded/pause?create=true"
        guard = {"X-Millrace-Guard": session["guard"]}
        self.assertEqual(client.get("/v1/queues", headers=headers).status, 200)
        for wrong in ({}, {"X-Millrace-Guard": "0" * 32}, {**guard, "Sec-Fetch-Site": "none"}):
            reply = client.post(path, headers={**headers, **wrong})
            self.assert_refused(reply, 403, "forbidden")
        without = {"Cookie": headers["Cookie"], **guard}
        self.assert_refused(client.post(path, headers=without), 403, "forbidden")
        elsewhere = {**without, "Origin": "https://evil.example"}
        self.assert_refused(client.post(path, headers=elsewhere), 403, "forbidden")
        self.assertEqual(client.post(path, headers={**headers, **guard}).status, 200)

    def test_an_end_that_has_come_or_was_changed(self):
        client, _, _, headers = self.signed_in()
        name, value = headers["Cookie"].split("=", 1)
        secret = value.split(".", 1)[1]
        for cookie in (
            f"{name}=1.{secret}",
            f"{name}={secret}",
            f"{name}=x.{secret}",
            f"{name}=",
            f"other={value}",
            f"{name}={value[:-1]}x",
        ):
            with self.subTest(cookie=cookie[:20]):
                reply = client.get("/v1/queues", headers={**headers, "Cookie": cookie})
                self.assertEqual(reply.status, 401, reply)
                self.assertFalse(client.get("/v1/session", headers={**headers, "Cookie": cookie}).json["signed_in"])
        more = {**headers, "Cookie": f"a=b; {headers['Cookie']}; c=d"}
        self.assertEqual(client.get("/v1/queues", headers=more).status, 200)

    def test_a_wrong_token_makes_no_session(self):
        client, headers = self.browser(Origin="http://127.0.0.1")
        reply = client.post("/v1/session", {"token": "mlr_x"}, headers=headers)
        self.assert_refused(reply, 401, "unauthenticated")
        self.assertNotIn("set-cookie", reply.headers)

    def test_signing_out(self):
        client, session, _, headers = self.signed_in()
        reply = client.delete("/v1/session", headers={**headers, "X-Millrace-Guard": session["guard"]})
        self.assertEqual(reply.status, 204)
        self.assertIn("Max-Age=0", reply.headers["set-cookie"])


class Browser(unittest.TestCase):
    def run_in_browser(self, program, server=None):
        if not any(map(shutil.which, BROWSERS)) or not shutil.which("node"):
            print("skipped: the dashboard in a browser: there is no Chromium, or no Node.js")
            self.skipTest("there is no Chromium, or no Node.js")
        if not (WEB / "node_modules" / "playwright-core").is_dir():
            print("skipped: the dashboard in a browser: web/build has not fetched playwright-core")
            self.skipTest("web/build has not fetched playwright-core")
        done = subprocess.run(
            ["node", str(WEB / "test" / program), server or harness.BINARY],
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipIf(harness.STORE == "postgres", "on one store")
class OnSqlite(Browser):
    def test_in_chromium(self):
        self.run_in_browser("dashboard.mjs")

    def test_workflows_in_chromium(self):
        self.run_in_browser("workflows.mjs")

    def test_drills(self):
        """A server with a problem: the cause is found on the overview, and mended from there."""
        self.run_in_browser("drills.mjs")


@unittest.skipUnless(harness.STORE == "postgres", "on one store")
class OnThreeNodes(Browser):
    def run_on_nodes(self, program):
        cluster = nodes.Nodes(3)
        self.addCleanup(cluster.close)
        cluster.start()
        cluster.settle()
        self.run_in_browser(program, cluster[0].url)

    def test_in_chromium(self):
        self.run_on_nodes("dashboard.mjs")

    def test_workflows_in_chromium(self):
        self.run_on_nodes("workflows.mjs")


if __name__ == "__main__":
    harness.main()
