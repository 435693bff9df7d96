package platform

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
)

// namespace is the namespace of Crossplane.
const namespace = "crossplane-system"

// crossplaneModule is the Go module of Crossplane's core.
const crossplaneModule = "github.com/crossplane/crossplane/v2"

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// recommended are the flags that docs/install.md recommends. Crossplane's circuit breaker counts every event twice, and
// again for every other composed resource of the same kind that the first composite resource had when core started:
// StartWatches starts a watch for each. Twenty Objects of one control plane are twenty watches, so the limits have to
// be much higher than seems sensible. The interval is the interval of Usages, which no event triggers: at each one they
// write the objects that they protect, even without a change.
var recommended = []string{"--circuit-breaker-burst=100000", "--circuit-breaker-refill-rate=1000", "--poll-interval=5m"}

// crossplane is Crossplane's core as installed by its Helm chart, except for its pods: they are processes here, with
// the service accounts of the pods.
type crossplane struct {
	*Cluster
	source    string         // folder of its module
	args      []string       // flags of core
	authority *pki.Authority // it signs certificates
	webhook   int            // port
	metrics   string         // URL
}

// environment returns the environment of the pods.
func (x *crossplane) environment(kubeconfig string) []string {
	return []string{
		env("KUBECONFIG", kubeconfig),
		env("POD_NAMESPACE", namespace),
		env("POD_SERVICE_ACCOUNT", "crossplane"),
		env("CRDS_PATH", filepath.Join(x.source, "cluster", "crds")),
		env("WEBHOOK_CONFIGS_PATH", filepath.Join(x.source, "cluster", "webhookconfigurations")),
		env("TLS_CA_SECRET_NAME", "crossplane-root-ca"),
		env("TLS_SERVER_SECRET_NAME", "crossplane-tls-server"),
		env("TLS_CLIENT_SECRET_NAME", "crossplane-tls-client"),
	}
}

// start installs Crossplane and starts it; it does not wait until it is ready.
func (x *crossplane) start(ctx context.Context, chart []*unstructured.Unstructured) error {
	chart = slices.DeleteFunc(slices.Clone(chart), func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	if err := x.applyAll(ctx, append([]*unstructured.Unstructured{namespaceObject(namespace)}, chart...)); err != nil {
		return fmt.Errorf("cannot install Crossplane's chart: %w", err)
	}
	core, err := x.serviceAccount(ctx, "crossplane")
	if err != nil {
		return err
	}
	rbac, err := x.serviceAccount(ctx, "rbac-manager")
	if err != nil {
		return err
	}
	// Crossplane defines its own kinds, but uses them before the API serves them, and fails; so they are defined
	// before, while its permissions are aggregated.
	if err := together(ctx,
		func(ctx context.Context) error {
			return x.waitForPermission(ctx, "crossplane", "patch", definitionResource)
		},
		func(ctx context.Context) error { return x.ownDefinitions(ctx) },
	); err != nil {
		return err
	}
	if err := x.processes.Wait(ctx, "crossplane core init", func(ctx context.Context) (bool, error) {
		_, err := x.processes.Run(ctx, "crossplane-core", x.environment(core), "core", "init", "--enable-webhooks=false", "--activation=*")
		return err == nil, err
	}); err != nil {
		return err
	}
	if err := x.certificates(ctx); err != nil {
		return fmt.Errorf("cannot make Crossplane's certificates: %w", err)
	}
	return x.processesOf(ctx, core, rbac)
}

// ownDefinitions creates the CRDs of Crossplane itself.
func (x *crossplane) ownDefinitions(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(x.source, "cluster", "crds", "*.yaml"))
	if err != nil {
		return err
	}
	data, err := stream(files...)
	if err != nil {
		return err
	}
	definitions, err := Decode(data)
	if err != nil {
		return err
	}
	return x.define(ctx, definitions)
}

// certificates writes the certificates that Crossplane created, and creates one for the servers that run here instead
// of in a pod.
func (x *crossplane) certificates(ctx context.Context) error {
	client, err := x.secret(ctx, "crossplane-tls-client")
	if err != nil {
		return err
	}
	root, err := x.secret(ctx, "crossplane-root-ca")
	if err != nil {
		return err
	}
	if x.authority, err = pki.Load(pki.Pair{Certificate: root["tls.crt"], Key: root["tls.key"]}); err != nil {
		return err
	}
	if err := x.authority.Write(x.File("crossplane/client"), pki.Pair{Certificate: client["tls.crt"], Key: client["tls.key"]}); err != nil {
		return err
	}
	server, err := x.authority.Issue(pki.Subject{User: "local", Hosts: []string{kubernetes.Loopback, "localhost"}})
	if err != nil {
		return err
	}
	return x.authority.Write(x.serverCertificate(), server)
}

// serverCertificate returns the folder of the server certificate for all connections of Crossplane.
func (x *crossplane) serverCertificate() string { return x.File("crossplane/server") }

func (x *crossplane) secret(ctx context.Context, name string) (map[string][]byte, error) {
	u, err := x.Get(ctx, secretKind, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil || u == nil {
		return nil, fmt.Errorf("cannot read Secret %s: %w", name, err)
	}
	return secretData(u)
}

// processesOf starts core and the RBAC manager.
func (x *crossplane) processesOf(ctx context.Context, core, rbac string) error {
	ports, err := kubernetes.FreePorts(3)
	if err != nil {
		return err
	}
	x.webhook, x.metrics = ports[0], "http://"+kubernetes.Address(ports[1])+"/metrics"
	cache := x.File("crossplane/packages")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	// Functions are called at an address, and this function's address is not a pod's. A provider is not called, so
	// Crossplane may create a Deployment for it, with the service account and its permissions.
	if err := x.processes.Start("crossplane", "crossplane-core", x.environment(core), append([]string{
		"core", "start", "--package-runtime=Function=External;Provider=Deployment", "--xpkg-cache-dir=" + cache,
		"--webhook-port=" + strconv.Itoa(ports[0]), "--metrics-port=" + strconv.Itoa(ports[1]), "--health-probe-port=" + strconv.Itoa(ports[2]),
		"--tls-server-certs-dir=" + x.serverCertificate(), "--tls-client-certs-dir=" + x.File("crossplane/client"),
	}, x.args...)...); err != nil {
		return err
	}
	if err := x.processes.Start("crossplane-rbac", "crossplane-core", x.environment(rbac),
		"rbac", "start", "--provider-clusterrole=crossplane:allowed-provider-permissions"); err != nil {
		return err
	}
	if err := x.apply(ctx, x.usageWebhook()); err != nil {
		return err
	}
	return x.processes.Wait(ctx, "Crossplane", func(ctx context.Context) (bool, error) {
		return answers(ctx, "http://"+kubernetes.Address(ports[2])+"/readyz")
	})
}

// usageWebhook returns Crossplane's webhook that rejects the deletion of objects in use, called at a local address
// instead of a Service.
func (x *crossplane) usageWebhook() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "ValidatingWebhookConfiguration",
		"metadata":   map[string]any{"name": "crossplane-no-usages"},
		"webhooks": []any{map[string]any{
			"name":                    "nousages.protection.crossplane.io",
			"admissionReviewVersions": []any{"v1"},
			"sideEffects":             "None",
			"failurePolicy":           "Fail",
			"objectSelector":          map[string]any{"matchLabels": map[string]any{"crossplane.io/in-use": "true"}},
			"clientConfig": map[string]any{
				"url":      fmt.Sprintf("https://%s/validate-no-usages", kubernetes.Address(x.webhook)),
				"caBundle": base64Of(x.authority.Certificate),
			},
			"rules": []any{map[string]any{
				"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "operations": []any{"DELETE"}, "resources": []any{"*"},
			}},
		}},
	}}
}

func answers(ctx context.Context, url string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false, err
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	if err := rsp.Body.Close(); err != nil {
		return false, err
	}
	if rsp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("status %s", rsp.Status)
	}
	return true, nil
}
