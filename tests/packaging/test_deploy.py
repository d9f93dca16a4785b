"""Tests of the container files in packaging/: the image's file, the compose files, the Helm chart, the alerts and the
dashboard. Each is checked by its own tool if that is installed (tests/packaging/tools fetches them), and against the
program's settings, metrics and routes.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/system"))

import harness  # noqa: E402 (its folder is on the path only now)

COMPOSE = ROOT / "packaging/compose"
CHART = ROOT / "packaging/helm/millrace"
KUBERNETES = "1.31.0"
READ_YAML = "import json, sys, yaml; json.dump([d for d in yaml.safe_load_all(sys.stdin) if d], sys.stdout)"


def read_yaml(text):
    """All documents, read by Debian's own Python, which has python3-yaml."""
    done = subprocess.run(["/usr/bin/python3", "-c", READ_YAML], input=text, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")


def tool(name):
    fetched = CACHE / "millrace/tools" / name
    return str(fetched) if fetched.exists() else shutil.which(name)


def needs(name):
    """Skips a test without its tool, and counts it in the figures of tools/test."""
    if tool(name) is None:
        print(f"skipped: the checks of {name}, which is not here (tests/packaging/tools)")
        return unittest.skip(f"no {name}")
    return lambda test: test


def run(*command, stdin=None, cwd=None, env=None):
    return subprocess.run(
        list(map(str, command)),
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        timeout=60,
        check=False,
    )


def image_settings():
    """The variables that the image sets."""
    text = (ROOT / "packaging/Containerfile").read_text().replace("\\\n", " ")
    return dict(re.findall(r"(MILLRACE_\w+)=(\S+)", text))


def metrics_of(text):
    names = set(re.findall(r"\bmillrace_[a-z_]+", text))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


class Case(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-deploy-"))
        self.addCleanup(shutil.rmtree, self.home)

    def succeeds(self, *command, **options):
        done = run(*command, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def accepts(self, settings, config=None):
        """Checks that the program accepts these variables and this file."""
        env = harness.environment(**{k: v for k, v in settings.items() if k.startswith("MILLRACE_")})
        command = ["config", "show", "-o", "json"]
        if config:
            command += ["--config", config]
        done = harness.run(*command, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {one["key"]: one["value"] for one in json.loads(done.stdout)}


class Compose(Case):
    def setUp(self):
        super().setUp()
        self.folder = self.home / "compose"
        shutil.copytree(COMPOSE, self.folder, ignore=shutil.ignore_patterns("*.token", "*.password"))
        for name in ("millrace.toml", "pgpass"):
            (self.folder / name).unlink(missing_ok=True)
        self.prepare()

    def prepare(self):
        env = harness.environment(MILLRACE=harness.BINARY)
        self.succeeds(self.folder / "prepare", env=env)

    def read(self, name):
        (document,) = read_yaml((self.folder / name).read_text())
        return document

    def nodes(self):
        for name in ("compose.yaml", "compose.postgres.yaml"):
            for service, facts in self.read(name)["services"].items():
                if "millrace" in facts["image"]:
                    yield f"{name}: {service}", facts

    def test_prepare_makes_what_is_mounted_and_keeps_it(self):
        before = {path: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        self.prepare()
        self.assertEqual(before, {path: path.read_bytes() for path in before})
        for name in ("compose.yaml", "compose.postgres.yaml"):
            document = self.read(name)
            for service, facts in document["services"].items():
                for volume in facts.get("volumes", []):
                    source = volume.split(":")[0]
                    if source.startswith("."):
                        self.assertTrue((self.folder / source).exists(), f"{service}: {volume}")
                    else:
                        self.assertIn(source, document["volumes"], service)
            for secret in document.get("secrets", {}).values():
                self.assertTrue((self.folder / secret["file"]).exists())
        self.assertEqual((self.folder / "pgpass").stat().st_mode & 0o777, 0o600)
        self.assertEqual((self.folder / "client.token").stat().st_mode & 0o777, 0o600)

    def test_its_tokens_open_what_they_should(self):
        client = (self.folder / "client.token").read_text().strip()
        metrics = (self.folder / "metrics.token").read_text().strip()
        server = harness.Server("--config", str(self.folder / "millrace.toml"), token=client)
        self.addCleanup(server.close)
        server.start()
        api = server.client()
        self.addCleanup(api.close)
        self.assertEqual(api.post("/v1/jobs", {"type": "greet"}).status, 201)
        reader = server.client(metrics)
        self.addCleanup(reader.close)
        self.assertEqual(reader.get("/metrics").status, 200)
        self.assertEqual(reader.post("/v1/jobs", {"type": "greet"}).status, 403)
        health = harness.run("health", env=harness.environment(MILLRACE_URL=server.url))
        self.assertEqual(health.returncode, 0, "the health check needs no token")
        self.assertEqual(server.stop(), 0)

    def test_the_program_takes_their_settings(self):
        for name, facts in self.nodes():
            with self.subTest(name):
                settings = {**image_settings(), **facts.get("environment", {})}
                values = self.accepts(settings, self.folder / "millrace.toml")
                self.assertEqual(values["listen"], "0.0.0.0:7600")
                self.assertEqual("postgres" in name, values["postgres"] != "none")

    def test_nodes_have_no_more_rights_than_they_need(self):
        drain = int(image_settings()["MILLRACE_DRAIN"].removesuffix("s"))
        for name, facts in self.nodes():
            with self.subTest(name):
                self.assertTrue(facts["read_only"])
                self.assertEqual(facts["cap_drop"], ["ALL"])
                self.assertIn("no-new-privileges:true", facts["security_opt"])
                self.assertGreater(int(facts["stop_grace_period"].removesuffix("s")), drain)
                for port in facts["ports"]:
                    self.assertTrue(port.startswith("127.0.0.1:"), port)

    @needs("docker-compose")
    def test_compose_reads_them(self):
        for name in ("compose.yaml", "compose.postgres.yaml"):
            self.succeeds(tool("docker-compose"), "--file", name, "config", cwd=self.folder)

    @needs("promtool")
    def test_prometheus_reads_its_configuration(self):
        self.succeeds(tool("promtool"), "check", "config", "prometheus.yml", cwd=self.folder)

    @needs("promtool")
    def test_an_alert_fires(self):
        (self.home / "test.yml").write_text(
            "rule_files: [compose/alerts.yml]\n"
            "evaluation_interval: 15s\n"
            "tests:\n"
            "  - interval: 15s\n"
            "    input_series:\n"
            '      - {series: \'millrace_queue_oldest_ready_seconds{queue="mail",instance="a"}\', '
            "values: '0+30x60'}\n"
            "      - {series: 'millrace_archive_failing{instance=\"a\"}', values: '0x20 1x40'}\n"
            "    alert_rule_test:\n"
            "      - {eval_time: 4m, alertname: MillraceWaiting, exp_alerts: []}\n"
            "      - eval_time: 8m\n"
            "        alertname: MillraceWaiting\n"
            "        exp_alerts: [{exp_labels: {queue: mail, severity: warn}, exp_annotations: "
            "{summary: A job of mail waits for more than ten minutes, "
            'runbook: "See what holds it: millrace queue get mail; or add workers"}}]\n'
            "      - eval_time: 9m\n"
            "        alertname: MillraceArchiveFailing\n"
            "        exp_alerts: [{exp_labels: {instance: a, severity: page}, exp_annotations: "
            '{summary: "a can\'t write its archive; its journal grows", '
            'runbook: "Look whether the archive\'s directory is there, writable, and has room"}}]\n'
        )
        self.succeeds(tool("promtool"), "test", "rules", "test.yml", cwd=self.home)


class Names(Case):
    def test_alerts_dashboards_and_examples_name_metrics_that_there_are(self):
        server = harness.Server("--otlp-endpoint", "http://127.0.0.1:9")  # some metrics need it
        self.addCleanup(server.close)
        server.start()
        api = server.client()
        self.addCleanup(api.close)

        def known():
            return set(re.findall(r"^# TYPE (\S+)", api.get("/metrics").body.decode(), re.MULTILINE))

        for path in (
            COMPOSE / "alerts.yml",
            COMPOSE / "grafana/dashboards/millrace.json",
            CHART / "examples/autoscaling.yaml",
        ):
            used = metrics_of(path.read_text()) - {"millrace_queue_ready"}  # the adapter's own name
            self.assertGreater(len(used), 1, path)
            with contextlib.suppress(AssertionError):
                harness.eventually(lambda: used <= known())  # noqa: B023 (some come with the first rows)
            self.assertEqual(used - known(), set(), path)
        self.assertEqual(server.stop(), 0)

    def test_the_dashboard_is_provisioned(self):
        dashboard = json.loads((COMPOSE / "grafana/dashboards/millrace.json").read_text())
        (sources,) = read_yaml((COMPOSE / "grafana/provisioning/datasources/prometheus.yaml").read_text())
        uids = {source["uid"] for source in sources["datasources"]}
        self.assertEqual({panel["datasource"]["uid"] for panel in dashboard["panels"]}, uids)
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_every_alert_of_the_reference_has_a_rule(self):
        page = (ROOT / "docs/reference/metrics.md").read_text()
        table = page.split("## Alerts")[1].split("## Jobs")[0]
        (rules,) = read_yaml((COMPOSE / "alerts.yml").read_text())
        ruled = metrics_of(json.dumps(rules))
        # Matters that only the owner of the queues can judge.
        judged = {"millrace_jobs_dead_total", "millrace_jobs"}
        self.assertEqual(metrics_of(table) - ruled - judged, set())


@needs("helm")
class Helm(Case):
    def template(self, *arguments):
        return run(
            tool("helm"),
            "template",
            "it",
            CHART,
            "--namespace",
            "jobs",
            "--kube-version",
            KUBERNETES,
            *arguments,
        )

    def objects(self, *arguments):
        done = self.template(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {}
        for one in read_yaml(done.stdout):
            found.setdefault(one["kind"], []).append(one)
        return found

    def values(self, name):
        return ("--values", CHART / "examples" / f"{name}.yaml")

    def container(self, objects):
        (pod,) = [one["spec"]["template"]["spec"] for one in objects["StatefulSet"]]
        return pod["containers"][0]

    def settings(self, objects):
        env = {one["name"]: one.get("value") for one in self.container(objects)["env"]}
        return {name: value for name, value in env.items() if value is not None}

    def test_lint(self):
        for name in ("sqlite", "postgres"):
            self.succeeds(tool("helm"), "lint", "--strict", CHART, *self.values(name))

    def test_one_node_on_sqlite(self):
        objects = self.objects(*self.values("sqlite"))
        (server,) = objects["StatefulSet"]
        self.assertEqual(server["spec"]["replicas"], 1)
        claims = [claim["metadata"]["name"] for claim in server["spec"]["volumeClaimTemplates"]]
        self.assertEqual(claims, ["data", "archive"])
        self.assertNotIn("PodDisruptionBudget", objects)
        values = self.accepts(self.settings(objects), self.config())
        mounts = [mount["mountPath"] for mount in self.container(objects)["volumeMounts"]]
        self.assertIn(values["data"], mounts)
        self.assertTrue(any(values["archive"].startswith(mount + "/") for mount in mounts))

    def test_nodes_on_postgres(self):
        objects = self.objects(*self.values("postgres"))
        (server,) = objects["StatefulSet"]
        self.assertEqual(server["spec"]["replicas"], 3)
        self.assertNotIn("volumeClaimTemplates", server["spec"])
        self.assertEqual(objects["PodDisruptionBudget"][0]["spec"]["maxUnavailable"], 1)
        values = self.accepts(self.settings(objects), self.config())
        headless = [one for one in objects["Service"] if one["spec"].get("clusterIP") == "None"]
        name = headless[0]["metadata"]["name"]
        self.assertEqual(values["advertise"], f"https://$(POD_NAME).{name}.jobs.svc:7600")
        self.assertEqual(server["spec"]["serviceName"], name)
        env = {one["name"]: one for one in self.container(objects)["env"]}
        self.assertEqual(env["PGPASSWORD"]["valueFrom"]["secretKeyRef"]["name"], "millrace-postgres")
        names = list(env)
        self.assertLess(names.index("POD_NAME"), names.index("MILLRACE_ADVERTISE"))

    def config(self):
        """A file like that in the secret."""
        made = harness.run("token", "new", "--name", "n", "--scope", "read", "-o", "json")
        path = self.home / "millrace.toml"
        path.write_text(json.loads(made.stdout)["toml"])
        return path

    def test_a_pod_may_do_nothing(self):
        for name in ("sqlite", "postgres"):
            objects = self.objects(*self.values(name))
            pods = [objects["StatefulSet"][0]["spec"]["template"]["spec"], objects["Pod"][0]["spec"]]
            for pod in pods:
                self.assertFalse(pod["automountServiceAccountToken"])
                self.assertTrue(pod["securityContext"]["runAsNonRoot"])
                self.assertEqual(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault")
                for container in pod["containers"]:
                    rights = container["securityContext"]
                    self.assertTrue(rights["readOnlyRootFilesystem"])
                    self.assertFalse(rights["allowPrivilegeEscalation"])
                    self.assertEqual(rights["capabilities"], {"drop": ["ALL"]})

    def test_probes_ask_what_there_is(self):
        routes = (ROOT / "docs/reference/openapi.yaml").read_text()
        container = self.container(self.objects(*self.values("postgres")))
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            request = container[probe]["httpGet"]
            self.assertIn(f"  {request['path']}:\n", routes)
            self.assertEqual(request["scheme"], "HTTPS")
            self.assertEqual(request["port"], container["ports"][0]["name"])
        self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/readyz")

    def test_the_monitor_scrapes_each_node_once(self):
        objects = self.objects(*self.values("postgres"))
        (monitor,) = objects["ServiceMonitor"]
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        chosen = [one for one in objects["Service"] if wanted <= one["metadata"]["labels"].items()]
        self.assertEqual(len(chosen), 1)
        self.assertEqual(chosen[0]["spec"]["clusterIP"], "None")
        (endpoint,) = monitor["spec"]["endpoints"]
        self.assertEqual(endpoint["authorization"]["credentials"]["name"], "millrace-metrics")

    def test_the_policy_lets_nodes_and_clients_in(self):
        (policy,) = self.objects(*self.values("postgres"))["NetworkPolicy"]
        sources = [rule["from"] for rule in policy["spec"]["ingress"]]
        self.assertEqual(len(sources), 3)
        self.assertEqual(sources[0], [{"podSelector": policy["spec"]["podSelector"]}])

    def test_what_would_not_run_is_refused(self):
        for arguments, words in (
            ((), "needs tokens"),
            (("--set", "config=x", "--set", "replicas=2"), "has one node"),
            (("--set", "config=x", "--set", "store=postgres"), "set postgres.url"),
            (("--set", "config=x", "--set", "store=mysql"), "store"),
            (("--set", "config=x", "--set", "replica=1"), "replica"),
            (("--set", "config=x", "--set", "tls.ca=true"), "needs tls.secret"),
            ((*self.values("postgres"), "--set", "archive.enabled=true"), "on SQLite"),
            (("--set", "config=x", "--set", "env.PATH=/"), "PATH"),
        ):
            with self.subTest(arguments):
                done = self.template(*arguments)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stderr)

    def test_a_changed_configuration_restarts_the_pods(self):
        def mark(text):
            objects = self.objects("--set", f"config={text}")
            annotations = objects["StatefulSet"][0]["spec"]["template"]["metadata"]["annotations"]
            return annotations["checksum/config"], objects["Secret"][0]["stringData"]

        self.assertNotEqual(mark("a"), mark("b"))
        self.assertEqual(mark("a")[1], {"millrace.toml": "a"})

    @needs("kinds")
    def test_the_objects_have_the_members_of_their_kinds(self):
        for name in ("sqlite", "postgres"):
            text = self.template(*self.values(name)).stdout
            said = self.succeeds(tool("kinds"), stdin=text)
            self.assertIn("sound: apps/v1 StatefulSet it-millrace", said)
            unknown = [line for line in said.splitlines() if line.startswith("unknown: ")]
            self.assertEqual(unknown, ["unknown: monitoring.coreos.com/v1 ServiceMonitor"])
            wrong = run(tool("kinds"), stdin=text.replace("readOnlyRootFilesystem", "readonlyRoot"))
            self.assertEqual(wrong.returncode, 1, "a misspelt member was not noticed")
        examples = (CHART / "examples/autoscaling.yaml").read_text()
        said = self.succeeds(tool("kinds"), stdin=examples)
        self.assertIn("sound: autoscaling/v2 HorizontalPodAutoscaler", said)


@needs("buildah")
@unittest.skipUnless(os.geteuid() == 0, "skipped: only root builds images here")
class Image(Case):
    """Tests of the file itself; tools/package --test runs the complete image."""

    def test_it_builds_without_running_anything(self):
        for name in ("millrace", "zoneinfo", "var/millrace"):
            (self.home / name).mkdir(parents=True)
        (self.home / "var/millrace").chmod(0o700)
        (self.home / "millrace/millrace").write_text("a program")
        (self.home / "zoneinfo/UTC").write_text("a zone")
        store = ["--storage-driver", "vfs", "--root", self.home / "s", "--runroot", self.home / "r"]
        self.succeeds(
            "buildah",
            *store,
            "build",
            "--format",
            "docker",
            "--build-arg",
            "BASE=scratch",
            "--build-arg",
            "VERSION=1.2.3",
            "--file",
            ROOT / "packaging/Containerfile",
            "--tag",
            "it:1",
            self.home,
        )
        facts = json.loads(self.succeeds("buildah", *store, "inspect", "--type", "image", "it:1"))
        config = facts["Docker"]["config"]
        self.assertEqual(config["User"], "65532:65532")
        self.assertEqual(list(config["Volumes"]), ["/var/lib/millrace"])
        self.assertEqual(config["StopSignal"], "SIGTERM")
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "/opt/millrace/millrace", "health"])
        self.assertEqual(config["Entrypoint"] + config["Cmd"], ["/opt/millrace/millrace", "serve"])
        self.assertEqual(config["Labels"]["org.opencontainers.image.version"], "1.2.3")
        self.assertEqual(list(config["ExposedPorts"]), ["7600/tcp"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
