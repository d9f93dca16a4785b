"""Tests of traces: the spans of jobs that a real server sends to an OpenTelemetry collector. The
stub checks every request against the schema of OTLP in JSON.
"""

import http.server
import json
import re
import threading
import time

import harness

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
NOT_SAMPLED = PARENT[:-1] + "0"
INTERNAL, PRODUCER, CONSUMER = 1, 4, 5


class Fault(AssertionError):
    pass


def must(condition, what):
    if not condition:
        raise Fault(what)


def only(value, names, where):
    must(isinstance(value, dict), f"{where} must be an object")
    unknown = set(value) - set(names)
    must(not unknown, f"{where} has unknown members {unknown}")


def check_attributes(attributes, where):
    must(isinstance(attributes, list), f"{where} must be a list")
    keys = [attribute["key"] for attribute in attributes]
    must(len(set(keys)) == len(keys), f"{where} has a key twice")
    for attribute in attributes:
        only(attribute, ["key", "value"], where)
        value = attribute["value"]
        must(len(value) == 1, f"{where}: one kind of value each")
        kind, content = next(iter(value.items()))
        if kind == "stringValue":
            must(isinstance(content, str), f"{where}: a string")
        elif kind == "intValue":  # 64-bit integers are strings
            must(isinstance(content, str) and re.fullmatch(r"-?\d+", content), f"{where}: {value}")
        else:
            raise Fault(f"{where}: unknown kind {kind}")


def check_id(text, digits, where):
    must(isinstance(text, str) and re.fullmatch(rf"[0-9a-f]{{{digits}}}", text), f"{where}: {text!r}")
    must(set(text) != {"0"}, f"{where} is zero")


def check_span(span):
    only(
        span,
        [
            *("traceId", "spanId", "parentSpanId", "traceState", "name", "kind", "attributes"),
            *("startTimeUnixNano", "endTimeUnixNano", "links", "status"),
        ],
        "a span",
    )
    check_id(span["traceId"], 32, "traceId")
    check_id(span["spanId"], 16, "spanId")
    if "parentSpanId" in span:
        check_id(span["parentSpanId"], 16, "parentSpanId")
    must(span["name"], "a span has a name")
    must(span["kind"] in (INTERNAL, PRODUCER, CONSUMER), "kinds are numbers of the enumeration")
    for name in ("startTimeUnixNano", "endTimeUnixNano"):
        must(isinstance(span[name], str) and re.fullmatch(r"\d{19}", span[name]), f"{name}: {span[name]!r}")
    must(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), "a span ends after its start")
    check_attributes(span["attributes"], "a span's attributes")
    for link in span.get("links", []):
        only(link, ["traceId", "spanId", "traceState", "attributes", "flags"], "a link")
        check_id(link["traceId"], 32, "a link's traceId")
        check_id(link["spanId"], 16, "a link's spanId")
    only(span["status"], ["code", "message"], "a status")
    must(span["status"].get("code", 0) in (0, 1, 2), "a status's code is a number")


def check_request(body):
    """The spans of a valid ExportTraceServiceRequest."""
    only(body, ["resourceSpans"], "the request")
    spans = []
    for resource in body["resourceSpans"]:
        only(resource, ["resource", "scopeSpans", "schemaUrl"], "resourceSpans")
        check_attributes(resource["resource"]["attributes"], "the resource's attributes")
        names = {a["key"]: a["value"] for a in resource["resource"]["attributes"]}
        must(names["service.name"] == {"stringValue": "millrace"}, "service.name")
        for scope in resource["scopeSpans"]:
            only(scope, ["scope", "spans", "schemaUrl"], "scopeSpans")
            only(scope["scope"], ["name", "version"], "a scope")
            for span in scope["spans"]:
                check_span(span)
                spans.append(span)
    return spans


class Collector:
    """Receives spans over HTTP; `status` and `delay_s` set its answers from now on."""

    def __init__(self):
        self.spans, self.faults, self.requests = [], [], 0
        self.status, self.delay_s, self.headers, self.answer = 200, 0, {}, b"{}"
        self.lock = threading.Lock()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.take(self.path, self.headers, body)
                time.sleep(collector.delay_s)
                self.send_response(collector.status)
                for name, value in collector.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(collector.answer)))
                self.end_headers()
                self.wfile.write(collector.answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, headers, body):
        with self.lock:
            self.requests += 1
            try:
                must(path == "/v1/traces", f"path {path}")
                must(headers["Content-Type"] == "application/json", "the content's type")
                spans = check_request(json.loads(body))
                must(0 < len(spans) <= 512, f"{len(spans)} spans in one request")
                if self.status == 200:
                    self.spans += spans
            except (Fault, ValueError, KeyError, TypeError) as fault:
                self.faults.append(fault)

    def of(self, job):
        with self.lock:
            return [s for s in self.spans if attributes(s)["messaging.message.id"] == job]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def attributes(span):
    return {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}


class TraceCase(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.collector = Collector()
        self.addCleanup(self.collector.close)
        self.addCleanup(lambda: self.assertEqual(self.collector.faults, []))

    def start(self, *args):
        self.use(self.new_server("--otlp-endpoint", self.collector.url, *args).start())

    def spans_of(self, job, count):
        """Waits for this many spans of the job; returns them by name, in order of their starts."""
        harness.eventually(lambda: len(self.collector.of(job)) >= count, what=f"{count} spans")
        return sorted(self.collector.of(job), key=lambda s: int(s["startTimeUnixNano"]))

    def figure(self, name, **labels):
        text = self.api.get("/metrics").body.decode()
        wanted = ",".join(f'{k}="{v}"' for k, v in labels.items())
        found = re.search(rf"^millrace_{name}{re.escape('{' + wanted + '}') if wanted else ''} (\S+)$", text, re.M)
        return float(found.group(1)) if found else None


class Traces(TraceCase):
    def test_a_job_of_a_traced_producer(self):
        self.start()
        reply = self.api.post(
            "/v1/jobs",
            {"type": "mail.send", "queue": self.queue},
            headers={"traceparent": PARENT, "tracestate": "vendor=1"},
        )
        job = self.claim_one(worker="w7")
        self.assertEqual((job["traceparent"], job["tracestate"]), (PARENT, "vendor=1"))
        self.finish(job)
        spans = self.spans_of(reply.json["id"], 3)
        self.assertEqual(
            sorted(s["name"] for s in spans),
            sorted([f"submit {self.queue}", f"wait {self.queue}", "process mail.send"]),
        )
        submit, wait, process = (
            next(s for s in spans if s["name"].startswith(word)) for word in ("submit", "wait", "process")
        )
        self.assertEqual({s["traceId"] for s in spans}, {PARENT.split("-")[1]})
        self.assertEqual({s["traceState"] for s in spans}, {"vendor=1"})
        self.assertEqual([s["kind"] for s in (submit, wait, process)], [PRODUCER, INTERNAL, CONSUMER])
        self.assertEqual(submit["parentSpanId"], PARENT.split("-")[2])
        self.assertEqual(wait["parentSpanId"], submit["spanId"])
        self.assertEqual(process["parentSpanId"], submit["spanId"])
        self.assertNotIn("links", process)
        self.assertEqual(len({s["spanId"] for s in spans}), 3)
        self.assertEqual(wait["endTimeUnixNano"], process["startTimeUnixNano"])
        told = attributes(process)
        self.assertEqual(told["millrace.worker.id"], "w7")
        self.assertEqual(told["millrace.attempt.outcome"], "succeeded")
        self.assertEqual(told["millrace.job.attempt"], "1")

    def test_attempts_are_linked_and_not_nested(self):
        self.start()
        job = self.submit("t", traceparent=PARENT, retry={"strategy": "fixed", "base_ms": 0})["id"]
        for message in ("one", "two"):
            self.fail_attempt(self.claim_within(), message)
        self.finish(self.claim_within())
        spans = self.spans_of(job, 7)
        attempts = [s for s in spans if s["name"].startswith("process")]
        self.assertEqual([attributes(s)["millrace.job.attempt"] for s in attempts], ["1", "2", "3"])
        submit = next(s for s in spans if s["name"].startswith("submit"))
        self.assertEqual({s["parentSpanId"] for s in attempts}, {submit["spanId"]})
        self.assertNotIn("links", attempts[0])
        for earlier, later in zip(attempts, attempts[1:]):
            self.assertEqual([link["spanId"] for link in later["links"]], [earlier["spanId"]])
        self.assertEqual([s["status"]["code"] for s in attempts], [2, 2, 0])
        self.assertEqual(attempts[0]["status"]["message"], "one")
        self.assertEqual(attributes(attempts[1])["error.type"], "Oops")

    def test_a_job_without_a_parent_has_a_trace_of_its_own(self):
        self.start()
        job = self.submit()["id"]
        self.finish(self.claim_one())
        spans = self.spans_of(job, 3)
        self.assertEqual({s["traceId"] for s in spans}, {job.replace("-", "")})
        submit = next(s for s in spans if s["name"].startswith("submit"))
        self.assertNotIn("parentSpanId", submit)

    def test_what_is_not_sampled_is_not_exported(self):
        self.start()
        hidden = self.submit(traceparent=NOT_SAMPLED)["id"]
        shown = self.submit(traceparent=PARENT)["id"]
        for job in self.claim(limit=2):
            self.finish(job)
        self.spans_of(shown, 3)
        self.assertEqual(self.collector.of(hidden), [])

    def test_a_trace_goes_on_after_a_restart(self):
        self.start()
        job = self.submit("t", traceparent=PARENT, retry={"strategy": "fixed", "base_ms": 0})["id"]
        self.fail_attempt(self.claim_within())
        before = self.spans_of(job, 3)
        self.server.kill()
        self.server.start()
        self.use(self.server)
        self.finish(self.claim_within(wait_ms=20_000))
        spans = self.spans_of(job, 5)
        self.assertEqual({s["traceId"] for s in spans}, {PARENT.split("-")[1]})
        last = spans[-1]
        self.assertEqual(attributes(last)["millrace.job.attempt"], "2")
        first = next(s for s in before if s["name"].startswith("process"))
        self.assertEqual([link["spanId"] for link in last["links"]], [first["spanId"]])

    def test_a_stop_sends_what_is_left(self):
        self.start()
        job = self.submit()["id"]
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(len(self.collector.of(job)), 1)

    def test_nothing_leaves_unless_it_is_asked_for(self):
        self.use(self.new_server().start())
        self.submit()
        self.assertIsNone(self.figure("trace_requests_total"))

    def test_a_wrong_endpoint_is_refused(self):
        done = harness.run("serve", "--otlp-endpoint", "collector:4318")
        self.assertEqual(done.returncode, 78)
        self.assertIn("http://127.0.0.1:4318", done.stderr)


class SlowCollector(TraceCase):
    def test_a_collector_that_is_busy_is_asked_again(self):
        self.collector.status = 503
        self.collector.headers = {"Retry-After": "1"}
        self.start()
        job = self.submit()["id"]
        harness.eventually(lambda: self.figure("trace_request_failures_total") >= 2, what="another try")
        self.assertGreaterEqual(self.collector.requests, 2)
        self.collector.status, self.collector.headers = 200, {}
        self.spans_of(job, 1)
        harness.eventually(lambda: self.figure("trace_spans_total", outcome="exported") == 1, what="its count")

    def test_what_a_collector_refuses_for_good_is_counted(self):
        self.collector.status = 400
        self.start()
        self.submit()
        harness.eventually(
            lambda: self.figure("trace_spans_total", outcome="dropped_refused") == 1,
            what="a dropped span",
        )
        harness.eventually(lambda: "does not take all spans" in self.server.log, what="the log")

    def test_a_collector_that_hangs_delays_no_job_and_costs_bounded_memory(self):
        self.collector.delay_s = 60
        self.start()
        self.submit()
        time.sleep(1.5)  # the first request hangs
        began = time.monotonic()
        for _ in range(80):
            self.submit_many(1000)
        took = time.monotonic() - began
        self.assertLess(took, 150)
        harness.eventually(
            lambda: self.figure("trace_spans_total", outcome="dropped_full") > 10_000,
            what="dropped spans",
        )
        self.assertLessEqual(self.figure("trace_spans_queued"), 65_536)
        self.server.process.terminate()
        began = time.monotonic()
        self.assertEqual(self.server.process.wait(60), 0)
        self.assertLess(time.monotonic() - began, 40)

    def test_rejected_spans_are_logged(self):
        self.collector.answer = b'{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}'
        self.start()
        self.submit()
        harness.eventually(lambda: "too old" in self.server.log, what="the log")


if __name__ == "__main__":
    harness.main()
