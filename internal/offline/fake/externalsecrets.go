package fake

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

// Version returns the version that External Secrets computes for a synced object, from its generation, labels and annotations.
// https://github.com/external-secrets/external-secrets, pkg/controllers/util/util.go
func Version(object map[string]any) string {
	v := view{object: object}
	meta, _ := json.Marshal([]any{v.get("metadata", "annotations"), v.get("metadata", "labels")}) //nolint:errchkjson // texts
	return fmt.Sprintf("%d-%x", v.generation(), sha256.Sum224(meta))
}

// PushedProperties returns the properties of a PushSecret, by store and entry, in the form in which External Secrets keeps them in the
// status in order to delete properties that are no longer pushed.
// https://github.com/external-secrets/external-secrets, pkg/controllers/pushsecret/pushsecret_controller.go
func PushedProperties(object map[string]any) map[string]any {
	v := view{object: object}
	entries := map[string]any{}
	data, _ := v.get("spec", "data").([]any)
	for _, d := range data {
		of, _ := d.(map[string]any)
		d := view{object: of}
		name := d.text("match", "remoteRef", "remoteKey")
		if property := d.text("match", "remoteRef", "property"); property != "" {
			name += "/" + property
		}
		entries[name] = of
	}
	out := map[string]any{}
	stores, _ := v.get("spec", "secretStoreRefs").([]any)
	for _, s := range stores {
		of, _ := s.(map[string]any)
		s := view{object: of}
		out[s.text("kind")+"/"+s.text("name")] = entries
	}
	return out
}

// Templated returns the data of the Secret that External Secrets creates: the rendered templates of an ExternalSecret, or the values if it
// has none. A template with an unknown value is an error, as in External Secrets. Templates have no functions here.
// https://external-secrets.io/latest/guides/templating/
func Templated(externalSecret map[string]any, values map[string]string) (map[string]string, error) {
	templates, _ := view{object: externalSecret}.get("spec", "target", "template", "data").(map[string]any)
	if len(templates) == 0 {
		return values, nil
	}
	out := map[string]string{}
	for key, text := range templates {
		t, err := template.New(key).Option("missingkey=error").Parse(fmt.Sprint(text))
		if err != nil {
			return nil, fmt.Errorf("cannot read template %s: %w", key, err)
		}
		var b strings.Builder
		if err := t.Execute(&b, values); err != nil {
			return nil, fmt.Errorf("cannot fill template %s: %w", key, err)
		}
		out[key] = b.String()
	}
	return out, nil
}
