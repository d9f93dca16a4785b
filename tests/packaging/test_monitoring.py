"""Tests of the alert rules and the Grafana dashboard: promtool checks and tests them, and the
reference and a server have the metrics that they use.
"""

import contextlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests/packaging"))
sys.path.append(str(ROOT / "tests/system"))
import harness  # noqa: E402 (its folder is on the path only now)
from test_deploy import metrics_of, needs, read_yaml, tool  # noqa: E402

PROMETHEUS = ROOT / "packaging/prometheus"
GRAFANA = ROOT / "packaging/grafana"
REFERENCE = ROOT / "docs/reference/metrics.md"


def promtool(*arguments, cwd=PROMETHEUS):
    return subprocess.run(
        [tool("promtool"), *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False
    )


def rules():
    (document,) = read_yaml((PROMETHEUS / "alerts.yml").read_text())
    return document["groups"][0]["rules"]


def expressions():
    """Every query of the dashboard, by its panel's title."""
    dashboard = json.loads((GRAFANA / "millrace.json").read_text())
    return [(p["title"], t["expr"]) for p in dashboard["panels"] for t in p["targets"]]


class Monitoring(unittest.TestCase):
    @needs("promtool")
    def test_each_alert_fires_when_it_should_and_not_before(self):
        done = promtool("test", "rules", "alerts_test.yml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_alert_is_tested_and_has_a_runbook(self):
        (tests,) = read_yaml((PROMETHEUS / "alerts_test.yml").read_text())
        self.assertEqual([t["name"] for t in tests["tests"]], [r["alert"] for r in rules()])
        for test in tests["tests"]:
            fires = [a for a in test["alert_rule_test"] if a["exp_alerts"]]
            self.assertEqual((len(fires), len(test["alert_rule_test"])), (1, 2), test["name"])
        for rule in rules():
            self.assertIn(rule["labels"]["severity"], ("page", "warn", "info"))
            self.assertTrue(rule["annotations"]["summary"], rule)
            self.assertTrue(rule["annotations"]["runbook"], rule)

    @needs("promtool")
    def test_the_dashboards_queries_can_be_read(self):
        made = tempfile.TemporaryDirectory(prefix="millrace-rules-")
        self.addCleanup(made.cleanup)
        folder = pathlib.Path(made.name)
        queries = [{"record": f"panel:{n}", "expr": expr} for n, (_, expr) in enumerate(expressions())]
        # JSON is YAML too.
        (folder / "queries.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": queries}]}))
        done = promtool("check", "rules", "queries.yml", cwd=folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_panels_do_not_overlap(self):
        panels = json.loads((GRAFANA / "millrace.json").read_text())["panels"]
        places = {(p["gridPos"]["x"], p["gridPos"]["y"]) for p in panels}
        self.assertEqual(len(places), len(panels))
        self.assertEqual(len({p["id"] for p in panels}), len(panels))
        self.assertEqual(len({p["title"] for p in panels}), len(panels))

    def test_they_name_metrics_of_the_reference(self):
        listed = set(re.findall(r"`(millrace_\w+)`", REFERENCE.read_text()))
        for text in (
            (PROMETHEUS / "alerts.yml").read_text(),
            "\n".join(expr for _, expr in expressions()),
        ):
            used = metrics_of(text)
            self.assertGreater(len(used), 10)
            self.assertEqual(used - listed, set())

    @needs("promtool")
    def test_the_servers_text_passes_the_linter_and_has_what_the_reference_lists(self):
        server = harness.Server("--otlp-endpoint", "http://127.0.0.1:9")
        self.addCleanup(server.close)
        server.start()
        api = server.client()
        self.addCleanup(api.close)
        api.post("/v1/jobs", {"type": "t"})
        page = REFERENCE.read_text().split("## Jobs", 1)[1]
        listed = set(re.findall(r"^\| `(millrace_\w+)`", page, re.M))

        def figures():
            return api.get("/metrics").body.decode()

        def known():
            return set(re.findall(r"^# TYPE (\S+)", figures(), re.M))

        with contextlib.suppress(AssertionError):
            harness.eventually(lambda: known() == listed)  # some appear with the first rows
        self.assertEqual(known(), listed)
        text = figures()
        done = subprocess.run(
            [tool("promtool"), "check", "metrics"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_compose_example_has_the_same_files(self):
        compose = ROOT / "packaging/compose"
        self.assertEqual((compose / "alerts.yml").read_text(), (PROMETHEUS / "alerts.yml").read_text())
        self.assertEqual(
            (compose / "grafana/dashboards/millrace.json").read_text(),
            (GRAFANA / "millrace.json").read_text(),
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
