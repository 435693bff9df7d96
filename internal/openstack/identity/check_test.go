package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"Nothing": {reason: "The defaults are good.", spec: `{}`},
		"Keys": {
			"One key fewer voids tokens.", `{fernet: {rotationSchedule: "0 0 * * *", maxActiveKeys: 4}}`,
			`x.fernet.maxActiveKeys: 4 keys are not enough: a token is accepted for 49h0m0s (expiration 1h0m0s + ` +
				`allowed expired window 48h0m0s), and schedule "0 0 * * *" rotates every 24h0m0s at the shortest: ceil(49h0m0s / 24h0m0s) = 3, and 2 for the ` +
				`primary and the staged key, makes 5 keys; set it to 5 or more, or remove it`,
		},
		"EnoughKeys": {reason: "As many as are needed.", spec: `{fernet: {rotationSchedule: "0 0 * * *", maxActiveKeys: 5}}`},
		"TooManyKeys": {
			"No repository has so many.", `{fernet: {rotationSchedule: "*/10 * * * *"}}`,
			`x.fernet.rotationSchedule: a repository has 200 keys at most, and a token is accepted for 49h0m0s (expiration 1h0m0s + allowed expired window ` +
				`48h0m0s), and schedule "*/10 * * * *" rotates every 10m0s at the shortest: ceil(49h0m0s / 10m0s) = 294, and 2 for the primary and the staged key, ` +
				`makes 296 keys; rotate less often, or let tokens expire earlier`,
		},
		"Methods":  {reason: "Some methods are optional.", spec: `{config: {auth: {methods: "password, application_credential"}}}`},
		"NoMethod": {"K-ORC.", `{config: {auth: {methods: [password]}}}`, "x.config.auth.methods: application_credential is missing: K-ORC logs in by it; add it"},
		"FederationMethods": {
			"A provider needs its own.",
			`{config: {auth: {methods: [password, application_credential, mapped, token]}}, federation: {metadataURL: "https://a", issuer: "https://a"}}`,
			"x.config.auth.methods: openid is missing: who logs in at a provider does so by it; add it",
		},
		"Memory": {
			"Three workers do not fit.", `{resources: {limits: {memory: 300Mi}}, uwsgi: {processes: 3}}`,
			"x.resources.limits.memory: 300Mi cannot hold 3 uWSGI processes, each of which needs 128Mi; give 384Mi or more, or lower uwsgi.processes",
		},
		"MemoryFits": {reason: "Two do.", spec: `{resources: {limits: {memory: 300Mi}}, uwsgi: {processes: 2}}`},
		"Image":      {"Of the release before.", `{image: {tag: 27.1.0}}`, "x.image.tag: keystone 27.1.0 belongs to OpenStack 2025.1, and openStackRelease is 2025.2, which has 28.1.0; give a tag of that, or another release"},
		"Addresses": {
			"Ports that there are not.",
			`{identityBackends: [{domain: a, ldap: {url: "ldaps://a:1"}}, {domain: b, ldap: {url: "ldaps://a:70000"}}], federation: {metadataURL: "https://a:0", issuer: "https://a"}}`,
			"x.identityBackends[1].ldap.url: there is no port 70000; give one from 1 to 65535\nx.federation.metadataURL: there is no port 0; give one from 1 to 65535",
		},
		"PlainDirectory": {
			"Passwords would go there in the clear, and one TLS is enough.",
			`{identityBackends: [{domain: a, ldap: {url: "ldap://a"}}, {domain: b, ldap: {url: "ldaps://a", options: {use_tls: "true"}}}]}`,
			"x.identityBackends[0].ldap.url: must begin with ldaps://: passwords of users would go there in the clear; change it, set options to " +
				"{use_tls: true}, or set allowUnencrypted to true\n" +
				"x.identityBackends[1].ldap.options: use_tls cannot be set with an address that begins with ldaps://: the connection is encrypted already; " +
				"remove use_tls",
		},
		"EncryptedDirectories": {
			reason: "By StartTLS, by TLS, or by a decision.",
			spec: `{identityBackends: [{domain: a, ldap: {url: "ldap://a", options: {use_tls: true}}}, {domain: b, ldap: {url: "ldaps://a", options: {use_tls: false}}},
  {domain: c, ldap: {url: "ldap://a", allowUnencrypted: true}}]}`,
		},
		"Directory": {
			"Options of a directory have fields, too.", `{identityBackends: [{domain: a, ldap: {url: "ldaps://a", options: {url: "ldap://b"}}}]}`,
			"x.identityBackends[0].ldap.options.url: the platform and the network policy use the field with the URL; set x.identityBackends[0].ldap.url instead",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := keystonev1.KeystoneSpec{}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &s); err != nil {
				t.Fatal(err)
			}
			s = completed(s)
			got, err := "", Check("x", "2025.2", &s)
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil && !invalid.Is(err) {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestProcesses(t *testing.T) {
	memory := func(s string) *common.ResourceAmounts {
		q := resource.MustParse(s)
		return &common.ResourceAmounts{Memory: &q}
	}
	for name, tc := range map[string]struct {
		reason string
		r      *common.Resources
		want   int32
	}{
		"Nothing":  {"No resources are set.", nil, 2},
		"NoMemory": {"Only of CPU.", &common.Resources{Requests: &common.ResourceAmounts{}}, 2},
		"Small":    {"The size small.", &common.Resources{Requests: memory("512Mi"), Limits: memory("1Gi")}, 2},
		"Medium":   {"The size medium.", &common.Resources{Requests: memory("1Gi"), Limits: memory("2Gi")}, 4},
		"Limit":    {"Only a limit is set.", &common.Resources{Limits: memory("1Gi")}, 4},
		"Least":    {"One at least.", &common.Resources{Requests: memory("1Mi")}, 1},
		"Most":     {"Eight at most.", &common.Resources{Requests: memory("64Gi")}, 8},
	} {
		if got := Processes(tc.r); got != tc.want {
			t.Errorf("%s: %s: %d processes, want %d", name, tc.reason, got, tc.want)
		}
	}
}
