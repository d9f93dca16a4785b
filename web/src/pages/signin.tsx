// The sign-in, for a server with tokens. The token becomes a cookie that no script can read.
import { useState } from "preact/hooks";
import { signIn } from "../lib/api";
import { refreshAll } from "../lib/live";
import { forgetAll } from "../lib/resource";
import { Button, TextField, messageOf } from "../ui/parts";

export function SignIn() {
  const [token, setToken] = useState("");
  const [fault, setFault] = useState<string>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(token);
      forgetAll();
      refreshAll();
    } catch (error) {
      setFault(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form class="panel pad" onSubmit={submit} style={{ padding: "1.5rem" }}>
        <h1>Sign in to Millrace</h1>
        <TextField
          label="Token"
          type="password"
          value={token}
          onInput={setToken}
          fault={fault}
          placeholder="mlr_…"
          mono
          focus
          hint="An administrator makes one: millrace token create --name you --scope read --scope operate. It stays in this browser for twelve hours, out of reach of scripts."
        />
        <Button type="submit" kind="primary" disabled={busy || token.trim() === ""}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
