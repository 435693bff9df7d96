package platform

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// Check returns an error for each value of a PlatformConfig that Kubernetes would reject in an object of a claim, and for
// each entry of a limit that allows nothing. A preview reports them; in a cluster, claims keep running despite such an
// entry.
func Check(p *platformv1.PlatformConfigSpec) error {
	errs := []error{syntax.Check("spec", p)}
	if c := p.Companion; c != nil {
		errs = append(errs, minimum.CheckLimits("spec.companion.resources", minimum.Companion, c.Resources))
	}
	limit.Walk("spec", p, func(field string, value any) {
		if r, ok := value.(common.Images); ok {
			errs = append(errs, checkRegistry(field+".registry", r.Registry))
		}
	})
	for i := range p.Limits {
		errs = append(errs, checkLimit(fmt.Sprintf("spec.limits[%d]", i), &p.Limits[i]))
	}
	return errors.Join(errs...)
}

// form is the format that the entries of a list must have, so that a claim can match them.
type form struct {
	name    string
	entries []string
	check   func(entry string) string
}

func checkLimit(path string, l *platformv1.Limit) error {
	var errs []error
	for _, f := range []form{
		{"secretStores", limit.Texts(l.SecretStores), named("SecretStore", "ClusterSecretStore")},
		{"issuers", limit.Texts(l.Issuers), named("Issuer", "ClusterIssuer")},
		{"gateways", limit.Texts(l.Gateways), inNamespace},
		{"tolerations", limit.Texts(l.Tolerations), taint},
		{"storageDevices", limit.Texts(l.StorageDevices), device},
		{"hypervisorAgents", limit.Texts(l.HypervisorAgents), oneOf("kvmNodeAgent")},
		{"s3Endpoints", limit.Texts(l.S3Endpoints), host},
		{"directoryHosts", limit.Texts(l.DirectoryHosts), host},
		{"openIDHosts", limit.Texts(l.OpenIDHosts), host},
		{"keystoneHosts", limit.Texts(l.KeystoneHosts), host},
		{"databaseHosts", limit.Texts(l.DatabaseHosts), host},
		{"queueHosts", limit.Texts(l.QueueHosts), host},
		{"downloadHosts", limit.Texts(l.DownloadHosts), host},
		{"nfsServers", limit.Texts(l.NFSServers), host},
		{"vaultServers", limit.Texts(l.VaultServers), host},
		{"nodeHosts", limit.Texts(l.NodeHosts), host},
		{"registries", limit.Texts(l.Registries), registry},
		{"hypervisorRegistries", limit.Texts(l.HypervisorRegistries), registry},
	} {
		for i, entry := range f.entries {
			if wrong := f.check(entry); wrong != "" {
				errs = append(errs, invalid.Field(fmt.Sprintf("%s.%s[%d]", path, f.name, i), "%q allows nothing: %s", entry, wrong))
			}
		}
	}
	for _, m := range []struct {
		name, example string
		most          *resource.Quantity
	}{
		{"storage", "500Gi", l.Maxima.Storage}, {"cpu", "16", l.Maxima.CPU}, {"memory", "32Gi", l.Maxima.Memory},
		{"ephemeralStorage", "500Gi", l.Maxima.EphemeralStorage}, {"nodeCPU", "16", l.Maxima.NodeCPU},
		{"nodeMemory", "32Gi", l.Maxima.NodeMemory},
	} {
		if m.most != nil && m.most.Sign() <= 0 {
			errs = append(errs, invalid.Field(path+".maxima."+m.name, "%s refuses every claim; set an amount above 0, such as %s, or remove the "+
				"field for the default", m.most, m.example))
		}
	}
	return errors.Join(errs...)
}

// named returns a check for the format <kind>/<name>, with the allowed kinds.
func named(kinds ...string) func(string) string {
	return func(entry string) string {
		kind, _, ok := strings.Cut(entry, "/")
		if strings.Contains(kind, "*") || ok && slices.Contains(kinds, kind) {
			return ""
		}
		return fmt.Sprintf("it must be <kind>/<name>, where the kind is %s; write %s/%s", strings.Join(kinds, " or "), kinds[1],
			entry[strings.LastIndex(entry, "/")+1:])
	}
}

func inNamespace(entry string) string {
	if strings.ContainsAny(entry, "/*") {
		return ""
	}
	return "it must be <namespace>/<name>; write the Gateway's namespace before it"
}

// taint checks the format key=value:effect. Omitted parts at the end match any value.
func taint(entry string) string {
	i := strings.LastIndex(entry, ":")
	if i < 0 || strings.Contains(entry[i:], "*") || slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, entry[i+1:]) {
		return ""
	}
	return fmt.Sprintf("taints have no effect %s; set NoSchedule, PreferNoSchedule or NoExecute, or remove it", entry[i+1:])
}

func device(entry string) string {
	if name, ok := strings.CutPrefix(entry, "/dev/"); ok {
		return "devices are compared without /dev/; write " + name
	}
	return ""
}

func oneOf(known ...string) func(string) string {
	return func(entry string) string {
		if slices.ContainsFunc(known, func(k string) bool { return limit.Match(entry, k) }) {
			return ""
		}
		return "there is no such agent; choose from " + strings.Join(known, ", ")
	}
}

// host checks a host with an optional port. The schema checks the format.
func host(entry string) string {
	name := entry
	if i := strings.LastIndexByte(entry, ':'); i > strings.LastIndexByte(entry, ']') {
		name = entry[:i]
		if wrong := checkPort(entry[i+1:]); wrong != "" {
			return wrong
		}
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		if ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]")); err != nil || !ip.Is6() {
			return "there is no IPv6 address in the brackets; correct it"
		}
	}
	return ""
}

func checkPort(port string) string {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Sprintf("there is no port %s; set one from 1 to 65535, or none for all", port)
	}
	return ""
}

func registry(entry string) string {
	name, _, _ := strings.Cut(entry, "/")
	if _, port, ok := strings.Cut(name, ":"); ok {
		return checkPort(port)
	}
	return ""
}

// checkRegistry returns an error for a registry with an invalid port.
func checkRegistry(field, text string) error {
	if wrong := registry(text); wrong != "" {
		return invalid.Field(field, "%s", strings.Replace(wrong, ", or none for all", ", or none for 443", 1))
	}
	return nil
}
