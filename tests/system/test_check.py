"""millrace check: one line in Nagios's form, and its exit codes."""

import json
import re
import time

import harness

LINE = re.compile(r"^(OK|WARNING|CRITICAL|UNKNOWN) - ([^|]+?)(?: \| (.+))?$")
# label=value[unit];[warn];[crit];[min]
FIGURE = re.compile(r"^[a-z0-9_]+=-?\d+(\.\d+)?(s|ms|B)?;(\d+(\.\d+)?:?)?;(\d+(\.\d+)?:?)?;0$")
STATES = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}


class Checks(harness.ServerCase):
    def check(self, *args, **options):
        """(state, text, figures) of the single line of output."""
        done = self.server.cli("check", *args, **options)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout + done.stderr)
        line = LINE.match(done.stdout.strip())
        self.assertTrue(line, done.stdout)
        state, text, figures = line.groups()
        self.assertEqual(done.returncode, STATES[state], done.stdout)
        figures = figures.split(" ") if figures else []
        for figure in figures:
            self.assertRegex(figure, FIGURE)
        return state, text, dict(figure.split("=", 1) for figure in figures)

    def test_the_depth_of_a_queue(self):
        self.submit_many(3)
        state, text, figures = self.check("queue", self.queue, "--depth", "5:10")
        self.assertEqual(state, "OK")
        self.assertIn("3 ready", text)
        self.assertEqual(figures["depth"], "3;5;10;0")
        self.assertEqual(self.check("queue", self.queue, "--depth", "2:10")[0], "WARNING")
        self.assertEqual(self.check("queue", self.queue, "--depth", "1:2")[0], "CRITICAL")
        self.assertEqual(self.check("queue", self.queue, "--depth", ":2")[0], "CRITICAL")

    def test_the_age_of_the_oldest_ready_job(self):
        self.submit()
        time.sleep(0.3)
        self.assertEqual(self.check("queue", self.queue, "--age", "1h:2h")[0], "OK")
        state, text, _ = self.check("queue", self.queue, "--age", "100ms:1h")
        self.assertEqual(state, "WARNING")
        self.assertIn("oldest", text)
        self.assertEqual(self.check("queue", self.queue, "--age", "1ms:100ms")[0], "CRITICAL")

    def test_the_workers_of_a_queue(self):
        self.submit()
        self.assertEqual(self.check("queue", self.queue, "--workers", "2:1")[0], "CRITICAL")
        self.claim(worker="one")
        state, text, figures = self.check("queue", self.queue, "--workers", "2:1")
        self.assertEqual((state, figures["workers"]), ("WARNING", "1;2:;1:;0"))
        self.assertIn("1 worker", text)
        self.claim(worker="two")
        self.assertEqual(self.check("queue", self.queue, "--workers", "2:1")[0], "OK")

    def test_a_paused_queue_is_a_warning(self):
        self.submit()
        self.api.post(f"/v1/queues/{self.queue}/pause", {"reason": "a | b"})
        state, text, _ = self.check("queue", self.queue)
        self.assertEqual(state, "WARNING")
        self.assertIn("paused: a / b", text)

    def test_a_queue_that_is_not_there_is_unknown(self):
        self.assertEqual(self.check("queue", "nobody-made-it")[0], "UNKNOWN")

    def test_schedules(self):
        def schedule(**members):
            body = {"every_ms": 3_600_000, "job": {"type": "t", "queue": self.queue}, **members}
            self.api.put(f"/v1/schedules/{self.queue}", body)

        schedule()
        state, text, figures = self.check("schedule", self.queue)
        self.assertEqual((state, figures["late"]), ("OK", "0s;60;300;0"))
        self.assertIn("next in", text)
        self.api.post(f"/v1/schedules/{self.queue}/pause", {})
        self.assertEqual(self.check("schedule", self.queue)[0], "WARNING")
        schedule(end_at="2020-01-01T00:00:00Z", paused=False)
        self.assertEqual(self.check("schedule", self.queue)[0], "WARNING")
        self.assertEqual(self.check("schedule", "nobody-made-it")[0], "UNKNOWN")

    def test_the_server(self):
        self.submit()
        # Bounds that any machine satisfies.
        kept = ("--sync", "1h:1h", "--behind", "1h:1h")
        state, text, figures = self.check("server", *kept, "--disk", "0:0")
        self.assertEqual(state, "OK")
        self.assertIn("ready", text)
        self.assertIn("tables_behind", figures)
        if harness.STORE == "sqlite":
            self.assertIn("disk_free_percent", figures)
            self.assertTrue(figures["sync_p99"].endswith("s;3600;3600;0"), figures)
            self.assertEqual(self.check("server", *kept, "--disk", "101:0")[0], "WARNING")
            self.assertEqual(self.check("server", *kept, "--disk", "102:101")[0], "CRITICAL")

    def test_a_server_that_is_away(self):
        away = ("--url", "http://127.0.0.1:9")
        self.assertEqual(self.check("server", *away)[0], "CRITICAL")
        self.assertEqual(self.check("queue", "a", *away)[0], "UNKNOWN")

    def test_what_makes_no_sense_is_unknown(self):
        for args in (
            ("queue",),
            ("queue", "a", "--depth", "7"),
            ("queue", "a", "--age", "1:2"),
            ("nothing",),
            ("queue", "a", "--nothing"),
        ):
            done = self.server.cli("check", *args)
            self.assertEqual(done.returncode, 3, args)

    def test_json(self):
        self.submit()
        done = self.server.cli("check", "queue", self.queue, "-o", "json")
        answer = json.loads(done.stdout)
        self.assertEqual((answer["state"], answer["measures"]["depth"]), ("OK", 1))


if __name__ == "__main__":
    harness.main()
