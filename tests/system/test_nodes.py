"""Tests of several nodes on one database: all nodes give the same answers, and the loss of one
affects no client. (bench/failover measures the speed.)
"""

import contextlib
import json
import signal
import threading
import time

import harness
import test_auth

import nodes  # whose folder the harness has added
import postgres

FAILOVER_TIMEOUT_S = 60


class NodesCase(harness.MillraceCase):
    """`nodes` serve one store; `queues` has a queue on each of its shards."""

    nodes = None
    queues = None

    def each(self):
        """A client for each running node, in order."""
        return [self.new_client(server) for server in self.nodes.running]

    def submit_to(self, api, queue):
        reply = api.post("/v1/jobs", {"type": "work", "queue": queue})
        self.assertEqual(reply.status, 201, reply)
        return reply.json["id"]

    def submit_until_taken(self, api, queue):
        """Submits as a producer does: repeatedly, with the job's id, until acknowledged."""
        body = {"type": "work", "queue": queue, "id": harness.uuid7()}

        def taken():
            reply = api.post("/v1/jobs", body)
            self.assertIn(reply.status, (200, 201, 503), reply)
            return reply.status < 300

        harness.eventually(taken, FAILOVER_TIMEOUT_S, 0.05, what=f"a submission to {queue}")
        return body["id"]

    def claim_all(self, api, wanted):
        """Claims from all queues until exactly these jobs are claimed."""
        missing, jobs = set(wanted), []
        deadline = time.monotonic() + FAILOVER_TIMEOUT_S
        while missing:
            self.assertLess(time.monotonic(), deadline, f"{len(missing)} jobs can't be claimed")
            # The leases outlast what nodes take to settle.
            claimed = self.claim(50, list(self.queues.values()), api, wait_ms=500, lease_ms=600_000)
            self.assertLessEqual({job["id"] for job in claimed}, missing)
            missing -= {job["id"] for job in claimed}
            jobs += claimed
        return jobs

    def finish_all(self, api, jobs):
        items = [{"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"} for job in jobs]
        reply = api.post("/v1/ack", {"items": items})
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual({result["status"] for result in reply.json["results"]}, {200}, reply)


class AnyNode(NodesCase):
    """Three nodes that stay."""

    patience_s = harness.PATIENCE_S

    @classmethod
    def setUpClass(cls):
        cls.nodes = nodes.Nodes(3)
        cls.addClassCleanup(cls.nodes.close)
        cls.nodes.start()
        cls.queues = cls.nodes.queue_on_each_shard()

    @classmethod
    def tearDownClass(cls):
        for server in cls.nodes.servers:
            if server.stop() != 0:
                raise AssertionError(f"a node did not stop cleanly:\n{server.log[-4000:]}")

    def setUp(self):
        super().setUp()
        self.use(self.nodes[0])

    def test_each_leads_its_share_and_all_agree_on_it(self):
        leaders = self.nodes.leaders()
        for server in self.nodes.servers:
            self.assertEqual(self.nodes.leaders(server), leaders)
            self.assertIn(len(self.nodes.led_by(server)), (2, 3))
            self.assertEqual(self.new_client(server).get("/readyz").status, 200)

    def test_a_job_is_submitted_claimed_and_finished_through_any_node(self):
        ids = [self.submit_to(api, q) for api in self.each() for q in self.queues.values()]
        apis = self.each()
        jobs = self.claim_all(apis[0], ids)
        for number, api in enumerate(apis):
            self.finish_all(api, jobs[number :: len(apis)])
        for api in self.each():
            for job_id in ids:
                reply = api.get(f"/v1/jobs/{job_id}")
                self.assertEqual((reply.status, reply.json["state"]), (200, "succeeded"))

    def test_a_job_is_looked_for_wherever_it_may_lie(self):
        """The id of a client's own says nothing of its shard."""
        ids = []
        for queue in self.queues.values():
            for api in self.each():
                job_id = self.submit_until_taken(api, queue)
                ids.append(job_id)
                for other in self.each():
                    for what in ("", "/attempts"):
                        reply = other.get(f"/v1/jobs/{job_id}{what}")
                        self.assertEqual(reply.status, 200, reply)
        for api in self.each():
            reply = api.get(f"/v1/jobs/{harness.uuid7()}")
            self.assertEqual(reply.status, 404, reply)
        for server in self.nodes.servers:
            self.assertNotIn("can't decode", server.log)
        self.finish_all(api, self.claim_all(api, ids))

    def test_a_batch_may_lie_on_all_shards(self):
        for api in self.each():
            jobs = [{"type": "work", "queue": queue} for queue in self.queues.values()]
            reply = api.post("/v1/jobs/batch", {"jobs": jobs})
            self.assertEqual(reply.status, 200, reply)
            ids = [result["id"] for result in reply.json["results"]]
            self.finish_all(api, self.claim_all(api, ids))
            refused = api.post("/v1/jobs/batch", {"jobs": jobs, "atomic": True})
            self.assertEqual(refused.code, "across_shards")

    def test_a_submission_through_another_node_ends_a_poll(self):
        for waiting in self.each():
            for submitting in self.each():
                queue = list(self.queues.values())[self.nodes.servers.index(self.server)]
                found = []
                thread = threading.Thread(
                    target=lambda waiting=waiting, found=found: found.extend(
                        self.claim(1, list(self.queues.values()), waiting, wait_ms=60_000)
                    )
                )
                began = time.monotonic()
                thread.start()
                time.sleep(0.2)  # it probably waits by now; if not, it finds the job at once
                job_id = self.submit_to(submitting, queue)
                thread.join()
                self.assertEqual([job["id"] for job in found], [job_id])
                self.assertLess(time.monotonic() - began, 50)
                self.finish_all(waiting, found)

    def test_lists_and_figures_are_the_same_from_any_node(self):
        reply = self.api.post(
            "/v1/jobs/batch",
            {"jobs": [{"type": "listed", "queue": q} for q in list(self.queues.values()) * 5]},
        )
        ids = {result["id"] for result in reply.json["results"]}
        for api in self.each():
            listed = api.get("/v1/jobs", type="listed", fresh="true", limit=1000).json["items"]
            self.assertEqual({job["id"] for job in listed}, ids)
            for queue in self.queues.values():
                self.assertEqual(api.get(f"/v1/queues/{queue}").json["counts"]["ready"], 5)
            names = {queue["name"] for queue in api.get("/v1/queues", limit=1000).json["items"]}
            self.assertLessEqual(set(self.queues.values()), names)
        self.finish_all(self.api, self.claim_all(self.api, ids))

    def test_statistics_have_the_nodes_own_shards_at_once_and_nothing_twice(self):
        """(What happened on the others' may come a minute later.)"""
        kind = f"counted-{self.queue}"
        jobs = [{"type": kind, "queue": queue} for queue in self.queues.values()]
        reply = self.api.post("/v1/jobs/batch", {"jobs": jobs})
        self.assertEqual(reply.status, 200, reply)

        def counted(api):
            groups = api.get("/v1/stats", by="type", window_ms=600_000).json["groups"]
            return sum(sum(group["submitted"]) for group in groups if group["type"] == kind)

        for server, api in zip(self.nodes.servers, self.each()):
            own = len(self.nodes.led_by(server))
            harness.eventually(lambda: own <= counted(api) <= len(jobs), what="the statistics")
        self.claim_all(self.api, [result["id"] for result in reply.json["results"]])

    def test_an_operator_may_ask_any_node(self):
        apis = self.each()
        for queue in self.queues.values():
            paused = apis[0].post(f"/v1/queues/{queue}/pause", create="true")
            self.assertIn(paused.status, (200, 201))
            job_id = self.submit_to(apis[1], queue)
            self.assertEqual(self.claim(1, [queue], apis[2]), [])
            self.assertEqual(apis[2].post(f"/v1/jobs/{job_id}/cancel").status, 200)
            self.assertEqual(apis[1].post(f"/v1/queues/{queue}/resume").status, 200)
            self.assertEqual(apis[0].get(f"/v1/jobs/{job_id}").json["state"], "cancelled")

    def test_the_command_line_shows_them(self):
        shown = self.server.cli("admin", "nodes")
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        for server in self.nodes.servers:
            self.assertIn(server.url, shown.stdout)
        told = json.loads(self.server.cli("admin", "nodes", "-o", "json").stdout)
        self.assertEqual(sum(node["self"] for node in told["nodes"]), 1)
        self.assertEqual(sum(node["live"] for node in told["nodes"]), 3)


class NodesGo(NodesCase):
    """Nodes that come and go."""

    def serve(self, count, *args, **settings):
        made = nodes.Nodes(count, *args, **settings)
        self.addCleanup(made.close)
        self.nodes = made.start()
        self.use(made[0])
        self.queues = made.queue_on_each_shard()
        return made

    def assert_all_served(self):
        """Checks that every running node accepts jobs for every queue, and that they can be
        finished.
        """
        for api in self.each():
            ids = [self.submit_until_taken(api, queue) for queue in self.queues.values()]
            self.finish_all(api, self.claim_all(api, ids))

    def test_one_is_killed_and_the_rest_serve_all(self):
        self.serve(3)
        ids = [self.submit_to(api, q) for api in self.each() for q in self.queues.values()]
        held = self.claim_all(self.api, ids)
        gone = self.nodes[2]
        self.assertNotEqual(self.nodes.led_by(gone), [])
        gone.kill()
        for queue in self.queues.values():
            self.submit_until_taken(self.api, queue)
        self.nodes.settle()
        # The leases outlived their shards' leader.
        self.finish_all(self.new_client(self.nodes[1]), held)
        self.claim_and_finish_rest()
        self.assert_all_served()
        for server in self.nodes.running:
            self.assertEqual(self.new_client(server).get("/readyz").status, 200)
            dead = [n for n in self.nodes.view(server)["nodes"] if not n["live"]]
            self.assertEqual([node["url"] for node in dead], [gone.url])
        gone.start()
        self.nodes.settle()
        self.assertNotEqual(self.nodes.led_by(gone), [])
        self.assert_all_served()

    def claim_and_finish_rest(self):
        jobs = self.claim(100, list(self.queues.values()), wait_ms=500)
        self.finish_all(self.api, jobs)

    def test_all_are_killed_and_nothing_is_lost(self):
        self.serve(2)
        ids = [self.submit_to(api, q) for api in self.each() for q in self.queues.values()]
        for server in self.nodes.servers:
            server.kill()
        for server in self.nodes.servers:
            server.start()
        self.nodes.settle()
        self.use(self.nodes[1])
        self.finish_all(self.api, self.claim_all(self.api, ids))

    @contextlib.contextmanager
    def no_request_fails(self, servers):
        """Clients of these submit, wait for jobs and finish them meanwhile; each job is finished
        once.
        """
        failed, finished, stop = [], [], threading.Event()

        def ask(server):
            try:
                live(self.new_client(server))
            except Exception as error:  # such as a broken connection
                failed.append(error)

        def live(api):
            def done(path, body):
                reply = api.post(path, body)
                if reply.status not in (200, 201):
                    failed.append((path, reply))
                return reply.json

            while not stop.is_set():
                for queue in self.queues.values():
                    done("/v1/jobs", {"type": "work", "queue": queue})
                    claim = {"queues": [queue], "limit": 5, "wait_ms": 200, "worker": {"id": "w"}}
                    jobs = done("/v1/claim", claim).get("jobs", [])
                    items = [{"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"} for job in jobs]
                    results = done("/v1/ack", {"items": items})["results"] if items else []
                    failed.extend(result for result in results if result["status"] != 200)
                    finished.extend(item["id"] for item in items)

        threads = [threading.Thread(target=ask, args=(server,)) for server in servers]

        def go_on():
            """Waits until they have finished more jobs, or one has failed."""
            goal = len(finished) + 10
            harness.eventually(lambda: len(finished) >= goal or failed, what="more finished jobs")

        for thread in threads:
            thread.start()
        try:
            go_on()
            yield
            go_on()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failed, [])
        self.assertGreater(len(finished), 10)
        self.assertEqual(len(set(finished)), len(finished))

    def test_one_is_stopped_and_started_and_no_request_fails(self):
        self.serve(3)
        with self.no_request_fails(self.nodes.servers[:2]):
            self.assertEqual(self.nodes[2].stop(), 0, self.nodes[2].log)
        self.nodes.settle()
        with self.no_request_fails(self.nodes.servers[:2]):
            self.nodes[2].start()
            self.nodes.settle()

    def test_one_is_drained_and_no_request_fails(self):
        self.serve(3)
        node = self.nodes.id_of(self.nodes[1])
        with self.no_request_fails(self.nodes.servers):
            self.assertEqual(self.server.cli("admin", "drain", node).returncode, 0)
            self.nodes.settle([self.nodes[0], self.nodes[2]])
            self.assertEqual(self.server.cli("admin", "undrain", node).returncode, 0)
            self.nodes.settle()

    def test_one_is_drained_and_let_lead_again(self):
        self.serve(3)
        drained = self.nodes[1]
        node = self.nodes.id_of(drained)
        done = self.server.cli("admin", "drain", node)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.nodes.settle([self.nodes[0], self.nodes[2]])
        self.assertEqual(self.new_client(drained).get("/readyz").status, 200)
        self.assertIn("draining", self.server.cli("admin", "nodes").stdout)
        self.assert_all_served()
        done = self.server.cli("admin", "undrain", node)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.nodes.settle()
        self.assert_all_served()
        unknown = self.server.cli("admin", "drain", "0123456789abcdef")
        self.assertIn("there is no node with this id", unknown.stderr)

    def test_a_paused_one_is_replaced_and_comes_back(self):
        self.serve(2)
        paused = self.nodes[1]
        paused.signal(signal.SIGSTOP)
        try:
            ids = [self.submit_until_taken(self.api, queue) for queue in self.queues.values()]
        finally:
            paused.signal(signal.SIGCONT)
        self.nodes.settle()
        self.finish_all(self.new_client(paused), self.claim_all(self.new_client(paused), ids))
        self.assert_all_served()

    def test_the_leader_looks_at_the_token_too(self):
        every = [word for scope in test_auth.SCOPES for word in ("--scope", scope)]
        both, block = test_auth.new_token("--name", "both", *every)
        one, other_block = test_auth.new_token("--name", "one", *every)
        made = nodes.Nodes(2, token=both, config=block + other_block)
        self.addCleanup(made.close)
        config = made[1].home / "millrace.toml"
        config.write_text(block)
        self.nodes = made.start()
        self.use(made[0])
        self.queues = made.queue_on_each_shard()
        leaders = made.leaders()
        with_one = self.new_client(made[0], one)
        for shard, queue in self.queues.items():
            reply = with_one.post("/v1/jobs", {"type": "work", "queue": queue})
            self.assertEqual(reply.status, 201 if leaders[shard] is made[0] else 401, reply)
            self.submit_to(self.api, queue)


class BehindPgBouncer(NodesCase):
    """Two nodes, and an application that calls millrace.enqueue and millrace.finish, all through one PgBouncer."""

    POOL_SIZE = 4  # for the two nodes' sixteen connections and the application's

    def setUp(self):
        super().setUp()
        self.pooler = postgres.Pooler(postgres.shared(), self.POOL_SIZE)
        self.addCleanup(self.pooler.close)
        self.nodes = nodes.Nodes(2, pooler=self.pooler)
        self.addCleanup(self.nodes.close)
        self.nodes.start()
        self.queues = self.nodes.queue_on_each_shard()
        self.use(self.nodes[0])
        self.sql("CREATE TABLE effects(job uuid)")

    def sql(self, statement):
        """Runs a statement in its own transaction, which must commit."""
        return self.nodes.cluster.sql(statement, self.pooler.leads_to(self.nodes.database))

    def enqueue(self, rounds):
        """Enqueues jobs on every shard and returns their ids."""
        calls = [f"SELECT millrace.enqueue('work', 'null', queue => '{queue}')" for queue in self.queues.values()]
        return [job for _ in range(rounds) for job in self.sql(";".join(calls)).split()]

    def finish_in_sql(self, job):
        """Finishes a job with an effect in the same transaction."""
        finish = f"SELECT millrace.finish('{job['id']}', {job['lease']['token']})"
        effect = f"INSERT INTO effects VALUES ('{job['id']}')"
        self.sql(f"BEGIN; {effect}; {finish}; COMMIT")

    def await_each_done_once(self, ids):
        apis = self.each()

        def states():
            replies = [api.get(f"/v1/jobs/{job}") for job in ids for api in apis]
            return {(reply.status, (reply.json or {}).get("state")) for reply in replies}

        harness.eventually(
            lambda: states() == {(200, "succeeded")}, FAILOVER_TIMEOUT_S, 0.2, what="every job's success"
        )
        self.assertEqual(sorted(self.sql("SELECT job FROM effects").split()), sorted(ids))

    def test_jobs_come_from_and_end_in_sql_through_either_node(self):
        ids = self.enqueue(4)
        jobs = [job for api in self.each() for job in self.claim(len(ids) // 2, list(self.queues.values()), api)]
        jobs += self.claim_all(self.api, set(ids) - {job["id"] for job in jobs})
        self.assertEqual(sorted(job["id"] for job in jobs), sorted(ids))
        for job in jobs:
            self.finish_in_sql(job)
        self.await_each_done_once(ids)
        for server in self.nodes.servers:
            self.assertEqual(server.stop(), 0)

    def test_a_node_and_the_pooler_are_killed(self):
        ids = self.enqueue(3)
        jobs = self.claim_all(self.new_client(self.nodes[1]), ids)
        for job in jobs[::2]:
            self.finish_in_sql(job)
        self.pooler.kill()
        self.nodes[1].kill()
        self.pooler.start()
        for job in jobs[1::2]:
            self.finish_in_sql(job)
        ids += self.enqueue(1)
        for job in self.claim_all(self.api, ids[-len(self.queues) :]):
            self.finish_in_sql(job)
        self.await_each_done_once(ids)


if __name__ == "__main__":
    harness.main()
