// Package diagnosis runs cobaltcore doctor against the cluster of a suite, with an account that has only the documented rights, and checks
// that the report names a cause.
package diagnosis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/live"
)

// user has the documented rights, and no others.
const user = "cobaltcore-doctor"

// Page is the page with the ClusterRole, below the folder of the repository.
const Page = "docs/reference/doctor-permissions.md"

// Cause is the expected first cause of a report.
type Cause struct {
	// Object is "Kind/name" or, for generated names, "Kind/prefix*". Reason is the exact reason, Message and Next are parts of the message
	// and of one next command.
	Object, Reason, Message, Next string
}

// Role returns the ClusterRole of the documentation.
func Role(root string) (*unstructured.Unstructured, error) {
	page, err := os.ReadFile(filepath.Join(root, Page))
	if err != nil {
		return nil, err
	}
	_, block, found := strings.Cut(string(page), "```yaml\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ended {
		return nil, errors.New(Page + " has no manifest")
	}
	role := &unstructured.Unstructured{}
	return role, yaml.UnmarshalStrict([]byte(block), &role.Object)
}

// Connect creates the documented ClusterRole, grants it to a user, and returns the reader of the command for a kubeconfig of that user,
// which it writes to a folder. The administrator may impersonate the user.
func Connect(ctx context.Context, admin client.Client, kubeconfig, root, dir string) (doctor.Reader, error) {
	role, err := Role(root)
	if err != nil {
		return nil, err
	}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": user},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role.GetName()},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
	}}
	for _, o := range []*unstructured.Unstructured{role, binding} {
		if err := client.IgnoreAlreadyExists(admin.Create(ctx, o)); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(dir, "doctor.kubeconfig")
	if err := Impersonate(kubeconfig, user, path); err != nil {
		return nil, err
	}
	reader, _, err := live.Connect(live.Options{Kubeconfig: path, Alternative: "--from", Now: time.Now})
	return reader, err
}

// Impersonate writes a kubeconfig to a path, with which the user of another kubeconfig impersonates a user.
func Impersonate(kubeconfig, user, path string) error {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return err
	}
	for _, who := range config.AuthInfos {
		who.Impersonate = user
	}
	return clientcmd.WriteToFile(*config, path)
}

// Run returns the text of the report about a claim, and an error unless its first cause is the expected one. A report that lacks rights is
// an error, too.
func Run(ctx context.Context, r doctor.Reader, claim *unstructured.Unstructured, want Cause) (string, error) {
	report, _, err := doctor.Diagnose(ctx, r, claim.GroupVersionKind(), claim.GetNamespace(), claim.GetName(), doctor.Options{})
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := report.Print(&text, "text"); err != nil {
		return "", err
	}
	return text.String(), want.check(report)
}

// check returns an error unless the first cause of a report is the expected one.
func (w Cause) check(r *doctor.Report) error {
	switch {
	case r.Ready:
		return errors.New("the claim is ready")
	case len(r.Notes) > 0:
		return fmt.Errorf("the diagnosis is incomplete: %s", strings.Join(r.Notes, "; "))
	case len(r.Causes) == 0:
		return errors.New("the report has no cause")
	}
	first := r.Causes[0]
	object := first.Object.Kind + "/" + first.Object.Name
	prefix, generated := strings.CutSuffix(w.Object, "*")
	next := slices.ContainsFunc(first.Next, func(s string) bool { return strings.Contains(s, w.Next) })
	if object != w.Object && (!generated || !strings.HasPrefix(object, prefix)) || first.Reason != w.Reason ||
		!strings.Contains(first.Message, w.Message) || !next {
		return fmt.Errorf("the first cause is %s, %s: %s, next: %q; want %+v", object, first.Reason, first.Message, first.Next, w)
	}
	if first.Runbook == "" {
		return fmt.Errorf("%s has no runbook", object)
	}
	return nil
}
