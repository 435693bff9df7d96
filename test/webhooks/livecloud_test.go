package webhooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	source "github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/live"
	"github.com/c5c3/crossplane-cobaltcore/internal/livecloud"
	"github.com/c5c3/crossplane-cobaltcore/internal/livecloud/livecloudtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
)

// kubernetesProgram names the variable that holds the path of Kubernetes, as hack/tools/build.sh kubernetes prints it.
const kubernetesProgram = "KUBERNETES"

// TestPlanDetectsDriftOfLiveCloud checks the reader of plan --cluster with a real API server, which sets defaults and managedFields: a
// cloud without changes has neither a plan nor drift, a changed object is drift, and the ClusterRole of the documentation is sufficient.
func TestPlanDetectsDriftOfLiveCloud(t *testing.T) {
	path := os.Getenv(kubernetesProgram)
	if path == "" {
		t.Skip("run by `make test-webhooks`, which builds Kubernetes first")
	}
	api := startAPI(t, path)
	admin, err := client.New(api.Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := examples.Files.ReadFile("controlplane/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cloud := install(t, admin, claim)
	edited := plan.Document{Identity: preview.IdentityOf(claim), Data: claim}

	planner := impersonate(t, api, "planner")
	readOnly, _, err := live.Connect(live.Options{Kubeconfig: planner, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	_, err = livecloud.Read(t.Context(), readOnly, livecloud.Options{Edited: []plan.Document{edited}})
	if e := (*livecloud.ReadError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), "missing rights: list controlplanecluster") {
		t.Fatalf("without a role: %v", err)
	}
	bind(t, admin, "planner")

	read := func() (*livecloud.Cloud, []plan.Drift) {
		t.Helper()
		c, err := livecloud.Read(t.Context(), readOnly, livecloud.Options{Edited: []plan.Document{edited}})
		if err != nil {
			t.Fatal(err)
		}
		drift, err := c.Drift(t.Context(), kinds.Runners(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c, drift
	}
	eventually(t, func() bool {
		_, err := livecloud.Read(t.Context(), readOnly, livecloud.Options{Edited: []plan.Document{edited}})
		return err == nil
	})
	c, drift := read()
	if len(drift) > 0 {
		t.Errorf("an unchanged cloud has drift: %+v", drift)
	}
	p, err := plan.Run(plan.Input{Claims: c.Claims, Platform: c.Platform}, plan.Input{Claims: []plan.Document{edited}, Platform: c.Platform}, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	if p.Changed() {
		var out strings.Builder
		_ = p.Print(&out, "text", false)
		t.Errorf("an unchanged claim has a plan:\n%s", out.String())
	}

	i := slices.IndexFunc(cloud, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	if i < 0 {
		t.Fatal("the cloud has no Deployment")
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec": {"replicas": 7, "paused": true}}`))
	if err := admin.Patch(t.Context(), cloud[i].DeepCopy(), patch); err != nil {
		t.Fatal(err)
	}
	_, drift = read()
	if len(drift) != 1 || drift[0].Name != cloud[i].GetName() || len(drift[0].Fields) != 1 || drift[0].Fields[0].Path != "spec.replicas" {
		t.Errorf("a changed Deployment: %+v", drift)
	}
}

// startAPI starts an API server, which is stopped after the test.
func startAPI(t *testing.T, path string) *kubernetes.API {
	t.Helper()
	ps := &process.Group{Dir: t.TempDir()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(ps.Logs(12, "live-etcd", "live-apiserver"))
		}
		ps.Stop()
	})
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := ps.Link(name, path); err != nil {
			t.Fatal(err)
		}
	}
	api, err := kubernetes.Start("live", t.TempDir(), ps, "--disable-admission-plugins=ServiceAccount")
	if err != nil {
		t.Fatal(err)
	}
	if err := kubernetes.Ready(t.Context(), ps, "the API server", api.Config); err != nil {
		t.Fatal(err)
	}
	return api
}

// install creates the kinds, the claim and its objects as Crossplane leaves them. It returns the objects.
func install(t *testing.T, admin client.Client, claim []byte) []*unstructured.Unstructured {
	t.Helper()
	r, err := preview.Run(claim, examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.State())
	if err != nil {
		t.Fatal(err)
	}
	state := &preview.State{}
	if err := json.Unmarshal(text, state); err != nil {
		t.Fatal(err)
	}
	objects, err := livecloudtest.Objects(state, livecloudtest.Namespaced)
	if err != nil {
		t.Fatal(err)
	}
	platform := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(examples.Platform, &platform.Object); err != nil {
		t.Fatal(err)
	}
	objects = append(objects, platform)
	createKinds(t, admin, objects)
	for _, o := range objects {
		namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		namespace.SetName(o.GetNamespace())
		if err := admin.Create(t.Context(), namespace); o.GetNamespace() != "" && err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	for _, o := range objects {
		status := o.Object["status"]
		created := o.DeepCopy()
		delete(created.Object, "status")
		eventually(t, func() bool {
			err = admin.Patch(t.Context(), created, client.Apply, client.FieldOwner("crossplane"), client.ForceOwnership) //nolint:staticcheck // unstructured objects
			return err == nil || !apierrors.IsNotFound(err) && !runtime.IsNotRegisteredError(err) && !strings.Contains(err.Error(), "no matches for kind")
		})
		if err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		if status == nil {
			continue
		}
		body, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			t.Fatal(err)
		}
		patch := client.RawPatch("application/merge-patch+json", body)
		if err := admin.Status().Patch(t.Context(), created, patch); apierrors.IsNotFound(err) {
			err = admin.Patch(t.Context(), created, patch) // The kind has no subresource.
			if err != nil {
				t.Fatalf("status of %s %s: %v", o.GetKind(), o.GetName(), err)
			}
		} else if err != nil {
			t.Fatalf("status of %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	return objects
}

// createKinds creates the CRDs of objects, of all claims and of their composite resources.
func createKinds(t *testing.T, admin client.Client, objects []*unstructured.Unstructured) {
	t.Helper()
	crds, err := definition.All()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := source.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := map[runtimeschema.GroupKind]bool{}
	for _, c := range crds {
		known[runtimeschema.GroupKind{Group: c.Spec.Group, Kind: c.Spec.Names.Kind}] = true
	}
	for _, o := range objects {
		kind := o.GroupVersionKind().GroupKind()
		data, err := os.ReadFile(filepath.Join(dir, source.FileName(kind)))
		if known[kind] || errors.Is(err, os.ErrNotExist) {
			continue
		}
		known[kind] = true
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal(data, crd); err != nil {
			t.Fatal(err)
		}
		crds = append(crds, crd)
	}
	for _, c := range crds {
		crd := c.DeepCopy()
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		crd.Spec.Conversion = nil // Without the operator, no webhook converts.
		crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
		if crd.Annotations == nil {
			crd.Annotations = map[string]string{}
		}
		crd.Annotations["api-approved.kubernetes.io"] = "https://github.com/kubernetes-sigs/gateway-api/pull/2466"
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			t.Fatal(err)
		}
		if err := admin.Create(t.Context(), &unstructured.Unstructured{Object: object}); err != nil {
			t.Fatalf("CRD %s: %v", crd.Name, err)
		}
	}
}

// impersonate writes a kubeconfig for a user.
func impersonate(t *testing.T, api *kubernetes.API, user string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(api.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range config.AuthInfos {
		who.Impersonate = user
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// bind creates the ClusterRole of the documentation, and grants it to a user.
func bind(t *testing.T, admin client.Client, user string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/plan-permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	role := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(block), &role.Object); err != nil {
		t.Fatal(err)
	}
	binding := rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.GetName()},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&binding)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*unstructured.Unstructured{role, {Object: object}} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", o.GetKind(), err))
		}
	}
}

// eventually waits for a condition, at most a minute.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition does not hold within a minute")
		}
	}
}
