package hypervisor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// injecting is a pool whose pods get labels of their nodes.
var injecting = more("agents: {labelsInjector: {enabled: true}}, images: {pullSecrets: [mine]}")

// hooking is a platform that allows the webhook, with its own image.
var hooking = strings.Replace(open, "{domain: example.com, ", "{domain: example.com, labelsInjector: {webhook: true}, "+
	`thirdPartyImages: {labelsInjector: {repository: registry.example.com/injector, tag: "1"}}, `, 1)

func hooked(spec string) *simulate.Cluster {
	w := newCluster(spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` + hooking + `}`)
	return w
}

// TestInjectorHasMinimalRights verifies that the injector is composed if the claim enables it, with the roles of the chart only, and with
// rights on pods of the pool's namespace only. It runs the platform's image, pulled with the platform's Secret.
func TestInjectorHasMinimalRights(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		newCluster *simulate.Cluster
		image      string
		want       []string
	}{
		"No":  {"It is not enabled.", newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...), "", nil},
		"Off": {"It is disabled.", newCluster(more("agents: {labelsInjector: {enabled: false}}"), "tenant-a", objects(planeClaim, controlPlaneYAML)...), "", nil},
		"Yes": {
			"Without a webhook, it polls every five minutes.", newCluster(injecting, "tenant-a", objects(planeClaim, controlPlaneYAML)...),
			"registry.example.com/cobaltcore-dev/labels-injector:sha-867137fb7b8efc99c5c5077705363d6b4ba89f52",
			[]string{"ClusterRoleBinding", "Deployment", "NetworkPolicy", "RoleBinding", "ServiceAccount"},
		},
		"Webhook": {
			"The API server calls it when a pod is bound.", hooked(injecting), "registry.example.com/injector:1", []string{
				"Certificate", "ClusterRoleBinding", "Deployment", "Issuer", "NetworkPolicy", "RoleBinding", "Service", "ServiceAccount",
				"ValidatingWebhookConfiguration",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for resource, o := range composedOf(t, tc.newCluster) {
				if !strings.HasPrefix(resource, injectorComponent) {
					continue
				}
				_, object := lives(o)
				got = append(got, object["kind"].(string))
				switch object["kind"] {
				case "ClusterRoleBinding", "RoleBinding":
					role := object["roleRef"].(map[string]any)["name"]
					namespace, _ := object["metadata"].(map[string]any)["namespace"].(string)
					if bound := namespace == ""; bound != (role == injectorReads) || !bound && role != injectorWrites {
						t.Errorf("%s is bound in namespace %q", role, namespace)
					}
				case "Deployment":
					pod := object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
					if got := pod["containers"].([]any)[0].(map[string]any)["image"]; got != tc.image {
						t.Errorf("it runs %v, want %s", got, tc.image)
					}
					if diff := cmp.Diff([]any{map[string]any{"name": "platform-pull-registry"}}, pod["imagePullSecrets"]); diff != "" {
						t.Errorf("it is pulled with (-want +got):\n%s", diff)
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBindingWebhook verifies that pods are bound even if the webhook fails, and that it receives pods of the pool only.
func TestBindingWebhook(t *testing.T) {
	all := composedOf(t, hooked(injecting))
	_, object := lives(all["labels-injector-webhook"])
	hooks := object["webhooks"].([]any)
	if len(hooks) != 1 {
		t.Fatalf("there are %d webhooks", len(hooks))
	}
	hook := hooks[0].(map[string]any)
	const instance = "tenant-a-hypervisors-ed08c74e4294644ac141"
	want := map[string]any{
		"failurePolicy":     "Ignore",
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": instance}},
		"rules": []any{map[string]any{
			"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"pods/binding"},
			"scope": "Namespaced",
		}},
	}
	for field, value := range want {
		if diff := cmp.Diff(value, hook[field]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	// The certificate has the name that the API server connects to, and cert-manager writes its authority.
	_, service := lives(all["labels-injector-service"])
	_, certificate := lives(all["labels-injector-certificate"])
	queried := hook["clientConfig"].(map[string]any)["service"].(map[string]any)
	name := service["metadata"].(map[string]any)["name"].(string)
	if queried["name"] != name || queried["namespace"] != instance || queried["path"] != "/admission--v1-pods-binding" {
		t.Errorf("the webhook calls %v, and the Service is %s", queried, name)
	}
	if diff := cmp.Diff([]any{name + "." + instance + ".svc"}, certificate["spec"].(map[string]any)["dnsNames"]); diff != "" {
		t.Errorf("the certificate's names (-want +got):\n%s", diff)
	}
	from := object["metadata"].(map[string]any)["annotations"].(map[string]any)["cert-manager.io/inject-ca-from"]
	if from != instance+"/"+certificate["metadata"].(map[string]any)["name"].(string) {
		t.Errorf("its authority is from %v", from)
	}
}

// TestInjector_DoesNotBlock verifies that components on nodes do not wait for the injector.
func TestInjector_DoesNotBlock(t *testing.T) {
	for _, c := range graph {
		if slices.Contains(c.Needs, injectorComponent) || slices.Contains(c.Follows, injectorComponent) {
			t.Errorf("%s waits for it", c.Name)
		}
	}
}
