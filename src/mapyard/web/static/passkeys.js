// Passkeys: ask the server what to sign, let the device sign it, send the answer back as a form.
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const toText = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

async function post(path, fields) {
  const answer = await fetch(path, { method: "POST", body: new URLSearchParams(fields) });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.error ?? "That did not work. Load the page again.");
  return said;
}

async function make(options) {
  options.challenge = toBytes(options.challenge);
  options.user.id = toBytes(options.user.id);
  for (const held of options.excludeCredentials ?? []) held.id = toBytes(held.id);
  const made = await navigator.credentials.create({ publicKey: options });
  return {
    id: made.id, rawId: toText(made.rawId), type: made.type,
    response: { clientDataJSON: toText(made.response.clientDataJSON), attestationObject: toText(made.response.attestationObject) },
  };
}

async function use(options) {
  options.challenge = toBytes(options.challenge);
  for (const held of options.allowCredentials ?? []) held.id = toBytes(held.id);
  const used = await navigator.credentials.get({ publicKey: options });
  const { clientDataJSON, authenticatorData, signature, userHandle } = used.response;
  return {
    id: used.id, rawId: toText(used.rawId), type: used.type,
    response: {
      clientDataJSON: toText(clientDataJSON), authenticatorData: toText(authenticatorData),
      signature: toText(signature), userHandle: userHandle && toText(userHandle),
    },
  };
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!window.PublicKeyCredential) continue;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const problem = form.querySelector("[role=alert]");
    problem.hidden = true;
    const fields = Object.fromEntries(new FormData(form));
    const adds = form.dataset.passkey === "add";
    try {
      const options = await post(adds ? "/account/passkeys/options" : "/sign-in/passkey/options", { form_token: fields.form_token });
      const credential = adds ? await make(options) : await use(options);
      location.assign((await post(form.getAttribute("action"), { ...fields, credential: JSON.stringify(credential) })).next);
    } catch (error) {
      problem.textContent = error.name === "NotAllowedError" ? "Nothing was signed: it was cancelled, or there is no passkey for this site." : error.message;
      problem.hidden = false;
      delete form.dataset.sent;
    }
  });
}
