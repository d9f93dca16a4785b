"""Tests of the configuration: a flag overrides the environment, which overrides the file, which
overrides the default. A typing error is always reported.
"""

import json

import harness


class ConfigCase(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.home = self.new_server().home
        self.file = self.home / "a.toml"

    def show(self, *args, **env):
        """{key: (value, where from)} as `config show` prints them."""
        shown = harness.run("config", "show", "-o", "json", *args, env=harness.environment(**env), cwd=self.home)
        self.assertEqual(shown.returncode, 0, shown)
        return {entry["key"]: (entry["value"], entry["source"]) for entry in json.loads(shown.stdout)}

    def refused(self, *args, words=(), **env):
        shown = harness.run("config", "show", *args, env=harness.environment(**env), cwd=self.home)
        self.assertEqual(shown.returncode, 78, shown)
        self.assertEqual(shown.stdout, "")
        for word in words:
            self.assertIn(word, shown.stderr)


class Settings(ConfigCase):
    def test_the_defaults(self):
        settings = self.show()
        for key, value in (
            ("listen", "127.0.0.1:7600"),
            ("data", "./data"),
            ("drain", "10s"),
            ("log_level", "info"),
            ("log_format", "text"),
            ("limits.body", "16MiB"),
            ("limits.payload", "1MiB"),
            ("limits.header_block", "16KiB"),
            ("limits.headers", "64"),
            ("limits.target", "8KiB"),
            ("limits.json_depth", "64"),
            ("limits.header_timeout", "5s"),
            ("limits.idle_timeout", "1m"),
            ("limits.idempotency_window", "1d"),
            ("retention.succeeded", "1d"),
            ("retention.dead", "30d"),
        ):
            self.assertEqual(settings[key], (value, "default"), key)

    def test_each_key_tells_its_type_default_and_meaning(self):
        shown = harness.run("config", "show", "-o", "json", env=harness.environment(), cwd=self.home)
        keys = {entry["key"]: entry for entry in json.loads(shown.stdout)}
        for key, entry in keys.items():
            self.assertTrue(entry["type"] and entry["help"], key)
            self.assertEqual(entry["default"], entry["value"], key)
        self.assertEqual(keys["drain"]["type"], "duration, 0s to 1h")
        self.assertEqual(keys["limits.headers"]["type"], "whole number, 8 to 1000")

    def test_who_wins(self):
        self.file.write_text('drain = "1s"\nlog_level = "warn"\ndata = "./of-the-file"\n[limits]\nheaders = 20\n')
        settings = self.show(
            "--config",
            self.file,
            "--drain",
            "3s",
            MILLRACE_DRAIN="2s",
            MILLRACE_LOG_LEVEL="error",
            MILLRACE_LIMITS_HEADERS="30",
        )
        self.assertEqual(
            [settings[key][0] for key in ("drain", "log_level", "data", "limits.headers", "listen")],
            ["3s", "error", "./of-the-file", "30", "127.0.0.1:7600"],
        )
        for key, words in (
            ("drain", "--drain"),
            ("log_level", "MILLRACE_LOG_LEVEL"),
            ("data", str(self.file)),
            ("limits.headers", "MILLRACE_LIMITS_HEADERS"),
            ("listen", "default"),
        ):
            self.assertIn(words, settings[key][1])

    def test_the_file_can_be_named_by_the_environment(self):
        self.file.write_text('drain = "4s"\n')
        self.assertEqual(self.show(MILLRACE_CONFIG=self.file)["drain"][0], "4s")
        other = self.home / "b.toml"
        other.write_text('drain = "5s"\n')
        self.assertEqual(self.show("--config", other, MILLRACE_CONFIG=self.file)["drain"][0], "5s")

    def test_every_key_is_a_flag_and_a_variable(self):
        for key, (value, _) in self.show().items():
            flag = "--" + key.replace(".", "-").replace("_", "-")
            variable = "MILLRACE_" + key.replace(".", "_").upper()
            self.assertIn(flag, self.show(flag, value)[key][1], key)
            self.assertIn(variable, self.show(**{variable: value})[key][1], key)

    def test_unknown_keys_are_refused_with_a_suggestion(self):
        for text, wrong, right in (
            ('lissten = "a"\n', "lissten", "listen"),
            ("[limits]\npaylod = 5\n", "paylod", "payload"),
            ('[retention]\nsuceeded = "1d"\n', "suceeded", "succeeded"),
            ("[limit]\nbody = 5\n", "limit", "limits"),
        ):
            with self.subTest(text=text):
                self.file.write_text(text)
                self.refused("--config", self.file, words=(wrong, right, str(self.file)))
        self.refused(words=("MILLRACE_LISTENN", "MILLRACE_LISTEN"), MILLRACE_LISTENN="x")

    def test_the_clients_variables_are_no_errors(self):
        self.show(
            MILLRACE_URL="http://x",
            MILLRACE_TOKEN="t",
            MILLRACE_JOB_ID="j",
            MILLRACE_JOB_ANYTHING="y",
        )

    def test_values_that_are_none(self):
        for text in (
            'drain = "soon"\n',
            "drain = -1\n",
            'listen = "nowhere"\n',
            'listen = "127.0.0.1:99999"\n',
            'log_level = "loud"\n',
            '[limits]\nbody = "16 elephants"\n',
            "[limits]\nheaders = 0\n",
            "[limits]\njson_depth = 1000000\n",
            "listen = 5\n",
            "data = \n",
            "= 5\n",
            '[retention]\nsucceeded = "-1s"\n',
        ):
            with self.subTest(text=text):
                self.file.write_text(text)
                self.refused("--config", self.file, words=(str(self.file),))
        self.refused("--config", self.home / "nowhere.toml", words=("nowhere.toml",))

    def test_all_faults_are_told_at_once(self):
        self.file.write_text('drain = "soon"\nlog_level = "loud"\ncolour = "red"\n')
        self.refused("--config", self.file, words=("drain", "log_level", "colour"))

    def test_token_tables(self):
        made = harness.run("token", "new", "--name", "n", "--scope", "read").stdout
        good = made[made.index("[[tokens]]") :]
        digest = good.split("sha256:")[1][:64]
        for bad, word in (
            (good.replace('"read"', '"everything"'), "everything"),
            (good.replace("sha256:", "md5:"), "hash"),
            (good.replace('name = "n"\n', ""), "name"),
            (good + 'colour = "red"\n', "colour"),
            (good + good, "n"),
            (good + 'expires_at = "whenever"\n', "expires_at"),
        ):
            with self.subTest(bad=bad):
                self.file.write_text(bad)
                self.refused("--config", self.file, words=(word,))
        self.file.write_text(good)
        self.assertNotIn(digest, str(self.show("--config", self.file)))

    def test_serve_refuses_what_show_refuses(self):
        self.file.write_text("colour = 1\n")
        served = harness.run("serve", "--config", self.file, env=harness.environment(), cwd=self.home)
        self.assertEqual(served.returncode, 78, served)
        self.assertIn("colour", served.stderr)
        self.assertFalse((self.home / "data").exists())

    def test_settings_take_effect(self):
        server = self.new_server(
            config='[limits]\npayload = "1KiB"\nheaders = 10\njson_depth = 8\n'
            '[retention]\nsucceeded = "0s"\ndead = "never"\n'
        ).start()
        self.use(server)
        self.assertEqual(self.api.post("/v1/jobs", {"type": "t", "payload": "x" * 1025}).status, 413)
        self.assertEqual(
            self.api.post("/v1/jobs", raw=b'{"type":"t","payload":' + b"[" * 8 + b"]" * 8 + b"}").status,
            400,
        )
        self.assertEqual(self.api.get("/livez", headers={f"X-{n}": "1" for n in range(10)}).status, 431)
        self.submit()
        retention = self.api.get(f"/v1/queues/{self.queue}").json["settings"]["retention"]
        self.assertEqual((retention["succeeded_ms"], retention["dead_ms"]), (0, None))
        answer = self.api.get("/v1/admin/config").json
        self.assertEqual(answer["file"], str(server.home / "millrace.toml"))
        shown = {each["key"]: each for each in answer["settings"]}
        self.assertEqual(
            shown["limits.payload"],
            {
                "key": "limits.payload",
                "value": "1KiB",
                "source": f"file {server.home / 'millrace.toml'}:2",
                "waiting": None,
            },
        )
        self.assertEqual(shown["limits.target"]["source"], "default")

    def test_the_log_as_json(self):
        server = self.new_server("--log-format", "json", "--log-level", "debug").start()
        self.use(server)
        self.api.get("/v1/meta", headers={"X-Request-Id": "in-json"})
        harness.eventually(lambda: "in-json" in server.log)
        server.stop()
        for line in server.log.splitlines():
            self.assertIsInstance(json.loads(line), dict, line)


class Init(ConfigCase):
    def init(self, *args, status=0):
        done = harness.run("init", *args, env=harness.environment(), cwd=self.home)
        self.assertEqual(done.returncode, status, done)
        return done

    def test_it_shows_every_key_and_changes_none(self):
        self.init("a.toml")
        text = self.file.read_text()
        for line in text.splitlines():
            self.assertTrue(line.startswith(("#", "[")) or not line or "/var/lib/" in line, line)
            self.assertLessEqual(len(line), 100)
        with_file = self.show("--config", "a.toml")
        defaults = self.show()
        for key, (value, _) in defaults.items():
            self.assertIn(f"# {key.split('.')[-1]} = ", text)
            if key != "data":
                self.assertEqual(with_file[key][0], value, key)
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)
        # With the lines uncommented, the configuration is still the same.
        bare = [
            line[2:] if line.startswith("# ") and " = " in line.split("#")[1][:24] else line
            for line in text.splitlines()
            if "tokens" not in line and "hash = " not in line and "scopes = " not in line and 'name = "' not in line
        ]
        self.file.write_text("\n".join(bare) + "\n")
        self.assertEqual(
            {key: value for key, (value, _) in self.show("--config", "a.toml").items()},
            {key: value for key, (value, _) in defaults.items()},
        )

    def test_flags_set_their_keys(self):
        self.init("a.toml", "--data", "elsewhere", "--limits-payload", "64KiB", "--shards", "4")
        settings = self.show("--config", "a.toml")
        self.assertEqual(settings["data"][0], "elsewhere")
        self.assertEqual(settings["limits.payload"][0], "64KiB")
        self.assertEqual(settings["shards"][0], "4")

    def test_a_server_for_others_gets_a_token(self):
        port = self.server_port()
        done = self.init("a.toml", "--listen", f"0.0.0.0:{port}", "--data", "d")
        token = done.stdout.rsplit(" ", 1)[1].strip()
        self.assertTrue(token.startswith("mlr_"), done.stdout)
        self.assertNotIn(token, self.file.read_text())
        server = self.new_server("--config", str(self.file), token=token)
        self.use(server.start())
        self.submit()
        self.assertIn("in the clear", done.stderr)

    def server_port(self):
        return self.new_server().port

    def test_what_is_there_stays(self):
        self.file.write_text("# mine\n")
        self.assertIn("is there already", self.init("a.toml", status=1).stderr)
        self.assertEqual(self.file.read_text(), "# mine\n")
        self.init("a.toml", "--force")
        self.assertNotEqual(self.file.read_text(), "# mine\n")

    def test_bad_values_leave_no_file(self):
        done = self.init("a.toml", "--drain", "soon", status=78)
        self.assertIn("must be a duration", done.stderr)
        self.assertIn("--drain", done.stderr)
        done = self.init("a.toml", "--push-allow-http", "yes", status=78)
        self.assertIn("--push-allow-http must be true or false", done.stderr)
        self.assertEqual([path.name for path in self.home.glob("a.toml*")], [])

    def test_a_file_that_is_there_but_not_read_is_named(self):
        self.init()
        words = "the file millrace.toml of this directory is not used"
        for args, told in (((), True), (("--config", "millrace.toml"), False)):
            for command in ("show", "check"):
                done = harness.run("config", command, *args, env=harness.environment(), cwd=self.home)
                self.assertEqual((done.returncode, words in done.stderr), (0, told), done)

    def test_a_bad_policy_of_pushes_leaves_no_store(self):
        self.file.write_text('[push]\nallow = "everything"\n')
        for args, words in (
            (("--push-ports", "abc"), ("push.ports", "flag --push-ports")),
            (("--config", "a.toml"), ("push.allow", "file a.toml:2")),
        ):
            done = harness.run("serve", "--data", "d", *args, env=harness.environment(), cwd=self.home)
            self.assertEqual(done.returncode, 78, done)
            for word in words:
                self.assertIn(word, done.stderr)
        self.assertFalse((self.home / "d").exists())


if __name__ == "__main__":
    harness.main()
