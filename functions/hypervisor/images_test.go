package hypervisor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// composedOf runs a reconciliation, and returns the composed resources.
func composedOf(t *testing.T, w *simulate.Cluster) map[string]encoded.Struct {
	t.Helper()
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	all := map[string]encoded.Struct{}
	for name, r := range New().Run(w.Request()).Composed {
		all[name] = r.Object
	}
	return all
}

// run are the images of all containers, by the DaemonSet.
func run(all map[string]encoded.Struct) map[string]string {
	out := map[string]string{}
	for name, o := range all {
		_, object := lives(o)
		if object["kind"] != "DaemonSet" {
			continue
		}
		pod := object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		found := map[string]bool{}
		for _, c := range pod["containers"].([]any) {
			found[c.(map[string]any)["image"].(string)] = true
		}
		out[name] = strings.Join(slices.Sorted(maps.Keys(found)), " ")
	}
	return out
}

// TestImages verifies that the image is the claim's, or by default the platform's, in the version of the control plane's release.
func TestImages(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	for name, tc := range map[string]struct {
		reason, spec string
		want         map[string]string
	}{
		"Nothing": {"The platform's registry.", mine, nil},
		"Registry": {
			"The claim's registry has all of them.", more("images: {registry: mirror.example.com/pool}"), map[string]string{
				"openvswitch":    "mirror.example.com/pool/c5c3/ovn:0.1.0",
				"ovn-controller": "mirror.example.com/pool/c5c3/ovn:0.1.0",
				"libvirt":        "mirror.example.com/pool/c5c3/libvirt:0.1.0",
				"volume-keys":    "mirror.example.com/pool/c5c3/libvirt:0.1.0",
				"metadata":       "mirror.example.com/pool/c5c3/neutron-ovn-agent:27.0.4",
				"nova-compute":   "mirror.example.com/pool/c5c3/nova-compute:32.2.1",
				"disk-transfer":  "mirror.example.com/pool/c5c3/nova-compute:32.2.1",
			},
		},
		"Switch": {
			"Each process of an image can have a different version.", more(`agents: {openvswitch: {image: {tag: "3.5"}}}`),
			map[string]string{"openvswitch": "registry.example.com/c5c3/ovn:3.5"},
		},
		"Controller": {
			"A digest.", more("agents: {ovnController: {image: {digest: '" + digest + "'}}}"),
			map[string]string{"ovn-controller": "registry.example.com/c5c3/ovn@" + digest},
		},
		"Libvirt": {
			"The container that sets keys is its client.", more("virtualization: {libvirt: {image: {repository: a.example.com/libvirt, tag: '11'}}}"),
			map[string]string{"libvirt": "a.example.com/libvirt:11", "volume-keys": "a.example.com/libvirt:11"},
		},
		"Compute": {
			"A patched one, of the same release.", more("images: {registry: b.example.com}, agents: {novaCompute: {image: {repository: " +
				"a.example.com/nova-compute, tag: 32.2.1-p1}}, metadata: {image: {tag: stable-2025.2}}}"), map[string]string{
				"openvswitch":    "b.example.com/c5c3/ovn:0.1.0",
				"ovn-controller": "b.example.com/c5c3/ovn:0.1.0",
				"libvirt":        "b.example.com/c5c3/libvirt:0.1.0",
				"volume-keys":    "b.example.com/c5c3/libvirt:0.1.0",
				"metadata":       "b.example.com/c5c3/neutron-ovn-agent:stable-2025.2",
				"nova-compute":   "a.example.com/nova-compute:32.2.1-p1",
				"disk-transfer":  "a.example.com/nova-compute:32.2.1-p1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]string{
				"openvswitch":    "registry.example.com/c5c3/ovn:0.1.0",
				"ovn-controller": "registry.example.com/c5c3/ovn:0.1.0",
				"libvirt":        "registry.example.com/c5c3/libvirt:0.1.0",
				"volume-keys":    "registry.example.com/c5c3/libvirt:0.1.0",
				"metadata":       "registry.example.com/c5c3/neutron-ovn-agent:27.0.4",
				"nova-compute":   "registry.example.com/c5c3/nova-compute:32.2.1",
				"disk-transfer":  "registry.example.com/c5c3/nova-compute:32.2.1",
			}
			maps.Copy(want, tc.want)
			for _, set := range []string{"metadata", "libvirt", "nova-compute", "disk-transfer"} {
				want[set] += " " + want["ovn-controller"] // It requests the certificate.
			}
			got := run(composedOf(t, newCluster(tc.spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestImages_RejectsImages verifies that a limit must explicitly allow an image of a node, because such an image controls the node, and
// that an image of a release requires that release.
func TestImages_RejectsImages(t *testing.T) {
	const some = `{name: some, namespaces: ["*"], hypervisorNodes: ["*"], registries: ["*"], hypervisorRegistries: ["a.example.com/{namespace}"]}`
	const none = `{name: none, namespaces: ["*"], hypervisorNodes: ["*"], registries: ["*"]}`
	for name, tc := range map[string]struct {
		reason, limits, spec, field, message string
	}{
		"Repeated": {reason: "The platform's registry is allowed.", limits: none, spec: more("images: {registry: registry.example.com}")},
		"Tag":      {reason: "Another version of the platform's image is allowed.", limits: none, spec: more("agents: {openvswitch: {image: {tag: '3'}}}")},
		"Allowed":  {reason: "A limit allows it.", limits: some, spec: more("images: {registry: a.example.com/tenant-a}")},
		"Below": {
			reason: "The pattern includes paths below it.", limits: some,
			spec: more("virtualization: {libvirt: {image: {repository: a.example.com/tenant-a/libvirt}}}"),
		},
		"Registries": {
			"A registry for pods without privileges is not allowed on nodes.", none, more("images: {registry: a.example.com/tenant-a}"),
			"spec.images.registry", `no limit of the platform allows "a.example.com/tenant-a" in namespace "tenant-a"`,
		},
		"Neighbour": {
			"An image of another tenant is rejected.", some, more("agents: {novaCompute: {image: {repository: a.example.com/tenant-b/nova-compute}}}"),
			"spec.agents.novaCompute.image.repository", "is not in the hypervisorRegistries that the platform's limit \"some\" allows",
		},
		"Alike": {
			"A path with the same prefix is rejected.", some, more("agents: {metadata: {image: {repository: a.example.com/tenant-ab/agent}}}"),
			"spec.agents.metadata.image.repository", "is not in the hypervisorRegistries",
		},
		"Controller": {
			"The limit applies to all images.", some, more("agents: {ovnController: {image: {repository: b.example.com/ovn}}}"),
			"spec.agents.ovnController.image.repository", "is not in the hypervisorRegistries",
		},
		"Release": {
			"The release differs from the control plane's.", some, more("agents: {novaCompute: {image: {tag: 33.0.2}}}"),
			"spec.agents.novaCompute.image.tag", "belongs to OpenStack 2026.1",
		},
		"Branch": {
			"The same applies to the agent.", some, more("agents: {metadata: {image: {tag: stable-2026.1}}}"),
			"spec.agents.metadata.image.tag", "stable-2026.1 is the branch of another release",
		},
		"Both": {
			"All agents use one image.", some, more("agents: {metadata: {image: {tag: 27.0.4, digest: 'sha256:" + strings.Repeat("a", 64) + "'}}}"),
			"spec.agents.metadata.image", "give one of them",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(tc.spec, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
			w.Required["platform"] = objects(`{metadata: {name: default}, spec: {domain: example.com, images: {registry: registry.example.com}, ` +
				`limits: [` + tc.limits + `]}}`)
			err := makeReady(w)
			if tc.field == "" {
				if err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				return
			}
			wantError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

// TestImages_RetainedDuringUpgrade verifies that a pool with an image of a previous release is not changed when the control plane is
// upgraded, and reports it.
func TestImages_RetainedDuringUpgrade(t *testing.T) {
	w := newCluster(more("agents: {novaCompute: {image: {tag: 32.2.1-p1}}}"), "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	before := run(composedOf(t, w))
	w.RequiredResources = objects(planeClaim, strings.ReplaceAll(controlPlaneYAML, `elease: "2025.2"`, `elease: "2026.1"`))
	_, err := w.Call(func(simulate.Step) {})
	wantError(t, "Nova of another release.", err, "spec.agents.novaCompute.image.tag", "the release is set by the control plane")
	if got := before["nova-compute"]; got != "registry.example.com/c5c3/nova-compute:32.2.1-p1 registry.example.com/c5c3/ovn:0.1.0" {
		t.Errorf("it ran %s", got)
	}
}

// TestPullSecrets verifies that the claim's pull secrets from the claim's namespace replace the platform's, and that previous ones are
// retained until pods are replaced.
func TestPullSecrets(t *testing.T) {
	secrets := func(all map[string]encoded.Struct) (named, copied []string) {
		for _, o := range all {
			_, object := lives(o)
			meta := object["metadata"].(map[string]any)
			switch object["kind"] {
			case "DaemonSet":
				pod := object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
				for _, s := range pod["imagePullSecrets"].([]any) {
					named = append(named, s.(map[string]any)["name"].(string))
				}
			case "ExternalSecret":
				if name := meta["name"].(string); strings.Contains(name, "-pull-") {
					copied = append(copied, name)
				}
			case "Role":
				if strings.HasSuffix(meta["name"].(string), "-pull-secrets") {
					rule := object["rules"].([]any)[0].(map[string]any)
					copied = append(copied, fmt.Sprintf("%s/%v", meta["namespace"], rule["resourceNames"]))
				}
			}
		}
		slices.Sort(named)
		slices.Sort(copied)
		return slices.Compact(named), copied
	}
	w := newCluster(mine, "tenant-a", objects(planeClaim, controlPlaneYAML)...)
	named, copied := secrets(composedOf(t, w))
	if diff := cmp.Diff([][]string{{"platform-pull-registry"}, {"crossplane-system/[registry]", "platform-pull-registry"}}, [][]string{named, copied}); diff != "" {
		t.Errorf("the platform's (-want +got):\n%s", diff)
	}
	w.XR.GetFields()["spec"].GetStructValue().Fields["images"] = parsed("{a: {pullSecrets: [mine, registry]}}").GetFields()["a"]
	named, copied = secrets(composedOf(t, w))
	want := [][]string{{"claim-pull-mine", "claim-pull-registry"}, {"claim-pull-mine", "claim-pull-registry", "tenant-a/[mine registry]"}}
	if diff := cmp.Diff(want, [][]string{named, copied}); diff != "" {
		t.Errorf("the claim's (-want +got):\n%s", diff)
	}
	w.XR.GetFields()["spec"].GetStructValue().Fields["images"] = parsed("{a: {}}").GetFields()["a"]
	if _, err := w.Call(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	all := map[string]encoded.Struct{}
	for name, r := range New().Run(w.Request()).Composed {
		all[name] = r.Object
	}
	if _, copied = secrets(all); !slices.Contains(copied, "claim-pull-mine") {
		t.Errorf("pull secrets were removed before pods were replaced: %v", copied)
	}
}

// TestPullSecretsStoreTransfer verifies that the claim's pull secrets are copied to another cluster through the platform's store, and are
// rejected without a store.
func TestPullSecretsStoreTransfer(t *testing.T) {
	w := newCluster(inCluster(more("images: {pullSecrets: [mine]}"), "east"), "tenant-a", objects(planeClaim, controlPlaneIn("east"))...)
	if _, ok := composedOf(t, w)["claim-pull-secrets-push-claim-pull-mine"]; !ok {
		t.Error("it is not pushed")
	}
	w.Required["platform"] = objects(`{metadata: {name: default}, spec: ` +
		strings.Replace(strings.Replace(open, "secretStore: {name: openbao, kind: ClusterSecretStore, prefix: clouds}, ", "", 1), "pullSecrets: [registry]", "", 1) + `}`)
	_, err := w.Call(func(simulate.Step) {})
	wantError(t, "The Secret cannot be copied.", err, pullsField, "are copied to another cluster through the platform's secret store")
}
