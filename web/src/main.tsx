import { render } from "preact";
import { loadSession, session, signedOut } from "./lib/api";
import { startLive } from "./lib/live";
import { place } from "./lib/router";
import { pages } from "./lib/routes";
import { useEffect, useState } from "preact/hooks";
import { Questions } from "./ui/dialog";
import { Empty, Button, messageOf } from "./ui/parts";
import { Enqueue } from "./ui/enqueue";
import { Overlays, startKeys } from "./ui/palette";
import { Bar, Shell, enqueueWith } from "./ui/shell";
import { Toasts } from "./ui/toast";
import { Overview } from "./pages/overview";
import { Events } from "./pages/events";
import { Audit } from "./pages/audit";
import { ErrorPage, Errors } from "./pages/errors";
import { OperationPage, Operations } from "./pages/operations";
import { JobPage } from "./pages/job";
import { Jobs } from "./pages/jobs";
import { LimitPage, Limits } from "./pages/limits";
import { Nodes } from "./pages/nodes";
import { PushTargetPage, PushTargets } from "./pages/push";
import { QueuePage } from "./pages/queue";
import { Queues } from "./pages/queues";
import { SchedulePage, Schedules } from "./pages/schedules";
import { Settings } from "./pages/settings";
import { Workers } from "./pages/workers";
import { WorkflowPage } from "./pages/workflow";
import { Workflows } from "./pages/workflows";
import { SignIn } from "./pages/signin";

function Page() {
  const { path } = place.value;
  const [page = "", name] = path;
  useEffect(() => {
    const title = pages.find((each) => each.path === page)?.name ?? "Millrace";
    document.title = `${name ? `${name} · ` : ""}${title} · Millrace`;
  }, [page, name]);
  switch (page) {
    case "":
      return <Overview />;
    case "queues":
      return name ? <QueuePage key={name} name={name} /> : <Queues />;
    case "jobs":
      return name ? <JobPage key={name} id={name} /> : <Jobs />;
    case "workflows":
      return name ? <WorkflowPage key={name} id={name} /> : <Workflows />;
    case "errors":
      return name ? <ErrorPage key={name} id={name} /> : <Errors />;
    case "operations":
      return name ? <OperationPage key={name} id={name} /> : <Operations />;
    case "schedules":
      return name ? <SchedulePage key={name} name={name} /> : <Schedules />;
    case "limits":
      return name ? <LimitPage key={name} name={name} /> : <Limits />;
    case "workers":
      return <Workers />;
    case "push":
      return name ? <PushTargetPage key={name} name={name} /> : <PushTargets />;
    case "events":
      return <Events />;
    case "audit":
      return <Audit />;
    case "nodes":
      return <Nodes />;
    case "settings":
      return <Settings />;
    default:
      return (
        <>
          <Bar title="No such page" />
          <Empty icon="search" title="There is no such page">
            <p>
              <a href="#/">To the overview</a>
            </p>
          </Empty>
        </>
      );
  }
}

function App() {
  const [fault, setFault] = useState("");
  const begin = (): void => {
    setFault("");
    loadSession().catch((error: unknown) => setFault(messageOf(error)));
  };
  useEffect(begin, []);
  useEffect(() => {
    if (!fault) return;
    const timer = setTimeout(begin, 2000);
    return () => clearTimeout(timer);
  }, [fault]);
  if (session.value === null) {
    return fault ? (
      <main class="sign-in">
        <Empty icon="warn" title="The server does not answer">
          <p>{fault}</p>
          <p>
            <Button onClick={begin}>Try again</Button>
          </p>
        </Empty>
      </main>
    ) : null;
  }
  if (signedOut.value) return <SignIn />;
  return (
    <>
      <Shell>
        <Page />
      </Shell>
      {enqueueWith.value && <Enqueue />}
      <Overlays />
      <Questions />
      <Toasts />
    </>
  );
}

startLive();
startKeys();
render(<App />, document.getElementById("app")!);
