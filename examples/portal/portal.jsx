// A portal that shows the form of a claim and the resulting YAML. It sends nothing: take the YAML, or replace submit.
import { withTheme } from "@rjsf/core";
import { Theme } from "@rjsf/react-bootstrap";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { stringify } from "yaml";

import { transformErrors, validator } from "./errors.js";
import { templates } from "./templates.jsx";

import controlPlane from "../../docs/reference/form/controlplanecluster.json";
import hypervisors from "../../docs/reference/form/hypervisorcluster.json";
import service from "../../docs/reference/form/keystoneservice.json";
import storage from "../../docs/reference/form/storagecluster.json";

const forms = Object.fromEntries([controlPlane, hypervisors, storage, service].map((form) => [form.schema.title, form]));
const Form = withTheme({ ...Theme, templates: { ...Theme.templates, ...templates } });

// compact removes the empty objects that rjsf adds for required fields. A checked claim has only those that the user has added.
function compact(value) {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.length > 0 ? value.map(compact) : undefined;
  }
  const entries = Object.entries(value).map(([key, below]) => [key, compact(below)]).filter(([, below]) => below !== undefined);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

function Portal() {
  const [kind, setKind] = useState("ControlPlaneCluster");
  const [expert, setExpert] = useState(false);
  const [claim, setClaim] = useState({});
  const [valid, setValid] = useState(false);

  const select = (event) => {
    setKind(event.target.value);
    setClaim({});
    setValid(false);
  };
  const change = ({ formData }) => {
    setClaim(formData);
    setValid(false);
  };

  return (
    <div className="container-fluid py-3">
      <header className="d-flex flex-wrap gap-4 align-items-center mb-3">
        <h1 className="h3 mb-0">Create a claim</h1>
        <select id="kind" className="form-select w-auto" aria-label="Kind of the claim" value={kind} onChange={select}>
          {Object.keys(forms).map((name) => <option key={name}>{name}</option>)}
        </select>
        <label className="form-check-label">
          <input id="expert" className="form-check-input me-2" type="checkbox" checked={expert} onChange={() => setExpert(!expert)} />
          Show expert fields
        </label>
      </header>
      <main className={expert ? "" : "basic"}>
        <Form
          key={kind}
          {...forms[kind]}
          validator={validator}
          transformErrors={transformErrors}
          omitExtraData
          experimental_defaultFormStateBehavior={{ emptyObjectFields: "populateRequiredDefaults", arrayMinItems: { populate: "requiredOnly" } }}
          noHtml5Validate
          focusOnFirstError
          onChange={change}
          onSubmit={({ formData }) => { setClaim(formData); setValid(true); }}
          onError={() => setValid(false)}
        >
          <button className="btn btn-primary" type="submit">Check the claim</button>
        </Form>
        <aside>
          <h2 className="h5">Claim</h2>
          {valid && <p id="valid" className="alert alert-success">The claim matches the form. Check it with cobaltcore validate.</p>}
          <pre id="yaml">{stringify(valid ? claim : compact(claim) ?? {}, { keepUndefined: false })}</pre>
        </aside>
      </main>
    </div>
  );
}

createRoot(document.getElementById("portal")).render(<Portal />);
