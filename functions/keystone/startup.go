package keystone

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// Resources whose content the API's pods read only as they start.
const (
	// domainsResource is the Secret of all identity backends. Keystone reads its files at its start:
	// https://docs.openstack.org/keystone/latest/admin/configuration.html#domain-specific-configuration
	domainsResource = "domains"
	// clientResource is the Secret of the federation's client, an environment variable of the proxy.
	clientResource = "federation-client"
)

// startup says, by resource, which annotation of the API's pods reports which content they started with, and where the resource reports
// it. Where it changes, the pods are replaced one after the other, which loses no request.
var startup = map[string]struct {
	annotation string
	path       []string
}{
	// Apache reads a certificate when it starts; uWSGI alone reads a renewed one by itself.
	// https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.CertificateStatus
	certificateResource: {keystonev1.Group + "/certificate", []string{"status", "revision"}},
	domainsResource:     {keystonev1.Group + "/identity-backends", []string{"status", "contentHash"}},
	clientResource:      {keystonev1.Group + "/federation-client", []string{"status", "contentHash"}},
}

// startedWith are the annotations of the API's pods for what they read as they start, by resource: as the resource reports it, or as the
// pods have it while the resource reports nothing. Of what neither knows there is none.
func startedWith(seen observe.State) map[string]string {
	out := map[string]string{}
	deployment, running := seen.Get(deploymentResource)
	for name, s := range startup {
		value := ""
		if o, ok := seen.Get(name); ok {
			value = told(o, s.path)
		}
		if value == "" && running {
			value = deployment.String("spec", "template", "metadata", "annotations", s.annotation)
		}
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// told is a text or a whole number of a status.
func told(o *observe.Object, path []string) string {
	if n, ok := o.Int(path...); ok {
		return fmt.Sprint(n)
	}
	return o.String(path...)
}

// startupAnnotations are the annotations for those resources that the API's pods read. If there are none, they are nil.
func (m *model) startupAnnotations() map[string]string {
	var out map[string]string
	set := func(name, value string) {
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	for name, read := range map[string]bool{
		certificateResource: m.spec.Federation != nil,
		domainsResource:     len(m.spec.IdentityBackends) > 0,
		clientResource:      m.spec.Federation != nil,
	} {
		if value, ok := m.started[name]; ok && read {
			set(startup[name].annotation, value)
		}
	}
	if len(m.spec.DomainIDs) > 0 {
		set(domainsAnnotation, domainsHash(m.spec.DomainIDs))
	}
	return out
}

// clientSecret is the key of the Secret of a federation's client.
const clientSecret = "client-secret"

// federationClient is the Secret of the federation's client, as the proxy reads it: a copy whose content the companion distinguishes,
// which nobody does for the one that the claim names.
func (m *model) federationClient() runtime.Object {
	ref := m.spec.Federation.ClientSecretRef
	return c5c3.SecretAggregate(m.meta(m.sub(clientResource)), c5c3v1.SecretAggregateSpec{
		TargetSecretName: common.ObjectName(m.sub(clientResource)),
		Sources:          []c5c3v1.SecretSource{source("secret", string(ref.Name), string(ref.Key))},
		Template:         map[string]c5c3v1.SecretTemplate{clientSecret: "{{ .secret }}"}, //nolint:gosec // a template, not a secret
	})
}
