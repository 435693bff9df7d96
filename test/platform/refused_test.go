//go:build platform

package platform_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// invalidClaims returns the claims of test/claims by their files' names. Files that are no claims, or have no name for
// a preview, are skipped.
func invalidClaims(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("../claims/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no claims: %v", err)
	}
	out := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := platform.Decode(doc)
		if err != nil || len(objects) != 1 {
			continue
		}
		if u := objects[0]; u.GroupVersionKind() == claimKind && u.GetNamespace() != "" && u.GetGenerateName() == "" {
			out[strings.TrimSuffix(filepath.Base(file), ".yaml")] = u
		}
	}
	return out
}

// namespaceFor creates a namespace.
func namespaceFor(t *testing.T, name string) {
	t.Helper()
	if err := cloud.Apply(t.Context(), fmt.Appendf(nil, "{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name)); err != nil {
		t.Fatal(err)
	}
}

// fieldErrors returns the preview's errors about fields of a claim, before any function is called.
func fieldErrors(t *testing.T, u *unstructured.Unstructured) field.ErrorList {
	t.Helper()
	v, err := definition.Validator(u.GetAPIVersion(), u.GetKind())
	if err != nil {
		t.Fatal(err)
	}
	defaulted := u.DeepCopy().Object
	v.Default(defaulted)
	return v.Validate(defaulted)
}

// TestAPIServerRejectsInvalidFields creates the claims of test/claims. The API server must report the preview's errors about fields, with
// the same messages, before anything happens; errors that only the function can find are accepted by the API server.
func TestAPIServerRejectsInvalidFields(t *testing.T) {
	t.Parallel()
	namespaceFor(t, "tenant-refused")
	rejected := 0
	for name, u := range invalidClaims(t) {
		u.SetNamespace("tenant-refused")
		want := fieldErrors(t, u)
		got := cloud.Client.Create(t.Context(), u, client.DryRunAll, client.FieldValidation("Strict"))
		if rejected := apierrors.IsInvalid(got) || apierrors.IsBadRequest(got); rejected != (len(want) > 0) {
			t.Errorf("%s:\nthe preview:      %v\nthe API server:   %v", name, want, got)
			continue
		}
		if got == nil {
			continue
		}
		rejected++
		message := inBody.ReplaceAllString(oneLine(got.Error()), "")
		if strings.Contains(message, "cannot be handled as") {
			continue // malformed claims and unknown fields are not validated further, and have other messages
		}
		for _, w := range want {
			if sentence := oneLine(w.Error()); !strings.Contains(message, sentence) {
				t.Errorf("%s:\nthe preview:      %s\nthe API server:   %s", name, w, message)
			}
		}
	}
	if rejected < 20 {
		t.Errorf("only %d claims were refused by the API server: this tests nothing", rejected)
	}
}

// inBody matches the part of a message that repeats the field's name, which the preview omits.
var inBody = regexp.MustCompile(`\S+ in body `)

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestFunctionRejectsInvalidClaims creates the claims of test/claims that only the function can reject: options of a service, and
// violations of the platform's limits and clusters. Each claim must report the error of the preview, and nothing may be composed for it.
func TestFunctionRejectsInvalidClaims(t *testing.T) {
	t.Parallel()
	rejected := map[string]*unstructured.Unstructured{}
	message := map[string][]string{}
	limits := 0
	for name, u := range invalidClaims(t) {
		if len(fieldErrors(t, u)) > 0 || len(u.GetLabels())+len(u.GetAnnotations()) > 0 {
			continue
		}
		u.SetName(name)
		u.SetNamespace(u.GetNamespace() + "-invalid")
		doc, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var r *preview.ValidationErrors
		if _, err := preview.Run(doc, examples.Platform, kinds.Runners()); !errors.As(err, &r) {
			continue
		}
		if strings.HasPrefix(name, "limit-") {
			limits++
		}
		rejected[name], message[name] = u, r.Sentences
		order(t, u)
	}
	if len(rejected) < 20 || limits < 5 {
		t.Fatalf("only %d claims are refused by the function, %d of them by limits: this tests nothing", len(rejected), limits)
	}
	for name, u := range rejected {
		for _, sentence := range message[name] {
			specValid(t, u, "False", sentence)
		}
		is := get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName())
		if c, _ := platform.ConditionOf(is, "Ready"); c.Status == "True" {
			t.Errorf("%s: the claim is ready", name)
		}
		composite, _, _ := unstructured.NestedString(is.Object, "spec", "resourceRef", "name")
		if refs, _, _ := unstructured.NestedSlice(get(t, cloud.Cluster, compositeKind, "", composite).Object, "spec", "resourceRefs"); len(refs) > 0 {
			t.Errorf("%s: %d objects are composed", name, len(refs))
		}
		if err := cloud.Client.Delete(t.Context(), u); err != nil {
			t.Error(err)
		}
	}
}
