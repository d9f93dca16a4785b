import { render } from "preact";
import { loadSession, session, signedOut } from "./lib/api";
import { startLive } from "./lib/live";
import { place } from "./lib/router";
import { pages } from "./lib/routes";
import { useEffect, useState } from "preact/hooks";
import { Questions } from "./ui/dialog";
import { Empty, Button, messageOf } from "./ui/parts";
import { Bar, Shell } from "./ui/shell";
import { Toasts } from "./ui/toast";
import { Overview } from "./pages/overview";
import { Queues } from "./pages/queues";
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
      return <Queues />;
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
      <Questions />
      <Toasts />
    </>
  );
}

startLive();
render(<App />, document.getElementById("app")!);
